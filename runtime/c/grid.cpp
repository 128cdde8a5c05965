#include <trifold/trifold.h>

#include <algorithm>
#include <functional>
#include <span>
#include <trifold/trifold.hpp>

#include "runtime/c/calls.hpp"
#include "runtime/grid/family.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_grid_plan {
    GridPlan plan;
};

struct trifold_grid_solver {
    GridSolver solver;
};

namespace {

GridSpec grid_spec_of(const trifold_grid_spec& given_spec) {
    const auto& s = initialized(&given_spec, "trifold_grid_spec");
    GridSpec spec{.width = s.width, .height = s.height};
    spec.precision = choice<Precision>(s.precision, "precision");
    spec.matrix = choice<GridMatrix>(s.matrix, "matrix");
    spec.pivoting = choice<GridPivoting>(s.pivoting, "pivoting");
    spec.boundary = choice<GridBoundary>(s.boundary, "boundary");
    spec.rhs = s.rhs;
    spec.batch = s.batch;
    spec.operations = operations_of(s.operations, all_grid_operations(), "TRIFOLD_GRID_FACTOR");
    return spec;
}

GridTuning grid_tuning_of(const trifold_grid_tuning* given_tuning) {
    if (given_tuning == nullptr) return {};
    const auto& t = initialized(given_tuning, "trifold_grid_tuning");
    return {.workers = t.workers, .spin_microseconds = t.spin_microseconds, .variant = t.variant == nullptr ? "auto" : t.variant};
}

GridOptions grid_options_of(const trifold_call& call) {
    if (call.options == nullptr) return {};
    const auto& o = initialized(static_cast<const trifold_grid_options*>(call.options), "trifold_grid_options");
    return {.columns = o.columns, .members = o.members, .accept_nearly_singular = o.accept_nearly_singular != 0};
}

void run_grid(GridSolver& solver, const trifold_call* call) {
    run_listed(call, grid_family, "TRIFOLD_GRID_FACTOR", [&](int operation, auto arrays) {
        solver.run(static_cast<GridOperation>(operation), arrays, {call->stream}, grid_options_of(*call), call->transposed != 0);
    });
}

/// The stencils of as many images as the call is for.
template <class Real>
std::span<const Real> stencils(const GridSpec& spec, const trifold_call& call) {
    const auto members = grid_options_of(call).members;
    const auto pixels = (members > 0 ? std::min(members, spec.batch) : spec.batch) * spec.width * spec.height;
    return array_of<const Real>(call, call.in[0], checked_multiply(pixels, 9, "size of the stencil"));
}

trifold_grid_outcome c_outcome(const GridOutcome& o) {
    return {static_cast<trifold_grid_problem>(o.problem),
            o.level,
            o.front.x0,
            o.front.x1,
            o.front.y0,
            o.front.y1,
            o.pixel_x,
            o.pixel_y,
            o.least_pivot,
            o.growth,
            o.solution ? 0 : TRIFOLD_RANGE_SOLUTION};
}

}  // namespace

extern "C" {

void trifold_grid_spec_init(trifold_grid_spec* spec, std::int64_t width, std::int64_t height) {
    if (spec == nullptr) return;
    *spec = {sizeof *spec,         width,           height, 1, 1, TRIFOLD_F64, TRIFOLD_GRID_GENERAL, TRIFOLD_GRID_PARTIAL,
             TRIFOLD_GRID_NATURAL, TRIFOLD_GRID_ALL};
}
void trifold_grid_tuning_init(trifold_grid_tuning* tuning) {
    const GridTuning standard;
    if (tuning != nullptr) *tuning = {sizeof *tuning, standard.workers, standard.spin_microseconds, nullptr};
}
void trifold_grid_options_init(trifold_grid_options* options) {
    if (options != nullptr) *options = {sizeof *options, 0, 0, 0};
}

trifold_code trifold_grid_plan_create(const trifold_grid_spec* spec, const char* device, const trifold_grid_tuning* tuning,
                                      trifold_grid_plan** plan) {
    return create(plan, "where to put the plan", [&] {
        return GridPlan(grid_spec_of(given(spec, "the spec")), Device::parse(&given(device, "the device's name")), grid_tuning_of(tuning));
    });
}
void trifold_grid_plan_destroy(trifold_grid_plan* plan) { delete plan; }
std::int64_t trifold_grid_plan_workspace_bytes(const trifold_grid_plan* plan) {
    return plan == nullptr ? 0 : GridSolver::workspace_bytes(plan->plan);
}

trifold_code trifold_grid_solver_create(const trifold_grid_plan* plan, trifold_grid_solver** solver) {
    return create(solver, "where to put the solver", [&] { return GridSolver(given(plan, "the plan").plan); });
}
trifold_code trifold_grid_solver_create_in(const trifold_grid_plan* plan, void* workspace, std::int64_t bytes,
                                           trifold_grid_solver** solver) {
    return create(solver, "where to put the solver", [&] { return GridSolver(given(plan, "the plan").plan, workspace, bytes); });
}
trifold_code trifold_grid_prepare(trifold_grid_solver* solver) { return call_on(solver, &GridSolver::prepare); }
trifold_code trifold_grid_synchronize(trifold_grid_solver* solver) { return call_on(solver, &GridSolver::synchronize); }
void trifold_grid_solver_destroy(trifold_grid_solver* solver) { delete solver; }

trifold_code trifold_grid_solver_set_executor(trifold_grid_solver* solver, trifold_executor executor, void* user) {
    return set_executor(solver, executor, user);
}

trifold_code trifold_grid_run(trifold_grid_solver* solver, const trifold_call* call) {
    return guarded([&] { run_grid(given(solver, "the solver").solver, call); });
}

trifold_code trifold_grid_reciprocal_condition(trifold_grid_solver* solver, const trifold_call* call, double* values, std::int64_t capacity,
                                               std::int64_t* count) {
    return guarded([&] {
        auto& of = given(solver, "the solver").solver;
        with_reals(call, [&]<class Real>(Real, trifold_call c) {
            c.on_host = 1;
            copy_out(of.reciprocal_condition(stencils<Real>(of.plan().spec(), c), grid_options_of(c)), values, capacity, count,
                     std::identity{});
        });
    });
}

trifold_code trifold_grid_check(trifold_grid_solver* solver) { return call_on(solver, &GridSolver::check); }
trifold_code trifold_grid_outcomes(trifold_grid_solver* solver, trifold_grid_outcome* outcomes, std::int64_t capacity,
                                   std::int64_t* count) {
    return read(solver, &GridSolver::status, outcomes, capacity, count, c_outcome);
}
trifold_code trifold_grid_log_determinant(trifold_grid_solver* solver, trifold_grid_determinant* values, std::int64_t capacity,
                                          std::int64_t* count) {
    return read(solver, &GridSolver::log_determinant, values, capacity, count,
                [](const GridDeterminant& one) { return trifold_grid_determinant{one.log, one.sign}; });
}

}  // extern "C"
