// What compilers and other tools say of the exported C. The compilers come with tools/setup.
#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Case {
    std::int64_t block, horizon, rhs;
    Precision precision;
    const char* schedule = "sequential";
    Factorization factorization = Factorization::llt;
    std::int64_t corrections = 0, border = 0;
    bool ring = false, sizes = false;
    MatrixKind matrix = MatrixKind::positive_definite;
    bool is_plain() const {
        return std::string_view(schedule) == "sequential" && factorization == Factorization::llt && corrections == 0 && border == 0 &&
               !ring && !sizes;
    }
    std::string refine_source() const { return corrections > 0 ? " btd_refine.c" : ""; }
};
ExportRequest request_of(const Case& c, const std::string& target = "c99:generic", const std::string& prefix = "btd") {
    auto result = with_schedule(request(c.block, c.horizon, c.precision, c.rhs, target, prefix), c.schedule);
    result.factorization = c.factorization;
    result.spec.matrix = c.matrix;
    result.spec.border = c.border;
    result.spec.ring = c.ring;
    result.spec.sizes = c.sizes;
    return with_corrections(result, c.corrections);
}
constexpr Case cases[] = {{1, 1, 1, Precision::f64},
                          {12, 20, 1, Precision::f32},
                          {7, 2, 3, Precision::f64},
                          {33, 5, 1, Precision::f32},
                          {6, 64, 1, Precision::f64},
                          {64, 3, 2, Precision::f64},
                          {7, 20, 2, Precision::f64, "twisted:3"},
                          {12, 20, 1, Precision::f32, "sequential", Factorization::ldlt, 2},
                          {64, 3, 2, Precision::f64, "sequential", Factorization::ldlt, 1},
                          {64, 3, 2, Precision::f64, "sequential", Factorization::ldlt, 1, 0, false, false, MatrixKind::symmetric},
                          {7, 9, 1, Precision::f32, "sequential", Factorization::ldlt, 0, 0, false, false, MatrixKind::symmetric},
                          {12, 20, 1, Precision::f32, "sequential", Factorization::llt, 0, 16, true},
                          {64, 2, 2, Precision::f64, "sequential", Factorization::llt, 0, 16, true},
                          {64, 2, 2, Precision::f64, "sequential", Factorization::ldlt, 0, 16},
                          {5, 6, 1, Precision::f64, "sequential", Factorization::llt, 0, 3, false, true},
                          {6, 1, 1, Precision::f32, "sequential", Factorization::llt, 0, 0, true},
                          {33, 5, 2, Precision::f32, "sequential", Factorization::ldlt, 0, 0, true},
                          {12, 20, 1, Precision::f32, "sequential", Factorization::llt, 0, 0, false, true}};

void check_runs(const Project& project, const std::string& command) {
    const auto ran = project.run(command);
    INFO(command, "\n", ran.out);
    CHECK(ran.status == 0);
}

/// Bytes of stack of all functions of an object together: no path needs more.
std::int64_t stack_bytes(const std::string& usage) {
    std::istringstream lines(usage);
    std::int64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string function, kind;
        std::int64_t bytes = 0;
        words >> function >> bytes >> kind;
        CHECK_MESSAGE((kind == "static" || kind == "dynamic,bounded"), line);
        sum += bytes;
    }
    return sum;
}

std::int64_t code_bytes(const Project& project, const std::string& object) {
    std::istringstream words(project.run("size -A -d " + object + " | awk '/^.(text|rodata)/ { sum += $2 } END { print sum }'").out);
    std::int64_t bytes = 0;
    words >> bytes;
    return bytes;
}

/// The text that the example prints after "checksum of the bits of X: ".
std::string checksum(const Ran& ran) {
    INFO(ran.out);
    CHECK(ran.status == 0);
    CHECK(says(ran.out, ": good\n"));
    const std::string words = "checksum of the bits of X: ";
    const auto at = ran.out.find(words);
    REQUIRE(at != std::string::npos);
    return ran.out.substr(at + words.size(), 8);
}

using Change = std::function<ExportRequest(ExportRequest)>;

std::string make(const std::string& target, const Spec& spec, const std::string& arguments, const Change& change = std::identity()) {
    const Project project(change(request(spec.block, spec.horizon, spec.precision, spec.rhs, target)));
    INFO(target, " ", arguments);
    return checksum(project.run("make -s run CFLAGS='-O2 -Werror' " + arguments));
}

void check_bits(const Spec& spec, const Change& change = std::identity()) {
    CAPTURE(spec.block);
    const auto here = make("c99:generic", spec, "", change);
    CHECK(here.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(make("c99:generic", spec, "CC=clang-19", change) == here);
    CHECK(make("c99:generic", spec, "CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-aarch64", change) == here);
    CHECK(make("c99:generic", spec, "CC=riscv64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-riscv64", change) == here);
    CHECK(make("c99:cortex-m4", spec, "CONTRACT=off", change) == here);
    CHECK(make("c99:cortex-m7", spec, "CONTRACT=off", change) == here);
}

}  // namespace

TEST_CASE("export: neither GCC nor Clang warns, of C or of C++") {
    for (const auto& one : cases) {
        const Project project(request_of(one));
        for (const std::string compiler :
             {"clang-19 -std=c99", "gcc -std=c17 -O3", "g++ -x c++ -std=c++11", "clang++-19 -x c++ -std=c++20"})
            for (const std::string source : {"btd_solver.c", "btd_refine.c"})
                if (source == "btd_solver.c" || one.corrections > 0) check_runs(project, compiler + strict + "-o out.o " + source);
        for (const std::string compiler : {"gcc", "clang-19"})
            check_runs(project, compiler + " -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -c example_main.c report_main.c");
    }
}

TEST_CASE("export: compilers that see the whole solver warn of nothing, of the smallest sizes either") {
    const auto ldlt = Factorization::ldlt;
    for (const auto& one : {Case{4, 1, 1, Precision::f64}, Case{4, 1, 1, Precision::f64, "sequential", ldlt},
                            Case{1, 5, 1, Precision::f64, "sequential", ldlt}, Case{3, 2, 1, Precision::f32, "sequential", ldlt}}) {
        const Project project(request_of(one));
        for (const std::string compiler : {"gcc -std=c99 -O2", "g++ -x c++ -std=c++11 -O2"})
            check_runs(project, compiler + " -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror -c -o out.o btd_solver.c");
    }
}

TEST_CASE("export: the solver's object refers to the square root at most, and has no data") {
    for (const auto& one : cases) {
        const Project project(request_of(one));
        for (const std::string options : {"gcc -Os", "gcc -O2", "gcc -O3 -fmath-errno", "clang-19 -O2"}) {
            check_runs(project, options + " -std=c99 -c -o out.o btd_solver.c");
            std::istringstream lines(project.run("nm out.o").out);
            for (std::string line; std::getline(lines, line);) {
                const auto kind = line.at(17);
                const auto name = line.substr(19);
                INFO(options, ": ", line);
                const bool known = kind == 'T' || kind == 't' || kind == 'r' || (kind == 'U' && (name == "memcpy" || name == "memset")) ||
                                   (kind == 'U' && one.factorization == Factorization::llt && (name == "sqrt" || name == "sqrtf"));
                CHECK(known);
                if (kind == 'T') CHECK(name.starts_with("btd_"));
            }
        }
    }
}

TEST_CASE("export: two prefixes link into one program, called from C++") {
    const Project first(request(3, 4, Precision::f64, 1, "c99:generic", "one")),
        second(request(12, 5, Precision::f32, 2, "c99:generic", "Two"));
    first.write("main.cpp",
                "#include \"one_solver.h\"\n"
                "#include \"Two_solver.h\"\n"
                "int main() {\n"
                "    static one_workspace one;\n"
                "    static Two_workspace two;\n"
                "    static_assert(ONE_BLOCK == 3 && TWO_BLOCK == 12, \"\");\n"
                "    return one_init(&one) && Two_init(&two) && one_workspace_size() == sizeof one ? 0 : 1;\n"
                "}\n");
    const auto other = second.path().string();
    check_runs(first,
               fmt::format("gcc -std=c99 -c one_solver.c && gcc -std=c99 -c '{}/Two_solver.c' && g++ -Wall -Wextra -Werror -I'{}' main.cpp "
                           "one_solver.o Two_solver.o -lm -o program && ./program",
                           other, other));
}

TEST_CASE("export: GCC for every machine warns of nothing, and stack and code are within what the manifest states") {
    struct Build {
        std::string target, compiler;
        bool counts_code;
    };
    for (const auto& [target, compiler, counts_code] :
         {Build{"c99:cortex-m4", cortex_m4 + " -Os", true}, Build{"c99:cortex-m4", cortex_m4 + " -O2", true},
          Build{"c99:cortex-m4", cortex_m4 + " -O3", false}, Build{"c99:cortex-m7", cortex_m7 + " -Os", true},
          Build{"c99:cortex-m7", cortex_m7 + " -O2", true}, Build{"c99:cortex-m7", cortex_m7 + " -O3", false},
          Build{"c99:generic", "gcc -Os", true}, Build{"c99:generic", "gcc -O2", true}, Build{"c99:generic", "gcc -O3", false},
          Build{"c99:generic", "aarch64-linux-gnu-gcc -O2", true}, Build{"c99:generic", "riscv64-linux-gnu-gcc -O2", true}})
        for (const auto& one : cases) {
            const Project project(request_of(one, target));
            check_runs(project, compiler + " -std=c99" + strict + "-fstack-usage btd_solver.c" + one.refine_source());
            const auto bytes = project.manifest()["bytes"];
            INFO(compiler, ", n = ", one.block, ", ", to_string(one.precision));
            CHECK(stack_bytes(project.run("cat *.su").out) <= bytes["stack_at_most"].get<std::int64_t>());
            if (!counts_code) continue;
            const auto code = code_bytes(project, "*.o");
            CHECK(code <= bytes["code_at_most"].get<std::int64_t>());
            CHECK(code > 300);
        }
}

TEST_CASE("export: code and stack for 20 blocks of 12 on a Cortex-M7") {
    for (const auto& [change, options, code_at_most] : {std::tuple{&with_speed, " -O2", 3800}, std::tuple{&with_size, " -Os", 2240}}) {
        const Project project(change(request(12, 20, Precision::f32, 1, "c99:cortex-m7")));
        check_runs(project, cortex_m7 + options + " -std=c99 -ffp-contract=fast -fno-math-errno -fstack-usage -c btd_solver.c");
        CHECK(code_bytes(project, "btd_solver.o") <= code_at_most);
        CHECK(stack_bytes(project.read("btd_solver.su")) < 600);
    }
}

TEST_CASE("export: smaller code warns of nothing, and is within what the manifest states") {
    for (const auto& one : cases)
        for (const std::string target : {"c99:cortex-m4", "c99:cortex-m7"}) {
            const Project project(with_size(request_of(one, target)));
            for (const std::string options : {" -Os", " -O2"})
                check_runs(project, (target == "c99:cortex-m4" ? cortex_m4 : cortex_m7) + options + " -std=c99" + strict + "btd_solver.c" +
                                        one.refine_source());
            CHECK(code_bytes(project, "*.o") <= project.manifest()["bytes"]["code_at_most"].get<std::int64_t>());
            CHECK(project.manifest()["optimize"] == "size");
        }
}

TEST_CASE("export: the workspace is as large as the manifest states") {
    for (const auto& one : cases) {
        const Project project(request_of(one));
        const auto bytes = project.manifest()["bytes"];
        const auto check = [&](const std::string& compiler, const char* key) {
            project.write("size.c", fmt::format("#include \"btd_solver.h\"\ntypedef char same[sizeof(btd_workspace) == {} ? 1 : -1];\n",
                                                bytes[key].get<std::int64_t>()));
            check_runs(project, compiler + " -std=c99 -c -o size.o size.c");
        };
        check("gcc", "workspace_with_64_bit_pointers");
        check("aarch64-linux-gnu-gcc", "workspace_with_64_bit_pointers");
        check(cortex_m7, "workspace_with_32_bit_pointers");
    }
}

TEST_CASE("export: kernels compile without warnings, within what the manifest states, and need no library") {
    struct Build {
        std::string target, compiler, clang;  // where it is not the same
    };
    const Build builds[] = {
        {"c99:avx2", "gcc -march=x86-64-v3", "clang-19 -march=x86-64-v3"},
        {"c99:avx512", "gcc -march=x86-64-v4 -mprefer-vector-width=512 -Wno-aggressive-loop-optimizations", "clang-19 -march=x86-64-v4"},
        {"c99:neon", "aarch64-linux-gnu-gcc", "clang-19 --target=aarch64-linux-gnu"},
        {"c99:rvv", "clang-19 --target=riscv64-linux-gnu -march=rv64gcv", ""}};
    for (const auto& [target, compiler, clang] : builds)
        for (const auto& one : cases) {
            if (!one.is_plain()) continue;
            const Project project(request_of(one, target));
            const auto bytes = project.manifest()["bytes"];
            const std::string warnings = " -std=gnu11 -Wall -Wextra -Wconversion -Wsign-conversion -Werror ";
            check_runs(project, compiler + warnings + "-O2 -fno-math-errno -fstack-usage -c -o out.o btd_solver.c");
            if (!clang.empty()) check_runs(project, clang + warnings + "-fsyntax-only btd_solver.c");
            CHECK(stack_bytes(project.read("out.su")) <= bytes["stack_at_most"].get<std::int64_t>());
            CHECK(code_bytes(project, "out.o") <= bytes["code_at_most"].get<std::int64_t>());
            const auto undefined = project.run("nm -u out.o | grep -v -e ' memcpy$' -e ' memset$'").out;
            CHECK(undefined == "");
            project.write("size.c", fmt::format("#include \"btd_solver.h\"\ntypedef char same[sizeof(btd_workspace) == {} ? 1 : -1];\n",
                                                bytes["workspace_with_64_bit_pointers"].get<std::int64_t>()));
            check_runs(project, "gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -c size.c && g++ -x c++ -c size.c");
        }
}

TEST_CASE("export: cppcheck finds nothing") {
    for (const auto& one : cases) {
        const Project project(request_of(one));
        // Nothing calls the interface here.
        check_runs(
            project,
            "cppcheck -q --std=c99 --enable=all --suppress=missingIncludeSystem --suppress=unusedFunction --error-exitcode=1 btd_solver.c" +
                one.refine_source());
    }
}

TEST_CASE("export: flags that break the tests of NaN are refused") {
    const Project project(request(4, 4, Precision::f32));
    for (const std::string flag : {"-ffast-math", "-ffinite-math-only"}) {
        const auto ran = project.run("gcc -std=c99 " + flag + " -c btd_solver.c");
        CHECK(ran.status != 0);
        CHECK(says(ran.out, "compile without -ffast-math"));
    }
}

TEST_CASE("export: the square root and the place of the code can be set") {
    const Project project(request(4, 4, Precision::f32));
    project.write("root.h", "float my_root(float x);\n");
    check_runs(
        project,
        "gcc -std=c99 -O2 -c '-DBTD_SQRT(x)=my_root(x)' '-DBTD_CODE=__attribute__((section(\".fast\")))' -include root.h btd_solver.c");
    CHECK(says(project.run("nm btd_solver.o").out, "U my_root"));
    CHECK(says(project.run("size -A btd_solver.o").out, ".fast"));
}

TEST_CASE("export: templates and exports with a prefix of three letters are formatted") {
    const std::string format = "clang-format-19 --dry-run -Werror --style=file:" TEST_FOLDER "/../../../.clang-format ";
    for (const auto& one : cases) {
        const Project project(request_of(one, "c99:cortex-m7", "mpc"));
        check_runs(project, format + "mpc_solver.h mpc_solver.c example_main.c report_main.c startup_cortex_m.c" +
                                (one.corrections > 0 ? " mpc_refine.c" : ""));
    }
}

TEST_CASE("export: X has the same bits on x86-64, aarch64, riscv64, Cortex-M4 and Cortex-M7 without contraction") {
    for (const auto& spec : {Spec{.block = 12, .horizon = 20, .precision = Precision::f32}, Spec{.block = 6, .horizon = 64},
                             Spec{.block = 7, .horizon = 11, .rhs = 3},
                             Spec{.block = 33, .horizon = 2, .precision = Precision::f32, .rhs = 2}, Spec{.block = 1, .horizon = 1}})
        check_bits(spec);
    check_bits({.block = 5, .horizon = 20, .precision = Precision::f32});
    // Nor do they depend on how many sums are in registers.
    for (const auto& spec :
         {Spec{.block = 7, .horizon = 9, .precision = Precision::f32}, Spec{.block = 12, .horizon = 5}, Spec{.block = 5, .horizon = 9}})
        CHECK(make("c99:generic", spec, "", with_size) == make("c99:generic", spec, ""));
    check_bits({.block = 7, .horizon = 20, .precision = Precision::f32},
               [](const ExportRequest& request) { return with_corrections(with_ldlt(request), 2); });
}

TEST_CASE("export: the example runs as the Makefile has it") {
    const Spec spec{.block = 12, .horizon = 20, .precision = Precision::f32};
    for (const std::string target : {"c99:cortex-m4", "c99:cortex-m7", "c99:neon", "c99:rvv"}) make(target, spec, "");
    if (__builtin_cpu_supports("avx2")) make("c99:avx2", spec, "");
    for (const std::string target : {"c99:neon", "c99:rvv"}) {
        make(target, {.block = 7, .horizon = 11, .rhs = 3}, "");
        make(target, {.block = 1, .horizon = 1}, "");
    }
    make("c99:rvv", spec, "RUN='qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=256'");
}

TEST_CASE("export: a failure on a Cortex-M ends the emulator") {
    const Project project(request(3, 3, Precision::f32, 1, "c99:cortex-m7"));
    auto main = project.read("example_main.c");
    main.replace(main.find("3 * BTD_BLOCK + 1"), 1, "-3");
    project.write("example_main.c", main);
    const auto ran = project.run("timeout 60 make -s run");
    CHECK(ran.status != 0);
    CHECK(says(ran.out, "status 1 at block 0, row 0"));
    main.replace(main.find("    make_problem();"), 19, "    *(volatile int*)0xE0000001U = 1;");
    project.write("example_main.c", main);
    const auto faulted = project.run("timeout 60 make -s run");
    CHECK(faulted.status != 0);
    CHECK(faulted.status != 124);
}

TEST_CASE("export: CMake builds the library and the example, and a larger project takes the library") {
    const Project project(request(5, 6, Precision::f64, 1, "c99:generic", "mpc"));
    const auto here = checksum(project.run("make -s run"));
    const auto built = project.run("cmake -S . -B build -G Ninja >/dev/null && cmake --build build >/dev/null && build/example");
    CHECK(checksum(built) == here);
    const auto above = project.run(
        "mkdir above && printf 'cmake_minimum_required(VERSION 3.13)\\nproject(above C)\\nadd_subdirectory(.. "
        "mpc)\\nadd_executable(program "
        "../example_main.c)\\ntarget_link_libraries(program mpc_solver)\\n' > above/CMakeLists.txt && cmake -S above -B above/build -G "
        "Ninja "
        ">/dev/null && cmake --build above/build >/dev/null && above/build/program");
    CHECK(checksum(above) == here);
}
