// Members with lengths of their own, against a dense Cholesky factorization.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Chains of 6, 4, 0, 5 and 1 blocks of two rows.
struct FiveMembers {
    Spec spec{.block = 2, .horizon = 6, .batch = 5, .lengths = true};
    ShapedProblem<double> problem{spec, 5};
    FiveMembers() { use({6, 4, 0, 5, 1}); }
    void use(std::vector<int> lengths) {
        problem.lengths = std::move(lengths);
        problem.store();
    }
};

}  // namespace

TEST_CASE_TEMPLATE("members of unequal length agree with a dense factorization", Real, double, float) {
    const std::int64_t horizons[]{1, 2, 3, 7, 64}, blocks[]{1, 3, 8, 17, 33};
    unsigned k = 0;
    for (const auto horizon : horizons)
        for (const auto n : blocks) {
            if (++k % 3 == (sizeof(Real) == 8 ? 0 : 1) || n * horizon > 700) continue;  // the oracle is dense
            for (const std::int64_t batch : {1, 4, 9})
                check_shape<Real>({.block = n, .horizon = horizon, .rhs = k % 4 == 0 ? 3 : 1, .batch = batch, .lengths = true},
                                  Device::cpu(), {.workers = k % 7 == 0 ? 3 : 1}, k);
        }
}

TEST_CASE("lengths with every variant, schedule and layout") {
    for (const auto& variant : {"tile", "lanes"})
        for (const auto& schedule : {"sequential", "multi-stage", "twisted:2", "twisted:4", "flanked:2", "single-stage", "partitioned:3",
                                     "recursive:2", "segments:7,2", "segments:3"})
            for (const std::int64_t horizon : {1, 2, 3, 8, 9, 23})
                check_shape<double>({.block = 5, .horizon = horizon, .rhs = horizon == 9 ? 70 : 2, .batch = 5, .lengths = true},
                                    Device::cpu(), {.schedule = schedule, .variant = variant, .any_size = true},
                                    static_cast<unsigned>(horizon));
    check_shape<double>({.block = 3,
                         .horizon = 9,
                         .batch = 4,
                         .order = Order::column_major,
                         .coupling = Coupling::upper,
                         .rhs_layout = RhsLayout::stacked,
                         .lengths = true},
                        Device::cpu(), {}, 3);
}

TEST_CASE("lengths with a border") {
    for (const auto& variant : {"tile", "lanes"})
        for (const auto& schedule : {"sequential", "twisted:2", "multi-stage"})
            for (const std::int64_t border : {1, 6, 40})
                for (const std::int64_t rhs : {1, 5})
                    check_shape<double>({.block = 3, .horizon = 7, .rhs = rhs, .batch = 5, .border = border, .lengths = true},
                                        Device::cpu(), {.schedule = schedule, .variant = variant}, static_cast<unsigned>(border));
}

TEST_CASE("the condition of members of unequal length, of a border, and of both") {
    check_condition(FiveMembers().problem, FiveMembers().spec);
    for (const bool lengths : {false, true}) {
        const Spec spec{.block = 3, .horizon = 6, .batch = 4, .border = 5, .lengths = lengths};
        check_condition(ShapedProblem<double>(spec, 6), spec);
    }
}

TEST_CASE("scales of members of unequal length") {
    for (const int exponent : {-900, -400, 400, 900})
        check_shape<double>({.block = 4, .horizon = 9, .batch = 4, .lengths = true}, Device::cpu(), {}, 2, std::ldexp(1.0, exponent));
}

TEST_CASE("failures within a length count, those beyond it do not, and a mask keeps lengths") {
    FiveMembers five;
    auto& problem = five.problem;
    problem.diagonal(0, 5)(1, 1) = -3;
    problem.diagonal(1, 3)(0, 0) = -1;
    problem.diagonal(3, 5)(0, 0) = -1;
    problem.store();
    for (const auto& variant : {"tile", "lanes"})
        for (const auto& schedule : {"sequential", "twisted:2", "multi-stage"}) {
            Solver solver{Plan(five.spec, Device::cpu(), {.schedule = schedule, .variant = variant})};
            problem.factor_solve(solver);
            const auto& status = solver.status();
            CHECK((status[0].block == 5 && status[0].row == 1));
            CHECK((status[1].block == 3 && status[1].row == 0));
            CHECK((status[2].ok() && status[3].ok() && status[4].ok()));
            CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
            // Another call for two members leaves the others' factors, with their lengths, as they are.
            const auto before = problem.x;
            const std::vector<int> active{0, 1, 0, 0, 1}, again(5, 2);
            auto options = problem.options();
            options.active = active.data();
            options.lengths = again.data();
            solver.factor<double>(problem.d, problem.e, options);
            solver.solve<double>(problem.b, problem.x);
            CHECK(solver.status()[1].ok());
            CHECK(std::isnan(problem.x[0]));
            for (std::size_t k = 2 * 12; k < 4 * 12; ++k) CHECK(problem.x[k] == before[k]);
            for (std::size_t k = 12 + 4; k < 2 * 12; ++k) CHECK(problem.x[k] == 0);
        }
}

TEST_CASE("shift, mask and added diagonal of members of unequal length") {
    FiveMembers five;
    auto& problem = five.problem;
    const std::vector<double> shift{1, 2, 3, 4, 5}, diagonal(5 * 12, 0.5);
    auto options = problem.options();
    options.shift = shift.data();
    options.diagonal = diagonal.data();
    for (const auto& variant : {"tile", "lanes"}) {
        Solver solver{Plan(five.spec, Device::cpu(), {.variant = variant})};
        solver.factor_solve<double>(problem.d, problem.e, problem.b, problem.x, options);
        CHECK(solver.ok());
        for (std::int64_t m = 0; m < 5; ++m) {
            const auto rows = problem.rows(m);
            Eigen::MatrixXd a = problem.matrix(m)(rows, rows);
            a.diagonal().array() += shift[static_cast<std::size_t>(m)] + 0.5;
            const Eigen::MatrixXd x = problem.solution(m)(rows, Eigen::all), b = problem.right(m)(rows, Eigen::all);
            CHECK((a * x - b).norm() <= 1e-13 * (1 + b.norm()));
        }
    }
}

TEST_CASE("without lengths in the call, each member has all blocks") {
    const Spec plain{.block = 3, .horizon = 5, .batch = 2};
    auto spec = plain;
    spec.lengths = true;
    ShapedProblem<double> problem(plain, 4);
    std::vector<double> other(problem.x.size());
    for (const auto& variant : {"tile", "lanes"}) {
        Solver solver{Plan(plain, Device::cpu(), {.variant = variant})}, of_lengths{Plan(spec, Device::cpu(), {.variant = variant})};
        problem.factor_solve(solver);
        of_lengths.factor_solve<double>(problem.d, problem.e, problem.b, other);
        CHECK(problem.x == other);
    }
}

TEST_CASE("odd lengths are refused, and what takes none says so") {
    FiveMembers five;
    auto& problem = five.problem;
    Solver solver{Plan(five.spec, Device::cpu())};
    for (const int odd : {-1, 7}) {
        five.problem.lengths[2] = odd;
        const auto why = fmt::format("lengths[2] is {}; give 0 to 6", odd);
        CHECK_REFUSED(why.c_str(), problem.factor_solve(solver));
        CHECK_REFUSED(why.c_str(), solver.factor<double>(problem.d.data(), problem.e.data(), {}, problem.options()));
        auto options = problem.options();
        const std::vector<int> active{1, 1, 0, 1, 1};
        options.active = active.data();
        solver.factor<double>(problem.d, problem.e, options);
    }
    Solver plain{Plan({.block = 2, .horizon = 6, .batch = 5}, Device::cpu())};
    CHECK_REFUSED("the call has lengths, and the Spec has none", problem.factor_solve(plain));
    const auto refuse = [&](const char* why, Spec spec, const Tuning& tuning = {}) {
        spec.lengths = true;
        CHECK_REFUSED(why, Plan(spec, Device::cpu(), tuning));
    };
    refuse("a ring has no end", {.block = 2, .horizon = 6, .ring = true});
    refuse("mixed precision has no lengths", {.block = 2, .horizon = 6, .precision = Precision::mixed});
    refuse("variant 'intervals' takes no lengths", {.block = 2, .horizon = 6}, {.variant = "intervals"});
}

TEST_CASE("lengths through C have the bits of C++") {
    FiveMembers five;
    auto& problem = five.problem;
    Solver solver{Plan(five.spec, Device::cpu())};
    problem.factor_solve(solver);
    trifold_spec spec;
    trifold_spec_init(&spec, 2, 6);
    spec.batch = 5;
    spec.lengths = 1;
    trifold_plan* plan = nullptr;
    trifold_solver* handle = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &handle) == TRIFOLD_OK);
    trifold_options options;
    trifold_options_init(&options);
    options.lengths = problem.lengths.data();
    std::vector<double> x(problem.x.size());
    const auto factor_solve = [&] {
        return trifold_factor_solve_f64(handle, problem.d.data(), problem.e.data(), problem.b.data(), x.data(), nullptr, &options);
    };
    CHECK(factor_solve() == TRIFOLD_OK);
    CHECK(x == problem.x);
    problem.lengths[4] = 9;
    CHECK(factor_solve() == TRIFOLD_BAD_ARGUMENT);
    CHECK(says(trifold_last_error(), "lengths[4] is 9; give 0 to 6"));
    trifold_solver_destroy(handle);
    trifold_plan_destroy(plan);
}

TEST_CASE("factors as values keep their lengths") {
    FiveMembers five;
    auto& problem = five.problem;
    five.spec.operations = all_operations();
    Solver first{Plan(five.spec, Device::cpu())};
    first.factor<double>(problem.d, problem.e, problem.options());
    const Plan wide = first.plan().widened(8);
    Solver second{wide};
    second.take_factor(first);
    std::vector<double> b(static_cast<std::size_t>(rhs_extent(wide.choice().spec, 5, 8)), 1), x(b.size()), one(problem.b.size(), 1),
        alone(one.size());
    second.solve<double>(b, x, {.columns = 8});
    first.solve<double>(one, alone);
    for (std::size_t k = 0; k < alone.size(); ++k) CHECK(std::abs(x[8 * k + 3] - alone[k]) <= 1e-14);
}
