#include <trifold/trifold.h>

#include <trifold/rank_solver.hpp>

#include "runtime/c/calls.hpp"

using namespace trifold;
using namespace trifold::c;

struct trifold_ranks_plan {
    RankPlan plan;
};

struct trifold_ranks_solver {
    RankSolver solver;
};

namespace {

RankSolver& rank_solver(trifold_ranks_solver* solver) { return given(solver, "the solver").solver; }

}  // namespace

extern "C" {

void trifold_transport_init(trifold_transport* transport, int rank, int ranks) {
    if (transport == nullptr) return;
    *transport = {};
    transport->size = sizeof *transport;
    transport->rank = rank;
    transport->ranks = ranks;
}

trifold_code trifold_ranks_plan_create(const trifold_spec* spec, const trifold_transport* transport, const std::int64_t* shards,
                                       const char* device, const trifold_tuning* tuning, trifold_ranks_plan** plan) {
    return create(plan, "where to put the plan", [&] {
        const auto& functions = initialized(&given(transport, "the transport"), "trifold_transport");
        const auto where = Device::parse(&given(device, "the device's name"));
        std::vector<std::int64_t> blocks;
        if (shards != nullptr) blocks.assign(shards, shards + functions.ranks);
        return RankPlan(spec_of(given(spec, "the spec")), transport_of(functions, where), where, tuning_of(tuning), std::move(blocks));
    });
}
void trifold_ranks_plan_destroy(trifold_ranks_plan* plan) { delete plan; }
std::int64_t trifold_ranks_plan_first_block(const trifold_ranks_plan* plan) {
    return plan == nullptr ? 0 : plan->plan.spec().first_block();
}
std::int64_t trifold_ranks_plan_blocks(const trifold_ranks_plan* plan) { return plan == nullptr ? 0 : plan->plan.spec().blocks(); }

trifold_code trifold_ranks_solver_create(const trifold_ranks_plan* plan, trifold_ranks_solver** solver) {
    return create(solver, "where to put the solver", [&] { return RankSolver(given(plan, "the plan").plan); });
}
trifold_code trifold_ranks_prepare(trifold_ranks_solver* solver) { return call_on(solver, &RankSolver::prepare); }
void trifold_ranks_solver_destroy(trifold_ranks_solver* solver) { delete solver; }

trifold_code trifold_ranks_run(trifold_ranks_solver* solver, const trifold_call* call) {
    return guarded([&] { run(rank_solver(solver), call); });
}
trifold_code trifold_ranks_refine(trifold_ranks_solver* solver, const trifold_call* call, trifold_refinement* refinements,
                                  std::int64_t capacity, std::int64_t* count) {
    return guarded([&] {
        const auto& c = call_of_reals(call);
        const auto in = [&](int k) { return any_array(c, c.in[k]); };
        copy_out(rank_solver(solver).refine(in(0), in(1), in(2), any_array(c, c.out[0]), options_of(c)), refinements, capacity, count,
                 refinement_of);
    });
}
trifold_code trifold_ranks_check(trifold_ranks_solver* solver) { return call_on(solver, &RankSolver::check); }
trifold_code trifold_ranks_outcomes(trifold_ranks_solver* solver, trifold_outcome* outcomes, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &RankSolver::status, outcomes, capacity, count, outcome_of);
}
trifold_code trifold_ranks_log_determinant(trifold_ranks_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &RankSolver::log_determinant, values, capacity, count);
}
trifold_code trifold_ranks_quadratic(trifold_ranks_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return read(solver, &RankSolver::quadratic, values, capacity, count);
}

}  // extern "C"
