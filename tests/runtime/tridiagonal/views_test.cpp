// Blocks with rows of their own, and bands of blocks, against a dense Cholesky factorization.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE_TEMPLATE("blocks of unequal size agree with a dense factorization", Real, double, float) {
    unsigned k = 0;
    for (const std::int64_t horizon : {1, 2, 3, 7, 64})
        for (const std::int64_t n : {1, 3, 8, 17, 33}) {
            if (++k % 3 == (sizeof(Real) == 8 ? 0 : 1) || n * horizon > 600) continue;  // the oracle is dense
            check_shape<Real>({.block = n,
                               .horizon = horizon,
                               .rhs = k % 4 == 0 ? 3 : 1,
                               .batch = k % 5 < 2 ? 1 : 5,
                               .lengths = k % 2 == 0,
                               .sizes = true},
                              Device::cpu(), {.workers = k % 7 == 0 ? 3 : 1}, k);
        }
}

TEST_CASE_TEMPLATE("bands agree with a dense factorization", Real, double, float) {
    unsigned k = 0;
    for (const std::int64_t bandwidth : {2, 3, 8})
        for (const std::int64_t horizon : {1, 2, 5, 16, 33})
            for (const std::int64_t n : {1, 2, 5}) {
                if (++k % 2 == (sizeof(Real) == 8 ? 0 : 1)) continue;
                check_shape<Real>(
                    {.block = n, .horizon = horizon, .rhs = k % 4 == 0 ? 3 : 1, .batch = k % 3 == 0 ? 1 : 5, .bandwidth = bandwidth},
                    Device::cpu(), {.workers = k % 5 == 0 ? 3 : 1}, k);
            }
}

TEST_CASE_TEMPLATE("rings with a band agree with a dense factorization", Real, double, float) {
    unsigned k = 0;
    for (const std::int64_t bandwidth : {2, 3, 8})
        for (const std::int64_t folds : {1, 2, 3, 4, 17})
            for (const std::int64_t n : {1, 2, 5}) {
                if (++k % 2 == (sizeof(Real) == 8 ? 0 : 1)) continue;
                check_shape<Real>({.block = n,
                                   .horizon = bandwidth * folds,
                                   .rhs = k % 4 == 0 ? 3 : 1,
                                   .batch = k % 3 == 0 ? 1 : 5,
                                   .ring = true,
                                   .border = k % 5 < 2 ? 3 : 0,
                                   .bandwidth = bandwidth},
                                  Device::cpu(), {.workers = k % 5 == 0 ? 3 : 1}, k);
            }
    for (const auto& variant : {"tile", "lanes"})
        for (const auto& schedule : {"sequential", "multi-stage", "partitioned:2"})
            check_shape<Real>({.block = 3,
                               .horizon = 10,
                               .rhs = 2,
                               .batch = 5,
                               .order = Order::column_major,
                               .coupling = Coupling::upper,
                               .rhs_layout = RhsLayout::stacked,
                               .ring = true,
                               .bandwidth = 2},
                              Device::cpu(), {.schedule = schedule, .variant = variant}, ++k);
}

TEST_CASE("sizes and bands with every variant, schedule and layout") {
    for (const auto& variant : {"tile", "lanes"}) {
        for (const auto& schedule : {"sequential", "multi-stage", "twisted:4"})
            for (const std::int64_t horizon : {9, 16})
                for (const std::int64_t bandwidth : {1, 2}) {
                    const Spec spec{.block = 5,
                                    .horizon = horizon,
                                    .rhs = horizon == 9 ? 70 : 2,
                                    .batch = 5,
                                    .sizes = bandwidth == 1,
                                    .bandwidth = bandwidth};
                    check_shape<double>(spec, Device::cpu(), {.schedule = schedule, .variant = variant, .any_size = true},
                                        static_cast<unsigned>(horizon));
                }
        for (const std::int64_t bandwidth : {1, 3})
            check_shape<double>({.block = 3,
                                 .horizon = 10,
                                 .rhs = 2,
                                 .batch = 4,
                                 .order = Order::column_major,
                                 .coupling = Coupling::upper,
                                 .rhs_layout = RhsLayout::stacked,
                                 .sizes = bandwidth == 1,
                                 .bandwidth = bandwidth},
                                Device::cpu(), {.variant = variant}, 3);
    }
}

TEST_CASE("sizes and bands with a border") {
    for (const auto& variant : {"tile", "lanes"})
        for (const std::int64_t border : {6, 40})
            for (const std::int64_t bandwidth : {1, 3})
                check_shape<double>({.block = 3,
                                     .horizon = 7,
                                     .rhs = border == 6 ? 5 : 1,
                                     .batch = 5,
                                     .border = border,
                                     .sizes = bandwidth == 1,
                                     .bandwidth = bandwidth},
                                    Device::cpu(), {.variant = variant}, static_cast<unsigned>(border));
}

TEST_CASE("scales of sizes and bands") {
    for (const int exponent : {-900, 900})
        for (const std::int64_t bandwidth : {1, 2})
            check_shape<double>({.block = 4, .horizon = 9, .batch = 4, .sizes = bandwidth == 1, .bandwidth = bandwidth}, Device::cpu(), {},
                                2, std::ldexp(1.0, exponent));
}

TEST_CASE("a band of numbers has the layout of LAPACK") {
    // Row k of a band has its k-th diagonal below the main one.
    const std::int64_t rows = 37, below = 5, batch = 2;
    const Spec spec{.block = 1,
                    .horizon = rows,
                    .batch = batch,
                    .d = {.stage = 1, .member = rows * (below + 1)},
                    .e = {.leading = rows, .stage = 1, .member = rows * (below + 1)},
                    .bandwidth = below};
    ShapedProblem<double> problem(spec, 3);
    std::vector<double> banded(static_cast<std::size_t>(batch * rows * (below + 1)), NAN);
    for (std::int64_t m = 0; m < batch; ++m)
        for (std::int64_t k = 0; k <= below; ++k)
            for (std::int64_t i = 0; i + k < rows; ++i)
                banded[static_cast<std::size_t>((m * (below + 1) + k) * rows + i)] = problem.matrix(m)(i + k, i);
    Solver solver{Plan(spec, Device::cpu())};
    solver.factor_solve<double>(banded.data(), banded.data() + rows, problem.b.data(), problem.x.data(), {}, {});
    check_solution(problem, spec, solver, 1);
}

TEST_CASE("pivots of the identity are no pivots") {
    for (const auto& variant : {"tile", "lanes"})
        for (const double scale : {1e-8, 1e8})
            for (const std::int64_t bandwidth : {1, 2}) {
                const Spec spec{.block = 3, .horizon = 5, .batch = 4, .sizes = bandwidth == 1, .bandwidth = bandwidth};
                ShapedProblem<double> problem(spec, 6, scale);
                Solver solver{Plan(spec, Device::cpu(), {.variant = variant})};
                auto options = problem.options();
                options.pivot_floor = 1e-6;
                solver.factor_solve<double>(problem.d, problem.e, problem.b, problem.x, options);
                for (const auto& member : solver.status()) CHECK(member.floors == 0);
                check_solution(problem, spec, solver, scale);
            }
}

TEST_CASE("failures of sizes and bands are told by the caller's blocks") {
    for (const auto& variant : {"tile", "lanes"})
        for (const std::int64_t bandwidth : {1, 3}) {
            const Spec spec{.block = 2, .horizon = 8, .batch = 3, .sizes = bandwidth == 1, .bandwidth = bandwidth};
            ShapedProblem<double> problem(spec, 5);
            problem.sizes.assign(problem.sizes.size(), 2);
            problem.diagonal(0, 7)(1, 1) = -3;
            problem.diagonal(1, 4)(0, 0) = -1;
            problem.store();
            Solver solver{Plan(spec, Device::cpu(), {.schedule = "sequential", .variant = variant})};
            problem.factor_solve(solver);
            CHECK((solver.status()[0].block == 7 && solver.status()[0].row == 1));
            CHECK((solver.status()[1].block == 4 && solver.status()[1].row == 0));
            CHECK(solver.status()[2].ok());
        }
}

TEST_CASE("shift, mask, added diagonal and condition of sizes and bands") {
    for (const std::int64_t bandwidth : {1, 2}) {
        const Spec spec{.block = 2, .horizon = 7, .batch = 3, .sizes = bandwidth == 1, .bandwidth = bandwidth};
        ShapedProblem<double> problem(spec, 9);
        const std::vector<double> shift{1, 2, 3}, diagonal(3 * 14, 0.5);
        const std::vector<int> active{1, 0, 1};
        auto options = problem.options();
        options.shift = shift.data(), options.diagonal = diagonal.data(), options.active = active.data();
        for (const auto& variant : {"tile", "lanes"}) {
            Solver solver{Plan(spec, Device::cpu(), {.variant = variant})};
            solver.factor_solve<double>(problem.d, problem.e, problem.b, problem.x, options);
            CHECK(solver.status()[1].floors == -1);
            for (const std::int64_t m : {0, 2}) {
                const auto rows = problem.rows(m);
                Eigen::MatrixXd a = problem.matrix(m)(rows, rows);
                a.diagonal().array() += shift[static_cast<std::size_t>(m)] + 0.5;
                const Eigen::MatrixXd x = problem.solution(m)(rows, Eigen::all), b = problem.right(m)(rows, Eigen::all);
                CHECK((a * x - b).norm() <= 1e-13 * (1 + b.norm()));
            }
        }
        check_condition(ShapedProblem<double>(spec, 4), spec);
    }
}

TEST_CASE("odd sizes are refused, and what takes none says so") {
    const Spec spec{.block = 2, .horizon = 6, .batch = 5, .sizes = true};
    ShapedProblem<double> problem(spec, 5);
    Solver solver{Plan(spec, Device::cpu())};
    for (const int odd : {-1, 3}) {
        problem.sizes[2 * 6 + 4] = odd;
        const auto why = fmt::format("sizes[2][4] is {}; give 0 to 2", odd);
        CHECK_REFUSED(why.c_str(), solver.factor<double>(problem.d, problem.e, problem.options()));
    }
    Solver plain{Plan({.block = 2, .horizon = 6, .batch = 5}, Device::cpu())};
    CHECK_REFUSED("the call has sizes, and the Spec has none", plain.factor<double>(problem.d, problem.e, problem.options()));
    const auto refuse = [&](const char* why, Spec wrong, const Tuning& tuning = {}) {
        CHECK_REFUSED(why, Plan(wrong, Device::cpu(), tuning));
    };
    refuse("a ring with sizes", {.block = 2, .horizon = 6, .ring = true, .sizes = true});
    refuse("a ring of 10 blocks is solved by 3 at a time, and 1 are left at its seam; give bandwidth = 5, with zeros in E beyond 3",
           {.block = 2, .horizon = 10, .ring = true, .bandwidth = 3});
    refuse("a ring of 2 blocks is solved by 3 at a time, and 2 are left at its seam; give bandwidth = 2",
           {.block = 2, .horizon = 2, .ring = true, .bandwidth = 3});
    refuse("mixed precision has no sizes", {.block = 2, .horizon = 6, .precision = Precision::mixed, .sizes = true});
    refuse("bandwidth and lengths", {.block = 2, .horizon = 6, .lengths = true, .bandwidth = 2});
    refuse("bandwidth and sizes", {.block = 2, .horizon = 6, .sizes = true, .bandwidth = 2});
    refuse("variant 'intervals' takes no sizes", {.block = 2, .horizon = 6, .sizes = true}, {.variant = "intervals"});
    refuse("variant 'intervals' takes no bandwidth", {.block = 2, .horizon = 6, .bandwidth = 2}, {.variant = "intervals"});
    refuse("a band of 3 blocks of 2000", {.block = 2000, .horizon = 6, .bandwidth = 3});
    for (const Spec& shaped : {Spec{.block = 2, .horizon = 6, .lengths = true}, Spec{.block = 2, .horizon = 6, .sizes = true},
                               Spec{.block = 2, .horizon = 6, .bandwidth = 2}})
        CHECK_REFUSED("ranks have no lengths, sizes and bands yet", validate(RankSpec{.spec = shaped, .shards = {6}, .rank = 0}));
    refuse("bandwidth = 0", {.block = 2, .horizon = 6, .bandwidth = 0});
}

TEST_CASE("sizes and bands through C have the bits of C++") {
    for (const std::int64_t bandwidth : {1, 2}) {
        const Spec given{.block = 2, .horizon = 6, .batch = 5, .sizes = bandwidth == 1, .bandwidth = bandwidth};
        ShapedProblem<double> problem(given, 5);
        Solver solver{Plan(given, Device::cpu())};
        problem.factor_solve(solver);
        trifold_spec spec;
        trifold_spec_init(&spec, 2, 6);
        spec.batch = 5;
        spec.sizes = bandwidth == 1 ? 1 : 0;
        spec.bandwidth = bandwidth == 1 ? 0 : bandwidth;
        trifold_plan* plan = nullptr;
        trifold_solver* handle = nullptr;
        REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
        REQUIRE(trifold_solver_create(plan, nullptr, 0, &handle) == TRIFOLD_OK);
        trifold_options options;
        trifold_options_init(&options);
        if (bandwidth == 1) options.sizes = problem.sizes.data();
        std::vector<double> x(problem.x.size());
        CHECK(trifold_factor_solve_f64(handle, problem.d.data(), problem.e.data(), problem.b.data(), x.data(), nullptr, &options) ==
              TRIFOLD_OK);
        CHECK(x == problem.x);
        trifold_solver_destroy(handle);
        trifold_plan_destroy(plan);
    }
}

TEST_CASE("factors as values keep their sizes") {
    const Spec spec{.block = 3, .horizon = 6, .batch = 4, .sizes = true, .operations = all_operations()};
    ShapedProblem<double> problem(spec, 5);
    Solver first{Plan(spec, Device::cpu())};
    first.factor<double>(problem.d, problem.e, problem.options());
    const Plan wide = first.plan().widened(8);
    Solver second{wide};
    second.take_factor(first);
    std::vector<double> b(static_cast<std::size_t>(rhs_extent(wide.choice().spec, 4, 8)), 1), x(b.size()), one(problem.b.size(), 1),
        alone(one.size());
    second.solve<double>(b, x, {.columns = 8});
    first.solve<double>(one, alone);
    for (std::size_t k = 0; k < alone.size(); ++k) CHECK(std::abs(x[8 * k + 3] - alone[k]) <= 1e-14);
}
