#include <fmt/format.h>
#include <trifold/tridiagonal_args.h>

#include <limits>
#include <trifold/solver.hpp>
#include <type_traits>

#include "runtime/tridiagonal/outcomes.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

using Sizes = std::array<std::int64_t, array_count>;

template <class Real>
constexpr Precision precision_of = std::is_same_v<Real, float> ? Precision::f32 : Precision::f64;

template <class Real>
Request request_of(Operation operation, const FactorOptions<Real>& options) {
    Request request{operation, options.members, options.columns, options.pivot_floor, options.accept_nearly_singular, {}};
    request[Array::diagonal] = options.diagonal;
    request[Array::shift] = options.shift;
    request[Array::active] = options.active;
    return request;
}

Request request_of(Operation operation, const SweepOptions& options) {
    Request request{operation, options.members, options.columns, 0, false, {}};
    request[Array::active] = options.active;
    return request;
}

struct Placed {
    Array array;
    const void* pointer;
    std::int64_t size = -1;
};

template <class Real>
Placed place(Array array, std::span<Real> values) {
    return {array, values.data(), static_cast<std::int64_t>(values.size())};
}

template <class Real, class Impl>
void run(Impl& impl, Request request, Stream stream, std::initializer_list<Placed> arrays) {
    impl.check_precision(precision_of<Real>);
    for (const auto& placed : arrays) request[placed.array] = placed.pointer;
    impl.run(request, stream);
}

template <class Real, class Impl>
void run_on_host(Impl& impl, Request request, std::initializer_list<Placed> arrays) {
    impl.check_precision(precision_of<Real>);
    Sizes sizes;
    sizes.fill(-1);
    for (const auto& placed : arrays) {
        request[placed.array] = placed.pointer;
        sizes[static_cast<std::size_t>(placed.array)] = placed.size;
    }
    impl.run_on_host(request, sizes);
}

constexpr std::size_t shown = 8;  // members that a message names

std::string describe(const std::vector<NotPositiveDefinite::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("{} of {} matrices are not positive definite{}, or singular:", failures.size(), members,
                            precision == Precision::mixed ? " in f32" : "");
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format("{} member {} at block {}, row {}", k == 0 ? "" : ";", failures[k].member, failures[k].block, failures[k].row);
    if (failures.size() > shown) text += fmt::format("; and {} more", failures.size() - shown);
    text +=
        " (counted from 0). Their X is NaN; the other members are solved. Add a shift or a pivot_floor, anchor what the matrix leaves "
        "free, or correct it; an indefinite one is for a sparse system's GMRES or BiCGSTAB, or for the solvers of images";
    return text + (precision == Precision::mixed ? "; or solve in precision f64, where they may be positive definite." : ".");
}

std::string describe(const std::vector<NearlySingular::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("{} of {} matrices are singular to the precision {}:", failures.size(), members, to_string(precision));
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format("{} member {}, least pivot {:.1e} of its diagonal entry", k == 0 ? "" : ";", failures[k].member,
                            failures[k].least_pivot);
    if (failures.size() > shown) text += fmt::format("; and {} more", failures.size() - shown);
    text += fmt::format(
        " (counted from 0), where {:.1e} is the least that rounding leaves sound. Their X is computed, but may have no right digit; the "
        "other "
        "members are solved. Anchor what the matrix leaves free (a prior, a shift or a pivot_floor)",
        nearly_singular_bound(precision));
    if (precision == Precision::f32) text += ", solve in precision f64";
    return text + ", or accept the result as it is by accept_nearly_singular.";
}

std::string describe(const std::vector<OutOfRange::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("results of {} of {} members have left the range of {}:", failures.size(), members, to_string(precision));
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k) {
        const auto& failure = failures[k];
        const auto* which = !failure.inverse ? "X" : failure.solution ? "X and the selected inverse" : "the selected inverse";
        text += fmt::format("{} member {}, {}", k == 0 ? "" : ";", failure.member, which);
    }
    if (failures.size() > shown) text += fmt::format("; and {} more", failures.size() - shown);
    text += " (counted from 0). They hold infinities or NaN; the other members are solved. Scale the matrix or B by a power of two";
    return text + (precision == Precision::f32 ? ", or solve in precision f64." : ", or look for infinities and NaN in B.");
}

std::string describe(const std::vector<NotConverged::Failure>& failures, std::size_t members) {
    auto text = fmt::format("{} of {} solutions did not converge:", failures.size(), members);
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format("{} member {}, backward error {:.1e} after {} iterations", k == 0 ? "" : ";", failures[k].member,
                            failures[k].backward_error, failures[k].iterations);
    if (failures.size() > shown) text += fmt::format("; and {} more", failures.size() - shown);
    return text +
           " (counted from 0). Their X is NaN; the other members are solved. They are too ill-conditioned for a factor in f32: solve "
           "them in precision f64.";
}

}  // namespace

double nearly_singular_bound(Precision precision) {
    if (precision == Precision::mixed) return 0;
    const double epsilon = precision == Precision::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    return static_cast<double>(trifold_nearly_singular) * epsilon;
}

Solver::Solver(const Plan& plan) : impl_(std::make_unique<Impl>(plan, nullptr, 0)) {}
Solver::Solver(const Plan& plan, void* workspace, std::int64_t bytes) {
    if (workspace == nullptr) throw SpecError(fmt::format("the workspace is a null pointer; it must hold {} bytes", workspace_bytes(plan)));
    impl_ = std::make_unique<Impl>(plan, workspace, bytes);
}
Solver::Solver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

std::int64_t Solver::workspace_bytes(const Plan& plan) { return plan.program().workspace_bytes; }
const Plan& Solver::plan() const { return impl().plan; }
void Solver::prepare() { impl().session.prepare(); }
void Solver::take_factor(Solver& other) { impl().take_factor(other.impl()); }
void Solver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
Solver::Impl& Solver::impl() const {
    if (impl_ == nullptr) throw SpecError("this Solver has been moved from; use the one it was moved to, or assign another to it");
    return *impl_;
}

template <class Real>
void Solver::factor(const Real* d, const Real* e, Stream stream, const FactorOptions<Real>& options) {
    run<Real>(impl(), request_of(Operation::factor, options), stream, {{Array::d, d}, {Array::e, e}});
}
template <class Real>
void Solver::factor_forward(const Real* d, const Real* e, const Real* b, Real* y, Stream stream, const FactorOptions<Real>& options) {
    run<Real>(impl(), request_of(Operation::factor_forward, options), stream, {{Array::d, d}, {Array::e, e}, {Array::b, b}, {Array::x, y}});
}
template <class Real>
void Solver::factor_solve(const Real* d, const Real* e, const Real* b, Real* x, Stream stream, const FactorOptions<Real>& options) {
    run<Real>(impl(), request_of(Operation::factor_solve, options), stream, {{Array::d, d}, {Array::e, e}, {Array::b, b}, {Array::x, x}});
}
template <class Real>
void Solver::forward(const Real* b, Real* y, Stream stream, const SweepOptions& options) {
    run<Real>(impl(), request_of(Operation::forward, options), stream, {{Array::b, b}, {Array::x, y}});
}
template <class Real>
void Solver::backward(const Real* y, Real* x, Stream stream, const SweepOptions& options) {
    run<Real>(impl(), request_of(Operation::backward, options), stream, {{Array::b, y}, {Array::x, x}});
}
template <class Real>
void Solver::solve(const Real* b, Real* x, Stream stream, const SweepOptions& options) {
    run<Real>(impl(), request_of(Operation::solve, options), stream, {{Array::b, b}, {Array::x, x}});
}
template <class Real>
void Solver::selected_inverse(Real* diagonal, Real* coupling, Stream stream, const SweepOptions& options) {
    run<Real>(impl(), request_of(Operation::inverse, options), stream,
              {{Array::inverse_diagonal, diagonal}, {Array::inverse_coupling, coupling}});
}

template <class Real>
void Solver::factor(std::span<const Real> d, std::span<const Real> e, const FactorOptions<Real>& options) {
    run_on_host<Real>(impl(), request_of(Operation::factor, options), {place(Array::d, d), place(Array::e, e)});
}
template <class Real>
void Solver::factor_forward(std::span<const Real> d, std::span<const Real> e, std::span<const Real> b, std::span<Real> y,
                            const FactorOptions<Real>& options) {
    run_on_host<Real>(impl(), request_of(Operation::factor_forward, options),
                      {place(Array::d, d), place(Array::e, e), place(Array::b, b), place(Array::x, y)});
}
template <class Real>
void Solver::factor_solve(std::span<const Real> d, std::span<const Real> e, std::span<const Real> b, std::span<Real> x,
                          const FactorOptions<Real>& options) {
    run_on_host<Real>(impl(), request_of(Operation::factor_solve, options),
                      {place(Array::d, d), place(Array::e, e), place(Array::b, b), place(Array::x, x)});
}
template <class Real>
void Solver::forward(std::span<const Real> b, std::span<Real> y, const SweepOptions& options) {
    run_on_host<Real>(impl(), request_of(Operation::forward, options), {place(Array::b, b), place(Array::x, y)});
}
template <class Real>
void Solver::backward(std::span<const Real> y, std::span<Real> x, const SweepOptions& options) {
    run_on_host<Real>(impl(), request_of(Operation::backward, options), {place(Array::b, y), place(Array::x, x)});
}
template <class Real>
void Solver::solve(std::span<const Real> b, std::span<Real> x, const SweepOptions& options) {
    run_on_host<Real>(impl(), request_of(Operation::solve, options), {place(Array::b, b), place(Array::x, x)});
}
template <class Real>
void Solver::selected_inverse(std::span<Real> diagonal, std::span<Real> coupling, const SweepOptions& options) {
    run_on_host<Real>(impl(), request_of(Operation::inverse, options),
                      {place(Array::inverse_diagonal, diagonal), place(Array::inverse_coupling, coupling)});
}

void Solver::synchronize() { impl().session.synchronize(); }
bool Solver::ok() { return impl().ok(); }
const std::vector<Outcome>& Solver::status() { return impl().status(); }
const std::vector<double>& Solver::log_determinant() { return impl().log_determinant(); }
const std::vector<Refinement>& Solver::refinement() { return impl().refinement(); }
const std::vector<double>& Solver::quadratic() { return impl().quadratic(); }
void Solver::copy_log_determinant(double* to, std::int64_t members, Stream stream) { impl().copy_log_determinant(to, members, stream); }
void Solver::copy_quadratic(double* to, std::int64_t members, Stream stream, std::int64_t columns) {
    impl().copy_quadratic(to, members, stream, columns);
}

void check_outcomes(const std::vector<Outcome>& members, Precision precision) {
    std::vector<NotPositiveDefinite::Failure> failures;
    std::vector<NearlySingular::Failure> singular;
    std::vector<OutOfRange::Failure> left;
    for (std::size_t k = 0; k < members.size(); ++k) {
        const auto& member = members[k];
        if (member.block >= 0) failures.push_back({static_cast<std::int64_t>(k), member.block, member.row});
        if (member.nearly_singular) singular.push_back({static_cast<std::int64_t>(k), member.least_pivot});
        if (!member.solution || !member.inverse) left.push_back({static_cast<std::int64_t>(k), !member.solution, !member.inverse});
    }
    if (!failures.empty()) throw NotPositiveDefinite(describe(failures, members.size(), precision), failures);
    if (!singular.empty()) throw NearlySingular(describe(singular, members.size(), precision), singular);
    if (!left.empty()) throw OutOfRange(describe(left, members.size(), precision), left);
}

void Solver::check() {
    if (ok()) return;
    const auto& members = status();
    const auto precision = plan().choice().spec.precision;
    check_outcomes(members, precision);
    if (precision != Precision::mixed) return;
    std::vector<NotConverged::Failure> unrefined;
    const auto& refined = refinement();
    for (std::size_t k = 0; k < refined.size(); ++k)
        if (!refined[k].converged && members[k].floors >= 0)
            unrefined.push_back({static_cast<std::int64_t>(k), refined[k].iterations, refined[k].backward_error});
    if (!unrefined.empty()) throw NotConverged(describe(unrefined, refined.size()), unrefined);
}

#define TRIFOLD_INSTANTIATE(Real)                                                                                              \
    template void Solver::factor(const Real*, const Real*, Stream, const FactorOptions<Real>&);                                \
    template void Solver::factor_forward(const Real*, const Real*, const Real*, Real*, Stream, const FactorOptions<Real>&);    \
    template void Solver::factor_solve(const Real*, const Real*, const Real*, Real*, Stream, const FactorOptions<Real>&);      \
    template void Solver::forward(const Real*, Real*, Stream, const SweepOptions&);                                            \
    template void Solver::backward(const Real*, Real*, Stream, const SweepOptions&);                                           \
    template void Solver::solve(const Real*, Real*, Stream, const SweepOptions&);                                              \
    template void Solver::selected_inverse(Real*, Real*, Stream, const SweepOptions&);                                         \
    template void Solver::factor(std::span<const Real>, std::span<const Real>, const FactorOptions<Real>&);                    \
    template void Solver::factor_forward(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<Real>, \
                                         const FactorOptions<Real>&);                                                          \
    template void Solver::factor_solve(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<Real>,   \
                                       const FactorOptions<Real>&);                                                            \
    template void Solver::forward(std::span<const Real>, std::span<Real>, const SweepOptions&);                                \
    template void Solver::backward(std::span<const Real>, std::span<Real>, const SweepOptions&);                               \
    template void Solver::solve(std::span<const Real>, std::span<Real>, const SweepOptions&);                                  \
    template void Solver::selected_inverse(std::span<Real>, std::span<Real>, const SweepOptions&);
TRIFOLD_INSTANTIATE(float)
TRIFOLD_INSTANTIATE(double)
#undef TRIFOLD_INSTANTIATE

}  // namespace trifold
