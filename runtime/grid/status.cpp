#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/grid/levels.hpp"
#include "runtime/grid/solver_impl.hpp"

/// What came of each image's factorization.
namespace trifold {
namespace {

/// What is smaller than so much is rounding: a pivot against its column, or the sums of all rows against their entries.
double rounding(Precision precision) {
    return precision == Precision::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

/// Whether A x is zero for a constant x.
bool sums_to_zero(const trifold_grid_record& record, const GridSpec& spec) {
    constexpr double entries = 9;
    return spec.boundary == GridBoundary::natural && record.row_sum <= entries * rounding(spec.precision);
}

std::string describe(const GridPixels& pixels) { return fmt::format("x {} to {}, y {} to {}", pixels.x0, pixels.x1, pixels.y0, pixels.y1); }

constexpr std::string_view remedy =
    "if its rows sum to zero, A x is zero for every constant x: add a little to the diagonal, give one pixel the row x = value, or take "
    "the "
    "boundary 'fixed'";

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
        default:
            return fmt::format("A is singular to this precision: {}", remedy);
    }
}

}  // namespace

const std::vector<trifold_grid_status>& GridSolver::Impl::statuses() {
    if (factored == 0) throw SpecError("there is no factorization yet; call factor or factor_solve first");
    statuses_.resize(static_cast<std::size_t>(factored));
    engine->read(statuses_.data(), buffer(plan.program(), "status").offset, factored * static_cast<std::int64_t>(sizeof(trifold_grid_status)));
    return statuses_;
}

GridOutcome GridSolver::Impl::outcome_of(const trifold_grid_status& status) const {
    const auto& spec = plan.spec();
    const auto& record = status.record;
    GridOutcome outcome;
    outcome.least_pivot = record.least;
    outcome.growth = record.entry > 0 ? record.largest / record.entry : 0;
    if (record.problem == trifold_grid_sound) {
        if (sums_to_zero(record, spec) || record.least <= rounding(spec.precision)) outcome.problem = GridProblem::nearly_singular;
        return outcome;
    }
    const std::int64_t origin = spec.boundary == GridBoundary::fixed ? 1 : 0, width = grid::unknown_width(spec);
    const auto levels = grid::levels_of(spec, grid::leaf_cells_of(plan.tuning(), plan.device().target()));
    outcome.problem = record.problem == trifold_grid_beyond                                    ? GridProblem::beyond_image
                      : record.problem == trifold_grid_no_number                               ? GridProblem::not_finite
                      : (status.level > 0 || levels.size() == 1) && sums_to_zero(record, spec) ? GridProblem::nearly_singular
                                                                                               : GridProblem::pivot;
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
    outcomes_.clear();
    for (const auto& status : statuses()) outcomes_.push_back(outcome_of(status));
    return outcomes_;
}

const std::vector<GridDeterminant>& GridSolver::Impl::log_determinant() {
    determinants_.clear();
    for (const auto& status : statuses()) {
        const auto& record = status.record;
        const bool sound = record.problem == trifold_grid_sound;
        determinants_.push_back({sound ? record.log_determinant : std::numeric_limits<double>::quiet_NaN(), static_cast<int>(record.sign)});
    }
    return determinants_;
}

bool GridSolver::ok() { return std::ranges::all_of(status(), &GridOutcome::ok); }

void GridSolver::check() {
    const auto& outcomes = status();
    std::vector<GridFailed::Failure> failures;
    for (std::size_t k = 0; k < outcomes.size(); ++k)
        if (!outcomes[k].ok()) failures.push_back({static_cast<std::int64_t>(k), outcomes[k]});
    if (failures.empty()) return;
    constexpr std::size_t shown = 4;
    auto text = fmt::format("{} of {} images cannot be solved:", failures.size(), outcomes.size());
    for (std::size_t k = 0; k < std::min(shown, failures.size()); ++k)
        text += fmt::format(" image {}: {}.", failures[k].member, describe(failures[k], plan().spec()));
    if (failures.size() > shown) text += fmt::format(" And {} more.", failures.size() - shown);
    throw GridFailed(text, std::move(failures));
}

}  // namespace trifold
