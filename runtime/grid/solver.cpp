#include <array>
#include <trifold/error.hpp>
#include <type_traits>

#include "runtime/grid/solver_impl.hpp"

namespace trifold {
namespace {

constexpr std::int64_t stencil_entries = 9;

/// Two threads in one solver would corrupt its workspace.
class OneGridCall {
  public:
    explicit OneGridCall(std::atomic_flag& busy) : busy_(busy) {
        if (busy_.test_and_set(std::memory_order_acquire))
            throw SpecError(
                "another thread is inside a call of this GridSolver; give each thread a GridSolver of its own (they may share the plan)");
    }
    ~OneGridCall() { busy_.clear(std::memory_order_release); }
    OneGridCall(const OneGridCall&) = delete;
    OneGridCall& operator=(const OneGridCall&) = delete;

  private:
    std::atomic_flag& busy_;
};

/// An array with its size, where the caller gives that.
template <class Real>
struct Sized {
    Real* data;
    std::int64_t size = -1;
    Sized(Real* pointer) : data(pointer) {}
    Sized(std::span<Real> values) : data(values.data()), size(static_cast<std::int64_t>(values.size())) {}
    GridArray as(std::string_view name, std::int64_t each) const { return {name, data, each, size, !std::is_const_v<Real>}; }
};

/// The checks that all calls share; then `work` with what the options mean.
template <class Real, class Impl, class Arrays, class Work>
void call(Impl& impl, GridOperation operation, const GridOptions& options, Arrays arrays, Work work) {
    const OneGridCall guard(impl.busy);
    impl.check_precision(std::is_same_v<Real, float> ? Precision::f32 : Precision::f64);
    const auto resolved = impl.resolve(operation, options);
    impl.check(arrays(resolved.columns), resolved);
    work(resolved);
}

template <class Real, class Impl>
void factor_grid(Impl& impl, Sized<const Real> stencil, const GridOptions& options) {
    call<Real>(
        impl, GridOperation::factor, options, [&](std::int64_t) { return std::array{stencil.as("the stencil", stencil_entries)}; },
        [&](const GridOptions& o) { impl.factor(stencil.data, o); });
}

template <class Real, class Impl>
void factor_solve_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, const GridOptions& options) {
    call<Real>(
        impl, GridOperation::factor_solve, options,
        [&](std::int64_t m) { return std::array{stencil.as("the stencil", stencil_entries), b.as("B", m), x.as("X", m)}; },
        [&](const GridOptions& o) { impl.factor_solve(stencil.data, b.data, x.data, o); });
}

template <class Real, class Impl>
void solve_grid(Impl& impl, GridOperation operation, Sized<const Real> b, Sized<Real> x, const GridOptions& options) {
    const auto* name = operation == GridOperation::solve ? "solve" : "solve_transposed";
    call<Real>(
        impl, operation, options, [&](std::int64_t m) { return std::array{b.as("B", m), x.as("X", m)}; },
        [&](const GridOptions& o) { impl.sweep(name, b.data, x.data, o); });
}

template <class Real, class Impl>
void refine_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, bool transposed, const GridOptions& options) {
    call<Real>(
        impl, GridOperation::refine, options,
        [&](std::int64_t m) { return std::array{stencil.as("the stencil", stencil_entries), b.as("B of a refinement", m), x.as("X", m)}; },
        [&](const GridOptions& o) { impl.refine(stencil.data, b.data, x.data, transposed, o); });
}

template <class Real, class Impl>
void gradients_of_grid(Impl& impl, Sized<const Real> x, Sized<const Real> by_x, Sized<Real> by_b, Sized<Real> by_stencil,
                       const GridOptions& options) {
    call<Real>(
        impl, GridOperation::gradient, options,
        [&](std::int64_t m) {
            return std::array{x.as("X", m), by_x.as("dE/dX", m), by_b.as("dE/dB", m), by_stencil.as("dE/dA", stencil_entries)};
        },
        [&](const GridOptions& o) {
            impl.sweep("solve_transposed", by_x.data, by_b.data, o);
            impl.gradient(x.data, by_b.data, by_stencil.data, o);
        });
}

}  // namespace

GridSolver::GridSolver(const GridPlan& plan) : impl_(std::make_unique<Impl>(plan)) {}
GridSolver::GridSolver(GridSolver&&) noexcept = default;
GridSolver& GridSolver::operator=(GridSolver&&) noexcept = default;
GridSolver::~GridSolver() = default;

std::int64_t GridSolver::workspace_bytes(const GridPlan& plan) { return plan.program().workspace_bytes; }
const GridPlan& GridSolver::plan() const { return impl().plan; }
const std::vector<GridOutcome>& GridSolver::status() { return impl().status(); }
const std::vector<GridDeterminant>& GridSolver::log_determinant() { return impl().log_determinant(); }
GridSolver::Impl& GridSolver::impl() const {
    if (impl_ == nullptr) throw SpecError("this GridSolver has been moved from; use the one it was moved to, or assign another to it");
    return *impl_;
}
void GridSolver::set_executor(Executor executor) {
    if (!executor) throw SpecError("the executor is empty; give a function that runs its tasks");
    impl().graph.set_executor(std::move(executor));
}

template <class Real>
void GridSolver::factor(const Real* stencil, Stream, const GridOptions& options) {
    factor_grid<Real>(impl(), stencil, options);
}
template <class Real>
void GridSolver::factor_solve(const Real* stencil, const Real* b, Real* x, Stream, const GridOptions& options) {
    factor_solve_grid<Real>(impl(), stencil, b, x, options);
}
template <class Real>
void GridSolver::solve(const Real* b, Real* x, Stream, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve, b, x, options);
}
template <class Real>
void GridSolver::solve_transposed(const Real* b, Real* x, Stream, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve_transposed, b, x, options);
}
template <class Real>
void GridSolver::refine(const Real* stencil, const Real* b, Real* x, bool transposed, Stream, const GridOptions& options) {
    refine_grid<Real>(impl(), stencil, b, x, transposed, options);
}
template <class Real>
void GridSolver::gradients(const Real* x, const Real* by_x, Real* by_b, Real* by_stencil, Stream, const GridOptions& options) {
    gradients_of_grid<Real>(impl(), x, by_x, by_b, by_stencil, options);
}

template <class Real>
void GridSolver::factor(std::span<const Real> stencil, const GridOptions& options) {
    factor_grid<Real>(impl(), stencil, options);
}
template <class Real>
void GridSolver::factor_solve(std::span<const Real> stencil, std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    factor_solve_grid<Real>(impl(), stencil, b, x, options);
}
template <class Real>
void GridSolver::solve(std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve, b, x, options);
}
template <class Real>
void GridSolver::solve_transposed(std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve_transposed, b, x, options);
}
template <class Real>
void GridSolver::refine(std::span<const Real> stencil, std::span<const Real> b, std::span<Real> x, bool transposed,
                        const GridOptions& options) {
    refine_grid<Real>(impl(), stencil, b, x, transposed, options);
}
template <class Real>
void GridSolver::gradients(std::span<const Real> x, std::span<const Real> by_x, std::span<Real> by_b, std::span<Real> by_stencil,
                           const GridOptions& options) {
    gradients_of_grid<Real>(impl(), x, by_x, by_b, by_stencil, options);
}

#define TRIFOLD_INSTANTIATE(Real)                                                                                              \
    template void GridSolver::factor(const Real*, Stream, const GridOptions&);                                                 \
    template void GridSolver::factor_solve(const Real*, const Real*, Real*, Stream, const GridOptions&);                       \
    template void GridSolver::solve(const Real*, Real*, Stream, const GridOptions&);                                           \
    template void GridSolver::solve_transposed(const Real*, Real*, Stream, const GridOptions&);                                \
    template void GridSolver::refine(const Real*, const Real*, Real*, bool, Stream, const GridOptions&);                       \
    template void GridSolver::gradients(const Real*, const Real*, Real*, Real*, Stream, const GridOptions&);                   \
    template void GridSolver::factor(std::span<const Real>, const GridOptions&);                                               \
    template void GridSolver::factor_solve(std::span<const Real>, std::span<const Real>, std::span<Real>, const GridOptions&); \
    template void GridSolver::solve(std::span<const Real>, std::span<Real>, const GridOptions&);                               \
    template void GridSolver::solve_transposed(std::span<const Real>, std::span<Real>, const GridOptions&);                    \
    template void GridSolver::refine(std::span<const Real>, std::span<const Real>, std::span<Real>, bool, const GridOptions&); \
    template void GridSolver::gradients(std::span<const Real>, std::span<const Real>, std::span<Real>, std::span<Real>, const GridOptions&);
TRIFOLD_INSTANTIATE(float)
TRIFOLD_INSTANTIATE(double)
#undef TRIFOLD_INSTANTIATE

}  // namespace trifold
