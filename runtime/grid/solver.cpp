#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trifold/error.hpp>
#include <trifold/grid.hpp>

#include "runtime/grid/solver_impl.hpp"
#include "runtime/session/factors.hpp"

namespace trifold {

GridSolver::GridSolver(const GridPlan& plan) : impl_(std::make_unique<Impl>(plan, nullptr, 0)) {}
GridSolver::GridSolver(const GridPlan& plan, void* workspace, std::int64_t bytes) {
    if (workspace == nullptr) throw SpecError(fmt::format("the workspace is a null pointer; it must hold {} bytes", workspace_bytes(plan)));
    impl_ = std::make_unique<Impl>(plan, workspace, bytes);
}
GridSolver::GridSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GridSolver::GridSolver(GridSolver&&) noexcept = default;
GridSolver& GridSolver::operator=(GridSolver&&) noexcept = default;
GridSolver::~GridSolver() = default;

GridSolver::Impl& GridSolver::impl() const {
    if (impl_ == nullptr) throw SpecError("this GridSolver has been moved from; use the one it was moved to, or assign another to it");
    return *impl_;
}
std::int64_t GridSolver::workspace_bytes(const GridPlan& plan) { return plan.program().workspace_bytes; }
const GridPlan& GridSolver::plan() const { return impl().plan; }
void GridSolver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
void GridSolver::synchronize() { impl().session.synchronize(); }
void GridSolver::run(GridOperation operation, std::span<const AnyArray> arrays, Stream stream, const GridOptions& options,
                     bool transposed) {
    impl().run(operation, arrays, stream, options, transposed);
}
const std::vector<GridOutcome>& GridSolver::status() { return impl().status(); }
const std::vector<GridDeterminant>& GridSolver::log_determinant() { return impl().log_determinant(); }

std::string key_of(const GridSpec& s, const Device& device, const GridTuning& tuning) {
    auto key = fmt::format("{} {} {} {} {} {} {} {} | {} {} | {} {} {} |", s.width, s.height, to_string(s.precision), to_string(s.matrix),
                           to_string(s.pivoting), to_string(s.boundary), s.rhs, s.batch, to_string(device.target()), device.ordinal(),
                           tuning.workers, tuning.spin_microseconds, tuning.variant);
    for (const auto operation : s.operations) key += fmt::format(" {}", to_string(operation));
    return key;
}

std::int64_t batch_of(const GridPlan& plan) { return plan.spec().batch; }

template class FactorsOf<GridPlan, GridSolver>;

}  // namespace trifold
