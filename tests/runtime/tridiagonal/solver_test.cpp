#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <trifold/solver.hpp>
#include <trifold/trifold.hpp>
#include <utility>

#include "tests/runtime/tridiagonal/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

double log_determinant_of(const Matrix& a) {
    const Eigen::LLT<Matrix> factor(a);
    return 2 * factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
}

template <class Real>
void check_all_operations(const Spec& spec, const Tuning& given, std::int64_t columns, double tolerance) {
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(given.schedule);
    Problem<Real> problem(spec, columns, 11);
    const auto& [d, e, b] = problem.input;
    auto& x = problem.x;
    Solver solver(Plan(spec, Device::cpu(), given));
    FactorOptions<Real> fused;
    fused.columns = columns;
    SweepOptions sweep;
    sweep.columns = columns;
    const auto expect_solution = [&] {
        CHECK(problem.residual() < tolerance);
        x.assign(x.size(), Real(0));
    };
    solver.factor_solve(d.data(), e.data(), b.data(), x.data(), {}, fused);
    expect_solution();
    solver.factor(d.data(), e.data());
    solver.solve(b.data(), x.data(), {}, sweep);
    expect_solution();
    solver.factor_forward<Real>(d, e, b, x, fused);
    solver.backward(x.data(), x.data(), {}, sweep);
    expect_solution();
    solver.forward<Real>(b, x, sweep);
    solver.backward<Real>(x, x, sweep);
    expect_solution();
    x = b;
    solver.solve(x.data(), x.data(), {}, sweep);
    expect_solution();

    const auto determinants = solver.log_determinant();
    for (std::size_t m = 0; m < determinants.size(); ++m)
        CHECK(determinants[m] == doctest::Approx(log_determinant_of(problem.systems[m].dense())).epsilon(tolerance));
}

template <class Real>
double block_error(const std::vector<Real>& values, std::int64_t index, std::int64_t n, const Matrix& expected) {
    Matrix found(n, n);
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) found(r, c) = static_cast<double>(values[static_cast<std::size_t>((index * n + r) * n + c)]);
    return (found - expected).norm();
}

template <class Real>
void check_selected_inverse(Spec spec, const Tuning& given, double tolerance) {
    spec.operations = {Operation::factor, Operation::inverse};
    CAPTURE(given.schedule);
    const Problem<Real> problem(spec, 1, 11);
    Solver solver(Plan(spec, Device::cpu(), given));
    solver.factor<Real>(problem.input.d, problem.input.e);
    const auto n = spec.block, blocks = spec.horizon;
    std::vector<Real> diagonal(static_cast<std::size_t>(spec.batch * blocks * n * n));
    std::vector<Real> coupling(static_cast<std::size_t>(spec.batch * (blocks - 1) * n * n));
    solver.selected_inverse<Real>(diagonal, coupling);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const Matrix inverse = problem.systems[static_cast<std::size_t>(m)].dense().inverse();
        for (std::int64_t i = 0; i < blocks; ++i)
            CHECK(block_error(diagonal, m * blocks + i, n, inverse.block(i * n, i * n, n, n)) < tolerance * inverse.norm());
        for (std::int64_t i = 0; i + 1 < blocks; ++i)
            CHECK(block_error(coupling, m * (blocks - 1) + i, n, inverse.block((i + 1) * n, i * n, n, n)) < tolerance * inverse.norm());
    }
}

}  // namespace

TEST_CASE("every operation through a Solver agrees with a dense solution") {
    for (const auto* schedule : {"sequential", "twisted:2", "multi-stage", "recursive:3:4"}) {
        check_all_operations<double>({.block = 7, .horizon = 17, .rhs = 3, .batch = 2}, tuning(schedule), 3, 1e-14);
        check_all_operations<float>({.block = 4, .horizon = 9, .precision = Precision::f32, .rhs = 1}, tuning(schedule), 1, 1e-6);
    }
    check_all_operations<double>({.block = 33, .horizon = 5}, tuning("auto"), 1, 1e-14);
}

TEST_CASE("the selected inverse agrees with the dense inverse") {
    for (const auto* schedule : {"sequential", "twisted:2", "multi-stage"}) {
        check_selected_inverse<double>({.block = 5, .horizon = 9, .batch = 2}, tuning(schedule), 1e-13);
        check_selected_inverse<float>({.block = 3, .horizon = 4, .precision = Precision::f32}, tuning(schedule), 1e-5);
    }
    check_selected_inverse<double>({.block = 3, .horizon = 1}, tuning("auto"), 1e-14);
}

TEST_CASE("one block alone has no coupling: E may be empty") {
    check_all_operations<double>({.block = 3, .horizon = 1}, tuning("auto"), 1, 1e-14);
    Problem<double> problem({.block = 1, .horizon = 1}, 1, 3);
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d.data(), nullptr, problem.input.b.data(), problem.x.data());
    CHECK(problem.residual() < 1e-15);
}

template <class... Arrays>
concept solves = requires(Solver solver, Arrays&&... arrays) { solver.solve(std::forward<Arrays>(arrays)...); };
using Doubles = std::vector<double>;
static_assert(solves<const Doubles&, std::array<double, 6>&> && solves<Doubles, std::span<double>> &&
              solves<std::span<const double>, std::span<double>>);
static_assert(solves<const double (&)[6], double (&)[6]> && solves<std::span<float>, std::vector<float>&>);
static_assert(!solves<Doubles&, Doubles> && !solves<Doubles&, const Doubles&> && !solves<Doubles&, std::span<const double>>);
static_assert(!solves<Doubles&, std::vector<float>&> && !solves<std::vector<int>&, std::vector<int>&>);

TEST_CASE("vectors, arrays and spans need no type named, in every call") {
    Problem<double> problem({.block = 2, .horizon = 3, .operations = all_operations()}, 1, 4);
    const auto& d = problem.input.d;
    const std::span<const double> e = problem.input.e;
    std::array<double, 6> b{}, y{};
    std::copy(problem.input.b.begin(), problem.input.b.end(), b.begin());
    Solver solver(Plan(problem.spec, Device::cpu()));
    const auto expect_solution = [&] {
        CHECK(problem.residual() < 1e-14);
        problem.x.assign(6, 0);
    };
    solver.factor_solve(d, e, b, problem.x, {.members = 1});
    expect_solution();
    solver.factor(d, e);
    solver.solve(std::as_const(b), std::span(problem.x));
    expect_solution();
    solver.forward(b, y);
    solver.backward(y, problem.x);
    expect_solution();
    solver.factor_forward(d, e, b, y);
    solver.backward(y, problem.x, {.members = 1});
    expect_solution();
    Doubles diagonal(12);
    std::array<double, 8> coupling{};
    solver.selected_inverse(diagonal, coupling);
    const Matrix inverse = problem.systems[0].dense().inverse();
    CHECK(diagonal[2 * 4 + 3] == doctest::Approx(inverse(5, 5)).epsilon(1e-13));
    CHECK(coupling[1 * 4 + 1] == doctest::Approx(inverse(4, 3)).epsilon(1e-13));
    CHECK_THROWS_AS(solver.solve(Doubles(5), y), SpecError);
}

TEST_CASE("more columns than the Plan's go in panels") {
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked}) {
        for (const std::int64_t columns : {1, 3, 4, 7}) {
            CAPTURE(columns);
            check_all_operations<double>({.block = 5, .horizon = 12, .rhs = 3, .batch = 2, .rhs_layout = layout}, tuning("twisted:3"),
                                         columns, 1e-14);
        }
    }
}

TEST_CASE("quadratic is b' A^-1 b of the last forward sweep") {
    Problem<double> problem({.block = 6, .horizon = 10, .rhs = 3, .batch = 2}, 2, 5);
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("twisted:2")));
    solver.factor(problem.input.d.data(), problem.input.e.data());
    SweepOptions options;
    options.columns = 2;
    solver.solve(problem.input.b.data(), problem.x.data(), {}, options);
    const auto quadratic = solver.quadratic();
    REQUIRE(quadratic.size() == 4);
    for (std::size_t m = 0; m < 2; ++m) {
        const auto& system = problem.systems[m];
        const Matrix expected = system.b.transpose() * system.dense().llt().solve(system.b);
        for (std::size_t c = 0; c < 2; ++c)
            CHECK(quadratic[2 * m + c] ==
                  doctest::Approx(expected(static_cast<Eigen::Index>(c), static_cast<Eigen::Index>(c))).epsilon(1e-13));
    }
    Problem<double> wide(problem.spec, 4, 5);
    options.columns = 4;
    solver.solve(wide.input.b.data(), wide.x.data(), {}, options);
    CHECK_THROWS_AS(solver.quadratic(), SpecError);
}

TEST_CASE("fewer members than the capacity: the others are not touched") {
    Problem<double> problem({.block = 4, .horizon = 6, .batch = 5}, 1, 8);
    Solver solver(Plan(problem.spec, Device::cpu()));
    FactorOptions<double> options;
    options.members = 3;
    problem.x.assign(problem.x.size(), 42);
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x, options);
    const auto each = problem.x.size() / 5;
    for (std::size_t k = 3 * each; k < problem.x.size(); ++k) CHECK(problem.x[k] == 42);
    CHECK(solver.status().size() == 3);
    SweepOptions sweep;
    CHECK_THROWS_AS(solver.solve<double>(problem.input.b, problem.x, sweep), SpecError);  // members 3 and 4 were never factored
    sweep.members = 2;
    CHECK_NOTHROW(solver.solve<double>(problem.input.b, problem.x, sweep));
}

TEST_CASE("a member that the mask has kept from ever being factored solves to NaN and is not called failed") {
    Problem<double> problem({.block = 4, .horizon = 6, .batch = 2}, 1, 8);
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("twisted:2")));
    const int active[] = {1, 0};
    FactorOptions<double> options;
    options.active = active;
    solver.factor<double>(problem.input.d, problem.input.e, options);
    CHECK(solver.status().at(1).floors == -1);
    CHECK_NOTHROW(solver.check());
    solver.solve<double>(problem.input.b, problem.x);
    const auto half = problem.x.size() / 2;
    for (std::size_t k = 0; k < half; ++k) CHECK(std::isfinite(problem.x[k]));
    for (std::size_t k = half; k < 2 * half; ++k) CHECK(std::isnan(problem.x[k]));
}

TEST_CASE("NotPositiveDefinite names every failed member, its block and row, the others are solved") {
    Problem<double> problem({.block = 4, .horizon = 9, .batch = 3}, 1, 8);
    auto& d = problem.input.d;
    const auto strides = diagonal_strides(problem.spec);
    const auto entry = [&](std::int64_t member, std::int64_t block, std::int64_t row) -> double& {
        return d[static_cast<std::size_t>(member * strides.member + block * strides.stage + row * (strides.row + strides.column))];
    };
    entry(1, 6, 2) = -1e3;
    entry(2, 0, 3) = std::nan("");
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("sequential")));
    solver.factor_solve<double>(d, problem.input.e, problem.input.b, problem.x);
    try {
        solver.check();
        FAIL("check() must throw");
    } catch (const NotPositiveDefinite& error) {
        REQUIRE(error.failures.size() == 2);
        CHECK((error.failures[0].member == 1 && error.failures[0].block == 6 && error.failures[0].row == 2));
        CHECK((error.failures[1].member == 2 && error.failures[1].block == 0 && error.failures[1].row == 3));
        CHECK(std::string(error.what()).find("member 1 at block 6, row 2") != std::string::npos);
    }
    const auto determinants = solver.log_determinant();
    CHECK(std::isfinite(determinants[0]));
    CHECK((std::isnan(determinants[1]) && std::isnan(determinants[2])));
    CHECK(relative_residual(problem.systems[0].dense(), gather(problem.spec, problem.x, 0, 1), problem.systems[0].b) < 1e-14);
    for (std::size_t k = problem.x.size() / 3; k < problem.x.size(); ++k) CHECK(std::isnan(problem.x[k]));
}
