#include "runtime/compile/compiler.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>
#include <trifold/error.hpp>

#include "runtime/compile/resources.hpp"
#include "tests/runtime/cache/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Find = std::shared_ptr<const Compiler> (*)(ToolReport&);

void check_kernels(const Compiler& compiler, int number) {
    const auto unit = cpu_unit(number);
    const auto compiled = compiler.compile(unit.source, unit.options);
    Binary binary{{compiled.bytes}, compiler.identity()};
    const HostModule module(binary);
    double sum = 0;
    reinterpret_cast<void (*)(double*)>(module.symbol(unit.kernels[0].name))(&sum);
    CHECK(sum == sum_of_squares + number);
    double in[33], out[33];
    for (int k = 0; k < 33; ++k) in[k] = k, out[k] = -1;
    reinterpret_cast<void (*)(double*, const double*, long)>(module.symbol(unit.kernels[1].name))(out, in, 33);
    for (int k = 0; k < 33; ++k) CHECK(out[k] == std::sqrt(static_cast<double>(k)));
    CHECK_THROWS_WITH_AS((void)module.symbol("absent"), doctest::Contains("absent"), CompileError);
}

void check_compiler(Find find) {
    ToolReport report;
    const auto compiler = find(report);
    if (!compiler || !compiler->usable()) {
        MESSAGE("skipped: " << report.name << " is not here; " << report.advice);
        CHECK_FALSE(report.advice.empty());
        return;
    }
    CHECK(report.found);
    CHECK_FALSE(report.version.empty());
    check_kernels(*compiler, 1);

    SUBCASE("from four threads at once") {
        std::vector<std::thread> threads;
        for (int k = 0; k < 4; ++k) threads.emplace_back([&, k] { check_kernels(*compiler, 10 + k); });
        for (auto& thread : threads) thread.join();
    }
    SUBCASE("the log of a source in error") {
        const auto unit = cpu_unit();
        try {
            (void)compiler->compile("int f(void) { return undeclared_name; }\n", unit.options);
            FAIL("compiled");
        } catch (const CompileError& error) {
            CHECK(error.log.find("undeclared_name") != std::string::npos);
            CHECK(error.log.find("kernel.c:1:") != std::string::npos);
        }
        check_kernels(*compiler, 2);  // and it still works
    }
    SUBCASE("an option it does not know") { CHECK_THROWS_AS((void)compiler->compile(cpu_unit().source, {"-march=abacus"}), CompileError); }
    SUBCASE("the code size of every kernel") {
        const auto unit = cpu_unit();
        for (const auto& kernel : resources_of(unit, compiler->compile(unit.source, unit.options))) CHECK(kernel.code_bytes > 0);
    }
    SUBCASE("the same source gives the same bytes") {
        const auto unit = cpu_unit();
        CHECK(compiler->compile(unit.source, unit.options).bytes == compiler->compile(unit.source, unit.options).bytes);
    }
}

}  // namespace

TEST_CASE("Clang in process") { check_compiler(find_clang); }
TEST_CASE("the system's C compiler") { check_compiler(find_cc); }

namespace {

/// Kernels that share functions which may not be inlined, functions which may, tables and, on request, state.
std::string large_unit(bool with_state) {
    std::string text =
        "typedef double (*function)(double);\n"
        "static const double table[4] = {1, 2, 4, 8};\n"
        "static __attribute__((noinline)) double deep(double x, int k) { return k > 0 ? deep(x + table[k & 3], k - 1) : x; }\n"
        "static double plain(double x) { return x * x - 1; }\n"
        "static __attribute__((noinline)) double shared(double x) { return deep(plain(x), 5); }\n"
        "static double listed(double x) { return 3 - x; }\n"
        "static const function functions[3] = {shared, plain, listed};\n"
        "static inline __attribute__((always_inline)) double inner(double x) { return shared(x) - plain(x); }\n"
        "static inline __attribute__((always_inline)) double outer(double x) { return inner(x) * table[3]; }\n";
    if (with_state) text += "static long calls;\nlong count_calls(void) { return calls; }\n";
    for (int k = 0; k < 40; ++k) {
        text += "void kernel" + std::to_string(k) + "(double* x, int n) {\n";
        if (with_state) text += "    ++calls;\n";
        for (int j = 0; j < 40; ++j)
            text += "    x[" + std::to_string(j) + "] = plain(x[n]) + shared(x[" + std::to_string(j) + "]) / " + std::to_string(k + j + 1) +
                    ";\n";
        text += "    x[0] += functions[n % 3](x[1]) + deep(x[2], n) + outer(x[3]);\n}\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a large unit, compiled in pieces, computes what another compiler's does") {
    ToolReport report;
    const auto clang = find_clang(report), cc = find_cc(report);
    if (!clang || !cc) return;
    for (const bool with_state : {false, true}) {
        const auto source = large_unit(with_state);
        const std::vector<std::string> options{"-O2", "-ffp-contract=off"};
        const HostModule ours(Binary{{clang->compile(source, options).bytes}, "clang"}),
            theirs(Binary{{cc->compile(source, options).bytes}, "cc"});
        for (int k = 0; k < 40; ++k) {
            double x[40], y[40];
            for (int j = 0; j < 40; ++j) x[j] = y[j] = 0.01 * j;
            const auto name = "kernel" + std::to_string(k);
            for (const auto& [module, data] : {std::pair(&ours, x), std::pair(&theirs, y)})
                reinterpret_cast<void (*)(double*, int)>(module->symbol(name))(data, 3 + k % 3);
            for (int j = 0; j < 40; ++j) CHECK(x[j] == y[j]);
        }
        if (with_state) CHECK(reinterpret_cast<long (*)()>(ours.symbol("count_calls"))() == 40);
        CHECK_THROWS_AS((void)ours.symbol("shared"), CompileError);  // pieces see it, others do not
        CHECK(clang->compile(source, options).bytes == clang->compile(source, options).bytes);
    }
}

TEST_CASE("an error that only the machine code generator finds") {
    ToolReport report;
    const auto clang = find_clang(report);
    if (!clang) return;
    CHECK_THROWS_AS((void)clang->compile("void f(void) { __asm__(\"no such instruction\"); }\n", {"-O2"}), CompileError);
    CHECK_THROWS_AS((void)clang->compile("int g(void); int h(void) __attribute__((alias(\"g\")));\n", {"-O2"}), CompileError);
    check_kernels(*clang, 3);
}

TEST_CASE("a C compiler that is missing, fails, or is killed") {
    ToolReport report;
    const PrivateDirectory directory;
    const auto script = directory.path() / "cc";
    const auto install = [&](const std::string& body) {
        write_file(script, "#!/bin/sh\ncase \"$1\" in --version) echo 'toy 1.0';; *) " + body + ";; esac\n");
        std::filesystem::permissions(script, std::filesystem::perms::owner_all);
        WithEnvironment environment{{"TRIFOLD_CC", script.c_str()}};
        return find_cc(report);
    };
    const auto fails_with = [](const Compiler& compiler, const char* text) {
        CHECK_THROWS_WITH_AS((void)compiler.compile("int x;\n", {}), doctest::Contains(text), CompileError);
    };
    SUBCASE("missing") {
        WithEnvironment environment{{"TRIFOLD_CC", "/nonexistent/cc"}};
        CHECK(find_cc(report) == nullptr);
        CHECK(report.advice.find("/nonexistent/cc") != std::string::npos);
    }
    SUBCASE("nothing in PATH") {
        WithEnvironment environment{{"TRIFOLD_CC", nullptr}, {"PATH", "/nonexistent"}};
        CHECK(find_cc(report) == nullptr);
        CHECK(report.advice.find("install") != std::string::npos);
    }
    SUBCASE("fails") {
        const auto compiler = install("echo no such luck; exit 3");
        REQUIRE(compiler);
        CHECK(compiler->identity() == "toy 1.0");
        fails_with(*compiler, "status 3");
        try {
            (void)compiler->compile("int x;\n", {});
        } catch (const CompileError& error) {
            CHECK(error.log == "no such luck\n");
        }
    }
    SUBCASE("killed") { fails_with(*install("kill -9 $$"), "signal 9"); }
    SUBCASE("succeeds without a result") { CHECK_THROWS_AS((void)install("exit 0")->compile("int x;\n", {}), CompileError); }
    SUBCASE("removed after it was found") {
        const auto compiler = install("exit 0");
        std::filesystem::remove(script);
        fails_with(*compiler, "could not be started");
    }
}

TEST_CASE("options reach the system's C compiler as words, not through a shell") {
    ToolReport report;
    const auto cc = find_cc(report);
    if (!cc) return;
    const PrivateDirectory directory;
    const auto trap = directory.path() / "trap";
    CHECK_NOTHROW((void)cc->compile("int x;\n", {"-DTEXT=\"; touch " + trap.string() + "; $(touch " + trap.string() + ")\""}));
    CHECK_FALSE(std::filesystem::exists(trap));
}

TEST_CASE("NVRTC makes a cubin for exactly the architecture, and PTX for a virtual one") {
    ToolReport report;
    const auto nvrtc = find_nvrtc(report);
    if (!nvrtc) {
        MESSAGE("skipped: no NVRTC; " << report.advice);
        return;
    }
    for (const auto* arch : {"sm_80", "sm_90", "sm_120"}) {
        const auto unit = cuda_unit(arch);
        const auto compiled = nvrtc->compile(unit.source, unit.options);
        const auto kernels = resources_of(unit, compiled);
        REQUIRE(kernels.size() == 1);
        CHECK(kernels[0].registers > 0);
        CHECK(kernels[0].shared_bytes == 1024);
        CHECK(kernels[0].spill_bytes == 0);
        CHECK(kernels[0].code_bytes > 0);
        CHECK(compiled.ptx.find(std::string(".target ") + arch) != std::string::npos);
    }
    CHECK_THROWS_WITH_AS((void)nvrtc->compile("__global__ void k() { undeclared(); }", {"-arch=sm_90"}), doctest::Contains("COMPILATION"),
                         CompileError);
    CHECK_THROWS_AS((void)nvrtc->compile(cuda_unit().source, {"-arch=sm_1"}), CompileError);
    const auto virtual_code = nvrtc->compile(cuda_unit().source, {"-arch=compute_90"});
    CHECK(virtual_code.bytes.find(".target sm_90") != std::string::npos);
    CHECK(virtual_code.bytes == virtual_code.ptx);
}

TEST_CASE("NVRTC that is missing") {
    WithEnvironment environment{{"TRIFOLD_NVRTC", "/nonexistent/libnvrtc.so"}};
    ToolReport report;
    CHECK(find_nvrtc(report) == nullptr);
    CHECK_THROWS_AS((void)find_compiler({Backend::cuda, "sm_90"}), DeviceError);
}

TEST_CASE("what ptxas says of several kernels") {
    const auto kernels = parse_ptxas(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
        "ptxas info    : Function properties for a\n"
        "    16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 2048 bytes smem\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
        "ptxas info    : Function properties for b\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 8 registers\n");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0] == KernelResources{"a", 255, 2048, 32, -1});
    CHECK(kernels[1] == KernelResources{"b", 8, 0, 0, -1});
    CHECK(parse_ptxas("").empty());
}

TEST_CASE("ELF files that are cut short have no functions, and do no harm") {
    ToolReport report;
    const auto cc = find_cc(report);
    if (!cc) return;
    const auto unit = cpu_unit();
    const auto bytes = cc->compile(unit.source, unit.options).bytes;
    CHECK(elf_functions(bytes).contains(unit.kernels[0].name));
    for (std::size_t length = 0; length < bytes.size(); length += 97) (void)elf_functions(std::string_view(bytes).substr(0, length));
    CHECK(elf_functions(std::string_view(bytes).substr(0, 64)).empty());
    CHECK(elf_functions("not an ELF file").empty());
}
