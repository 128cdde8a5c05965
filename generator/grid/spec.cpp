#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"

namespace trifold {
namespace {

constexpr Field fields[] = {
    field<&GridSpec::width>("width", "pixels of a row"),
    field<&GridSpec::height>("height", "rows of pixels"),
    field<&GridSpec::precision>("precision", "of all arrays"),
    field<&GridSpec::matrix>("matrix", "general, or symmetric for a positive definite A"),
    field<&GridSpec::pivoting>("pivoting", "partial: rows of a general A may be exchanged within a front; none"),
    field<&GridSpec::boundary>("boundary", "natural, or fixed where the outer ring of b is data"),
    field<&GridSpec::rhs>("rhs", "right-hand sides solved at once", 1),
    field<&GridSpec::batch>("batch", "images solved at once", 1),
    field<&GridSpec::operations>("operations", "calls to come"),
};

void check_side(std::int64_t pixels, std::string_view side, GridBoundary boundary) {
    const std::int64_t least = boundary == GridBoundary::fixed ? 3 : 2;
    if (pixels >= least && pixels <= max_grid_side) return;
    if (pixels == 1 && boundary == GridBoundary::natural)
        throw SpecError(fmt::format("the image's {} is 1 pixel, so that A is tridiagonal; solve it as blocks of 1 by 1 with a Spec", side));
    throw SpecError(fmt::format("the image's {} = {} is out of range; give {} to {} pixels{}", side, pixels, least, max_grid_side,
                                boundary == GridBoundary::fixed ? ", of which the outer ring is data" : ""));
}

}  // namespace

constinit const Fields grid_fields{"a grid", R"({"family": "grid", "width": 129, "height": 65})", fields, &usual_of<GridSpec>};

GridOperations all_grid_operations() { return all_values<GridOperation>(); }
std::string_view to_string(GridMatrix matrix) { return name_of(matrix); }
std::string_view to_string(GridPivoting pivoting) { return name_of(pivoting); }
std::string_view to_string(GridBoundary boundary) { return name_of(boundary); }
std::string_view to_string(GridOperation operation) { return name_of(operation); }

void validate(const GridSpec& spec) {
    check_side(spec.width, "width", spec.boundary);
    check_side(spec.height, "height", spec.boundary);
    check_ranges(grid_fields, &spec);
    if (spec.precision == Precision::mixed) throw SpecError("grids have no mixed precision yet; give f64, or f32 and refine its solutions");
    if (!spec.operations.contains(GridOperation::factor) && !spec.operations.contains(GridOperation::factor_solve))
        throw SpecError("none of the operations factors; add factor or factor_solve");
    const auto pixels = checked_multiply(spec.width * spec.height, spec.batch, "pixels of all images");
    checked_multiply(pixels, 9 * element_bytes(spec.precision), "size of the stencils in bytes");
    checked_multiply(checked_multiply(pixels, spec.rhs, "size of B"), element_bytes(spec.precision), "size of B in bytes");
}

nlohmann::json to_json(const GridSpec& spec) {
    auto tree = to_json(grid_fields, &spec);
    tree["family"] = "grid";
    return tree;
}

GridSpec parse_grid_json(const nlohmann::json& tree) {
    GridSpec spec;
    read_json(grid_fields, &spec, tree);
    validate(spec);
    return spec;
}

}  // namespace trifold
