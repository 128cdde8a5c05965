// Factors as constants: against dense algebra in double, on every machine, and what bad input gets.
#include <cmath>

#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// The lower triangles and couplings of a system, in double.
Prefactored matrix(const System& system, std::vector<double> shifts) {
    const Spec spec{.block = system.d[0].rows(), .horizon = std::ssize(system.d)};
    auto user = arrays<double>(spec, {system});
    for (auto& value : user.d)
        if (std::isnan(value)) value = 0;  // above the diagonals
    return {user.d, user.e, std::move(shifts)};
}

ExportRequest prefactored(const System& system, std::vector<double> shifts, Precision precision,
                          const std::string& target = "c99:generic") {
    auto result = request(system.d[0].rows(), std::ssize(system.d), precision, system.b.cols(), target);
    result.prefactored = matrix(system, std::move(shifts));
    return result;
}

template <class Real>
void check_solves(std::int64_t n, std::int64_t horizon, std::int64_t rhs, const std::string& compiler) {
    INFO(n, " ", compiler);
    const auto system = random_system(n, horizon, rhs, 4);
    const std::vector<double> shifts{0, 0.1, 10};
    const auto asked = prefactored(system, shifts, precision_of<Real>);
    const Project project(asked);
    const auto built = project.run(compiler + " -shared -fPIC -o solver.so btd_solver.c btd_factors.c");
    REQUIRE_MESSAGE(built.status == 0, built.out);
    const Library library(project.path() / "solver.so");
    auto* solve = library.function<Status(int, const Real*, Real*)>("btd_solve");
    const auto b = arrays<Real>(asked.spec, {system}).b;
    std::vector<Real> x(b.size());
    for (int shift = 0; shift < 3; ++shift) {
        Matrix a = system.dense();
        a.diagonal().array() += shifts[static_cast<std::size_t>(shift)];
        CHECK(solve(shift, b.data(), x.data()) == fine);
        CHECK(relative_residual(a, gather(asked.spec, x, 0, rhs), system.b) <= tolerance<Real>);
        auto in_place = b;
        CHECK(solve(shift, in_place.data(), in_place.data()) == fine);
        CHECK(in_place == x);
    }
    for (const int shift : {-1, 3, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
        std::ranges::fill(x, Real{1});
        CHECK(solve(shift, b.data(), x.data()) == Status{no_such_shift, -1, -1});
        CHECK(std::ranges::all_of(x, [](Real value) { return std::isnan(value); }));
    }
    auto bad = b;
    bad.front() = std::numeric_limits<Real>::quiet_NaN();
    CHECK(solve(1, bad.data(), x.data()) == Status{out_of_range, 0, 0});
}

}  // namespace

TEST_CASE("export: prefactored matrices solve, for every shift") {
    for (const std::int64_t n : {1, 2, 7, 33}) check_solves<double>(n, n == 1 ? 1 : 5, n % 3 + 1, "gcc -O2 -std=c99 -ffp-contract=off");
    for (const std::int64_t n : {1, 12, 64}) check_solves<float>(n, n == 12 ? 20 : 2, 1, "clang-19 -O2 -std=c99");
}

TEST_CASE("export: prefactored projects compile everywhere, and run with the same bits") {
    const auto system = random_system(7, 6, 2, 8);
    std::string checksum;
    for (const std::string target : {"c99:generic", "c99:cortex-m4", "c99:cortex-m7"}) {
        const Project project(prefactored(system, {0.5, 2}, Precision::f32, target));
        const auto bytes = project.manifest()["bytes"];
        CHECK(bytes["constants"] == 2 * (6 + 5) * 49 * 4);
        const std::string compiler = target == "c99:generic" ? "gcc" : target == "c99:cortex-m4" ? cortex_m4 : cortex_m7;
        const auto size = project.run(compiler + " -std=c99" + strict +
                                      "-O2 btd_factors.c btd_solver.c && nm -S -t d btd_factors.o | awk '{ sum += $2 } END { print sum }'");
        CHECK(size.out == std::to_string(bytes["constants"].get<int>()) + "\n");
        const auto ran = project.run("make -s run CONTRACT=off CFLAGS='-O2 -Wconversion -Werror'");
        INFO(ran.out);
        CHECK(ran.status == 0);
        const auto printed = ran.out.substr(ran.out.find("checksum"));
        if (checksum.empty()) checksum = printed;
        CHECK(printed == checksum);
        if (target != "c99:generic") continue;
        for (const std::string other : {"CC=clang-19", "CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-aarch64",
                                        "CC=riscv64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-riscv64"})
            CHECK(project.run("make -s clean run CFLAGS='-O2 -Werror' " + other).out.ends_with(checksum));
        for (const std::string strictly : {"clang-19 -std=c99", "g++ -x c++ -std=c++11"}) {
            const auto compiled = project.run(strictly + strict + "btd_factors.c btd_solver.c");
            CHECK_MESSAGE(compiled.status == 0, compiled.out);
        }
        const auto undefined =
            project.run("gcc -std=c99 -O2 -c btd_solver.c && nm -u btd_solver.o | grep -v -e ' btd_factor_' -e ' memcpy$' -e ' memset$'")
                .out;
        CHECK(undefined == "");
        const auto checked = project.run(
            "cppcheck -q --std=c99 --enable=all --suppress=missingIncludeSystem --suppress=unusedFunction --error-exitcode=1 btd_solver.c "
            "btd_factors.c");
        CHECK_MESSAGE(checked.status == 0, checked.out);
        const auto placed =
            project.run("gcc -std=c99 -c '-DBTD_TABLES=__attribute__((section(\".fast\")))' btd_factors.c && size -A btd_factors.o");
        CHECK(says(placed.out, ".fast"));
    }
}

TEST_CASE("export: a matrix without factors names the pivot that fails") {
    for (const std::int64_t row : {0, 2, 4})
        for (const std::int64_t block : {0, 3, 5}) {
            auto system = random_system(5, 6, 1, 8);
            system.d[static_cast<std::size_t>(block)](row, row) = -20;
            try {
                export_project(prefactored(system, {1000, 0.25}, Precision::f64));
                FAIL("it was exported");
            } catch (const IndefiniteMatrix& error) {
                CHECK(error.block == block);
                CHECK(error.row == row);
                CHECK(std::string(error.what())
                          .starts_with("A + 0.25 I is not positive definite: the pivot of block " + std::to_string(block) + ", row " +
                                       std::to_string(row)));
            }
        }
}

TEST_CASE("export: a matrix that is singular to the precision has no factors unless that is accepted") {
    const auto system = random_system(1, 3, 1, 8);
    auto walk = prefactored(system, {0}, Precision::f64);
    walk.prefactored->d = {0.1, 0.2, 0.1 * (1 + 1e-9)};
    walk.prefactored->e = {-0.1, -0.1};
    CHECK(export_project(walk).size() == 10);
    walk.spec.precision = Precision::f32;
    walk.prefactored->shifts = {1, 0};
    try {
        export_project(walk);
        FAIL("it was exported");
    } catch (const NearlySingular& error) {
        CHECK(std::string(error.what())
                  .starts_with("A + 0 I is nearly singular: the pivot of block 2, row 0 (from 0) is 1.0e-09 of the diagonal"));
        CHECK(error.failures.front().least_pivot == doctest::Approx(1e-9).epsilon(1e-3));
    }
    walk.prefactored->accept_nearly_singular = true;
    CHECK(export_project(walk).size() == 10);
}

TEST_CASE("export: bad requests for prefactored solvers") {
    const auto system = random_system(3, 4, 1, 2);
    const auto good = prefactored(system, {1}, Precision::f32);
    CHECK(export_project(good).size() == 10);
    auto bad = good;
    bad.prefactored->shifts = {};
    CHECK_REFUSED("no shift was given", export_project(bad));
    bad.prefactored->shifts = {0, std::nan("")};
    CHECK_REFUSED("shift nan is not finite", export_project(bad));
    bad = good;
    bad.prefactored->e.pop_back();
    CHECK_REFUSED("has 36 elements of D and 26 of E; 4 blocks of 3 have 36 and 27", export_project(bad));
    bad = good;
    bad.data = ProblemData{bad.prefactored->d, bad.prefactored->e, std::vector<double>(12)};
    CHECK_REFUSED("give one of them", export_project(bad));
    bad = good;
    bad.target = parse_target("c99:avx2");
    CHECK_REFUSED("target 'c99:avx2' stores factors in an order of its own", export_project(bad));
    bad = good;
    for (auto& value : bad.prefactored->e) value = 0;
    for (auto& value : bad.prefactored->d) value *= 1e-200;
    bad.prefactored->shifts = {1e-90};
    CHECK_REFUSED("A + 1e-90 I: the pivot of block 0, row 0 (from 0) is 1e-90; those of an f32 solver are above 2.93", export_project(bad));
    bad.prefactored->shifts = {1e60};
    CHECK_REFUSED("row 0 (from 0) is 1e+60; those of an f32 solver are above 2.93", export_project(bad));
    bad.prefactored->e[5] = -1e39;
    CHECK_REFUSED("E holds -1e+39, which is no finite f32 number", export_project(bad));
    bad = good;
    bad.spec.precision = Precision::f64;
    for (auto& value : bad.prefactored->e) value = 0;
    for (auto& value : bad.prefactored->d) value = 0;
    bad.prefactored->shifts = {1e-320};
    CHECK_REFUSED("those of an f64 solver are above", export_project(bad));
}
