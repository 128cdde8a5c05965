#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"
#include "generator/grid/layout.hpp"
#include "generator/grid/wisdom.hpp"
#include "runtime/grid/solver_impl.hpp"
#include "runtime/session/capture.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {
namespace {

constexpr FamilyWords words{"GridPlan", "GridSolver", "give a smaller image, batch or number of right-hand sides"};

/// The request and the choice, for TRIFOLD_CAPTURE. `trifold tune` reads the spec.
std::string describe(const GridChoice& choice) {
    return fmt::format(R"("family":"grid","spec":{},"variant":{})", to_json(choice.spec).dump(), captured_text(choice.tuning.variant));
}

}  // namespace

GridPlan::GridPlan(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    State state{};
    auto& choice = state.choice;
    state.prepared = prepare(device, words, [&] {
        choice = choose_by_wisdom(spec, device, tuning);
        std::vector<std::string> asked;
        for (const auto operation : spec.operations) asked.emplace_back(to_string(operation));
        return Preparation{generate(choice),         spec.batch,
                           tuning.spin_microseconds, fmt::format("{}x{} by {}", spec.width, spec.height, to_string(choice.rung)),
                           describe(choice),         std::move(asked)};
    });
    state.levels = grid::levels_of(spec, grid::leaf_cells_of(choice.tuning, device.target()));
    state_ = std::make_shared<const State>(std::move(state));
}

const GridPlan::State& GridPlan::state() const {
    if (state_ == nullptr) throw SpecError("this GridPlan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const GridChoice& GridPlan::choice() const { return state().choice; }
const GridSpec& GridPlan::spec() const { return state().choice.spec; }
const GridTuning& GridPlan::tuning() const { return state().choice.tuning; }
const Program& GridPlan::program() const { return state().prepared->program; }
const Device& GridPlan::device() const { return state().prepared->device; }
const PlanReport& GridPlan::report() const { return state().prepared->report(); }

}  // namespace trifold
