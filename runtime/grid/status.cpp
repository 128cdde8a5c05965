#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <span>
#include <trifold/error.hpp>

#include "generator/grid/layout.hpp"
#include "generator/grid/levels.hpp"
#include "runtime/grid/solver_impl.hpp"

/// Results of each image's factorization.
namespace trifold {
namespace {

/// Whether A x is zero for a constant x.
bool sums_to_zero(const trifold_grid_record& record, const GridSpec& spec) {
    return spec.ring() == 0 && record.row_sum <= grid::limits_of(spec).row_sum;
}

/// Whether the pivot that failed is the very last one of all.
bool is_last_pivot(const trifold_grid_status& status, const GridSpec& spec, const std::vector<grid::Level>& levels) {
    if (status.level + 1 != static_cast<std::int64_t>(levels.size())) return false;
    const auto pixels = grid::eliminated_pixels(spec, levels, levels.size() - 1, 0, 0);
    return status.record.pixel == pixels.y1 * grid::unknown_width(spec) + pixels.x1;
}

/// The problem that the kernels report. A pivot that vanishes at the very end, or with the sums of all rows, is that of a singular matrix.
GridProblem problem_of(const trifold_grid_status& status, const GridSpec& spec, const std::vector<grid::Level>& levels) {
    const auto& record = status.record;
    const auto at = record.problem;
    if (at == trifold_grid_sound) return status.left == trifold_grid_inaccurate ? GridProblem::unstable : GridProblem::none;
    if (at == trifold_grid_beyond) return GridProblem::beyond_image;
    if (at == trifold_grid_no_number) return GridProblem::not_finite;
    if (at == trifold_grid_nearly) return GridProblem::nearly_singular;
    if (at == trifold_grid_unstable) return GridProblem::unstable;
    const bool sums = (status.level > 0 || levels.size() == 1) && sums_to_zero(record, spec);
    const bool ends = spec.matrix == GridMatrix::general && is_last_pivot(status, spec, levels);
    return sums || ends ? GridProblem::nearly_singular : GridProblem::pivot;
}

std::string describe(const GridPixels& pixels) { return fmt::format("x {} to {}, y {} to {}", pixels.x0, pixels.x1, pixels.y0, pixels.y1); }

constexpr std::string_view remedy =
    "if its rows sum to zero, A x is zero for every constant x: add a little to the diagonal, give one pixel the row x = value, or take "
    "the "
    "boundary 'fixed'";

std::string unstable_remedy(const GridSpec& spec) {
    return std::string(spec.precision == Precision::f32 ? "take f64, or " : "") +
           "accept nearly singular matrices and refine the solution, whose residual then shows whether that helped";
}

std::string describe(const GridFailed::Failure& failure, const GridSpec& spec) {
    const auto& o = failure.outcome;
    const auto pixel = fmt::format("pixel ({}, {})", o.pixel_x, o.pixel_y);
    switch (o.problem) {
        case GridProblem::beyond_image:
            return fmt::format("the stencil of {} reaches beyond the image; set its entries there to zero, or take the boundary 'fixed'",
                               pixel);
        case GridProblem::not_finite:
            return fmt::format("the stencil of {} holds an infinity or NaN", pixel);
        case GridProblem::pivot:
            if (spec.matrix == GridMatrix::symmetric)
                return fmt::format(
                    "A is not positive definite: the pivot of {} is not positive, in the front of {}; correct A, or take the matrix "
                    "'general'",
                    pixel, describe(o.front));
            return fmt::format(
                "the pivot of {} is zero or no number, in the front of {}{}", pixel, describe(o.front),
                spec.pivoting == GridPivoting::none
                    ? "; take the pivoting 'partial'"
                    : "; A is singular, or needs exchanges of rows beyond a front, which are not done: add a little to the diagonal");
        case GridProblem::unstable:
            return fmt::format("pivots grew by {:.1e}, so that few digits of {} are left, since rows are exchanged only within a front; {}",
                               o.growth, to_string(spec.precision), unstable_remedy(spec));
        default:
            return fmt::format("A is singular to this precision (least pivot {:.1e}): {}", o.least_pivot, remedy);
    }
}

}  // namespace

std::span<const trifold_grid_status> GridSolver::Impl::statuses(Session::Call& call) const {
    if (factored == 0) throw SpecError("there is no factorization yet; call factor or factor_solve first");
    return call.read<trifold_grid_status>("status", factored);
}

GridOutcome GridSolver::Impl::outcome_of(const trifold_grid_status& status) const {
    const auto& spec = plan.spec();
    const auto& record = status.record;
    GridOutcome outcome;
    outcome.least_pivot = record.least;
    outcome.growth = record.entry > 0 ? record.largest / record.entry : 0;
    outcome.solution = record.problem != trifold_grid_sound || status.left != trifold_grid_beyond_range;
    const std::int64_t origin = spec.ring(), width = grid::unknown_width(spec);
    const auto& levels = plan.state().levels;
    outcome.problem = problem_of(status, spec, levels);
    if (outcome.problem == GridProblem::none || outcome.problem == GridProblem::nearly_singular || outcome.problem == GridProblem::unstable)
        return outcome;  // no one pixel is to blame
    outcome.pixel_x = record.pixel % width + origin;
    outcome.pixel_y = record.pixel / width + origin;
    outcome.level = status.level;
    const auto& level = levels.at(static_cast<std::size_t>(status.level));
    const auto row = status.place >> level.x_halvings;
    const auto pixels =
        grid::eliminated_pixels(spec, levels, static_cast<std::size_t>(status.level), status.place - (row << level.x_halvings), row);
    outcome.front = {pixels.x0 + origin, pixels.x1 + origin, pixels.y0 + origin, pixels.y1 + origin};
    return outcome;
}

const std::vector<GridOutcome>& GridSolver::Impl::status() {
    Session::Call call(session);
    outcomes_.clear();
    for (const auto& status : statuses(call)) outcomes_.push_back(outcome_of(status));
    return outcomes_;
}

const std::vector<GridDeterminant>& GridSolver::Impl::log_determinant() {
    Session::Call call(session);
    determinants_.clear();
    for (const auto& status : statuses(call)) {
        const auto& record = status.record;
        const bool sound = record.problem == trifold_grid_sound;
        determinants_.push_back({sound ? record.log_determinant : std::numeric_limits<double>::quiet_NaN(), static_cast<int>(record.sign)});
    }
    return determinants_;
}

namespace {

/// X of images whose matrices are sound.
void check_range(const std::vector<GridOutcome>& outcomes, const GridSpec& spec) {
    std::vector<OutOfRange::Failure> failures;
    std::vector<std::size_t> members;
    for (std::size_t k = 0; k < outcomes.size(); ++k)
        if (!outcomes[k].solution) {
            failures.push_back({static_cast<std::int64_t>(k), true, false});
            members.push_back(k);
        }
    if (failures.empty()) return;
    constexpr std::size_t most = 8;
    const auto shown = std::span(members).first(std::min(most, members.size()));
    throw OutOfRange(
        fmt::format("X is out of range in {} of {} images, the first of them {}: B holds infinities or NaN, or X is above or below the "
                    "normal range of {}; look at B, or scale it",
                    members.size(), outcomes.size(), fmt::join(shown, ", "), to_string(spec.precision)),
        std::move(failures));
}

}  // namespace

bool GridSolver::ok() { return std::ranges::all_of(status(), &GridOutcome::ok); }

void check(const std::vector<GridOutcome>& outcomes, const GridSpec& spec) {
    std::vector<GridFailed::Failure> failures;
    for (std::size_t k = 0; k < outcomes.size(); ++k)
        if (outcomes[k].problem != GridProblem::none) failures.push_back({static_cast<std::int64_t>(k), outcomes[k]});
    if (failures.empty()) return check_range(outcomes, spec);
    constexpr std::size_t shown = 4;
    auto text = fmt::format("{} of {} images cannot be solved:", failures.size(), outcomes.size());
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format(" image {}: {}.", failures[k].member, describe(failures[k], spec));
    if (failures.size() > shown) text += fmt::format(" And {} more.", failures.size() - shown);
    throw GridFailed(text, std::move(failures));
}

void GridSolver::check() { trifold::check(status(), plan().spec()); }

}  // namespace trifold
