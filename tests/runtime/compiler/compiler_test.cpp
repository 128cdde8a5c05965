#include "runtime/compile/compiler.hpp"

#include <sched.h>

#include <trifold/generate.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/compile/resources.hpp"
#include "runtime/compile/sources.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;
namespace fs = std::filesystem;

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
            CHECK(says(error.log, "undeclared_name", "kernel.c:1:"));
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

/// The number of the line that has `text`, from 1.
std::size_t line_with(const std::string& unit, const std::string& text) {
    const auto at = unit.find(text);
    REQUIRE(at != unit.npos);
    return static_cast<std::size_t>(std::count(unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

const std::string version2 = "36 25 0:30 / /sys/fs/cgroup rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                  version1 =
                      "31 25 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
                      "33 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                      "34 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct\n";

/// A machine as /proc and /sys show it.
struct Machine {
    PrivateDirectory root;
    Machine(const std::string& mounts, const std::string& groups) {
        write("proc/self/mountinfo", mounts);
        write("proc/self/cgroup", groups);
    }
    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((root.path() / name).parent_path());
        write_file(root.path() / name, text);
    }
    double quota() const { return quota_of_processors(root.path()); }
};

}  // namespace

TEST_CASE("Clang in process") { check_compiler(find_clang); }
TEST_CASE("the system's C compiler") { check_compiler(find_cc); }

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
        CHECK(says(report.advice, "/nonexistent/cc"));
    }
    SUBCASE("nothing in PATH") {
        WithEnvironment environment{{"TRIFOLD_CC", nullptr}, {"PATH", "/nonexistent"}};
        CHECK(find_cc(report) == nullptr);
        CHECK(says(report.advice, "install"));
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
        CHECK(says(compiled.ptx, std::string(".target ") + arch));
    }
    CHECK_THROWS_WITH_AS((void)nvrtc->compile("__global__ void k() { undeclared(); }", {"-arch=sm_90"}), doctest::Contains("COMPILATION"),
                         CompileError);
    CHECK_THROWS_AS((void)nvrtc->compile(cuda_unit().source, {"-arch=sm_1"}), CompileError);
    const auto virtual_code = nvrtc->compile(cuda_unit().source, {"-arch=compute_90"});
    CHECK(says(virtual_code.bytes, ".target sm_90"));
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

TEST_CASE("a compiler's errors name the template and its line") {
    // The lines there: `/* comment */`, the lines that are left out, an empty line, `#include "..."` ...
    const std::string unit =
        "#define TRIFOLD_BLOCK 4\n/* ---- cpu/tridiagonal/finish.c ---- */\n/* Results */\n\nfirst\nsecond\n\n/* ---- my own.c ---- "
        "*/\nthird\n";
    const auto told = [&](const std::string& log) { return with_template_lines(log, unit); };
    CHECK(told("kernel.c:3:1: error: no\n") == "kernel.c:3:1: error: no [templates/cpu/tridiagonal/finish.c:1]\n");
    CHECK(told("kernel.cu(4): error: no") == "kernel.cu(4): error: no [templates/cpu/tridiagonal/finish.c:3]");
    CHECK(told("a\n/tmp/x/kernel.c:5:9: warning: here\nb\n") ==
          "a\n/tmp/x/kernel.c:5:9: warning: here [templates/cpu/tridiagonal/finish.c:4]\nb\n");
    CHECK(told("kernel.hip:6:1: note") == "kernel.hip:6:1: note [templates/cpu/tridiagonal/finish.c:5]");
}

TEST_CASE("what a compiler says of other places stays as it is") {
    const auto unit = generate({.block = 8, .horizon = 9}, {Backend::cuda, "sm_90"}).units.front().source;
    for (const auto* log :
         {"", "\n", "kernel.cu(1): error", "kernel.cu(0): error", "kernel.cu(99999999): error", "kernel.cu(x): error",
          "kernel.cu(99999999999999999999999): error", "kernel.cu", "kernel.cubin: 12", "stdio.h:2000: error", "12 errors"})
        CHECK(with_template_lines(log, unit) == log);
}

TEST_CASE("edited units are no trouble") {
    auto unit = generate({.block = 8, .horizon = 9}, {Backend::cuda, "sm_90"}, {.variant = "fused"}).units.front().source;
    const std::string text = "TRIFOLD_FUNCTION void factor_chain(", name = "fused/factor.cuh";
    const auto log = fmt::format("kernel.cu({}): error", line_with(unit, text));
    CHECK(says(with_template_lines(log, unit), " [templates/gpu/tridiagonal/fused/factor.cuh:"));
    unit.replace(unit.find("/* ---- gpu/tridiagonal/" + name), 10, "/* my own ");
    CHECK(!says(with_template_lines(log, unit), name));
    CHECK(with_template_lines(log, unit.substr(0, 500)) == log);
}

TEST_CASE("quota of version 2: the least of the group and those around it") {
    const Machine machine(version2, "0::/user.slice/job.scope\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
    CHECK(machine.quota() == 4);
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "150000 100000\n");
    CHECK(machine.quota() == 1.5);
    machine.write("sys/fs/cgroup/other.slice/cpu.max", "10000 100000\n");
    CHECK(machine.quota() == 1.5);
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "5000 10000\n");
    CHECK(machine.quota() == 0.5);
}

TEST_CASE("quota in a container, which sees its own group as the mount") {
    const Machine second(version2, "0::/\n");
    second.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(second.quota() == 2);
    const Machine outside(version2, "0::/../../other\n");
    outside.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
    CHECK(outside.quota() == 3);
    const Machine first("34 31 0:30 /docker/1a2b /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
                        "4:cpu,cpuacct:/docker/1a2b/inner\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "800000\n");
    CHECK(first.quota() == 8);
    first.write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "50000\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "125000\n");
    CHECK(first.quota() == 2.5);
}

TEST_CASE("quota of version 1, and of both at once") {
    const Machine machine(version1, "5:cpuset:/\n4:cpu,cpuacct:/batch/job\n0::/elsewhere\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "350000\n");
    CHECK(machine.quota() == 3.5);
    const Machine both(version1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "1:cpu:/\n0::/\n");
    both.write("sys/fs/cgroup/unified/cpu.max", "700000 100000\n");
    CHECK(both.quota() == 7);
}

TEST_CASE("what is not there or makes no sense is no quota") {
    CHECK(std::isinf(Machine("", "").quota()));
    CHECK(std::isinf(Machine("a b c\n- - -\n1 2 3 4 5 6 - cgroup2\n", "0::/\n").quota()));
    const Machine machine(version2, ":\n0:\n0::\n");
    for (const auto* text : {"", "\n", "max", "100000", "x y", "0 100000", "-5 100000", "100000 0", "100000 100000 1"}) {
        machine.write("sys/fs/cgroup/cpu.max", text);
        CAPTURE(text);
        CHECK(std::isinf(machine.quota()));
    }
    CHECK(std::isinf(quota_of_processors("/nonexistent")));
}

TEST_CASE("the affinity mask bounds the processors that may be used") {
    const int before = usable_processors();
    CHECK(before >= 1);
    cpu_set_t mask;
    REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
    CHECK(before <= CPU_COUNT(&mask));
    int within = 0;
    std::thread([&] {  // the mask of one thread
        int first = 0;
        while (!CPU_ISSET(first, &mask)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        if (::sched_setaffinity(0, sizeof one, &one) == 0) within = usable_processors();
    })
        .join();
    CHECK(within == 1);
    CHECK(usable_processors() == before);
}
