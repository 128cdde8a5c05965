// Chains with a border, against a dense Cholesky factorization.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE_TEMPLATE("a border agrees with a dense factorization", Real, double, float) {
    const std::int64_t borders[]{1, 2, 3, 7, 8, 16, 33, 64, 200}, blocks[]{1, 3, 8, 17, 32, 48, 97}, horizons[]{1, 2, 3, 7, 64, 129};
    std::size_t k = 0;
    for (const auto a : borders)
        for (const auto n : blocks) {
            const auto horizon = horizons[k++ % std::size(horizons)];
            // Each case compiles two chains: f64 takes two pairs of five, f32 one.
            if (n * horizon > 1100 || (sizeof(Real) == 8 ? k % 5 > 1 : k % 5 != 3)) continue;
            check_shape<Real>({.block = n, .horizon = horizon, .rhs = k % 3 == 0 ? 3 : 1, .batch = k % 4 == 0 ? 3 : 1, .border = a},
                              Device::cpu(), {.workers = k % 3 == 0 ? 2 : 1}, static_cast<unsigned>(k));
        }
}

TEST_CASE("a border of 512 rows") { check_shape<double>({.block = 9, .horizon = 70, .rhs = 2, .border = 512}, Device::cpu(), {}, 1); }

TEST_CASE("a border with every variant, and the other layouts") {
    for (const auto& [variant, schedule] : {std::pair{"tile", "auto"},
                                            {"tile", "multi-stage"},
                                            {"lanes", "twisted:3"},
                                            {"lanes", "sequential"},
                                            {"intervals", "auto"},
                                            {"intervals", "segments:4"}})
        check_shape<double>({.block = 5, .horizon = 20, .rhs = 70, .batch = 2, .rhs_layout = RhsLayout::stacked, .border = 4},
                            Device::cpu(), {.schedule = schedule, .variant = variant}, 7);
    check_shape<double>({.block = 3, .horizon = 9, .order = Order::column_major, .coupling = Coupling::upper, .border = 2}, Device::cpu(),
                        {}, 3);
}

TEST_CASE("scales of a border") {
    for (const int exponent : {-900, -400, 400, 900})
        check_shape<double>({.block = 4, .horizon = 9, .border = 3}, Device::cpu(), {}, 2, std::ldexp(1.0, exponent));
}

TEST_CASE_TEMPLATE("a border's sums over many like blocks lose no digits", Real, double, float) {
    for (const std::int64_t n : {1, 5, 100})
        for (const int workers : {1, 3}) {
            const std::int64_t N = 200'000 / n, rows = N * n, a = 3;
            const auto count = [](std::int64_t number) { return static_cast<std::size_t>(number); };
            std::vector<Real> d(count(rows * n)), e(count((N - 1) * n * n)), b(count(rows), 1), x(b), f(count(rows * a)), c(9), tip_b(3, 1),
                tip_x(3);
            for (std::int64_t r = 0; r < rows; ++r) d[count(r * n + r % n)] = 4;
            for (std::int64_t k = 0; k + 1 < N; ++k) e[count(k * n * n + n - 1)] = -1;
            const Real weights[]{Real(0.3), Real(0.2), Real(0.1)};
            for (std::int64_t k = 0; k < rows * a; ++k) f[count(k)] = weights[k / n % a];
            for (int i = 0; i < a; ++i)
                for (int j = 0; j < a; ++j) c[count(i * a + j)] = (i == j ? Real(1.1) : Real(0.9)) * weights[i] * weights[j] * Real(rows);
            const auto precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
            Solver solver{Plan({.block = n, .horizon = N, .precision = precision, .border = a}, Device::cpu(), {.workers = workers})};
            solver.factor_solve<Real>(d, e, b, x, {.f = f.data(), .c = c.data(), .tip_b = tip_b.data(), .tip_x = tip_x.data()});
            solver.check();
            for (int i = 0; i < a; ++i) {
                long double residual = 1, size = 1;
                const auto take = [&](Real entry, Real value) {
                    residual -= static_cast<long double>(entry) * static_cast<long double>(value);
                    size += std::abs(static_cast<long double>(entry) * static_cast<long double>(value));
                };
                for (std::int64_t r = 0; r < rows; ++r) take(weights[i], x[count(r)]);
                for (int j = 0; j < a; ++j) take(c[count(i * a + j)], tip_x[count(j)]);
                CHECK(std::abs(residual) <= 8 * std::numeric_limits<Real>::epsilon() * size);
            }
        }
}

TEST_CASE("a border's failures") {
    const Spec spec{.block = 2, .horizon = 3, .batch = 3, .border = 2};
    auto problem = ShapedProblem<double>(spec, 5);
    Solver solver{Plan(spec, Device::cpu())};
    problem.corner(1)(1, 1) = -3;  // the tip alone
    problem.diagonal(2, 1)(0, 0) = -1;
    problem.store();
    problem.factor_solve(solver);
    const auto& status = solver.status();
    CHECK(status[0].ok());
    CHECK((status[1].block == 3 && status[1].row == 1));
    CHECK((status[2].block == 1 && status[2].row == 0));
    CHECK(std::isnan(solver.log_determinant()[1]));
    CHECK(std::isnan(problem.x[0 + 1 * 6]));
    CHECK(std::isnan(problem.tip_x[2]));
    CHECK(!std::isnan(problem.tip_x[0]));
    CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
}

TEST_CASE("a tip that rounding decides is nearly singular") {
    const Spec spec{.block = 1, .horizon = 2, .border = 1};
    Solver solver{Plan(spec, Device::cpu())};
    const std::vector<double> d{1, 1}, e{0}, b{1, 1}, f{1, 1}, c{2 + 4e-16}, tip{1};
    std::vector<double> x(2), tip_x(1);
    FactorOptions<double> options{.f = f.data(), .c = c.data(), .tip_b = tip.data(), .tip_x = tip_x.data()};
    solver.factor_solve(d, e, b, x, options);
    CHECK(solver.status()[0].nearly_singular);
    CHECK_THROWS_AS(solver.check(), NearlySingular);
    options.accept_nearly_singular = true;
    solver.factor_solve(d, e, b, x, options);
    CHECK(solver.ok());
}

TEST_CASE("shift and mask reach the tip") {
    const Spec spec{.block = 3, .horizon = 4, .batch = 3, .border = 2};
    const auto tip = check_shift_and_mask(spec).tip_x;
    CHECK(std::isnan(tip[2]));  // untouched
}

TEST_CASE("a border of a ring through C has the bits of C++") {
    const Spec spec{.block = 3, .horizon = 5, .rhs = 2, .batch = 2, .ring = true, .border = 4};
    auto problem = ShapedProblem<double>(spec, 4);
    Solver solver{Plan(spec, Device::cpu())};
    problem.factor_solve(solver);
    trifold_spec c_spec;
    trifold_spec_init(&c_spec, 3, 5);
    c_spec.rhs = c_spec.batch = 2;
    c_spec.border = 4;
    c_spec.ring = 1;
    trifold_plan* plan = nullptr;
    trifold_solver* handle = nullptr;
    REQUIRE(trifold_plan_create(&c_spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &handle) == TRIFOLD_OK);
    trifold_options options;
    trifold_options_init(&options);
    std::vector<double> x(problem.x.size()), tip_x(problem.tip_x.size());
    options.f = problem.f.data();
    options.c = problem.c.data();
    options.tip_b = problem.tip_b.data();
    CHECK(trifold_factor_solve_f64(handle, problem.d.data(), problem.e.data(), problem.b.data(), x.data(), nullptr, &options) ==
          TRIFOLD_BAD_ARGUMENT);
    CHECK(says(trifold_last_error(), "the tip of X is a null pointer"));
    options.tip_x = tip_x.data();
    CHECK(trifold_factor_solve_f64(handle, problem.d.data(), problem.e.data(), problem.b.data(), x.data(), nullptr, &options) ==
          TRIFOLD_OK);
    CHECK(x == problem.x);
    CHECK(tip_x == problem.tip_x);
    trifold_solver_destroy(handle);
    trifold_plan_destroy(plan);
}

TEST_CASE("factors as values keep their border") {
    const Spec spec{.block = 3, .horizon = 7, .border = 2};
    auto problem = ShapedProblem<double>(spec, 6);
    const Plan plan(spec, Device::cpu());
    const auto factors = Factors::shared(spec, Device::cpu(), {});
    std::vector<std::byte> value(static_cast<std::size_t>(factors->bytes()) + workspace_base_alignment);
    auto* const at = value.data() + (-reinterpret_cast<std::uintptr_t>(value.data()) & (workspace_base_alignment - 1));
    factors->fresh(at, {})->factor<double>(problem.d, problem.e, problem.options());
    factors->filled(at, {})->solve<double>(problem.b, problem.x, problem.sweeps());
    CHECK((problem.matrix(0) * problem.solution(0) - problem.right(0)).norm() <= 1e-13);
    CHECK(plan.widened(8).choice().spec.rhs == 1);
    const auto without = Factors::shared({.block = 3, .horizon = 7}, Device::cpu(), {});
    CHECK(without != factors);
}

TEST_CASE("bad calls of a border") {
    const Spec spec{.block = 2, .horizon = 3, .border = 2};
    auto problem = ShapedProblem<double>(spec, 1);
    Solver solver{Plan(spec, Device::cpu())};
    CHECK_REFUSED("F is a null pointer", solver.factor<double>(problem.d, problem.e));
    auto options = problem.options();
    options.tip_x = nullptr;
    CHECK_REFUSED("the tip of X is a null pointer", solver.factor_solve<double>(problem.d, problem.e, problem.b, problem.x, options));
    Solver plain{Plan({.block = 2, .horizon = 3}, Device::cpu())};
    CHECK_REFUSED("F is of a border, and the Spec has none", plain.factor<double>(problem.d, problem.e, {.f = problem.f.data()}));
    CHECK_REFUSED("border", Plan({.block = 2, .horizon = 3, .border = 513}, Device::cpu()));
    CHECK_REFUSED("mixed precision has no border",
                  Plan({.block = 2, .horizon = 3, .precision = Precision::mixed, .border = 1}, Device::cpu()));
    CHECK_REFUSED("ranks have no border yet", validate(RankSpec{.spec = spec, .shards = {3}, .rank = 0}));
    CHECK_REFUSED("needs the F and C", solver.reciprocal_condition<double>(problem.d, problem.e));
}
