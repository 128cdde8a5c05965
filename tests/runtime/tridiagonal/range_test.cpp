// What becomes of results beyond the range of the precision, and of the processor's exceptions, in kernels that the runtime compiles.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// factor_solve with the member's matrix times 2^matrix and its right-hand side times 2^rhs.
template <class Real>
void scale(Problem<Real>& problem, std::int64_t member, int matrix, int rhs) {
    const auto part = [&](std::vector<Real>& values, int exponent) {
        const auto size = static_cast<std::int64_t>(values.size()) / problem.spec.batch;
        for (auto k = member * size; k < (member + 1) * size; ++k)
            values[static_cast<std::size_t>(k)] = std::ldexp(values[static_cast<std::size_t>(k)], exponent);
    };
    part(problem.input.d, matrix);
    part(problem.input.e, matrix);
    part(problem.input.b, rhs);
}

template <class Real>
void check_outcomes(Spec spec, const std::string& variant) {
    CAPTURE(variant);
    constexpr int far = sizeof(Real) == 8 ? 990 : 115;
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    spec.operations = all_operations();
    Problem<Real> problem(spec, 1, 3);
    const auto good = problem.input;
    scale(problem, 1, -far, far);  // X beyond the range
    scale(problem, 2, far, far);   // X as it was
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(spec, Device::cpu(), {.variant = variant}));
    solver.factor_solve<Real>(d, e, b, problem.x);
    CHECK_FALSE(solver.ok());
    CHECK((solver.status()[0].ok() && !solver.status()[1].solution && solver.status()[1].inverse && solver.status()[2].ok()));
    CHECK(solver.status()[1].block == -1);
    CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("member 1, X"), OutOfRange);
    solver.factor<Real>(d, e);
    CHECK(solver.ok());  // of what there is now
    solver.solve<Real>(good.b, problem.x);
    solver.check();
    CHECK(problem.systems.size() == 3);
    // A matrix whose inverse has no room; the pivots are as sound as ever.
    scale(problem, 0, sizeof(Real) == 8 ? -1022 : -127, 0);
    std::vector<Real> diagonal(d.size()), coupling(e.size());
    const bool tiny = [&] {
        solver.factor<Real>(d, e);
        return solver.status()[0].block < 0;
    }();
    if (tiny) {
        solver.selected_inverse<Real>(diagonal, coupling);
        const bool finite = std::ranges::all_of(diagonal, [](Real v) { return std::isfinite(v); });
        CHECK(solver.ok() == finite);
        if (!finite) CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("the selected inverse"), OutOfRange);
    }
}

}  // namespace

TEST_CASE("results beyond the range are told by member") {
    for (const std::string variant : {"tile", "lanes"}) {
        check_outcomes<double>({.block = 3, .horizon = 5, .batch = 3}, variant);
        check_outcomes<float>({.block = 5, .horizon = 4, .batch = 3}, variant);
    }
}

TEST_CASE("the C interface tells the range") {
    trifold_spec spec;
    trifold_spec_init(&spec, 1, 1);
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    const double tiny = 1e-200, large = 1e200;
    double x = 0, quadratic = 0;
    trifold_outcome outcome{};
    CHECK(trifold_factor_solve_host_f64(solver, &tiny, nullptr, &large, &x, nullptr) == TRIFOLD_OK);
    CHECK(trifold_check(solver) == TRIFOLD_OUT_OF_RANGE);
    CHECK(trifold_outcomes(solver, &outcome, 1, nullptr) == TRIFOLD_OK);
    CHECK(outcome.block == -1);
    CHECK(outcome.range == TRIFOLD_RANGE_SOLUTION + TRIFOLD_RANGE_QUADRATIC);
    const double one = 1;
    CHECK(trifold_factor_solve_host_f64(solver, &one, nullptr, &large, &x, nullptr) == TRIFOLD_OK);
    CHECK(trifold_check(solver) == TRIFOLD_OK);
    CHECK(x == large);
    CHECK(trifold_outcomes(solver, &outcome, 1, nullptr) == TRIFOLD_OK);
    CHECK(outcome.range == TRIFOLD_RANGE_QUADRATIC);  // 1e400
    CHECK(trifold_quadratic(solver, &quadratic, 1, nullptr) == TRIFOLD_OK);
    CHECK(std::isnan(quadratic));
    CHECK(trifold_solve_host_f64(solver, &tiny, &x, nullptr) == TRIFOLD_OK);
    CHECK(trifold_outcomes(solver, &outcome, 1, nullptr) == TRIFOLD_OK);
    CHECK(outcome.range == TRIFOLD_RANGE_QUADRATIC);  // 1e-400
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}

TEST_CASE("the C interface tells raised pivots, and an inverse beyond the range") {
    trifold_spec spec;
    trifold_spec_init(&spec, 1, 2);
    spec.operations |= TRIFOLD_INVERSE;
    trifold_options options;
    trifold_options_init(&options);
    options.pivot_floor = 0.25;
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    trifold_outcome outcome{};
    const std::array indefinite{1.0, -1.0}, tiny{1e-306, 1.001e-304};
    const double none = 0, coupling = 1e-305;
    CHECK(trifold_factor_host_f64(solver, indefinite.data(), &none, &options) == TRIFOLD_OK);
    CHECK(trifold_outcomes(solver, &outcome, 1, nullptr) == TRIFOLD_OK);
    CHECK(outcome.floors == 1);
    std::array<double, 2> diagonal{};
    double below = 0;
    CHECK(trifold_factor_host_f64(solver, tiny.data(), &coupling, nullptr) == TRIFOLD_OK);
    CHECK(trifold_selected_inverse_host_f64(solver, diagonal.data(), &below, nullptr) == TRIFOLD_OK);
    CHECK(trifold_outcomes(solver, &outcome, 1, nullptr) == TRIFOLD_OK);
    CHECK(outcome.range == TRIFOLD_RANGE_INVERSE);  // 1e309
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}

TEST_CASE("sound data raises no exceptions of floating-point arithmetic") {
    constexpr int raised = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
    const auto check = [](const Spec& spec, const std::string& schedule, const std::string& variant, auto real) {
        using Real = decltype(real);
        INFO(spec.block, " ", variant);
        Problem<Real> problem(spec, spec.rhs, 3);
        const auto& [d, e, b] = problem.input;
        Solver solver(Plan(spec, Device::cpu(), {.schedule = schedule, .variant = variant}));
        std::vector<Real> diagonal(d.size()), coupling(std::max<std::size_t>(e.size(), 1));
        // The first member at scale 1, at the top of the range and at its bottom; the others fill the vectors.
        constexpr int far = sizeof(Real) == 8 ? 990 : 115;
        const bool narrow = spec.precision == Precision::mixed;
        for (const int exponent : narrow ? std::vector<int>{} : std::vector<int>{far, -2 * far, far}) {
            scale(problem, 0, exponent, exponent);
            std::feclearexcept(FE_ALL_EXCEPT);
            solver.factor_solve(d.data(), e.data(), b.data(), problem.x.data());
            solver.solve(b.data(), problem.x.data());
            if (spec.operations.contains(Operation::inverse)) solver.selected_inverse(diagonal.data(), coupling.data());
            CHECK(std::fetestexcept(raised) == 0);
            CHECK(solver.ok());
        }
        for (std::int64_t members = 1; members <= spec.batch; ++members) {
            std::feclearexcept(FE_ALL_EXCEPT);
            solver.factor_solve(d.data(), e.data(), b.data(), problem.x.data(), {}, {.members = members});
            solver.solve(b.data(), problem.x.data(), {}, {.members = members});
            if (spec.operations.contains(Operation::inverse))
                solver.selected_inverse(diagonal.data(), coupling.data(), {}, {.members = members});
            CHECK(std::fetestexcept(raised) == 0);
            CHECK(solver.ok());
        }
    };
    const auto all = all_operations();
    check({.block = 5, .horizon = 7, .rhs = 2, .batch = 17, .operations = all}, "multi-stage", "lanes", double{});
    check({.block = 6, .horizon = 5, .precision = Precision::f32, .batch = 33, .operations = all}, "sequential", "lanes", float{});
    check({.block = 3, .horizon = 41, .rhs = 2, .batch = 2}, "auto", "intervals", double{});
    check({.block = 1, .horizon = 70, .precision = Precision::f32}, "auto", "intervals", float{});
    check({.block = 1, .horizon = 2, .precision = Precision::f32, .operations = all}, "twisted:2", "tile", float{});
    check({.block = 3, .horizon = 4, .precision = Precision::f32, .operations = all}, "partitioned:2", "tile", float{});
    check({.block = 7, .horizon = 7, .operations = all}, "multi-stage", "tile", double{});
    check({.block = 33, .horizon = 4, .precision = Precision::f32, .rhs = 2, .operations = all}, "twisted:2", "tile", float{});
    check({.block = 5, .horizon = 6, .precision = Precision::mixed, .batch = 9}, "multi-stage", "auto", double{});
    check({.block = 12, .horizon = 6, .precision = Precision::mixed}, "sequential", "tile", double{});
    // Mixed precision compares before it converts: what f32 cannot hold ends in a status, not in an exception.
    Problem<double> problem({.block = 4, .horizon = 3, .precision = Precision::mixed}, 1, 1);
    scale(problem, 0, 0, 1000);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor(d.data(), e.data());
    std::feclearexcept(FE_ALL_EXCEPT);
    solver.solve(b.data(), problem.x.data());
    CHECK(std::fetestexcept(FE_OVERFLOW) == 0);
    CHECK_THROWS_AS(solver.check(), NotConverged);
}
