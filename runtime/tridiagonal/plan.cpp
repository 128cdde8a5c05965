#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/plan.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/session/capture.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

constexpr FamilyWords words{"Plan", "Solver", "give a smaller horizon, batch or number of right-hand sides"};

/// The request and the choice, as a capture says them of a Solver.
std::string describe(const Choice& choice) {
    return fmt::format(R"("spec":{},"schedule":{},"variant":{})", to_json(choice.spec).dump(), captured_text(choice.schedule.name),
                       captured_text(choice.variant));
}

}  // namespace

Plan::Plan(const Spec& spec, const Device& device, const Tuning& tuning) {
    State state;
    state.prepared = prepare(device, words, [&] {
        state.choice = choose_by_wisdom(spec, device, tuning);
        const auto& choice = state.choice;
        auto summary = fmt::format("n={} N={} {} by {}", spec.block, spec.horizon, choice.schedule.name, to_string(choice.rung));
        const bool solves = choice.spec.operations.contains(Operation::factor_solve);
        const bool factors = choice.spec.operations.contains(Operation::factor);
        return Preparation{.program = generate(choice),
                           .members = choice.spec.batch,
                           .spin_microseconds = choice.tuning.spin_microseconds,
                           .summary = std::move(summary),
                           .described = describe(choice),
                           .first = solves    ? "factor_solve"
                                    : factors ? "factor"
                                              : ""};
    });
    state_ = std::make_shared<const State>(std::move(state));
}

Plan Plan::widened(std::int64_t columns) const {
    const auto [spec, tuning] = trifold::widened(choice(), columns);
    return spec.rhs == choice().spec.rhs ? *this : Plan(spec, device(), tuning);
}

const Plan::State& Plan::get() const { return held(state_, "Plan"); }
const std::shared_ptr<const Plan::State>& Plan::state() const {
    get();
    return state_;
}
const Choice& Plan::choice() const { return get().choice; }
const Program& Plan::program() const { return get().prepared->program; }
const Device& Plan::device() const { return get().prepared->device; }
const PlanReport& Plan::report() const { return get().prepared->report(); }

}  // namespace trifold
