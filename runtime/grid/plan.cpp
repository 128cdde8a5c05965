#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/grid/layout.hpp"
#include "runtime/grid/plan_state.hpp"

namespace trifold {
namespace {

constexpr FamilyWords words{"GridPlan", "GridSolver", "give a smaller image, batch or number of right-hand sides"};

}  // namespace

GridPlan::GridPlan(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    State state{spec, tuning, {}, nullptr};
    state.prepared = prepare(device, words, [&] {
        auto program = generate(spec, device.target(), tuning);
        auto described = fmt::format(R"("family":"grid","spec":{})", program.about);
        return Preparation{std::move(program), spec.batch, tuning.spin_microseconds, fmt::format("{}x{}", spec.width, spec.height),
                           std::move(described)};
    });
    state.levels = grid::levels_of(spec, grid::leaf_cells_of(tuning, device.target()));
    state_ = std::make_shared<const State>(std::move(state));
}

const GridPlan::State& GridPlan::state() const {
    if (state_ == nullptr) throw SpecError("this GridPlan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const GridSpec& GridPlan::spec() const { return state().spec; }
const GridTuning& GridPlan::tuning() const { return state().tuning; }
const Program& GridPlan::program() const { return state().prepared->program; }
const Device& GridPlan::device() const { return state().prepared->device; }
const PlanReport& GridPlan::report() const { return state().prepared->report; }

}  // namespace trifold
