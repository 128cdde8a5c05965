#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <trifold/trifold.hpp>

#include "runtime/c/calls.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_plan {
    Plan plan;
    std::string json;
};

struct trifold_solver {
    Solver solver;
};

namespace {

/// Bit k of trifold_spec::operations is Operation k.
Operations operations_of(std::uint64_t bits) {
    Operations result;
    for (const auto operation : all_operations()) {
        const auto bit = std::uint64_t{1} << static_cast<int>(operation);
        if ((bits & bit) != 0) result.insert(operation);
        bits &= ~bit;
    }
    if (bits != 0) throw SpecError(fmt::format("operations has the unknown bits {:#x}; give TRIFOLD_FACTOR and its like", bits));
    return result;
}

Spec spec_of(const trifold_spec& given_spec) {
    const auto& s = initialized(&given_spec, "trifold_spec");
    Spec spec;
    spec.block = s.block;
    spec.horizon = s.horizon;
    spec.precision = choice<Precision>(s.precision, TRIFOLD_MIXED, "precision");
    spec.rhs = s.rhs;
    spec.batch = s.batch;
    spec.order = choice<Order>(s.order, TRIFOLD_COLUMN_MAJOR, "order");
    spec.coupling = choice<Coupling>(s.coupling, TRIFOLD_UPPER, "coupling");
    spec.rhs_layout = choice<RhsLayout>(s.rhs_layout, TRIFOLD_STACKED, "rhs_layout");
    spec.d = {s.d_leading, s.d_stage, s.d_member};
    spec.e = {s.e_leading, s.e_stage, s.e_member};
    spec.operations = operations_of(s.operations);
    return spec;
}

Tuning tuning_of(const trifold_tuning* given_tuning) {
    Tuning tuning;
    if (given_tuning == nullptr) return tuning;
    const auto& t = initialized(given_tuning, "trifold_tuning");
    if (t.schedule != nullptr) tuning.schedule = t.schedule;
    if (t.variant != nullptr) tuning.variant = t.variant;
    tuning.workers = t.workers;
    tuning.spin_microseconds = t.spin_microseconds;
    return tuning;
}

template <class Real>
FactorOptions<Real> factor_options(const trifold_options* given_options) {
    FactorOptions<Real> options;
    if (given_options == nullptr) return options;
    const auto& o = initialized(given_options, "trifold_options");
    return {static_cast<const Real*>(o.diagonal),
            static_cast<const Real*>(o.shift),
            o.active,
            o.pivot_floor,
            o.accept_nearly_singular != 0,
            o.members,
            o.columns};
}

SweepOptions sweep_options(const trifold_options* given_options) {
    if (given_options == nullptr) return {};
    const auto& o = initialized(given_options, "trifold_options");
    return {o.columns, o.active, o.members};
}

/// Host arrays of the sizes that the Spec gives them; a null pointer is left for the Solver to report.
template <class Real>
class HostArrays {
  public:
    HostArrays(trifold_solver* solver, const trifold_options* given_options)
        : spec_(given(solver, "the solver").solver.plan().choice().spec) {
        const auto options = sweep_options(given_options);
        members_ = options.members > 0 ? std::min(options.members, spec_.batch) : spec_.batch;
        columns_ = options.columns > 0 ? options.columns : spec_.rhs;
    }
    std::span<const Real> d(const Real* p) const { return span(p, diagonal_extent(spec_, members_)); }
    std::span<const Real> e(const Real* p) const { return span(p, coupling_extent(spec_, members_)); }
    template <class T>
    std::span<T> rhs(T* p) const {
        return span(p, rhs_extent(spec_, members_, columns_));
    }
    std::span<Real> blocks(Real* p, std::int64_t stages) const { return span(p, members_ * stages * spec_.block * spec_.block); }
    const Spec& spec() const { return spec_; }

  private:
    template <class T>
    static std::span<T> span(T* p, std::int64_t size) {
        if (p == nullptr && size > 0) throw SpecError(fmt::format("an array of {} elements is a null pointer", size));
        return {p, static_cast<std::size_t>(size)};
    }
    const Spec& spec_;
    std::int64_t members_ = 0, columns_ = 0;
};

template <class Real>
void reciprocal_condition(trifold_solver* solver, const Real* d, const Real* e, const trifold_options* options, double* values,
                          std::int64_t capacity, std::int64_t* count) {
    const HostArrays<Real> arrays(solver, options);
    copy_out(solver->solver.reciprocal_condition<Real>(arrays.d(d), arrays.e(e), factor_options<Real>(options)), values, capacity, count,
             std::identity{});
}

}  // namespace

extern "C" {

void trifold_spec_init(trifold_spec* spec, std::int64_t block, std::int64_t horizon) {
    if (spec == nullptr) return;
    *spec = {sizeof *spec, block, horizon, 1,     1,     TRIFOLD_F64, TRIFOLD_ROW_MAJOR, TRIFOLD_LOWER, TRIFOLD_STAGED,
             dense,        dense, dense,   dense, dense, dense,       TRIFOLD_USUAL};
}

void trifold_tuning_init(trifold_tuning* tuning) {
    if (tuning != nullptr) *tuning = {sizeof *tuning, nullptr, nullptr, 1, Tuning::standard_spin};
}

void trifold_options_init(trifold_options* options) {
    if (options != nullptr) *options = {sizeof *options, nullptr, nullptr, nullptr, 0, 0, 0};
}

trifold_code trifold_plan_create(const trifold_spec* spec, const char* device, const trifold_tuning* tuning, trifold_plan** plan) {
    return guarded([&] {
        given(plan, "where to put the plan") = nullptr;
        Plan made(spec_of(given(spec, "the spec")), Device::parse(&given(device, "the device's name")), tuning_of(tuning));
        auto json = to_json(made.program());
        *plan = new trifold_plan{std::move(made), std::move(json)};
    });
}
void trifold_plan_destroy(trifold_plan* plan) { delete plan; }
std::int64_t trifold_plan_workspace_bytes(const trifold_plan* plan) { return plan == nullptr ? 0 : Solver::workspace_bytes(plan->plan); }
const char* trifold_plan_json(const trifold_plan* plan) { return plan == nullptr ? "" : plan->json.c_str(); }
const char* trifold_plan_reason(const trifold_plan* plan) { return plan == nullptr ? "" : plan->plan.choice().reason.c_str(); }

trifold_code trifold_solver_create(const trifold_plan* plan, void* workspace, std::int64_t bytes, trifold_solver** solver) {
    return guarded([&] {
        given(solver, "where to put the solver") = nullptr;
        const auto& from = given(plan, "the plan").plan;
        *solver = new trifold_solver{workspace == nullptr ? Solver(from) : Solver(from, workspace, bytes)};
    });
}
void trifold_solver_destroy(trifold_solver* solver) { delete solver; }

trifold_code trifold_solver_set_executor(trifold_solver* solver, trifold_executor executor, void* user) {
    return guarded([&] { given(solver, "the solver").solver.set_executor(executor_of(executor, user)); });
}

#define TRIFOLD_DEFINE(real, suffix)                                                                                                      \
    trifold_code trifold_factor_##suffix(trifold_solver* s, const real* d, const real* e, void* stream, const trifold_options* o) {       \
        return guarded([&] { given(s, "the solver").solver.factor<real>(d, e, Stream{stream}, factor_options<real>(o)); });               \
    }                                                                                                                                     \
    trifold_code trifold_factor_forward_##suffix(trifold_solver* s, const real* d, const real* e, const real* b, real* y, void* stream,   \
                                                 const trifold_options* o) {                                                              \
        return guarded([&] { given(s, "the solver").solver.factor_forward<real>(d, e, b, y, Stream{stream}, factor_options<real>(o)); }); \
    }                                                                                                                                     \
    trifold_code trifold_factor_solve_##suffix(trifold_solver* s, const real* d, const real* e, const real* b, real* x, void* stream,     \
                                               const trifold_options* o) {                                                                \
        return guarded([&] { given(s, "the solver").solver.factor_solve<real>(d, e, b, x, Stream{stream}, factor_options<real>(o)); });   \
    }                                                                                                                                     \
    trifold_code trifold_forward_##suffix(trifold_solver* s, const real* b, real* y, void* stream, const trifold_options* o) {            \
        return guarded([&] { given(s, "the solver").solver.forward<real>(b, y, Stream{stream}, sweep_options(o)); });                     \
    }                                                                                                                                     \
    trifold_code trifold_backward_##suffix(trifold_solver* s, const real* y, real* x, void* stream, const trifold_options* o) {           \
        return guarded([&] { given(s, "the solver").solver.backward<real>(y, x, Stream{stream}, sweep_options(o)); });                    \
    }                                                                                                                                     \
    trifold_code trifold_solve_##suffix(trifold_solver* s, const real* b, real* x, void* stream, const trifold_options* o) {              \
        return guarded([&] { given(s, "the solver").solver.solve<real>(b, x, Stream{stream}, sweep_options(o)); });                       \
    }                                                                                                                                     \
    trifold_code trifold_selected_inverse_##suffix(trifold_solver* s, real* diagonal, real* coupling, void* stream,                       \
                                                   const trifold_options* o) {                                                            \
        return guarded(                                                                                                                   \
            [&] { given(s, "the solver").solver.selected_inverse<real>(diagonal, coupling, Stream{stream}, sweep_options(o)); });         \
    }                                                                                                                                     \
    trifold_code trifold_factor_host_##suffix(trifold_solver* s, const real* d, const real* e, const trifold_options* o) {                \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.factor<real>(a.d(d), a.e(e), factor_options<real>(o));                                                              \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_factor_forward_host_##suffix(trifold_solver* s, const real* d, const real* e, const real* b, real* y,            \
                                                      const trifold_options* o) {                                                         \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.factor_forward<real>(a.d(d), a.e(e), a.rhs(b), a.rhs(y), factor_options<real>(o));                                  \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_factor_solve_host_##suffix(trifold_solver* s, const real* d, const real* e, const real* b, real* x,              \
                                                    const trifold_options* o) {                                                           \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.factor_solve<real>(a.d(d), a.e(e), a.rhs(b), a.rhs(x), factor_options<real>(o));                                    \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_forward_host_##suffix(trifold_solver* s, const real* b, real* y, const trifold_options* o) {                     \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.forward<real>(a.rhs(b), a.rhs(y), sweep_options(o));                                                                \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_backward_host_##suffix(trifold_solver* s, const real* y, real* x, const trifold_options* o) {                    \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.backward<real>(a.rhs(y), a.rhs(x), sweep_options(o));                                                               \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_solve_host_##suffix(trifold_solver* s, const real* b, real* x, const trifold_options* o) {                       \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.solve<real>(a.rhs(b), a.rhs(x), sweep_options(o));                                                                  \
        });                                                                                                                               \
    }                                                                                                                                     \
    trifold_code trifold_selected_inverse_host_##suffix(trifold_solver* s, real* diagonal, real* coupling, const trifold_options* o) {    \
        return guarded([&] {                                                                                                              \
            const HostArrays<real> a(s, o);                                                                                               \
            s->solver.selected_inverse<real>(a.blocks(diagonal, a.spec().horizon), a.blocks(coupling, a.spec().horizon - 1),              \
                                             sweep_options(o));                                                                           \
        });                                                                                                                               \
    }
TRIFOLD_DEFINE(float, f32)
TRIFOLD_DEFINE(double, f64)
#undef TRIFOLD_DEFINE

trifold_code trifold_synchronize(trifold_solver* solver) {
    return guarded([&] { given(solver, "the solver").solver.synchronize(); });
}
trifold_code trifold_check(trifold_solver* solver) {
    return guarded([&] { given(solver, "the solver").solver.check(); });
}

trifold_code trifold_outcomes(trifold_solver* solver, trifold_outcome* outcomes, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] {
        copy_out(given(solver, "the solver").solver.status(), outcomes, capacity, count, [](const Outcome& outcome) {
            const int range = (outcome.solution ? 0 : TRIFOLD_RANGE_SOLUTION) | (outcome.inverse ? 0 : TRIFOLD_RANGE_INVERSE) |
                              (outcome.quadratic ? 0 : TRIFOLD_RANGE_QUADRATIC);
            return trifold_outcome{outcome.block, outcome.row, outcome.floors, range, outcome.least_pivot, outcome.nearly_singular ? 1 : 0};
        });
    });
}
trifold_code trifold_log_determinant(trifold_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { copy_out(given(solver, "the solver").solver.log_determinant(), values, capacity, count, std::identity{}); });
}
trifold_code trifold_quadratic(trifold_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { copy_out(given(solver, "the solver").solver.quadratic(), values, capacity, count, std::identity{}); });
}
trifold_code trifold_reciprocal_condition_host_f32(trifold_solver* s, const float* d, const float* e, const trifold_options* o,
                                                   double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { reciprocal_condition(s, d, e, o, values, capacity, count); });
}
trifold_code trifold_reciprocal_condition_host_f64(trifold_solver* s, const double* d, const double* e, const trifold_options* o,
                                                   double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { reciprocal_condition(s, d, e, o, values, capacity, count); });
}
trifold_code trifold_refinements(trifold_solver* solver, trifold_refinement* refinements, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] {
        copy_out(given(solver, "the solver").solver.refinement(), refinements, capacity, count, [](const Refinement& refined) {
            return trifold_refinement{refined.iterations, refined.converged ? 1 : 0, refined.backward_error};
        });
    });
}

}  // extern "C"
