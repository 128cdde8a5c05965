#include <trifold/generate.hpp>
#include <trifold/ranks.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/process.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/resources.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

std::shared_ptr<const Compiler> usable(std::shared_ptr<const Compiler> (*find)(ToolReport&)) {
    ToolReport report;
    auto compiler = find(report);
    if (compiler == nullptr || !compiler->usable()) {
        MESSAGE("skipped: no " << report.name << "; " << report.advice);
        return nullptr;
    }
    return compiler;
}

struct Case {
    const char* arch;
    std::int64_t n;
    Precision precision;
    std::int64_t rhs = 1;
    std::string variant = "auto";
};

bool has_matrix_instructions(const Case& item) {
    return item.precision == Precision::f64 && (item.arch == std::string("gfx90a") || item.arch == std::string("gfx942"));
}

/// The instructions of a code object; empty where there is no disassembler.
std::string disassemble(const std::string& bytes) {
    const auto tool = find_executable("llvm-objdump-19");
    if (tool.empty()) return {};
    const PrivateDirectory directory;
    write_file(directory.path() / "kernel.hsaco", bytes);
    return run_process({tool, "-d", directory.path() / "kernel.hsaco"}).output;
}

void check_resources(const Unit& unit, const std::vector<KernelResources>& resources) {
    REQUIRE(resources.size() == unit.kernels.size());
    const bool wide = warp_lanes(unit.target) == 64;
    for (std::size_t k = 0; k < resources.size(); ++k) {
        const auto& kernel = unit.kernels[k];
        const auto& found = resources[k];
        CAPTURE(kernel.name);
        CHECK(found.warp_lanes == warp_lanes(unit.target));
        CHECK(found.registers > 0);
        CHECK(found.registers <= (wide ? 512 : 256));
        CHECK(found.scalar_registers > 0);
        CHECK(found.scalar_registers <= 112);
        CHECK(found.code_bytes > 0);
        CHECK(found.shared_bytes == 0);  // all of it is the launch's to give
        CHECK(found.spill_bytes == 0);
    }
}

void check_compiles(const Compiler& compiler, const Case& item) {
    const Spec spec{
        .block = item.n, .horizon = 20, .precision = item.precision, .rhs = item.rhs, .batch = 2, .operations = all_operations()};
    const auto* schedule = item.variant == "dataflow" ? "multi-stage" : "twisted:3";
    const auto unit = generate(spec, {Backend::hip, item.arch}, {.schedule = schedule, .variant = item.variant}).units.at(0);
    INFO(compiler.identity(), " ", unit.kernels.front().name);
    const auto compiled = compiler.compile(unit.source, unit.options);
    check_resources(unit, resources_of(unit, compiled));
    CHECK_MESSAGE(compiled.log.find("warning") == std::string::npos, compiled.log);
    const auto text = disassemble(compiled.bytes);
    if (text.empty()) return;
    CHECK((text.find("v_mfma_f64_16x16x4") != std::string::npos) == (has_matrix_instructions(item) && item.n > 4));
}

/// Sets a variable for a scope.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
    ~Variable() { unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
};

}  // namespace

TEST_CASE("Clang in process compiles for every architecture: registers, no spills, matrix instructions") {
    const auto clang = usable(find_clang);
    if (!clang) return;
    for (const auto& item : {Case{"gfx906", 7, Precision::f64},
                             Case{"gfx908", 32, Precision::f64},
                             Case{"gfx90a", 12, Precision::f64, 3},
                             Case{"gfx90a", 32, Precision::f32},
                             Case{"gfx942", 32, Precision::f64},
                             Case{"gfx942", 1, Precision::f64},
                             Case{"gfx942", 48, Precision::f64, 8},
                             Case{"gfx942", 100, Precision::f64},
                             Case{"gfx1030", 24, Precision::f64},
                             Case{"gfx1100", 12, Precision::f32},
                             Case{"gfx1201", 72, Precision::f32},
                             Case{"gfx906", 32, Precision::f64, 1, "dataflow"},
                             Case{"gfx942", 32, Precision::f64, 8, "dataflow"},
                             Case{"gfx942", 48, Precision::f32, 9, "dataflow"},
                             Case{"gfx1100", 32, Precision::f64, 8, "dataflow"},
                             Case{"gfx1201", 7, Precision::f32, 1, "dataflow"},
                             Case{"gfx1100", 7, Precision::f32, 3, "team"},
                             Case{"gfx906", 100, Precision::f64, 1, "tile-dataflow"},
                             Case{"gfx90a", 100, Precision::f64, 3, "tile-dataflow"},
                             Case{"gfx942", 1024, Precision::f64, 1, "tile-dataflow"},
                             Case{"gfx942", 100, Precision::f32, 8, "tile-dataflow"},
                             Case{"gfx1030", 100, Precision::f64, 8, "tile-dataflow"},
                             Case{"gfx1100", 100, Precision::f32, 1, "tile-dataflow"},
                             Case{"gfx1201", 33, Precision::f64, 1, "tile-dataflow"}})
        check_compiles(*clang, item);
}

TEST_CASE("Clang in process compiles the kernels of a rank of a chain: they have never run on AMD devices") {
    const auto clang = usable(find_clang);
    if (!clang) return;
    for (const auto* arch : {"gfx90a", "gfx942", "gfx1100"}) {
        const RankSpec rank{{.block = 32, .horizon = 13, .operations = all_operations()}, {4, 5, 4}, 1};
        const auto program = generate(rank, choose(rank, {Backend::hip, arch}, {}));
        for (const auto& unit : program.units) {
            CAPTURE(unit.id);
            const auto compiled = clang->compile(unit.source, unit.options);
            check_resources(unit, resources_of(unit, compiled));
        }
    }
}

TEST_CASE("hiprtc compiles for the architectures it knows") {
    const auto hiprtc = usable(find_hiprtc);
    if (!hiprtc) return;
    for (const auto& item : {Case{"gfx906", 5, Precision::f32}, Case{"gfx908", 12, Precision::f64}, Case{"gfx90a", 32, Precision::f64},
                             Case{"gfx1030", 8, Precision::f64}, Case{"gfx90a", 100, Precision::f64, 1, "tile-dataflow"}}) {
        REQUIRE(hiprtc->compiles({Backend::hip, item.arch}));
        check_compiles(*hiprtc, item);
    }
}

TEST_CASE("a crash of hiprtc, a rejected source and a missing library are errors") {
    const auto hiprtc = usable(find_hiprtc);
    if (!hiprtc) return;
    const std::vector<std::string> options{"--offload-arch=gfx90a", "-std=c++20"};
    CHECK_THROWS_WITH_AS((void)hiprtc->compile("this is not code", options), doctest::Contains("rejected the source"), CompileError);
    // ROCm 5.2 ends its process when asked for an architecture that came later; newer releases compile it.
    const std::vector<std::string> later{"--offload-arch=gfx942", "-std=c++20"};
    if (!hiprtc->compiles({Backend::hip, "gfx942"}))
        CHECK_THROWS_WITH_AS((void)hiprtc->compile("extern \"C\" __global__ void f() {}", later), doctest::Contains("hiprtc"),
                             CompileError);
    const PrivateDirectory directory;
    write_file(directory.path() / "libhiprtc.so.9.9.9", "no library");
    const Variable place("TRIFOLD_HIPRTC", directory.path() / "libhiprtc.so.9.9.9");
    ToolReport report;
    const auto broken = find_hiprtc(report);
    REQUIRE(broken != nullptr);
    CHECK(report.version == "9.9.9");
    CHECK_THROWS_WITH_AS((void)broken->compile("", options), doctest::Contains("TRIFOLD_DISABLE=hiprtc"), CompileError);
}

TEST_CASE("the route is hiprtc where it knows the architecture, else Clang") {
    const auto hiprtc = usable(find_hiprtc), clang = usable(find_clang);
    if (!hiprtc || !clang) return;
    for (const auto& target : hip_targets())
        CHECK(find_compiler(target)->identity() == (hiprtc->compiles(target) ? hiprtc : clang)->identity());
    const Target known{Backend::hip, "gfx90a"};
    {
        const Variable disable("TRIFOLD_DISABLE", "hiprtc");
        CHECK(find_compiler(known)->identity() == clang->identity());
        CHECK(expect_compiler(known)->identity() == clang->identity());
    }
    const Variable disable("TRIFOLD_DISABLE", "hiprtc,clang");
    CHECK(expect_compiler(known) == nullptr);
    CHECK_THROWS_WITH_AS((void)find_compiler(known), doctest::Contains("cannot compile for hip:gfx90a"), DeviceError);
}

TEST_CASE("a damaged code object has no resources, and is no crash") {
    const auto clang = usable(find_clang);
    if (!clang) return;
    const auto unit = generate({.block = 2, .horizon = 3}, {Backend::hip, "gfx906"}, {.schedule = "sequential"}).units.at(0);
    const auto bytes = clang->compile(unit.source, unit.options).bytes;
    CHECK(parse_code_object(bytes).size() == unit.kernels.size());
    for (std::size_t cut = 0; cut < bytes.size(); cut += 97) (void)parse_code_object(bytes.substr(0, cut));
    for (std::size_t at = 0; at < std::min<std::size_t>(bytes.size(), 4096); at += 5) {
        auto changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x55);
        (void)parse_code_object(changed);
    }
    CHECK(parse_code_object("").empty());
}
