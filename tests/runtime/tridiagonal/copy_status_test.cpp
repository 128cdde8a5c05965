// Statuses of members in memory of the device, which is that of the host here, in C++ and C.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("statuses that are copied are those that are read") {
    for (const auto matrix : {MatrixKind::positive_definite, MatrixKind::symmetric}) {
        const Spec spec{.block = 3, .horizon = 5, .matrix = matrix, .batch = 5};
        ShapedProblem<double> problem(spec, 2);
        problem.diagonal(1, 3) = Eigen::MatrixXd::Zero(3, 3);
        problem.matrix(1).block(6, 9, 3, 3).setZero(), problem.matrix(1).block(9, 6, 3, 3).setZero();
        problem.diagonal(2, 0)(0, 0) = 1e-20;
        problem.store();
        Solver solver{Plan(spec, Device::cpu(), {.schedule = "sequential"})};
        std::vector<MemberStatus> status(5, MemberStatus{7, 7, 7, 7, 7});
        std::vector<MemberInertia> inertia(5, MemberInertia{7, 7});
        CHECK_REFUSED("copy_status needs a factorization", solver.copy_status(status.data(), 1));
        const std::vector<int> active{1, 1, 1, 1, 0};
        solver.factor<double>(problem.d, problem.e, {.active = active.data(), .pivot_floor = has_signs(spec) ? 0 : 1e-9});
        solver.copy_status(status.data(), 5);
        const auto& read = solver.status();
        for (std::size_t k = 0; k < 4; ++k) {
            CHECK((status[k].block == read[k].block && status[k].row == read[k].row && status[k].floors == read[k].floors));
            CHECK((status[k].least_pivot == read[k].least_pivot && status[k].nearly_singular == (read[k].nearly_singular ? 1 : 0)));
        }
        CHECK((status[1].block == 3 && status[1].row == 0));
        if (has_signs(spec))
            CHECK((status[2].block == -1 && status[2].nearly_singular == 1 && status[2].floors == 0));
        else
            CHECK(status[2].floors > 0);
        CHECK((status[4].block == -1 && status[4].floors == -1));
        std::vector<MemberStatus> few(3, MemberStatus{7, 7, 7, 7, 7});
        solver.copy_status(few.data(), 2);
        CHECK((few[1].block == 3 && few[2].block == 7));
        CHECK_REFUSED("copy_status of 6 members, but 5 have been factored", solver.copy_status(status.data(), 6));
        if (!has_signs(spec)) {
            CHECK_REFUSED("copy_inertia is for symmetric and general matrices", solver.copy_inertia(inertia.data(), 5));
            continue;
        }
        solver.copy_inertia(inertia.data(), 4);
        for (const std::size_t k : {0, 2, 3}) CHECK((inertia[k].negative == read[k].negative && inertia[k].growth == read[k].growth));
        const auto rows = problem.rows(0);
        CHECK(inertia[0].negative == std::ranges::count_if(rows, [&](std::int64_t r) { return problem.is_negative(r); }));
        CHECK((inertia[4].negative == 7 && inertia[2].growth > 1e9));
    }
}

TEST_CASE("statuses are copied in C, and refinement is there") {
    trifold_spec spec;
    trifold_spec_init(&spec, 1, 2);
    spec.batch = 2, spec.matrix = TRIFOLD_SYMMETRIC, spec.operations |= TRIFOLD_REFINE;
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    const double d[]{1, -2, 0, 1}, e[]{0.5, 0.5}, b[]{1, 2, 1, 2};
    double x[]{0, 0, 0, 0};
    REQUIRE(trifold_factor_f64(solver, d, e, nullptr, nullptr) == TRIFOLD_OK);
    trifold_status status[2];
    trifold_inertia inertia[2];
    REQUIRE(trifold_copy_status(solver, status, 2, nullptr) == TRIFOLD_OK);
    REQUIRE(trifold_copy_inertia(solver, inertia, 2, nullptr) == TRIFOLD_OK);
    CHECK((status[0].block == -1 && status[1].block == 0 && inertia[0].negative == 1));
    CHECK(trifold_copy_status(solver, nullptr, 2, nullptr) == TRIFOLD_BAD_ARGUMENT);
    for (int step = 0; step < 2; ++step) REQUIRE(trifold_refine_f64(solver, d, e, b, x, nullptr, nullptr) == TRIFOLD_OK);
    CHECK(x[0] + x[1] / 2 == doctest::Approx(1).epsilon(1e-15));
    CHECK(x[0] / 2 - 2 * x[1] == doctest::Approx(2).epsilon(1e-15));
    trifold_refinement refinement[2];
    REQUIRE(trifold_refinements(solver, refinement, 2, nullptr) == TRIFOLD_OK);
    CHECK((refinement[0].iterations == 1 && refinement[0].converged == 1 && refinement[1].converged == 0));
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}
