#include <trifold/trifold.h>

#include "tests/runtime/grid/problems.hpp"
#include "tests/support/guarded.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class T>
void check_grid_copies(trifold_code (*copy)(trifold_grid_solver*, T*, std::int64_t, std::int64_t*), trifold_grid_solver* solver,
                       std::int64_t expected) {
    Guarded<T> values(expected);
    for (const auto capacity : {expected - 1, std::int64_t{-1}, std::int64_t{0}})
        CHECK(copy(solver, values.data(), capacity, nullptr) == TRIFOLD_BAD_ARGUMENT);
    std::int64_t count = -1;
    CHECK(copy(solver, values.data(), expected, &count) == TRIFOLD_OK);
    CHECK(count == expected);
    CHECK(values.intact());
}

}  // namespace

TEST_CASE("canaries: the C functions of images, of which each has its arrays, write nothing next to their results") {
    constexpr std::int64_t members = 3, pixels = members * 7 * 5, columns = 5;
    trifold_grid_spec spec;
    trifold_grid_spec_init(&spec, 7, 5);
    spec.rhs = 2;
    spec.batch = members;
    trifold_grid_plan* plan = nullptr;
    trifold_grid_solver* solver = nullptr;
    REQUIRE(trifold_grid_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_grid_solver_create(plan, &solver) == TRIFOLD_OK);
    std::vector<double> images;
    for (unsigned m = 0; m < members; ++m) {
        const auto image = problem("dominant", 7, 5, m);
        images.insert(images.end(), image.stencil.begin(), image.stencil.end());
    }
    Guarded<double> a(images), right(noise(pixels * columns, 1)), x(right.size()), by_b(right.size()), by_a(a.size());
    trifold_grid_options options;
    trifold_grid_options_init(&options);
    options.columns = columns;
    auto *stencil = a.data(), *b = right.data();
    CHECK(trifold_grid_factor_f64(solver, stencil, nullptr, &options) == TRIFOLD_OK);
    CHECK(trifold_grid_factor_solve_f64(solver, stencil, b, x.data(), nullptr, &options) == TRIFOLD_OK);
    CHECK(trifold_grid_factor_host_f64(solver, stencil, &options) == TRIFOLD_OK);
    CHECK(trifold_grid_factor_solve_host_f64(solver, stencil, b, x.data(), &options) == TRIFOLD_OK);
    CHECK(trifold_grid_solve_host_f64(solver, b, x.data(), &options) == TRIFOLD_OK);
    CHECK(trifold_grid_solve_transposed_host_f64(solver, b, x.data(), &options) == TRIFOLD_OK);
    CHECK(trifold_grid_refine_host_f64(solver, stencil, b, x.data(), 1, &options) == TRIFOLD_OK);
    CHECK(trifold_grid_gradients_host_f64(solver, x.data(), b, by_b.data(), by_a.data(), &options) == TRIFOLD_OK);
    check_grid_copies<trifold_grid_outcome>(trifold_grid_outcomes, solver, members);
    check_grid_copies<trifold_grid_determinant>(trifold_grid_log_determinant, solver, members);
    CHECK(std::ranges::all_of(x.values(), [](double value) { return std::isfinite(value); }));
    for (const auto* array : {&a, &right, &x, &by_b, &by_a}) CHECK(array->intact());
    trifold_grid_solver_destroy(solver);
    trifold_grid_plan_destroy(plan);
}
