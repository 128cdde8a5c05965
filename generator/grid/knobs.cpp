#include "generator/grid/knobs.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

namespace trifold::grid {
namespace {

// Arrays of braces alone: then the lists of values live as long as they do.
constexpr Knob cpu_knobs[] = {{"leaf_cells", "most cells of a leaf tile each way", {4, 5, 6, 8, 16}}};

constexpr Knob gpu_knobs[] = {{"leaf_cells", "most cells of a leaf tile each way", {4}},
                              {"product_side", "rows and columns of a large front's update that a thread block computes", {64, 128}},
                              {"step_rows", "rows of a pivot block that its smallest thread blocks take", {128, 512}},
                              {"panel_columns", "most columns of a large pivot block that are factored at a time", {2, 4, 8, 16, 32}}};

}  // namespace

std::string blocks_knob(std::string_view kernel) { return fmt::format("{}_blocks", kernel); }

std::span<const Knob> knobs_for(const Target& target) {
    if (target.backend == Backend::cpu) return cpu_knobs;
    return gpu_knobs;
}

Knobs pinned_by(const GridTuning& tuning, const Target& target) {
    const auto variant = parse_variant(tuning.variant);
    if (variant.name == "auto")
        check_knobs(variant, {});
    else if (variant.name != fronts)
        throw SpecError(fmt::format("unknown variant '{}' of a grid; give auto, fronts, or fronts with knobs", variant.name));
    else
        check_knobs(variant, knobs_for(target));
    return {variant.pinned};
}

}  // namespace trifold::grid
