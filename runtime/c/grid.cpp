#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
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
    return {.workers = t.workers, .spin_microseconds = t.spin_microseconds, .variant = t.variant == nullptr ? "auto" : t.variant};
}

GridOptions grid_options_of(const trifold_grid_options* given_options) {
    if (given_options == nullptr) return {};
    const auto& o = initialized(given_options, "trifold_grid_options");
    return {.columns = o.columns, .members = o.members, .accept_nearly_singular = o.accept_nearly_singular != 0};
}

/// Host arrays of the sizes that the GridSpec gives them; a null pointer is left for the GridSolver to report.
class HostImages {
  public:
    HostImages(trifold_grid_solver* handle, const trifold_grid_options* given_options)
        : solver(given(handle, "the solver").solver), options(grid_options_of(given_options)) {
        const auto& spec = solver.plan().spec();
        const auto members = options.members > 0 ? std::min(options.members, spec.batch) : spec.batch;
        pixels_ = members * spec.width * spec.height;
        columns_ = options.columns > 0 ? options.columns : spec.rhs;
    }
    template <class Real>
    std::span<Real> stencil(Real* p) const {
        return span(p, 9);
    }
    template <class Real>
    std::span<Real> rhs(Real* p) const {
        return span(p, columns_);
    }
    GridSolver& solver;
    const GridOptions options;

  private:
    template <class Real>
    std::span<Real> span(Real* p, std::int64_t each) const {
        const auto size = checked_multiply(pixels_, each, "size of an array");
        if (p == nullptr) throw SpecError(fmt::format("an array of {} elements is a null pointer", size));
        return {p, static_cast<std::size_t>(size)};
    }
    std::int64_t pixels_ = 0, columns_ = 0;
};

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

#define TRIFOLD_DEFINE(real, suffix)                                                                                                      \
    trifold_code trifold_grid_factor_##suffix(trifold_grid_solver* s, const real* stencil, void* stream, const trifold_grid_options* o) { \
        return guarded([&] { given(s, "the solver").solver.factor<real>(stencil, Stream{stream}, grid_options_of(o)); });                 \
    }                                                                                                                                     \
    trifold_code trifold_grid_factor_solve_##suffix(trifold_grid_solver* s, const real* stencil, const real* b, real* x, void* stream,    \
                                                    const trifold_grid_options* o) {                                                      \
        return guarded([&] { given(s, "the solver").solver.factor_solve<real>(stencil, b, x, Stream{stream}, grid_options_of(o)); });     \
    }                                                                                                                                     \
    trifold_code trifold_grid_solve_##suffix(trifold_grid_solver* s, const real* b, real* x, void* stream,                                \
                                             const trifold_grid_options* o) {                                                             \
        return guarded([&] { given(s, "the solver").solver.solve<real>(b, x, Stream{stream}, grid_options_of(o)); });                     \
    }                                                                                                                                     \
    trifold_code trifold_grid_solve_transposed_##suffix(trifold_grid_solver* s, const real* b, real* x, void* stream,                     \
                                                        const trifold_grid_options* o) {                                                  \
        return guarded([&] { given(s, "the solver").solver.solve_transposed<real>(b, x, Stream{stream}, grid_options_of(o)); });          \
    }                                                                                                                                     \
    trifold_code trifold_grid_refine_##suffix(trifold_grid_solver* s, const real* stencil, const real* b, real* x, int transposed,        \
                                              void* stream, const trifold_grid_options* o) {                                              \
        return guarded(                                                                                                                   \
            [&] { given(s, "the solver").solver.refine<real>(stencil, b, x, transposed != 0, Stream{stream}, grid_options_of(o)); });     \
    }                                                                                                                                     \
    trifold_code trifold_grid_gradients_##suffix(trifold_grid_solver* s, const real* x, const real* by_x, real* by_b, real* by_stencil,   \
                                                 void* stream, const trifold_grid_options* o) {                                           \
        return guarded(                                                                                                                   \
            [&] { given(s, "the solver").solver.gradients<real>(x, by_x, by_b, by_stencil, Stream{stream}, grid_options_of(o)); });       \
    }                                                                                                                                     \
    trifold_code trifold_grid_factor_host_##suffix(trifold_grid_solver* s, const real* stencil, const trifold_grid_options* o) {          \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.factor<real>(a.stencil(stencil), a.options);                                                                         \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_grid_factor_solve_host_##suffix(trifold_grid_solver* s, const real* stencil, const real* b, real* x,             \
                                                         const trifold_grid_options* o) {                                                 \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.factor_solve<real>(a.stencil(stencil), a.rhs(b), a.rhs(x), a.options);                                               \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_grid_solve_host_##suffix(trifold_grid_solver* s, const real* b, real* x, const trifold_grid_options* o) {        \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.solve<real>(a.rhs(b), a.rhs(x), a.options);                                                                          \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_grid_solve_transposed_host_##suffix(trifold_grid_solver* s, const real* b, real* x,                              \
                                                             const trifold_grid_options* o) {                                             \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.solve_transposed<real>(a.rhs(b), a.rhs(x), a.options);                                                               \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_grid_refine_host_##suffix(trifold_grid_solver* s, const real* stencil, const real* b, real* x, int transposed,   \
                                                   const trifold_grid_options* o) {                                                       \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.refine<real>(a.stencil(stencil), a.rhs(b), a.rhs(x), transposed != 0, a.options);                                    \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_grid_gradients_host_##suffix(trifold_grid_solver* s, const real* x, const real* by_x, real* by_b,                \
                                                      real* by_stencil, const trifold_grid_options* o) {                                  \
        return guarded([&] {                                                                                                              \
            const HostImages a(s, o);                                                                                                     \
            a.solver.gradients<real>(a.rhs(x), a.rhs(by_x), a.rhs(by_b), a.stencil(by_stencil), a.options);                               \
        });                                                                                                                               \
    }
#define TRIFOLD_DEFINE_CONDITION(real, suffix)                                                                                          \
    trifold_code trifold_grid_reciprocal_condition_##suffix(trifold_grid_solver* s, const real* stencil, const trifold_grid_options* o, \
                                                            double* values, int64_t capacity, int64_t* count) {                         \
        return guarded([&] {                                                                                                            \
            const HostImages a(s, o);                                                                                                   \
            copy_out(a.solver.reciprocal_condition<real>(a.stencil(stencil), a.options), values, capacity, count,                       \
                     [](double value) { return value; });                                                                               \
        });                                                                                                                             \
    }
TRIFOLD_DEFINE_CONDITION(float, f32)
TRIFOLD_DEFINE_CONDITION(double, f64)
#undef TRIFOLD_DEFINE_CONDITION
TRIFOLD_DEFINE(float, f32)
TRIFOLD_DEFINE(double, f64)
#undef TRIFOLD_DEFINE

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
