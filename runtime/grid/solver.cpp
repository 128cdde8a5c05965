#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trifold/error.hpp>
#include <trifold/grid.hpp>

#include "generator/grid/fields.hpp"
#include "generator/grid/layout.hpp"
#include "generator/grid/wisdom.hpp"
#include "runtime/grid/solver_impl.hpp"
#include "runtime/session/capture.hpp"
#include "runtime/session/factors.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {
namespace {

constexpr FamilyWords grid_words{"GridPlan", "GridSolver", "give a smaller image, batch or number of right-hand sides"};

/// The request and the choice, for TRIFOLD_CAPTURE. `trifold tune` reads the spec.
std::string describe(const GridChoice& choice) {
    return fmt::format(R"("family":"grid","spec":{},"variant":{})", to_json(choice.spec).dump(), captured_text(choice.tuning.variant));
}

}  // namespace

GridPlan::GridPlan(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    State state{};
    auto& choice = state.choice;
    state.prepared = prepare(device, grid_words, [&] {
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

const GridPlan::State& GridPlan::state() const { return held(state_, "GridPlan"); }
const GridChoice& GridPlan::choice() const { return state().choice; }
const GridSpec& GridPlan::spec() const { return state().choice.spec; }
const GridTuning& GridPlan::tuning() const { return state().choice.tuning; }
const Program& GridPlan::program() const { return state().prepared->program; }
const Device& GridPlan::device() const { return state().prepared->device; }
const PlanReport& GridPlan::report() const { return state().prepared->report(); }

GridSolver::GridSolver(const GridPlan& plan) : impl_(std::make_unique<Impl>(plan, nullptr, 0)) {}
GridSolver::GridSolver(const GridPlan& plan, void* workspace, std::int64_t bytes)
    : impl_(std::make_unique<Impl>(plan, given_workspace(workspace, plan.program()), bytes)) {}
GridSolver::GridSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GridSolver::GridSolver(GridSolver&&) noexcept = default;
GridSolver& GridSolver::operator=(GridSolver&&) noexcept = default;
GridSolver::~GridSolver() = default;

GridSolver::Impl& GridSolver::impl() const { return held(impl_, "GridSolver"); }
std::int64_t GridSolver::workspace_bytes(const GridPlan& plan) { return plan.program().workspace_bytes; }
const GridPlan& GridSolver::plan() const { return impl().plan; }
void GridSolver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
void GridSolver::prepare() { impl().session.prepare(); }
void GridSolver::synchronize() { impl().session.synchronize(); }
void GridSolver::run(GridOperation operation, std::span<const AnyArray> arrays, Stream stream, const GridOptions& options,
                     bool transposed) {
    impl().run(operation, arrays, stream, options, transposed);
}
const std::vector<GridOutcome>& GridSolver::status() { return impl().status(); }
const std::vector<GridDeterminant>& GridSolver::log_determinant() { return impl().log_determinant(); }

std::string key_of(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    return fmt::format("{} {} {} {} {} {}", to_json(spec).dump(), to_string(device.target()), device.ordinal(), tuning.workers,
                       tuning.spin_microseconds, tuning.variant);
}

std::int64_t batch_of(const GridPlan& plan) { return plan.spec().batch; }

template class FactorsOf<GridPlan, GridSolver>;

}  // namespace trifold
