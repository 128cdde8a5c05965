#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <functional>
#include <span>
#include <trifold/trifold.hpp>

#include "runtime/c/calls.hpp"
#include "runtime/sparse/family.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_sparse_plan {
    SparsePlan plan;
};

struct trifold_sparse_solver {
    SparseSolver solver;
};

namespace {

SparseSpec sparse_spec_of(const trifold_sparse_spec& given_spec) {
    const auto& s = initialized(&given_spec, "trifold_sparse_spec");
    SparseSpec spec{.block = s.block};
    spec.precision = choice<Precision>(s.precision, "precision");
    spec.preconditioner = choice<SparsePreconditioner>(s.preconditioner, "preconditioner");
    spec.method = choice<SparseMethod>(s.method, "method");
    spec.restart = s.restart;
    spec.rhs = s.rhs;
    spec.batch = s.batch;
    spec.maxiter = s.maxiter;
    spec.operations = operations_of(s.operations, all_sparse_operations(), "TRIFOLD_SPARSE_SOLVE");
    return spec;
}

SparsePattern sparse_pattern_of(const trifold_sparse_pattern& p) {
    if (p.points != 0) return SparsePattern(SparseMesh{p.width, p.height, p.depth, p.points});
    if (p.rows < 1) throw SpecError(fmt::format("the pattern has {} rows; give at least one", p.rows));
    const auto rows = static_cast<std::size_t>(p.rows);
    const std::span starts(&given(p.starts, "the pattern's starts"), rows + 1);
    const auto entries = static_cast<std::size_t>(std::max<std::int64_t>(starts.back(), 0));
    return {starts, std::span(&given(p.columns, "the pattern's columns"), entries)};
}

SparsePartition sparse_partition_of(const trifold_sparse_pattern& p, std::int64_t rows) {
    SparsePartition partition{.by = choice<SparsePartitioning>(p.partitioning, "partitioning"),
                              .box = {p.box[0], p.box[1], p.box[2]},
                              .parts = {},
                              .rows = p.subdomain};
    if (partition.by == SparsePartitioning::given) {
        const auto* parts = &given(p.parts, "the pattern's parts");
        partition.parts.assign(parts, parts + rows);
    }
    return partition;
}

SparseTuning sparse_tuning_of(const trifold_sparse_tuning* given_tuning) {
    if (given_tuning == nullptr) return {};
    const auto& t = initialized(given_tuning, "trifold_sparse_tuning");
    return {.workers = t.workers, .spin_microseconds = t.spin_microseconds, .variant = t.variant == nullptr ? "auto" : t.variant};
}

SparseOptions sparse_options_of(const trifold_call& call) {
    if (call.options == nullptr) return {};
    const auto& o = initialized(static_cast<const trifold_sparse_options*>(call.options), "trifold_sparse_options");
    return {.columns = o.columns,
            .members = o.members,
            .rtol = o.rtol == TRIFOLD_SPARSE_USUAL_TOLERANCE ? std::optional<double>() : o.rtol,
            .atol = o.atol,
            .maxiter = o.maxiter,
            .renew = o.renew,
            .guess = o.guess != 0,
            .shift = o.shift};
}

void run_sparse(SparseSolver& solver, const trifold_call* call) {
    run_listed(call, sparse_family, "TRIFOLD_SPARSE_SOLVE", [&](int operation, auto arrays) {
        const auto options = sparse_options_of(*call);
        if (call->operation == TRIFOLD_SPARSE_UPDATE) return solver.update(arrays.front(), {call->stream}, options);
        solver.run(static_cast<SparseOperation>(operation), arrays, {call->stream}, options);
    });
}

/// The plan has ranks where a transport goes with it.
template <class... Functions>
SparsePlan plan_of(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern, const char* device,
                   const trifold_sparse_tuning* tuning, const Functions*... transport) {
    const auto wanted = sparse_spec_of(given(spec, "the spec"));
    const auto& p = initialized(pattern, "trifold_sparse_pattern");
    const auto blocks = sparse_pattern_of(p);
    const auto where = Device::parse(&given(device, "the device's name"));
    return {wanted,
            blocks,
            transport_of(initialized(&given(transport, "the transport"), "trifold_transport"), where)...,
            where,
            sparse_partition_of(p, blocks.rows()),
            sparse_tuning_of(tuning)};
}

trifold_sparse_values c_values(const SparseValues& v) {
    return {v.zero_pivots, v.zero_row, v.not_finite, v.bad_row, v.bad_column, v.unequal, v.unequal_row, v.unequal_column, v.largest};
}

trifold_sparse_outcome c_sparse_outcome(const SparseOutcome& o) {
    return {static_cast<trifold_sparse_end>(o.end), o.iterations, o.residual, o.norm_b};
}

}  // namespace

extern "C" {

void trifold_sparse_spec_init(trifold_sparse_spec* spec, std::int64_t block) {
    const SparseSpec standard;
    if (spec == nullptr) return;
    *spec = {sizeof *spec,     block,       standard.rhs,         standard.batch,          standard.restart,
             standard.maxiter, TRIFOLD_F64, TRIFOLD_SPARSE_ILDU0, TRIFOLD_SPARSE_BICGSTAB, TRIFOLD_SPARSE_ALL};
}
void trifold_sparse_pattern_init(trifold_sparse_pattern* pattern, std::int64_t rows, const std::int64_t* starts,
                                 const std::int32_t* columns) {
    if (pattern == nullptr) return;
    *pattern = {};
    pattern->size = sizeof *pattern;
    pattern->rows = rows;
    pattern->starts = starts;
    pattern->columns = columns;
}
void trifold_sparse_tuning_init(trifold_sparse_tuning* tuning) {
    const SparseTuning standard;
    if (tuning != nullptr) *tuning = {sizeof *tuning, standard.workers, standard.spin_microseconds, nullptr};
}
void trifold_sparse_options_init(trifold_sparse_options* options) {
    const SparseOptions o;
    if (options != nullptr) *options = {sizeof *options, 0, 0, TRIFOLD_SPARSE_USUAL_TOLERANCE, o.atol, 0, 0, 0, o.shift};
}

trifold_code trifold_sparse_plan_create(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern, const char* device,
                                        const trifold_sparse_tuning* tuning, trifold_sparse_plan** plan) {
    return create(plan, "where to put the plan", [&] { return plan_of(spec, pattern, device, tuning); });
}
trifold_code trifold_sparse_ranks_plan_create(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern,
                                              const trifold_transport* transport, const char* device, const trifold_sparse_tuning* tuning,
                                              trifold_sparse_plan** plan) {
    return create(plan, "where to put the plan", [&] { return plan_of(spec, pattern, device, tuning, transport); });
}
trifold_code trifold_sparse_plan_expect(const trifold_sparse_plan* plan, const trifold_sparse_pattern* now) {
    return guarded([&] { given(plan, "the plan").plan.expect(sparse_pattern_of(initialized(now, "trifold_sparse_pattern"))); });
}
void trifold_sparse_plan_destroy(trifold_sparse_plan* plan) { delete plan; }
std::int64_t trifold_sparse_plan_workspace_bytes(const trifold_sparse_plan* plan) {
    return plan == nullptr ? 0 : SparseSolver::workspace_bytes(plan->plan);
}

trifold_code trifold_sparse_solver_create(const trifold_sparse_plan* plan, trifold_sparse_solver** solver) {
    return create(solver, "where to put the solver", [&] { return SparseSolver(given(plan, "the plan").plan); });
}
trifold_code trifold_sparse_solver_create_in(const trifold_sparse_plan* plan, void* workspace, std::int64_t bytes,
                                             trifold_sparse_solver** solver) {
    return create(solver, "where to put the solver", [&] { return SparseSolver(given(plan, "the plan").plan, workspace, bytes); });
}
trifold_code trifold_sparse_prepare(trifold_sparse_solver* solver) { return call_on(solver, &SparseSolver::prepare); }
trifold_code trifold_sparse_synchronize(trifold_sparse_solver* solver) { return call_on(solver, &SparseSolver::synchronize); }
void trifold_sparse_solver_destroy(trifold_sparse_solver* solver) { delete solver; }

trifold_code trifold_sparse_solver_set_executor(trifold_sparse_solver* solver, trifold_executor executor, void* user) {
    return set_executor(solver, executor, user);
}

trifold_code trifold_sparse_run(trifold_sparse_solver* solver, const trifold_call* call) {
    return guarded([&] { run_sparse(given(solver, "the solver").solver, call); });
}

trifold_code trifold_sparse_check(trifold_sparse_solver* solver) { return call_on(solver, &SparseSolver::check); }
trifold_code trifold_sparse_status(trifold_sparse_solver* solver, trifold_sparse_values* values, std::int64_t capacity,
                                   std::int64_t* count) {
    return read(solver, &SparseSolver::values, values, capacity, count, c_values);
}
trifold_code trifold_sparse_outcomes(trifold_sparse_solver* solver, trifold_sparse_outcome* outcomes, std::int64_t capacity,
                                     std::int64_t* count) {
    return read(solver, &SparseSolver::outcomes, outcomes, capacity, count, c_sparse_outcome);
}
trifold_code trifold_sparse_history(trifold_sparse_solver* solver, std::int64_t member, std::int64_t column, double* residuals,
                                    std::int64_t capacity, std::int64_t* count) {
    return guarded(
        [&] { copy_out(given(solver, "the solver").solver.history(member, column), residuals, capacity, count, std::identity{}); });
}

}  // extern "C"
