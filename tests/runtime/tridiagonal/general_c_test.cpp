/// General matrices by the C interface.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/support/test.hpp"

using namespace trifold;

TEST_CASE("general matrices through C have the bits of C++") {
    std::mt19937 random(1);
    const auto draw = [&](std::size_t count) {
        std::vector<double> values(count);
        for (auto& value : values) value = std::uniform_real_distribution(-1.0, 1.0)(random);
        return values;
    };
    const auto d = draw(2 * 4 * 9), e = draw(2 * 3 * 9), u = draw(2 * 3 * 9), b = draw(2 * 4 * 3);
    const Spec given{.block = 3, .horizon = 4, .matrix = MatrixKind::general, .batch = 2};
    Solver solver(Plan(given, Device::cpu()));
    FactorOptions<double> with_u;
    with_u.u = u.data();
    std::vector<double> x(b.size()), turned(b.size()), found(b.size());
    solver.factor_solve(d, e, b, x, with_u);
    solver.check();
    solver.solve_transposed(b, turned);

    trifold_spec spec;
    trifold_spec_init(&spec, 3, 4);
    spec.batch = 2;
    spec.matrix = TRIFOLD_GENERAL;
    trifold_plan* plan = nullptr;
    trifold_solver* handle = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &handle) == TRIFOLD_OK);
    trifold_options options;
    trifold_options_init(&options);
    CHECK(trifold_factor_host_f64(handle, d.data(), e.data(), &options) == TRIFOLD_BAD_ARGUMENT);
    CHECK(says(trifold_last_error(), "U is a null pointer"));
    options.u = u.data();
    CHECK(trifold_factor_solve_f64(handle, d.data(), e.data(), b.data(), found.data(), nullptr, &options) == TRIFOLD_OK);
    CHECK(found == x);
    CHECK(trifold_solve_transposed_f64(handle, b.data(), found.data(), nullptr, nullptr) == TRIFOLD_OK);
    CHECK(found == turned);
    CHECK(trifold_solve_transposed_host_f64(handle, b.data(), found.data(), nullptr) == TRIFOLD_OK);
    CHECK(found == turned);
    std::array<std::int64_t, 2> negative{};
    std::array<double, 2> condition{};
    CHECK(trifold_negative_pivots(handle, negative.data(), 2, nullptr) == TRIFOLD_OK);
    CHECK(trifold_reciprocal_condition_host_f64(handle, d.data(), e.data(), &options, condition.data(), 2, nullptr) == TRIFOLD_OK);
    const auto expected = solver.status();
    for (std::size_t m = 0; m < 2; ++m) CHECK(negative[m] == expected[m].negative);
    const auto of_solver = solver.reciprocal_condition(d, e, with_u);
    CHECK(std::ranges::equal(condition, of_solver));
    trifold_solver_destroy(handle);
    trifold_plan_destroy(plan);

    spec.matrix = TRIFOLD_POSITIVE_DEFINITE;
    spec.operations |= TRIFOLD_SOLVE_TRANSPOSED;
    CHECK(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_BAD_ARGUMENT);
    CHECK(says(trifold_last_error(), "solve_transposed is for general matrices"));
}
