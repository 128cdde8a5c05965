#include <trifold/trifold.h>

#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"
#include "tests/support/guarded.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

std::vector<GridSpec> canary_specs() {
    GridSpec natural{.width = 7, .height = 5};
    natural.rhs = 2;
    natural.batch = 3;
    GridSpec fixed{.width = 23, .height = 17};
    fixed.boundary = GridBoundary::fixed;
    fixed.matrix = GridMatrix::symmetric;
    fixed.batch = 2;
    GridSpec least{.width = 2, .height = 2};
    least.rhs = 3;
    return {natural, fixed, least};
}

struct GridCounts {
    std::int64_t members, columns;
};
std::vector<GridCounts> grid_counts(const GridSpec& spec) {
    return {{1, 1}, {1, 2 * spec.rhs + 1}, {spec.batch, spec.rhs}, {spec.batch, 2 * spec.rhs + 1}, {1, spec.rhs}};
}

template <class Real>
std::vector<Real> as(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

/// Diagonally dominant images, and what the calls write, between guard zones.
template <class Real>
struct GuardedImages {
    GuardedImages(const GridSpec& spec, const GridCounts& count) : pixels(count.members * spec.width * spec.height) {
        std::vector<double> all;
        for (std::int64_t m = 0; m < count.members; ++m) {
            auto image = problem("dominant", spec.width, spec.height, static_cast<unsigned>(m));
            for (std::int64_t k = 0; k < image.pixels(); ++k) image.stencil[static_cast<std::size_t>(9 * k + 4)] += 1;
            all.insert(all.end(), image.stencil.begin(), image.stencil.end());
        }
        stencil = Guarded<Real>(as<Real>(all));
        b = Guarded<Real>(as<Real>(noise(pixels * count.columns, 1)));
        x = by_b = Guarded<Real>(b.size());
        by_stencil = Guarded<Real>(stencil.size());
    }
    bool intact() const { return stencil.intact() && b.intact() && x.intact() && by_b.intact() && by_stencil.intact(); }
    bool finite() {
        return std::ranges::all_of(x.values(), [](Real value) { return std::isfinite(value); });
    }
    std::int64_t pixels;
    Guarded<Real> stencil{0}, b{0}, x{0}, by_b{0}, by_stencil{0};
};

template <class Real>
void check_grid_pointers(Precision precision) {
    for (auto spec : canary_specs()) {
        CAPTURE(spec.width);
        spec.precision = precision;
        GridSolver solver{GridPlan(spec, Device::cpu())};
        for (const auto& count : grid_counts(spec)) {
            GuardedImages<Real> a(spec, count);
            const GridOptions options{count.columns, count.members};
            solver.factor(a.stencil.data(), {}, options);
            solver.factor_solve(a.stencil.data(), a.b.data(), a.x.data(), {}, options);
            solver.solve(a.b.data(), a.x.data(), {}, options);
            CHECK(a.finite());
            solver.refine(a.stencil.data(), a.b.data(), a.x.data(), false, {}, options);
            solver.gradients(a.x.data(), a.b.data(), a.by_b.data(), a.by_stencil.data(), {}, options);
            solver.solve_transposed(a.b.data(), a.x.data(), {}, options);
            solver.refine(a.stencil.data(), a.b.data(), a.x.data(), true, {}, options);
            CHECK(a.finite());
            CHECK(a.intact());
        }
    }
}

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

TEST_CASE("canaries: pointer calls on images write nothing beside their results") {
    check_grid_pointers<double>(Precision::f64);
    check_grid_pointers<float>(Precision::f32);
}

TEST_CASE("canaries: calls of the C interface on images write nothing beside their results") {
    for (const auto& spec : canary_specs()) {
        trifold_grid_spec given;
        trifold_grid_spec_init(&given, spec.width, spec.height);
        given.rhs = spec.rhs;
        given.batch = spec.batch;
        given.matrix = static_cast<trifold_grid_matrix>(spec.matrix);
        given.boundary = static_cast<trifold_grid_boundary>(spec.boundary);
        trifold_grid_plan* plan = nullptr;
        trifold_grid_solver* solver = nullptr;
        REQUIRE(trifold_grid_plan_create(&given, "cpu", nullptr, &plan) == TRIFOLD_OK);
        REQUIRE(trifold_grid_solver_create(plan, &solver) == TRIFOLD_OK);
        std::int64_t factored = 0;
        for (const auto& count : grid_counts(spec)) {
            factored = std::max(factored, count.members);
            GuardedImages<double> a(spec, count);
            trifold_grid_options options;
            trifold_grid_options_init(&options);
            options.members = count.members;
            options.columns = count.columns;
            auto *stencil = a.stencil.data(), *b = a.b.data(), *x = a.x.data();
            CHECK(trifold_grid_factor_f64(solver, stencil, nullptr, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_factor_solve_f64(solver, stencil, b, x, nullptr, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_factor_host_f64(solver, stencil, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_factor_solve_host_f64(solver, stencil, b, x, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_solve_host_f64(solver, b, x, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_solve_transposed_host_f64(solver, b, x, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_refine_host_f64(solver, stencil, b, x, 1, &options) == TRIFOLD_OK);
            CHECK(trifold_grid_gradients_host_f64(solver, x, b, a.by_b.data(), a.by_stencil.data(), &options) == TRIFOLD_OK);
            CHECK(a.finite());
            check_grid_copies<trifold_grid_outcome>(trifold_grid_outcomes, solver, factored);
            check_grid_copies<trifold_grid_determinant>(trifold_grid_log_determinant, solver, factored);
            CHECK(a.intact());
        }
        trifold_grid_solver_destroy(solver);
        trifold_grid_plan_destroy(plan);
    }
}
