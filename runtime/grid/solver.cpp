#include <array>
#include <trifold/error.hpp>
#include <type_traits>

#include "runtime/base/one_call.hpp"
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
    bool on_host() const { return size >= 0; }
    std::span<Real> values() const { return {data, static_cast<std::size_t>(size)}; }
    GridArray as(GridRole role, std::string_view name, std::int64_t each, GridUse use = GridUse::reads) const {
        return {role, name, use, const_cast<void*>(static_cast<const void*>(data)), each, size};
    }
};

/// The checks that all calls share; then `work` with where the device sees the arrays, the stream, and what the options mean. Arrays with a
/// size stand in the host's memory.
template <class Real, class Impl, class Arrays, class Work>
void call(Impl& impl, GridOperation operation, Stream stream, const GridOptions& options, Arrays arrays, Work work) {
    impl.check_precision(std::is_same_v<Real, float> ? Precision::f32 : Precision::f64);
    const auto resolved = impl.resolve(operation, options);
    const auto list = arrays(resolved.columns);
    impl.check(list, resolved);
    const bool on_host = list.front().size >= 0;
    if (on_host) impl.engine->synchronize();  // the last call may be on another stream
    std::array<void*, std::tuple_size_v<decltype(list)>> places{};
    for (std::size_t k = 0; k < list.size(); ++k) places[k] = impl.bring(list[k], resolved);
    work(places, on_host ? impl.engine->host_stream() : stream, resolved);
    for (std::size_t k = 0; k < list.size(); ++k) impl.take_back(list[k], places[k], resolved);
    if (on_host) impl.engine->synchronize();
}

template <class Real, class Impl>
void factor_grid(Impl& impl, Sized<const Real> stencil, Stream stream, const GridOptions& options) {
    const OneCall guard(impl.busy, "GridSolver");
    call<Real>(
        impl, GridOperation::factor, stream, options,
        [&](std::int64_t) { return std::array{stencil.as(GridRole::stencil, "the stencil", stencil_entries)}; },
        [&](const auto& at, Stream s, const GridOptions& o) { impl.factor(at[0], s, o); });
    if (stencil.on_host()) impl.template settle_doubts<Real>(stencil.values(), {}, options);
}

template <class Real, class Impl>
void factor_solve_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, Stream stream,
                       const GridOptions& options) {
    const OneCall guard(impl.busy, "GridSolver");
    call<Real>(
        impl, GridOperation::factor_solve, stream, options,
        [&](std::int64_t m) {
            return std::array{stencil.as(GridRole::stencil, "the stencil", stencil_entries), b.as(GridRole::b, "B", m),
                              x.as(GridRole::x, "X", m, GridUse::writes)};
        },
        [&](const auto& at, Stream s, const GridOptions& o) { impl.factor_solve(at[0], at[1], at[2], s, o); });
    if (x.on_host()) impl.template settle_doubts<Real>(stencil.values(), x.values(), options);
}

template <class Real, class Impl>
void solve_grid(Impl& impl, GridOperation operation, Sized<const Real> b, Sized<Real> x, Stream stream, const GridOptions& options) {
    const OneCall guard(impl.busy, "GridSolver");
    const auto* name = operation == GridOperation::solve ? "solve" : "solve_transposed";
    call<Real>(
        impl, operation, stream, options,
        [&](std::int64_t m) { return std::array{b.as(GridRole::b, "B", m), x.as(GridRole::x, "X", m, GridUse::writes)}; },
        [&](const auto& at, Stream s, const GridOptions& o) { impl.sweep(name, at[0], at[1], s, o); });
}

template <class Real, class Impl>
void refine_grid(Impl& impl, Sized<const Real> stencil, Sized<const Real> b, Sized<Real> x, bool transposed, Stream stream,
                 const GridOptions& options) {
    const OneCall guard(impl.busy, "GridSolver");
    call<Real>(
        impl, GridOperation::refine, stream, options,
        [&](std::int64_t m) {
            return std::array{stencil.as(GridRole::stencil, "the stencil", stencil_entries), b.as(GridRole::b, "B of a refinement", m),
                              x.as(GridRole::x, "X", m, GridUse::changes)};
        },
        [&](const auto& at, Stream s, const GridOptions& o) { impl.refine(at[0], at[1], at[2], transposed, s, o); });
}

template <class Real, class Impl>
void gradients_of_grid(Impl& impl, Sized<const Real> x, Sized<const Real> by_x, Sized<Real> by_b, Sized<Real> by_stencil, Stream stream,
                       const GridOptions& options) {
    const OneCall guard(impl.busy, "GridSolver");
    call<Real>(
        impl, GridOperation::gradient, stream, options,
        [&](std::int64_t m) {
            return std::array{x.as(GridRole::x, "X", m), by_x.as(GridRole::by_x, "dE/dX", m),
                              by_b.as(GridRole::by_b, "dE/dB", m, GridUse::writes),
                              by_stencil.as(GridRole::by_stencil, "dE/dA", stencil_entries, GridUse::writes)};
        },
        [&](const auto& at, Stream s, const GridOptions& o) {
            impl.sweep("solve_transposed", at[1], at[2], s, o);
            impl.gradient(at[0], at[2], at[3], s, o);
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
    auto& self = impl();
    const OneCall guard(self.busy, "GridSolver");
    self.engine->set_executor(std::move(executor));
}

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
