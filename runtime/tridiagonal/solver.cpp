#include <fmt/format.h>
#include <fmt/ranges.h>
#include <trifold/tridiagonal_args.h>

#include <limits>
#include <trifold/solver.hpp>

#include "runtime/session/factors.hpp"
#include "runtime/tridiagonal/request.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

std::string layout_key(const BlockLayout& layout) { return fmt::format("{}/{}/{}", layout.leading, layout.stage, layout.member); }

/// A list of the first eight members that failed, with what `write` says of each.
template <class Failure, class Write>
std::string list_of(const std::vector<Failure>& failures, const Write& write) {
    constexpr std::size_t shown = 8;
    std::string text;
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format("{} member {}{}", k == 0 ? "" : ";", failures[k].member, write(failures[k]));
    return failures.size() > shown ? text + fmt::format("; and {} more", failures.size() - shown) : text;
}

std::string describe(const std::vector<NotPositiveDefinite::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("{} of {} matrices are not positive definite{}, or singular:", failures.size(), members,
                            precision == Precision::mixed ? " in f32" : "");
    text += list_of(failures, [](const auto& failure) { return fmt::format(" at block {}, row {}", failure.block, failure.row); });
    text +=
        " (counted from 0). Their X is NaN; the other members are solved. Add a shift or a pivot_floor, anchor what the matrix leaves "
        "free, or correct it; one with pivots of both signs is solved with matrix = symmetric";
    return text + (precision == Precision::mixed ? "; or solve in precision f64, where they may be positive definite." : ".");
}

std::string describe(const std::vector<NearlySingular::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("{} of {} matrices are singular to the precision {}:", failures.size(), members, to_string(precision));
    text += list_of(failures,
                    [](const auto& failure) { return fmt::format(", least pivot {:.1e} of its diagonal entry", failure.least_pivot); });
    text += fmt::format(
        " (counted from 0), where {:.1e} is the least that rounding leaves sound. Their X is computed, but may have no right digit; the "
        "other "
        "members are solved. Anchor what the matrix leaves free (a prior, a shift or a pivot_floor)",
        nearly_singular_bound(precision));
    if (precision == Precision::f32) text += ", solve in precision f64";
    return text + ", or accept the result as it is by accept_nearly_singular.";
}

/// Advice on a matrix without usable pivots.
std::string advice(MatrixKind matrix) {
    if (matrix == MatrixKind::general) return "Rows are interchanged within blocks alone: add a diagonal, or take larger blocks";
    return "Rows are not interchanged: add a diagonal that makes the matrix quasi-definite, positive in the rows of unknowns and negative "
           "in those of multipliers, or solve it with matrix = general";
}

std::string describe_zeros(const std::vector<NotPositiveDefinite::Failure>& failures, std::size_t members, MatrixKind matrix) {
    auto text = fmt::format("{} of {} {} matrices have a pivot that is zero or not finite:", failures.size(), members,
                            matrix == MatrixKind::general ? "general" : "symmetric");
    text += list_of(failures, [](const auto& failure) { return fmt::format(" at block {}, row {}", failure.block, failure.row); });
    return text + " (counted from 0). Their X is NaN; the other members are solved. " + advice(matrix) + ".";
}

std::string describe_doubt(const std::vector<Outcome>& members, Precision precision, MatrixKind matrix) {
    std::vector<NearlySingular::Failure> doubtful;
    for (std::size_t k = 0; k < members.size(); ++k)
        if (members[k].nearly_singular) doubtful.push_back({static_cast<std::int64_t>(k), members[k].least_pivot});
    auto text = fmt::format("rounding in {} decides {} of {} {} matrices:", to_string(precision), doubtful.size(), members.size(),
                            matrix == MatrixKind::general ? "general" : "symmetric");
    text += list_of(doubtful, [&](const auto& failure) {
        return fmt::format(", growth {:.1e}, least pivot {:.1e} of its row", members[static_cast<std::size_t>(failure.member)].growth,
                           failure.least_pivot);
    });
    return text + " (counted from 0). Their X is computed, but may have few right digits; the other members are solved. " + advice(matrix) +
           "; or accept the result as it is by accept_nearly_singular.";
}

std::string describe(const std::vector<OutOfRange::Failure>& failures, std::size_t members, Precision precision) {
    auto text = fmt::format("results of {} of {} members have left the range of {}:", failures.size(), members, to_string(precision));
    text += list_of(failures, [](const auto& failure) {
        return !failure.inverse ? ", X" : failure.solution ? ", X and the selected inverse" : ", the selected inverse";
    });
    text += " (counted from 0). They hold infinities or NaN; the other members are solved. Scale the matrix or B by a power of two";
    return text + (precision == Precision::f32 ? ", or solve in precision f64." : ", or look for infinities and NaN in B.");
}

std::string describe(const std::vector<NotConverged::Failure>& failures, std::size_t members) {
    auto text = fmt::format("{} of {} solutions did not converge:", failures.size(), members);
    text += list_of(failures, [](const auto& failure) {
        return fmt::format(", backward error {:.1e} after {} iterations", failure.backward_error, failure.iterations);
    });
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
Solver::Solver(const Plan& plan, void* workspace, std::int64_t bytes)
    : impl_(std::make_unique<Impl>(plan, given_workspace(workspace, plan.program()), bytes)) {}
Solver::Solver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

std::int64_t Solver::workspace_bytes(const Plan& plan) { return plan.program().workspace_bytes; }
const Plan& Solver::plan() const { return impl().plan; }
void Solver::prepare() { impl().session.prepare(); }
void Solver::take_factor(Solver& other) { impl().take_factor(other.impl()); }
void Solver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
Solver::Impl& Solver::impl() const { return held(impl_, "Solver"); }

void Solver::run(Operation operation, std::span<const AnyArray> arrays, const CallOptions& options) {
    impl().run(operation, arrays, options);
}

void Solver::synchronize() { impl().session.synchronize(); }
bool Solver::ok() { return impl().ok(); }
const std::vector<Outcome>& Solver::status() { return impl().status(); }
const std::vector<double>& Solver::log_determinant() { return impl().log_determinant(); }
const std::vector<Refinement>& Solver::refinement() { return impl().refinement(); }
const std::vector<double>& Solver::quadratic() { return impl().quadratic(); }
void Solver::copy_log_determinant(double* to, std::int64_t members, Stream stream) { impl().copy_log_determinant(to, members, stream); }
void Solver::copy_status(MemberStatus* to, std::int64_t members, Stream stream) { impl().copy_status(to, members, stream); }
void Solver::copy_inertia(MemberInertia* to, std::int64_t members, Stream stream) { impl().copy_inertia(to, members, stream); }
void Solver::copy_backward_error(double* to, std::int64_t members, Stream stream) { impl().copy_backward_error(to, members, stream); }
void Solver::copy_quadratic(double* to, std::int64_t members, Stream stream, std::int64_t columns) {
    impl().copy_quadratic(to, members, stream, columns);
}

void check_outcomes(const std::vector<Outcome>& members, const Spec& spec) {
    const auto precision = spec.precision;
    const bool is_definite = spec.matrix == MatrixKind::positive_definite;
    std::vector<NotPositiveDefinite::Failure> failures;
    std::vector<std::size_t> odd;
    std::vector<std::string> sizes;
    std::vector<NearlySingular::Failure> singular;
    std::vector<OutOfRange::Failure> left;
    for (std::size_t k = 0; k < members.size(); ++k) {
        const auto& member = members[k];
        if (member.row == trifold_odd_length && member.block >= 0) odd.push_back(k);
        if (member.row == trifold_odd_size) sizes.push_back(fmt::format("[{}][{}]", k, member.block));
        if (member.block >= 0) failures.push_back({static_cast<std::int64_t>(k), member.block, member.row});
        if (member.nearly_singular) singular.push_back({static_cast<std::int64_t>(k), member.least_pivot});
        if (!member.solution || !member.inverse) left.push_back({static_cast<std::int64_t>(k), !member.solution, !member.inverse});
    }
    if (!odd.empty())
        throw SpecError(
            fmt::format("the length of {} of {} members is not from 0 to N: of member {}; their X is NaN, the other members "
                        "are solved",
                        odd.size(), members.size(), fmt::join(odd, ", ")));
    if (!sizes.empty())
        throw SpecError(
            fmt::format("sizes are not from 0 to n: {}; X of these members is NaN, the other members are solved", fmt::join(sizes, ", ")));
    if (!failures.empty())
        throw NotPositiveDefinite(
            is_definite ? describe(failures, members.size(), precision) : describe_zeros(failures, members.size(), spec.matrix), failures);
    if (!singular.empty())
        throw NearlySingular(is_definite ? describe(singular, members.size(), precision) : describe_doubt(members, precision, spec.matrix),
                             singular);
    if (!left.empty()) throw OutOfRange(describe(left, members.size(), precision), left);
}

void Solver::check() {
    if (ok()) return;
    const auto& members = status();
    const auto precision = plan().choice().spec.precision;
    check_outcomes(members, plan().choice().spec);
    if (precision != Precision::mixed) return;
    std::vector<NotConverged::Failure> unrefined;
    const auto& refined = refinement();
    for (std::size_t k = 0; k < refined.size(); ++k)
        if (!refined[k].converged && members[k].floors >= 0)
            unrefined.push_back({static_cast<std::int64_t>(k), refined[k].iterations, refined[k].backward_error});
    if (!unrefined.empty()) throw NotConverged(describe(unrefined, refined.size()), unrefined);
}

std::string key_of(const Spec& s, const Device& device, const Tuning& tuning) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} | {} {} | {} {} {} {}", static_cast<int>(s.matrix), s.ring,
                       s.lengths, s.sizes, s.bandwidth, s.border, s.block, s.horizon, to_string(s.precision), s.rhs, s.batch,
                       static_cast<int>(s.order), static_cast<int>(s.coupling), static_cast<int>(s.rhs_layout), layout_key(s.d),
                       layout_key(s.e), to_string(s.operations), to_string(device.target()), device.ordinal(), tuning.schedule,
                       tuning.variant, tuning.workers, tuning.spin_microseconds);
}

std::int64_t batch_of(const Plan& plan) { return plan.choice().spec.batch; }

template class FactorsOf<Plan, Solver>;

}  // namespace trifold
