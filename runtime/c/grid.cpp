#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <functional>
#include <span>
#include <trifold/trifold.hpp>

#include "runtime/c/calls.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_grid_plan {
    GridPlan plan;
};

struct trifold_grid_solver {
    GridSolver solver;
};

namespace {

/// Bit k is GridOperation k.
GridOperations grid_operations_of(std::uint64_t bits) {
    GridOperations result;
    for (const auto operation : all_grid_operations()) {
        const auto bit = std::uint64_t{1} << static_cast<int>(operation);
        if ((bits & bit) != 0) result.insert(operation);
        bits &= ~bit;
    }
    if (bits != 0) throw SpecError(fmt::format("operations has the unknown bits {:#x}; give TRIFOLD_GRID_FACTOR and its like", bits));
    return result;
}

GridSpec grid_spec_of(const trifold_grid_spec& given_spec) {
    const auto& s = initialized(&given_spec, "trifold_grid_spec");
    GridSpec spec{.width = s.width, .height = s.height};
    spec.precision = choice<Precision>(s.precision, TRIFOLD_F64, "precision");
    spec.matrix = choice<GridMatrix>(s.matrix, TRIFOLD_GRID_SYMMETRIC, "matrix");
    spec.pivoting = choice<GridPivoting>(s.pivoting, TRIFOLD_GRID_PARTIAL, "pivoting");
    spec.boundary = choice<GridBoundary>(s.boundary, TRIFOLD_GRID_FIXED, "boundary");
    spec.rhs = s.rhs;
    spec.batch = s.batch;
    spec.operations = grid_operations_of(s.operations);
    return spec;
}

GridTuning grid_tuning_of(const trifold_grid_tuning* given_tuning) {
    if (given_tuning == nullptr) return {};
    const auto& t = initialized(given_tuning, "trifold_grid_tuning");
    return {.workers = t.workers, .spin_microseconds = t.spin_microseconds, .leaf_cells = t.leaf_cells};
}

GridOptions grid_options_of(const trifold_call& call) {
    if (call.options == nullptr) return {};
    const auto& o = initialized(static_cast<const trifold_grid_options*>(call.options), "trifold_grid_options");
    return {.columns = o.columns, .members = o.members, .accept_nearly_singular = o.accept_nearly_singular != 0};
}

/// The arrays of a call, of the sizes that the GridSpec gives them.
template <class Real>
class Images {
  public:
    Images(const GridSpec& spec, const trifold_call& call) : call_(call) {
        const auto options = grid_options_of(call);
        const auto members = options.members > 0 ? std::min(options.members, spec.batch) : spec.batch;
        pixels_ = members * spec.width * spec.height;
        columns_ = options.columns > 0 && call.on_host != 0 ? options.columns : spec.rhs;
    }
    std::span<const Real> stencil() const { return array_of<const Real>(call_, call_.in[0], extent(9)); }
    std::span<const Real> rhs(int k) const { return array_of<const Real>(call_, call_.in[k], extent(columns_)); }
    std::span<Real> x() const { return array_of<Real>(call_, call_.out[0], extent(columns_)); }
    std::span<Real> by_stencil() const { return array_of<Real>(call_, call_.out[1], extent(9)); }

  private:
    std::int64_t extent(std::int64_t each) const { return checked_multiply(pixels_, each, "size of an array"); }
    const trifold_call& call_;
    std::int64_t pixels_ = 0, columns_ = 0;
};

template <class Real>
void run(GridSolver& solver, const trifold_call& call) {
    const Images<Real> a(solver.plan().spec(), call);
    const auto options = grid_options_of(call);
    switch (call.operation) {
        case TRIFOLD_GRID_FACTOR:
            return apply(call, options, [&](auto... of) { solver.factor<Real>(of...); }, a.stencil());
        case TRIFOLD_GRID_FACTOR_SOLVE:
            return apply(call, options, [&](auto... of) { solver.factor_solve<Real>(of...); }, a.stencil(), a.rhs(1), a.x());
        case TRIFOLD_GRID_SOLVE:
            return apply(call, options, [&](auto... of) { solver.solve<Real>(of...); }, a.rhs(0), a.x());
        case TRIFOLD_GRID_SOLVE_TRANSPOSED:
            return apply(call, options, [&](auto... of) { solver.solve_transposed<Real>(of...); }, a.rhs(0), a.x());
        case TRIFOLD_GRID_REFINE: {
            const auto refine = [&](auto stencil, auto b, auto x, auto... how) {
                solver.refine<Real>(stencil, b, x, call.transposed != 0, how...);
            };
            return apply(call, options, refine, a.stencil(), a.rhs(1), a.x());
        }
        case TRIFOLD_GRID_GRADIENT:
            return apply(call, options, [&](auto... of) { solver.gradients<Real>(of...); }, a.rhs(0), a.rhs(1), a.x(), a.by_stencil());
        default:
            refuse_operation(call, "TRIFOLD_GRID_FACTOR");
    }
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
    if (tuning != nullptr) *tuning = {sizeof *tuning, standard.workers, standard.spin_microseconds, standard.leaf_cells};
}
void trifold_grid_options_init(trifold_grid_options* options) {
    if (options != nullptr) *options = {sizeof *options, 0, 0, 0};
}

trifold_code trifold_grid_plan_create(const trifold_grid_spec* spec, const char* device, const trifold_grid_tuning* tuning,
                                      trifold_grid_plan** plan) {
    return guarded([&] {
        given(plan, "where to put the plan") = nullptr;
        const auto wanted = grid_spec_of(given(spec, "the spec"));
        *plan = new trifold_grid_plan{{wanted, Device::parse(&given(device, "the device's name")), grid_tuning_of(tuning)}};
    });
}
void trifold_grid_plan_destroy(trifold_grid_plan* plan) { delete plan; }
std::int64_t trifold_grid_plan_workspace_bytes(const trifold_grid_plan* plan) {
    return plan == nullptr ? 0 : GridSolver::workspace_bytes(plan->plan);
}

trifold_code trifold_grid_solver_create(const trifold_grid_plan* plan, trifold_grid_solver** solver) {
    return guarded([&] {
        given(solver, "where to put the solver") = nullptr;
        *solver = new trifold_grid_solver{GridSolver(given(plan, "the plan").plan)};
    });
}
void trifold_grid_solver_destroy(trifold_grid_solver* solver) { delete solver; }

trifold_code trifold_grid_solver_set_executor(trifold_grid_solver* solver, trifold_executor executor, void* user) {
    return guarded([&] { given(solver, "the solver").solver.set_executor(executor_of(executor, user)); });
}

trifold_code trifold_grid_run(trifold_grid_solver* solver, const trifold_call* call) {
    return guarded([&] {
        auto& to = given(solver, "the solver").solver;
        with_reals(call, [&]<class Real>(Real, const trifold_call& c) { run<Real>(to, c); });
    });
}

trifold_code trifold_grid_reciprocal_condition(trifold_grid_solver* solver, const trifold_call* call, double* values, std::int64_t capacity,
                                               std::int64_t* count) {
    return guarded([&] {
        auto& of = given(solver, "the solver").solver;
        with_reals(call, [&]<class Real>(Real, trifold_call c) {
            c.on_host = 1;
            copy_out(of.reciprocal_condition<Real>(Images<Real>(of.plan().spec(), c).stencil(), grid_options_of(c)), values, capacity,
                     count, std::identity{});
        });
    });
}

trifold_code trifold_grid_check(trifold_grid_solver* solver) {
    return guarded([&] { given(solver, "the solver").solver.check(); });
}
trifold_code trifold_grid_outcomes(trifold_grid_solver* solver, trifold_grid_outcome* outcomes, std::int64_t capacity,
                                   std::int64_t* count) {
    return guarded([&] { copy_out(given(solver, "the solver").solver.status(), outcomes, capacity, count, c_outcome); });
}
trifold_code trifold_grid_log_determinant(trifold_grid_solver* solver, trifold_grid_determinant* values, std::int64_t capacity,
                                          std::int64_t* count) {
    return guarded([&] {
        copy_out(given(solver, "the solver").solver.log_determinant(), values, capacity, count,
                 [](const GridDeterminant& one) { return trifold_grid_determinant{one.log, one.sign}; });
    });
}

}  // extern "C"
