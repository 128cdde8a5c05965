#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"
#include "runtime/session/factors.hpp"
#include "runtime/sparse/solver_impl.hpp"

namespace trifold {

SparseSolver::SparseSolver(const SparsePlan& plan) : impl_(std::make_unique<Impl>(plan, nullptr, 0)) {}
SparseSolver::SparseSolver(const SparsePlan& plan, void* workspace, std::int64_t bytes)
    : impl_(std::make_unique<Impl>(plan, given_workspace(workspace, plan.program()), bytes)) {}
SparseSolver::SparseSolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SparseSolver::SparseSolver(SparseSolver&&) noexcept = default;
SparseSolver& SparseSolver::operator=(SparseSolver&&) noexcept = default;
SparseSolver::~SparseSolver() = default;

SparseSolver::Impl& SparseSolver::impl() const { return held(impl_, "SparseSolver"); }
std::int64_t SparseSolver::workspace_bytes(const SparsePlan& plan) { return plan.program().workspace_bytes; }
const SparsePlan& SparseSolver::plan() const { return impl().plan; }
void SparseSolver::set_executor(Executor executor) { impl().session.set_executor(std::move(executor)); }
void SparseSolver::prepare() { impl().session.prepare(); }
void SparseSolver::synchronize() { impl().session.synchronize(); }
void SparseSolver::update(const AnyArray& values, Stream stream, const SparseOptions& options) { impl().update(values, stream, options); }
void SparseSolver::run(SparseOperation operation, std::span<const AnyArray> arrays, Stream stream, const SparseOptions& options) {
    impl().run(operation, arrays, stream, options);
}
const std::vector<SparseValues>& SparseSolver::values() { return impl().values(); }
const std::vector<SparseOutcome>& SparseSolver::outcomes() { return impl().outcomes(); }
std::vector<double> SparseSolver::history(std::int64_t member, std::int64_t column) { return impl().history(member, column); }

double usual_sparse_tolerance(Precision precision) {
    constexpr double usual = 1e-8, of_floats = 1e-5;
    return precision == Precision::f32 ? of_floats : usual;
}

namespace {

std::string describe(const SparseValues& values) {
    if (values.not_finite > 0)
        return fmt::format("{} blocks of its values hold infinities or NaN, the first at row {}, column {}", values.not_finite,
                           values.bad_row, values.bad_column);
    if (values.unequal > 0)
        return fmt::format(
            "it is not symmetric: {} blocks differ from their counterparts, the first at row {}, column {}; take method bicgstab",
            values.unequal, values.unequal_row, values.unequal_column);
    return fmt::format("{} pivot blocks are singular to the precision, the first in row {}; give a shift, or preconditioner jacobi or none",
                       values.zero_pivots, values.zero_row);
}

/// Advice where an iteration has gained nothing.
std::string advice_without_gain(const SparseSpec& spec) {
    return properties_of(spec.preconditioner).has_triangles
               ? "; factors of a matrix that convection dominates amplify: take preconditioner jacobi or none with method gmres, or upwind "
                 "differences"
               : "";
}

std::string describe(const SparseOutcome& outcome, const SparseSpec& spec) {
    constexpr double nothing = 0.1;
    constexpr std::int64_t many = 100;  // iterations
    auto reached = fmt::format("after {} iterations |b - A x| = {:.3g} |b|", outcome.iterations, outcome.relative());
    const auto advice = outcome.relative() > nothing && outcome.iterations >= many ? advice_without_gain(spec) : "";
    if (outcome.by_rows > outcome.relative()) reached += fmt::format(", and {:.3g} with rows of A scaled to equal size", outcome.by_rows);
    switch (outcome.end) {
        case SparseEnd::stagnated:
            return reached +
                   ", and it does not become smaller; give a larger tolerance, or a stronger preconditioner such as ildu1, and f64 in "
                   "place of f32. Where A is singular, as with Neumann conditions all around, b may be outside its range" +
                   advice;
        case SparseEnd::breakdown:
            return reached +
                   ", and the method divided by zero twice; take gmres, or preconditioner jacobi. Conjugate gradients need A and its "
                   "factors "
                   "to be positive definite. Where A is singular, b may be outside its range";
        case SparseEnd::limit:
            return reached + ", the most that were allowed; allow more, or take larger subdomains or a stronger preconditioner" + advice;
        case SparseEnd::out_of_range:
            return reached + ": x is too large or too small for its type; scale b or A";
        case SparseEnd::not_a_number:
            return reached + ": b, the first guess or an intermediate result is infinite or NaN";
        default:
            return "the preconditioner could not be made";
    }
}

}  // namespace

bool SparseSolver::ok() {
    const bool sound = std::ranges::all_of(values(), &SparseValues::ok);
    return sound && (!impl().has_solved() || std::ranges::all_of(outcomes(), &SparseOutcome::ok));
}

void SparseSolver::check() {
    std::vector<SparseFailed::Failure> failures;
    std::vector<std::string> texts;
    const auto& all = values();
    for (std::size_t k = 0; k < all.size(); ++k)
        if (!all[k].ok()) {
            failures.push_back({static_cast<std::int64_t>(k), -1, all[k], {}});
            texts.push_back(fmt::format("matrix {}: {}", k, describe(all[k])));
        }
    if (failures.empty() && impl().has_solved()) {
        const auto columns = impl().columns();
        const auto& ends = outcomes();
        for (std::size_t k = 0; k < ends.size(); ++k)
            if (!ends[k].ok()) {
                const auto system = static_cast<std::int64_t>(k);
                failures.push_back({system / columns, system % columns, all[static_cast<std::size_t>(system / columns)], ends[k]});
                texts.push_back(fmt::format("matrix {}, right-hand side {}: {}: {}", system / columns, system % columns,
                                            to_string(ends[k].end), describe(ends[k], plan().spec())));
            }
    }
    if (failures.empty()) return;
    constexpr std::size_t shown = 4;
    auto text = fmt::format("{} of the systems cannot be solved as asked.", failures.size());
    for (std::size_t k = 0; k < std::min(shown, texts.size()); ++k) text += fmt::format(" {}.", texts[k]);
    if (texts.size() > shown) text += fmt::format(" And {} more.", texts.size() - shown);
    throw SparseFailed(text, std::move(failures));
}

std::int64_t batch_of(const SparsePlan& plan) { return plan.spec().batch; }

template class FactorsOf<SparsePlan, SparseSolver>;

}  // namespace trifold
