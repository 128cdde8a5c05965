#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <trifold/error.hpp>
#include <type_traits>

#include "runtime/grid/solver_impl.hpp"

namespace trifold {
namespace {

constexpr std::int64_t stencil_entries = 9;

/// An array with its size, where the caller gives that.
template <class Real>
struct Sized {
    Real* data;
    std::int64_t size = -1;
    Sized(Real* pointer) : data(pointer) {}
    Sized(std::span<Real> values) : data(values.data()), size(static_cast<std::int64_t>(values.size())) {}
    std::span<Real> values() const { return {data, static_cast<std::size_t>(size)}; }
    GridArray as(std::string_view name, std::int64_t each, Access access = Access::read, std::string_view may_equal = {}) const {
        return {name, data, each, size, access, may_equal};
    }
};

/// One call: the checks that all share, `work` with the arrays where the device sees them, and `after` it, if the arrays are in the host's
/// memory. `list` makes the arrays from the number of columns.
template <class Real, class Impl, class List, class Work>
void call(Impl& impl, GridOperation operation, Stream stream, const GridOptions& options, List list, Work work,
          const std::function<void(Session::Call&)>& after = {}) {
    Session::Call call(impl.session);
    impl.check_precision(std::is_same_v<Real, float> ? Precision::f32 : Precision::f64);
    const auto resolved = impl.resolve(operation, options);
    const auto given = list(resolved.columns);
    std::array<CallArray, std::tuple_size_v<decltype(given)>> arrays;
    std::ranges::transform(given, arrays.begin(), [&](const GridArray& array) { return impl.array_of(array, resolved); });
    const bool on_host = given.front().size >= 0;
    if (on_host)
        call.bind_host(arrays);
    else
        call.bind(arrays, stream);
    work(call, resolved);
    call.finish();
    if (on_host && after) after(call);
}

template <class Real, class Impl>
void factor_grid(Impl& impl, Sized<const Real> stencil, Stream stream, const GridOptions& options) {
    call<Real>(
        impl, GridOperation::factor, stream, options, [&](std::int64_t) { return std::array{stencil.as("the stencil", stencil_entries)}; },
        [&](Session::Call& c, const GridOptions& o) { impl.factor(c, c.at(0), o); },
        [&](Session::Call& c) { impl.template settle_doubts<Real>(c, stencil.values(), {}, options); });
}

template <class Real, class Impl>
void factor_solve_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, Stream stream,
                       const GridOptions& options) {
    call<Real>(
        impl, GridOperation::factor_solve, stream, options,
        [&](std::int64_t m) {
            return std::array{stencil.as("the stencil", stencil_entries), b.as("B", m), x.as("X", m, Access::write, "B")};
        },
        [&](Session::Call& c, const GridOptions& o) { impl.factor_solve(c, c.at(0), c.at(1), c.at(2), o); },
        [&](Session::Call& c) { impl.template settle_doubts<Real>(c, stencil.values(), x.values(), options); });
}

template <class Real, class Impl>
void solve_grid(Impl& impl, GridOperation operation, Sized<const Real> b, Sized<Real> x, Stream stream, const GridOptions& options) {
    call<Real>(
        impl, operation, stream, options, [&](std::int64_t m) { return std::array{b.as("B", m), x.as("X", m, Access::write, "B")}; },
        [&](Session::Call& c, const GridOptions& o) { impl.sweep(c, operation, c.at(0), c.at(1), o); });
}

template <class Real, class Impl>
void refine_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, bool transposed, Stream stream,
                 const GridOptions& options) {
    call<Real>(
        impl, GridOperation::refine, stream, options,
        [&](std::int64_t m) { return std::array{stencil.as("the stencil", stencil_entries), b.as("B", m), x.as("X", m, Access::update)}; },
        [&](Session::Call& c, const GridOptions& o) { impl.refine(c, c.at(0), c.at(1), c.at(2), transposed, o); });
}

template <class Real, class Impl>
void gradients_of_grid(Impl& impl, Sized<const Real> x, Sized<const Real> by_x, Sized<Real> by_b, Sized<Real> by_stencil, Stream stream,
                       const GridOptions& options) {
    call<Real>(
        impl, GridOperation::gradient, stream, options,
        [&](std::int64_t m) {
            return std::array{x.as("X", m), by_x.as("dE/dX", m), by_b.as("dE/dB", m, Access::write),
                              by_stencil.as("dE/dA", stencil_entries, Access::write)};
        },
        [&](Session::Call& c, const GridOptions& o) {
            impl.sweep(c, GridOperation::solve_transposed, c.at(1), c.at(2), o);
            impl.gradient(c, c.at(0), c.at(2), c.at(3), o);
        });
}

}  // namespace

GridSolver::GridSolver(const GridPlan& plan) : impl_(std::make_unique<Impl>(plan, nullptr, 0)) {}
GridSolver::GridSolver(const GridPlan& plan, void* workspace, std::int64_t bytes) {
    if (workspace == nullptr) throw SpecError(fmt::format("the workspace is a null pointer; it must hold {} bytes", workspace_bytes(plan)));
    impl_ = std::make_unique<Impl>(plan, workspace, bytes);
}
GridSolver::GridSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
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
void GridSolver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
void GridSolver::synchronize() { impl().session.synchronize(); }

template <class Real>
void GridSolver::factor(const Real* stencil, Stream stream, const GridOptions& options) {
    factor_grid<Real>(impl(), stencil, stream, options);
}
template <class Real>
void GridSolver::factor_solve(const Real* stencil, const Real* b, Real* x, Stream stream, const GridOptions& options) {
    factor_solve_grid<Real>(impl(), stencil, b, x, stream, options);
}
template <class Real>
void GridSolver::solve(const Real* b, Real* x, Stream stream, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve, b, x, stream, options);
}
template <class Real>
void GridSolver::solve_transposed(const Real* b, Real* x, Stream stream, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve_transposed, b, x, stream, options);
}
template <class Real>
void GridSolver::refine(const Real* stencil, const Real* b, Real* x, bool transposed, Stream stream, const GridOptions& options) {
    refine_grid<Real>(impl(), stencil, b, x, transposed, stream, options);
}
template <class Real>
void GridSolver::gradients(const Real* x, const Real* by_x, Real* by_b, Real* by_stencil, Stream stream, const GridOptions& options) {
    gradients_of_grid<Real>(impl(), x, by_x, by_b, by_stencil, stream, options);
}

template <class Real>
void GridSolver::factor(std::span<const Real> stencil, const GridOptions& options) {
    factor_grid<Real>(impl(), stencil, {}, options);
}
template <class Real>
void GridSolver::factor_solve(std::span<const Real> stencil, std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    factor_solve_grid<Real>(impl(), stencil, b, x, {}, options);
}
template <class Real>
void GridSolver::solve(std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve, b, x, {}, options);
}
template <class Real>
void GridSolver::solve_transposed(std::span<const Real> b, std::span<Real> x, const GridOptions& options) {
    solve_grid<Real>(impl(), GridOperation::solve_transposed, b, x, {}, options);
}
template <class Real>
void GridSolver::refine(std::span<const Real> stencil, std::span<const Real> b, std::span<Real> x, bool transposed,
                        const GridOptions& options) {
    refine_grid<Real>(impl(), stencil, b, x, transposed, {}, options);
}
template <class Real>
void GridSolver::gradients(std::span<const Real> x, std::span<const Real> by_x, std::span<Real> by_b, std::span<Real> by_stencil,
                           const GridOptions& options) {
    gradients_of_grid<Real>(impl(), x, by_x, by_b, by_stencil, {}, options);
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
