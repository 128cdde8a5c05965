#include <trifold/trifold.hpp>

#include "runtime/base/condition.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Rank 2 of 3 but for eight roundings: a chain of springs with no end fixed.
const std::vector<double> springs_d{.5, .8, .3 * (1 + 8 * 0x1p-52)}, springs_e{-.5, -.3}, springs_b{1, 0, 0};
const Spec springs{.block = 1, .horizon = 3};

Applied inverse_of(const Eigen::MatrixXd& a) {
    return [lu = a.partialPivLu()](std::span<double> x) {
        Eigen::Map<Eigen::VectorXd> values(x.data(), static_cast<Eigen::Index>(x.size()));
        const Eigen::VectorXd solved = lu.solve(values);
        values = solved;
    };
}

double norm_1(const Eigen::MatrixXd& a) { return a.cwiseAbs().colwise().sum().maxCoeff(); }

double estimate(const Eigen::MatrixXd& a) { return inverse_norm_estimate(a.rows(), inverse_of(a), inverse_of(a.transpose())); }

}  // namespace

TEST_CASE("a chain without an anchor ends as nearly singular, and check says what to do") {
    Solver solver(Plan(springs, Device::cpu()));
    std::vector<double> x(3);
    solver.factor_solve(springs_d, springs_e, springs_b, x);
    CHECK(!solver.ok());
    const auto& outcome = solver.status()[0];
    REQUIRE(outcome.block == -1);
    CHECK(outcome.nearly_singular);
    CHECK(outcome.least_pivot > 0);
    CHECK(outcome.least_pivot < nearly_singular_bound(Precision::f64));
    try {
        solver.check();
        FAIL("check() has not thrown");
    } catch (const NearlySingular& error) {
        REQUIRE(error.failures.size() == 1);
        CHECK(error.failures[0].member == 0);
        CHECK(error.failures[0].least_pivot == outcome.least_pivot);
        CHECK(says(std::string(error.what()), "accept_nearly_singular"));
    }
    CHECK_THROWS_AS(solver.check(), Unsolvable);
    CHECK(solver.reciprocal_condition(springs_d, springs_e)[0] < 1e-15);
}

TEST_CASE("a nearly singular system may be accepted, by name or by a pivot floor, and the next factorization asks again") {
    Solver solver(Plan(springs, Device::cpu()));
    std::vector<double> x(3);
    solver.factor_solve(springs_d, springs_e, springs_b, x, {.accept_nearly_singular = true});
    solver.check();
    CHECK(!solver.status()[0].nearly_singular);
    CHECK(solver.status()[0].least_pivot < nearly_singular_bound(Precision::f64));
    solver.factor(springs_d, springs_e, {.pivot_floor = 1e-20});
    solver.check();
    solver.factor(springs_d, springs_e);
    CHECK_THROWS_AS(solver.check(), NearlySingular);
}

TEST_CASE("the reciprocal condition number is that of the matrix with a diagonal of ones, for every member and layout") {
    for (const auto precision : {Precision::f64, Precision::f32, Precision::mixed}) {
        const Spec spec{.block = 5,
                        .horizon = 9,
                        .precision = precision,
                        .batch = 3,
                        .order = Order::column_major,
                        .coupling = Coupling::upper,
                        .rhs_layout = RhsLayout::stacked};
        const auto check = [&]<class Real>(Real) {
            Problem<Real> problem(spec, 1, 5);
            const auto& [d, e, b] = problem.input;
            std::vector<Real> shift{0, 1, 100};
            const FactorOptions<Real> options{.shift = shift.data()};
            Solver solver(Plan(spec, Device::cpu()));
            solver.factor(d, e, options);
            const auto found = solver.reciprocal_condition(d, e, options);
            REQUIRE(found.size() == 3);
            for (std::size_t m = 0; m < 3; ++m) {
                Matrix a = problem.systems[m].dense();
                a.diagonal().array() += static_cast<double>(shift[m]);
                const Eigen::VectorXd s = a.diagonal().array().rsqrt();
                a = (s.asDiagonal() * a * s.asDiagonal()).eval();
                const auto norm = [](const Matrix& of) { return of.cwiseAbs().colwise().sum().maxCoeff(); };
                const double exact = 1 / (norm(a) * norm(a.inverse()));
                CHECK(found[m] >= exact * (1 - 1e-4));
                CHECK(found[m] <= exact * 3);
            }
        };
        if (precision == Precision::f32)
            check(0.0F);
        else
            check(0.0);
    }
    Solver solver(Plan(springs, Device::cpu()));
    CHECK_THROWS_AS(solver.reciprocal_condition(springs_d, springs_e), SpecError);  // nothing is factored
    solver.factor(springs_d, springs_e);
    CHECK_THROWS_AS(solver.reciprocal_condition(springs_e, springs_e), SpecError);
}

TEST_CASE("mixed precision solves every stage in units of its own to the last digits") {
    const Spec spec{.block = 1, .horizon = 2, .precision = Precision::mixed};
    Solver solver(Plan(spec, Device::cpu()));
    const std::vector<double> d{1e8, 3}, e{0}, b{1e8, 1};
    std::vector<double> x(2);
    solver.factor_solve(d, e, b, x);
    solver.check();
    CHECK(x[0] == doctest::Approx(1).epsilon(1e-15));
    CHECK(x[1] == doctest::Approx(1 / 3.0).epsilon(1e-15));
    CHECK(solver.refinement()[0].iterations > 0);
}

TEST_CASE("mixed precision takes solutions that fade below single precision, but none that lie there as a whole") {
    const std::int64_t horizon = 200;
    const Spec spec{.block = 1, .horizon = horizon, .precision = Precision::mixed};
    Solver solver(Plan(spec, Device::cpu()));
    const std::vector<double> d(static_cast<std::size_t>(horizon), 10.0), e(static_cast<std::size_t>(horizon) - 1, -1.0);
    std::vector<double> b(d.size(), 0), x(d.size());
    b[0] = 1;
    solver.factor_solve(d, e, b, x);
    solver.check();
    const double ratio = 5 - std::sqrt(24.0);
    for (std::size_t k = 1; k < 30; ++k) CHECK(x[k] == doctest::Approx(x[0] * std::pow(ratio, k)).epsilon(1e-13));
    b[0] = 1e-100;
    solver.factor_solve(d, e, b, x);
    CHECK_THROWS_AS(solver.check(), NotConverged);
}

TEST_CASE("finite pivots below the floor are raised, negative ones too, and infinite ones and NaN fail, whatever the block size") {
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::int64_t n : {1, 2, 5})
        for (const std::string variant : {"tile", "lanes"}) {
            INFO(n, " ", variant);
            const Spec spec{.block = n, .horizon = 3};
            Solver solver(Plan(spec, Device::cpu(), {.variant = variant}));
            for (const double entry : {-1.0, 0.0, -infinity, infinity, nan}) {
                CAPTURE(entry);
                std::vector<double> d(static_cast<std::size_t>(3 * n * n), 0), e(static_cast<std::size_t>(2 * n * n), 0);
                for (std::int64_t i = 0; i < 3; ++i)
                    for (std::int64_t r = 0; r < n; ++r) d[static_cast<std::size_t>((i * n + r) * n + r)] = 2;
                d[static_cast<std::size_t>((n + n - 1) * n + n - 1)] = entry;  // the last row of block 1
                solver.factor(d, e, {.pivot_floor = 1e-2});
                const auto& outcome = solver.status()[0];
                const bool raised = std::isfinite(entry) && (entry < 0 || n > 1);  // a block of zeros has nothing to be raised to
                CHECK(outcome.block == (raised ? -1 : 1));
                CHECK(outcome.floors == (raised ? 1 : outcome.floors));
                if (!raised) CHECK(outcome.row == n - 1);
            }
        }
}

TEST_CASE("the norm of an inverse is estimated, never above it and seldom far below") {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    double worst = 1;
    for (int seed = 0; seed < 200; ++seed)
        for (const int n : {1, 2, 3, 8, 40}) {
            Eigen::MatrixXd a(n, n);
            for (auto& value : a.reshaped()) value = normal(generator);
            for (int k = 0; seed % 2 == 1 && k < n; ++k) a.row(k) *= std::pow(10, normal(generator));
            const double exact = norm_1(a.inverse()), found = estimate(a);
            CHECK(found <= exact * (1 + 1e-8));
            worst = std::min(worst, found / exact);
        }
    CHECK(worst >= 1 / 4.0);
}

TEST_CASE("the estimate of a matrix whose columns cancel, of a diagonal one and of a singular one") {
    Eigen::MatrixXd pairs = Eigen::MatrixXd::Identity(4, 4);
    pairs.col(0) << 1, -1, 1, -1;
    CHECK(estimate(pairs.inverse()) >= 4 / 3.0);  // 0.75 and 1 without the last try
    CHECK(estimate(Eigen::Vector3d(1, 1e-200, 4).asDiagonal()) == doctest::Approx(1e200));
    const Applied nothing = [](std::span<double> x) { x[0] = std::numeric_limits<double>::quiet_NaN(); };
    CHECK(std::isinf(inverse_norm_estimate(3, nothing, nothing)));
    CHECK(inverse_norm_estimate(0, nothing, nothing) == 0);
}
