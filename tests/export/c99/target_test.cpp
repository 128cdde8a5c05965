// The example of an export, built by its own Makefile and CMake and run on every machine that QEMU gives us.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// What the example prints after "checksum of the bits of X: ".
std::string checksum(const Ran& ran) {
    INFO(ran.out);
    CHECK(ran.status == 0);
    CHECK(ran.out.find(": good\n") != std::string::npos);
    const std::string words = "checksum of the bits of X: ";
    const auto at = ran.out.find(words);
    REQUIRE(at != std::string::npos);
    return ran.out.substr(at + words.size(), 8);
}

using Change = std::function<ExportRequest(ExportRequest)>;

std::string make(const std::string& target, const Spec& spec, const std::string& arguments, const Change& change = std::identity()) {
    const Project project(change(request(spec.block, spec.horizon, spec.precision, spec.rhs, target)));
    CAPTURE(target);
    CAPTURE(arguments);
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
    CHECK(ran.out.find("status 1 at block 0, row 0") != std::string::npos);
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
