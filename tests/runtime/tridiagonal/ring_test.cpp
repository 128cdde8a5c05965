// Rings, whose last block is coupled to the first one, against a dense Cholesky factorization.
#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE_TEMPLATE("a ring agrees with a dense factorization", Real, double, float) {
    const std::int64_t horizons[]{1, 2, 3, 4, 5, 64, 65}, blocks[]{1, 3, 8, 17, 32, 33};
    std::size_t k = 0;
    for (const auto horizon : horizons)
        for (const auto n : blocks) {
            if (++k % 3 == (sizeof(Real) == 8 ? 0 : 1) || n * horizon > 700) continue;  // the oracle is dense
            check_shape<Real>({.block = n, .horizon = horizon, .rhs = k % 4 == 0 ? 3 : 1, .batch = k % 5 == 0 ? 9 : 1, .ring = true},
                              Device::cpu(), {.workers = k % 7 == 0 ? 3 : 1}, static_cast<unsigned>(k));
        }
}

TEST_CASE("a ring with every variant, schedule and layout") {
    for (const auto& variant : {"tile", "lanes"})
        for (const auto& schedule :
             {"sequential", "multi-stage", "single-stage", "partitioned:3", "recursive:2", "segments:7,2", "segments:3"})
            for (const std::int64_t horizon : {1, 2, 3, 8, 9, 23})
                check_shape<double>({.block = 5, .horizon = horizon, .rhs = horizon == 9 ? 70 : 2, .batch = 2, .ring = true}, Device::cpu(),
                                    {.schedule = schedule, .variant = variant, .any_size = true}, 7);
    check_shape<double>({.block = 3,
                         .horizon = 9,
                         .batch = 3,
                         .order = Order::column_major,
                         .coupling = Coupling::upper,
                         .rhs_layout = RhsLayout::stacked,
                         .ring = true},
                        Device::cpu(), {}, 3);
}

TEST_CASE("a ring with a border") {
    for (const std::int64_t horizon : {1, 2, 3, 12})
        check_shape<double>({.block = 4, .horizon = horizon, .ring = true, .border = 3}, Device::cpu(), {}, 5);
}

TEST_CASE("scales of a ring") {
    for (const int exponent : {-900, -400, 400, 900})
        check_shape<double>({.block = 4, .horizon = 9, .ring = true}, Device::cpu(), {}, 2, std::ldexp(1.0, exponent));
}

TEST_CASE("a ring's failures name their block, the last front's too") {
    const Spec spec{.block = 2, .horizon = 6, .batch = 3, .ring = true};
    ShapedProblem<double> problem(spec, 5);
    problem.diagonal(1, 0)(1, 1) = -3;
    problem.diagonal(2, 4)(0, 0) = -1;
    problem.store();
    for (const auto& variant : {"tile", "lanes"}) {
        Solver solver{Plan(spec, Device::cpu(), {.variant = variant})};
        problem.factor_solve(solver);
        const auto& status = solver.status();
        CHECK(status[0].ok());
        CHECK((status[1].block == 0 && status[1].row == 1));
        CHECK((status[2].block == 4 && status[2].row == 0));
        CHECK(std::isnan(problem.x[12]));
        CHECK(!std::isnan(problem.x[0]));
        CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
    }
}

TEST_CASE("shift, mask and condition of a ring") {
    const Spec spec{.block = 3, .horizon = 5, .batch = 3, .ring = true};
    check_condition(check_shift_and_mask(spec), spec);
    for (const std::int64_t horizon : {1, 2, 4})  // of few blocks two of E's are in one place
        for (const std::int64_t bandwidth : {1, 2}) {
            const Spec few{.block = 3, .horizon = horizon * bandwidth, .batch = 2, .ring = true, .bandwidth = bandwidth};
            check_condition(ShapedProblem<double>(few, 4), few);
        }
}

TEST_CASE("what takes no ring says so") {
    const Spec spec{.block = 2, .horizon = 6, .ring = true};
    CHECK_REFUSED("has chains at the ends, and a ring has none", Plan(spec, Device::cpu(), {.schedule = "twisted:2"}));
    CHECK_REFUSED("variant 'intervals' takes no ring", Plan(spec, Device::cpu(), {.variant = "intervals"}));
    CHECK_REFUSED("mixed precision has no rings",
                  Plan({.block = 2, .horizon = 3, .precision = Precision::mixed, .ring = true}, Device::cpu()));
    CHECK_REFUSED("ranks have no rings yet", validate(RankSpec{.spec = spec, .shards = {6}, .rank = 0}));
    ShapedProblem<double> problem(spec, 1);
    Solver solver{Plan(spec, Device::cpu())};
    problem.e.resize(5 * 4);  // as a chain has
    CHECK_REFUSED("E", problem.factor_solve(solver));
}
