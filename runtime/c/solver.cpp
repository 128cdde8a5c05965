#include <trifold/trifold.h>

#include <algorithm>
#include <functional>
#include <string>
#include <trifold/trifold.hpp>

#include "runtime/c/calls.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_plan {
    explicit trifold_plan(Plan made) : plan(std::move(made)), json(to_json(plan.program())) {}
    Plan plan;
    std::string json;
};

struct trifold_solver {
    Solver solver;
};

namespace {

template <class Real>
FactorOptions<Real> factor_options(const trifold_call& call) {
    if (call.options == nullptr) return {};
    const auto& o = initialized(static_cast<const trifold_options*>(call.options), "trifold_options");
    return {static_cast<const Real*>(o.diagonal),
            static_cast<const Real*>(o.shift),
            o.active,
            o.pivot_floor,
            o.accept_nearly_singular != 0,
            o.members,
            o.columns,
            static_cast<const Real*>(o.f),
            static_cast<const Real*>(o.c),
            nullptr,
            nullptr,
            o.lengths,
            o.sizes,
            static_cast<const Real*>(o.u)};
}

}  // namespace

Spec trifold::c::spec_of(const trifold_spec& given_spec) {
    const auto& s = initialized(&given_spec, "trifold_spec");
    Spec spec;
    spec.block = s.block;
    spec.horizon = s.horizon;
    spec.precision = choice<Precision>(s.precision, "precision");
    spec.rhs = s.rhs;
    spec.batch = s.batch;
    spec.order = choice<Order>(s.order, "order");
    spec.coupling = choice<Coupling>(s.coupling, "coupling");
    spec.rhs_layout = choice<RhsLayout>(s.rhs_layout, "rhs_layout");
    spec.d = {s.d_leading, s.d_stage, s.d_member};
    spec.e = {s.e_leading, s.e_stage, s.e_member};
    spec.border = s.border;
    spec.ring = s.ring != 0;
    spec.lengths = s.lengths != 0;
    spec.sizes = s.sizes != 0;
    if (s.bandwidth != 0) spec.bandwidth = s.bandwidth;
    spec.matrix = choice<MatrixKind>(s.matrix, "matrix");
    spec.operations = operations_of(s.operations, all_values<Operation>(), "TRIFOLD_FACTOR");
    return spec;
}

Tuning trifold::c::tuning_of(const trifold_tuning* given_tuning) {
    Tuning tuning;
    if (given_tuning == nullptr) return tuning;
    const auto& t = initialized(given_tuning, "trifold_tuning");
    if (t.schedule != nullptr) tuning.schedule = t.schedule;
    if (t.variant != nullptr) tuning.variant = t.variant;
    tuning.workers = t.workers;
    tuning.spin_microseconds = t.spin_microseconds;
    tuning.any_size = choice<int>(t.any_size, 1, "any_size") != 0;
    return tuning;
}

trifold_outcome trifold::c::outcome_of(const Outcome& outcome) {
    const int range = (outcome.solution ? 0 : TRIFOLD_RANGE_SOLUTION) | (outcome.inverse ? 0 : TRIFOLD_RANGE_INVERSE) |
                      (outcome.quadratic ? 0 : TRIFOLD_RANGE_QUADRATIC);
    return {outcome.block, outcome.row, outcome.floors, range, outcome.least_pivot, outcome.nearly_singular ? 1 : 0};
}

trifold_refinement trifold::c::refinement_of(const Refinement& refined) {
    return {refined.iterations, refined.converged ? 1 : 0, refined.backward_error};
}

extern "C" {

void trifold_spec_init(trifold_spec* spec, std::int64_t block, std::int64_t horizon) {
    if (spec == nullptr) return;
    *spec = {sizeof *spec,  block,          horizon, 1,     1,     TRIFOLD_F64, TRIFOLD_ROW_MAJOR,
             TRIFOLD_LOWER, TRIFOLD_STAGED, dense,   dense, dense, dense,       dense,
             dense,         TRIFOLD_USUAL,  0};
}

void trifold_tuning_init(trifold_tuning* tuning) {
    if (tuning != nullptr) *tuning = {sizeof *tuning, nullptr, nullptr, 1, Tuning::standard_spin, 0};
}

void trifold_options_init(trifold_options* options) {
    if (options != nullptr) *options = {sizeof *options, nullptr, nullptr, nullptr, 0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr};
}

trifold_code trifold_plan_create(const trifold_spec* spec, const char* device, const trifold_tuning* tuning, trifold_plan** plan) {
    return create(plan, "where to put the plan", [&] {
        return Plan(spec_of(given(spec, "the spec")), Device::parse(&given(device, "the device's name")), tuning_of(tuning));
    });
}
trifold_code trifold_plan_widened(const trifold_plan* plan, std::int64_t columns, trifold_plan** wide) {
    return create(wide, "where to put the plan", [&] { return given(plan, "the plan").plan.widened(columns); });
}
void trifold_plan_destroy(trifold_plan* plan) { delete plan; }
std::int64_t trifold_plan_workspace_bytes(const trifold_plan* plan) { return plan == nullptr ? 0 : Solver::workspace_bytes(plan->plan); }
const char* trifold_plan_json(const trifold_plan* plan) { return plan == nullptr ? "" : plan->json.c_str(); }
const char* trifold_plan_reason(const trifold_plan* plan) { return plan == nullptr ? "" : plan->plan.choice().reason.c_str(); }

trifold_code trifold_solver_create(const trifold_plan* plan, void* workspace, std::int64_t bytes, trifold_solver** solver) {
    return create(solver, "where to put the solver", [&] {
        const auto& from = given(plan, "the plan").plan;
        return workspace == nullptr ? Solver(from) : Solver(from, workspace, bytes);
    });
}
void trifold_solver_destroy(trifold_solver* solver) { delete solver; }
trifold_code trifold_solver_take_factor(trifold_solver* solver, trifold_solver* other) {
    return guarded([&] { given(solver, "the solver").solver.take_factor(given(other, "the other solver").solver); });
}

trifold_code trifold_solver_set_executor(trifold_solver* solver, trifold_executor executor, void* user) {
    return set_executor(solver, executor, user);
}

trifold_code trifold_run(trifold_solver* solver, const trifold_call* call) {
    return guarded([&] {
        auto& of = given(solver, "the solver").solver;
        auto known = call_of_reals(call);
        // The family's table has what every Plan has. These have the arrays of others.
        const auto as = [&](Operation operation, int like) {
            known.operation = static_cast<std::uint64_t>(like);
            run_listed(&known, tridiagonal_family, "TRIFOLD_FACTOR",
                       [&](int, auto arrays) { of.run(operation, arrays, options_of(known)); });
        };
        if (known.operation == TRIFOLD_SOLVE_TRANSPOSED) return as(Operation::solve_transposed, TRIFOLD_SOLVE);
        if (known.operation == TRIFOLD_LOAD) return as(Operation::load, TRIFOLD_FACTOR);
        run(of, call);
    });
}

trifold_code trifold_prepare(trifold_solver* solver) { return call_on(solver, &Solver::prepare); }
trifold_code trifold_synchronize(trifold_solver* solver) { return call_on(solver, &Solver::synchronize); }
trifold_code trifold_check(trifold_solver* solver) { return call_on(solver, &Solver::check); }

trifold_code trifold_outcomes(trifold_solver* solver, trifold_outcome* outcomes, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &Solver::status, outcomes, capacity, count, outcome_of);
}
trifold_code trifold_log_determinant(trifold_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &Solver::log_determinant, values, capacity, count);
}
trifold_code trifold_quadratic(trifold_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &Solver::quadratic, values, capacity, count);
}
trifold_code trifold_negative_pivots(trifold_solver* solver, std::int64_t* values, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &Solver::status, values, capacity, count, [](const Outcome& outcome) { return outcome.negative; });
}
trifold_code trifold_copy_status(trifold_solver* solver, trifold_status* to, std::int64_t members, void* stream) {
    static_assert(sizeof(trifold_status) == sizeof(MemberStatus) && sizeof(trifold_inertia) == sizeof(MemberInertia));
    return guarded([&] {
        given(solver, "the solver").solver.copy_status(reinterpret_cast<MemberStatus*>(&given(to, "where to copy to")), members, {stream});
    });
}
trifold_code trifold_copy_inertia(trifold_solver* solver, trifold_inertia* to, std::int64_t members, void* stream) {
    return guarded([&] {
        given(solver, "the solver")
            .solver.copy_inertia(reinterpret_cast<MemberInertia*>(&given(to, "where to copy to")), members, {stream});
    });
}
trifold_code trifold_reciprocal_condition(trifold_solver* solver, const trifold_call* call, double* values, std::int64_t capacity,
                                          std::int64_t* count) {
    return guarded([&] {
        auto& of = given(solver, "the solver").solver;
        with_reals(call, [&]<class Real>(Real, trifold_call c) {
            c.on_host = 1;
            const auto& spec = of.plan().choice().spec;
            const auto options = factor_options<Real>(c);
            const auto members = options.members > 0 ? std::min(options.members, spec.batch) : spec.batch;
            const auto d = array_of<const Real>(c, c.in[0], diagonal_extent(spec, members));
            const auto e = array_of<const Real>(c, c.in[1], coupling_extent(spec, members));
            copy_out(of.reciprocal_condition<Real>(d, e, options), values, capacity, count, std::identity{});
        });
    });
}
trifold_code trifold_refinements(trifold_solver* solver, trifold_refinement* refinements, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &Solver::refinement, refinements, capacity, count, refinement_of);
}

}  // extern "C"
