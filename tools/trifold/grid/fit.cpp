#include <fmt/format.h>

#include "generator/grid/levels.hpp"
#include "tools/formats/grid.hpp"
#include "tools/trifold/grid/verbs.hpp"

namespace trifold::command {

Fit grid_fit(const formats::SparseMatrix& a, const SolveOptions& options) {
    if (options.asked_precision() == Precision::mixed) return {.why = "images have no mixed precision"};
    const auto width = formats::infer_width(a);
    if (!width) return {.why = "there is no image of whose pixels it couples neighbours alone"};
    const GridSpec spec{.width = *width, .height = a.rows / *width};
    double flops = 0;
    for (const auto& level : grid::levels_of(spec, grid::leaf_cells_of(GridTuning(), Device::parse(options.device).target())))
        flops += level.flops;
    const auto size = fmt::format("{}x{}", spec.width, spec.height);
    return {.fits = true, .flops = flops, .size = size, .why = fmt::format("each row couples a pixel of {} with its neighbours", size)};
}

}  // namespace trifold::command
