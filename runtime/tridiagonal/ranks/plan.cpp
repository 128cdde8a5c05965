#include <fmt/format.h>
#include <trifold/version.h>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/base/log.hpp"
#include "runtime/session/agree.hpp"
#include "runtime/tridiagonal/ranks/solver.hpp"

namespace trifold {
namespace {

constexpr FamilyWords rank_words{"RankPlan", "RankSolver", "give more ranks, or a smaller batch or number of right-hand sides"};

/// Values that ranks must share, so that they send one another what the other expects.
std::string shared_values(const RankSpec& spec, const Choice& choice) {
    auto values = to_json(spec.spec);
    values["shards"] = spec.shards;
    values["schedule"] = choice.tuning.schedule;
    values["variant"] = choice.variant;
    values["workers"] = choice.tuning.workers;
    values["device"] = to_string(choice.target);
    values["version"] = fmt::format("{}.{}.{}", TRIFOLD_VERSION_MAJOR, TRIFOLD_VERSION_MINOR, TRIFOLD_VERSION_PATCH);
    return values.dump();
}

RankSpec spec_of(const Spec& spec, const Transport& transport, std::vector<std::int64_t> shards, const Target& target,
                 const Tuning& tuning) {
    validate(spec);
    if (shards.empty()) shards = fitting_shards(spec, transport.ranks(), target, tuning);
    if (static_cast<int>(shards.size()) != transport.ranks())
        throw SpecError(
            fmt::format("there are {} shards and {} ranks; give a number of blocks for each rank", shards.size(), transport.ranks()));
    return {spec, std::move(shards), transport.rank()};
}

}  // namespace

RankPlan::RankPlan(const Spec& spec, std::shared_ptr<Transport> transport, const Device& device, const Tuning& tuning,
                   std::vector<std::int64_t> shards) {
    transport = ranks::carrying(std::move(transport), device);
    State state;
    // The choice is one step and the code another: so ranks that differ know it before any of them compiles.
    ranks::together(*transport, [&] {
        state.spec = spec_of(spec, *transport, std::move(shards), device.target(), tuning);
        state.choice = choose(state.spec, device.target(), tuning);
        return shared_values(state.spec, state.choice);
    });
    if (transport->rank() == 0 && logs(LogLevel::warning))
        if (const auto why = slower_than_fewer(state.spec, state.choice); !why.empty()) log(LogLevel::warning, why);
    ranks::together(*transport, [&] {
        state.prepared = trifold::prepare(device, rank_words, [&] {
            const auto& choice = state.choice;
            const bool solves = choice.spec.operations.contains(Operation::factor_solve);
            return Preparation{
                .program = generate(state.spec, choice),
                .members = choice.spec.batch,
                .spin_microseconds = choice.tuning.spin_microseconds,
                .summary = fmt::format("n={} N={} on rank {} of {}", spec.block, spec.horizon, transport->rank(), transport->ranks()),
                .described = "",
                .transport = transport,
                .first = solves ? "factor_solve" : ""};
        });
        return std::string("{}");
    });
    state_ = std::make_shared<const State>(std::move(state));
}

const RankSpec& RankPlan::spec() const { return state_->spec; }
const Choice& RankPlan::choice() const { return state_->choice; }
const Program& RankPlan::program() const { return state_->prepared->program; }
const PlanReport& RankPlan::report() const { return state_->prepared->report(); }

}  // namespace trifold
