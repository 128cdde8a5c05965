#include <fmt/format.h>

#include <array>
#include <trifold/error.hpp>
#include <trifold/grid_spec.hpp>

namespace trifold {
namespace {

void check_side(std::int64_t pixels, std::string_view side, GridBoundary boundary) {
    const std::int64_t least = boundary == GridBoundary::fixed ? 3 : 2;
    if (pixels >= least && pixels <= max_grid_side) return;
    if (pixels == 1 && boundary == GridBoundary::natural)
        throw SpecError(fmt::format("the image's {} is 1 pixel, so that A is tridiagonal; solve it as blocks of 1 by 1 with a Spec", side));
    throw SpecError(fmt::format("the image's {} = {} is out of range; give {} to {} pixels{}", side, pixels, least, max_grid_side,
                                boundary == GridBoundary::fixed ? ", of which the outer ring is data" : ""));
}

}  // namespace

GridOperations all_grid_operations() {
    return {GridOperation::factor,       GridOperation::solve,    GridOperation::solve_transposed,
            GridOperation::factor_solve, GridOperation::gradient, GridOperation::refine};
}

std::string_view to_string(GridMatrix matrix) { return matrix == GridMatrix::symmetric ? "symmetric" : "general"; }
std::string_view to_string(GridPivoting pivoting) { return pivoting == GridPivoting::partial ? "partial" : "none"; }
std::string_view to_string(GridBoundary boundary) { return boundary == GridBoundary::fixed ? "fixed" : "natural"; }
std::string_view to_string(GridOperation operation) {
    constexpr std::array<std::string_view, 6> names{"factor", "solve", "solve_transposed", "factor_solve", "gradient", "refine"};
    return names.at(static_cast<std::size_t>(operation));
}

void validate(const GridSpec& spec) {
    check_side(spec.width, "width", spec.boundary);
    check_side(spec.height, "height", spec.boundary);
    if (spec.precision == Precision::mixed) throw SpecError("grids have no mixed precision yet; give f64, or f32 and refine its solutions");
    if (spec.rhs < 1) throw SpecError(fmt::format("number of right-hand sides = {} is out of range; give at least 1", spec.rhs));
    if (spec.batch < 1) throw SpecError(fmt::format("batch capacity {} is out of range; give at least 1", spec.batch));
    if (!spec.operations.contains(GridOperation::factor) && !spec.operations.contains(GridOperation::factor_solve))
        throw SpecError("none of the operations factors; add factor or factor_solve");
    const auto pixels = checked_multiply(spec.width * spec.height, spec.batch, "pixels of all images");
    checked_multiply(pixels, 9 * element_bytes(spec.precision), "size of the stencils in bytes");
    checked_multiply(checked_multiply(pixels, spec.rhs, "size of B"), element_bytes(spec.precision), "size of B in bytes");
}

}  // namespace trifold
