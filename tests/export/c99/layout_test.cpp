// Exported solvers for D and E that are not row-major, or have gaps, or one block for all stages.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// One block of D and one of E for all stages: of a positive definite system with a heavier diagonal.
System time_invariant(std::int64_t n, std::int64_t horizon, std::int64_t rhs) {
    auto system = random_system(n, horizon, rhs, 3);
    for (auto& block : system.d) block = system.d[0];
    for (auto& block : system.e) block = system.e[0];
    const double below = -Eigen::SelfAdjointEigenSolver<Matrix>(system.dense()).eigenvalues()(0);
    for (auto& block : system.d) block.diagonal().array() += std::max(below, 0.0) + 1;
    return system;
}

void check_layout(std::int64_t n, std::int64_t horizon, std::int64_t rhs, Build build) {
    INFO(n, " ", build.target);
    build.corrections = 1;
    Exported<double> solver(n, horizon, rhs, build);
    const auto system = time_invariant(n, horizon, rhs);
    auto user = arrays<double>(solver.spec(), {system});
    std::vector<double> x(user.b.size());
    const auto check = [&] { CHECK(relative_residual(system.dense(), gather(solver.spec(), x, 0, rhs), system.b) <= tolerance<double>); };
    CHECK(solver.factor_solve(user, x.data()) == fine);
    check();
    CHECK(solver.solve_refined(user, x.data()) == fine);
    check();
    user.d[static_cast<std::size_t>((horizon - 1) * diagonal_strides(solver.spec()).stage)] = -1;
    const auto status = solver.factor_solve(user, x.data());
    CHECK(status.code == not_positive_definite);
    CHECK(status.block == (build.d.stage == 0 ? 0 : horizon - 1));
    CHECK(status.row == 0);
}

Build with_layout(Build build, Order order, Coupling coupling, BlockLayout d = {}, BlockLayout e = {}) {
    build.order = order;
    build.coupling = coupling;
    build.d = d;
    build.e = e;
    return build;
}

}  // namespace

TEST_CASE("export: column-major blocks, the upper coupling, gaps and shared blocks") {
    const auto column = Order::column_major, row = Order::row_major;
    const BlockLayout gaps{.leading = 8, .stage = 77}, shared{.stage = 0};
    check_layout(5, 6, 2, with_layout(plain(), column, Coupling::lower));
    check_layout(5, 6, 1, with_layout(plain(), row, Coupling::upper));
    check_layout(4, 1, 1, with_layout(plain(), column, Coupling::upper));
    check_layout(7, 5, 1, with_layout(plain(), column, Coupling::upper, gaps, gaps));
    auto build = with_layout(plain("clang-19 -O2 -Wall -Wextra -Wconversion -Werror"), row, Coupling::lower, shared, shared);
    build.factorization = Factorization::ldlt;
    check_layout(6, 9, 1, build);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_layout(6, 9, 2, with_layout({"c99:avx2", "gcc -O2 -std=gnu11 -march=x86-64-v3"}, column, Coupling::upper, gaps, shared));
}

TEST_CASE("export: the example of every layout is good, and a baked-in problem takes the layout") {
    auto asked = request(5, 6, Precision::f64);
    asked.spec.order = Order::column_major;
    asked.spec.coupling = Coupling::upper;
    asked.spec.e.stage = 0;
    CHECK(says(Project(asked).run("make -s run CFLAGS='-O2 -Wconversion -Wpedantic -Werror'").out, ": good"));
    asked.spec.e = {};
    const auto system = random_system(5, 6, 1, 4);
    const auto user = arrays<double>({.block = 5, .horizon = 6}, {system});
    asked.data = ProblemData{user.d, user.e, user.b};
    for (auto& value : asked.data->d)
        if (std::isnan(value)) value = 1e300;  // above the diagonals, which the solver may not read
    const Project project(asked);
    const auto ran = project.run("make -s run");
    CHECK_MESSAGE(ran.out.find(": good") != std::string::npos, ran.out);
    const Matrix x = system.dense().llt().solve(system.b);
    CHECK(std::stod(ran.out.substr(ran.out.find("x[0] = ") + 7)) == doctest::Approx(x(0, 0)).epsilon(1e-7));
}

TEST_CASE("export: layouts that cannot be exported are refused") {
    auto bad = request(4, 6, Precision::f32);
    bad.spec.order = Order::column_major;
    CHECK_REFUSED("schedule twisted:2 takes row-major D and E without gaps", export_project(with_schedule(bad, "twisted:2")));
    bad.prefactored = Prefactored{.d = std::vector<double>(96, 1), .e = std::vector<double>(80)};
    CHECK_REFUSED("factors as constants leave no D and E to call with", export_project(bad));
    bad = request(4, 6, Precision::f32);
    bad.spec.d.stage = 32;
    bad.data = ProblemData{std::vector<double>(96), std::vector<double>(80), std::vector<double>(24)};
    CHECK_REFUSED("a problem is baked in without gaps", export_project(bad));
    bad = request(4, 6, Precision::f32);
    bad.spec.rhs_layout = RhsLayout::stacked;
    CHECK_REFUSED("leave batch, the layout of B and strides of members out", export_project(bad));
    bad = request(4, 6, Precision::f32);
    for (const bool lengths : {false, true}) {
        bad.spec.lengths = lengths;
        bad.spec.bandwidth = lengths ? 1 : 2;
        CHECK_REFUSED("has no lengths and bands yet", export_project(bad));
    }
}
