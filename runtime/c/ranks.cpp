#include <fmt/format.h>
#include <trifold/trifold.h>

#include <functional>
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

/// The caller's functions.
class CallersTransport final : public Transport {
  public:
    explicit CallersTransport(const trifold_transport& functions) : functions_(functions) {
        const auto rank = functions_.rank, ranks = functions_.ranks;
        if (functions_.send == nullptr || functions_.receive == nullptr)
            throw SpecError("the transport's send or receive is a null pointer");
        if (ranks < 1 || rank < 0 || rank >= ranks)
            throw SpecError(fmt::format("the transport has rank {} of {} ranks; ranks count from 0", rank, ranks));
    }
    int rank() const override { return functions_.rank; }
    int ranks() const override { return functions_.ranks; }
    void send(int to, const void* data, std::int64_t bytes, Stream stream) override {
        expect_sent(functions_.send(functions_.user, to, data, bytes, stream.handle), "send", to);
    }
    void receive(int from, void* data, std::int64_t bytes, Stream stream) override {
        expect_sent(functions_.receive(functions_.user, from, data, bytes, stream.handle), "receive", from);
    }

  private:
    void expect_sent(int result, const char* function, int peer) const {
        if (result != 0)
            throw RankError(
                fmt::format("rank {} cannot be reached: {} of rank {} has returned {}", peer, function, functions_.rank, result), peer);
    }
    trifold_transport functions_;
};

/// The caller's functions; on GPUs NCCL, where they carry what it needs to begin.
std::shared_ptr<Transport> transport_of(const trifold_transport& functions, const Device& device) {
    auto hosts = std::make_shared<CallersTransport>(functions);
    const bool is_alone = functions.ranks == 1;
    if (device.backend() == Backend::cpu || is_alone) return hosts;
    NcclOptions options{.communicator = functions.nccl_communicator};
    if (functions.nccl_library != nullptr) options.library = functions.nccl_library;
    if (functions.nccl_milliseconds != 0) options.time_limit = std::chrono::milliseconds(functions.nccl_milliseconds);
    return std::make_shared<NcclTransport>(std::move(hosts), device, options);
}

AnyArray any_array(const trifold_call& call, const void* data) {
    return {data, call.on_host != 0, call.precision == TRIFOLD_F32 ? Precision::f32 : Precision::f64};
}

RankOptions rank_options(const trifold_call& call) {
    RankOptions options;
    if (call.on_host == 0) options.stream = {call.stream};
    if (call.options == nullptr) return options;
    const auto& o = initialized(static_cast<const trifold_options*>(call.options), "trifold_options");
    if (o.diagonal != nullptr) options.diagonal = any_array(call, o.diagonal);
    if (o.shift != nullptr) options.shift = any_array(call, o.shift);
    options.active = o.active;
    options.pivot_floor = o.pivot_floor;
    options.accept_nearly_singular = o.accept_nearly_singular != 0;
    options.members = o.members;
    options.columns = o.columns;
    return options;
}

void run_rank(RankSolver& solver, const trifold_call& call) {
    const auto options = rank_options(call);
    const auto in = [&](int k) { return any_array(call, call.in[k]); };
    const auto out = [&](int k) { return any_array(call, call.out[k]); };
    switch (call.operation) {
        case TRIFOLD_FACTOR:
            return solver.factor(in(0), in(1), options);
        case TRIFOLD_FACTOR_FORWARD:
            return solver.factor_forward(in(0), in(1), in(2), out(0), options);
        case TRIFOLD_FACTOR_SOLVE:
            return solver.factor_solve(in(0), in(1), in(2), out(0), options);
        case TRIFOLD_FORWARD:
            return solver.forward(in(0), out(0), options);
        case TRIFOLD_BACKWARD:
            return solver.backward(in(0), out(0), options);
        case TRIFOLD_SOLVE:
            return solver.solve(in(0), out(0), options);
        case TRIFOLD_INVERSE:
            return solver.selected_inverse(out(0), out(1), options);
        default:
            refuse_operation(call, "TRIFOLD_FACTOR");
    }
}

const trifold_call& call_of_reals(const trifold_call* given_call) {
    const auto& call = initialized(given_call, "trifold_call");
    choice<int>(call.precision, TRIFOLD_F64, "precision");
    return call;
}

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
    return guarded([&] {
        given(plan, "where to put the plan") = nullptr;
        const auto& functions = initialized(&given(transport, "the transport"), "trifold_transport");
        const auto where = Device::parse(&given(device, "the device's name"));
        std::vector<std::int64_t> blocks;
        if (shards != nullptr) blocks.assign(shards, shards + functions.ranks);
        *plan = new trifold_ranks_plan{
            RankPlan(spec_of(given(spec, "the spec")), transport_of(functions, where), where, tuning_of(tuning), std::move(blocks))};
    });
}
void trifold_ranks_plan_destroy(trifold_ranks_plan* plan) { delete plan; }
std::int64_t trifold_ranks_plan_first_block(const trifold_ranks_plan* plan) {
    return plan == nullptr ? 0 : plan->plan.spec().first_block();
}
std::int64_t trifold_ranks_plan_blocks(const trifold_ranks_plan* plan) { return plan == nullptr ? 0 : plan->plan.spec().blocks(); }

trifold_code trifold_ranks_solver_create(const trifold_ranks_plan* plan, trifold_ranks_solver** solver) {
    return guarded([&] {
        given(solver, "where to put the solver") = nullptr;
        *solver = new trifold_ranks_solver{RankSolver(given(plan, "the plan").plan)};
    });
}
void trifold_ranks_solver_destroy(trifold_ranks_solver* solver) { delete solver; }

trifold_code trifold_ranks_run(trifold_ranks_solver* solver, const trifold_call* call) {
    return guarded([&] { run_rank(rank_solver(solver), call_of_reals(call)); });
}
trifold_code trifold_ranks_refine(trifold_ranks_solver* solver, const trifold_call* call, trifold_refinement* refinements,
                                  std::int64_t capacity, std::int64_t* count) {
    return guarded([&] {
        const auto& c = call_of_reals(call);
        const auto in = [&](int k) { return any_array(c, c.in[k]); };
        copy_out(rank_solver(solver).refine(in(0), in(1), in(2), any_array(c, c.out[0]), rank_options(c)), refinements, capacity, count,
                 refinement_of);
    });
}
trifold_code trifold_ranks_check(trifold_ranks_solver* solver) {
    return guarded([&] { rank_solver(solver).check(); });
}
trifold_code trifold_ranks_outcomes(trifold_ranks_solver* solver, trifold_outcome* outcomes, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { copy_out(rank_solver(solver).status(), outcomes, capacity, count, outcome_of); });
}
trifold_code trifold_ranks_log_determinant(trifold_ranks_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { copy_out(rank_solver(solver).log_determinant(), values, capacity, count, std::identity{}); });
}
trifold_code trifold_ranks_quadratic(trifold_ranks_solver* solver, double* values, std::int64_t capacity, std::int64_t* count) {
    return guarded([&] { copy_out(rank_solver(solver).quadratic(), values, capacity, count, std::identity{}); });
}

}  // extern "C"
