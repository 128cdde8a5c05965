#include "generator/grid/knobs.hpp"

#include <fmt/format.h>

#include <array>
#include <trifold/error.hpp>

namespace trifold::grid {
namespace {

constexpr std::string_view blocks_of = "thread blocks of the kernel for which a multiprocessor has registers";

constexpr std::array cpu_knobs{Knob{"leaf_cells", "most cells of a leaf tile each way", {4, 5, 6, 8, 16}}};

constexpr std::array gpu_knobs{Knob{"product_side", "rows and columns of a large front's update that a thread block computes", {64, 128}},
                               Knob{"step_rows", "rows of a pivot block that its smallest thread blocks take", {128, 512}},
                               Knob{"panel_columns", "most columns of a large pivot block that are factored at a time", {2, 4, 8, 16, 32}},
                               Knob{"leaf_blocks", blocks_of, {12, 16, 20, 24}},
                               Knob{"tiny_blocks", blocks_of, {12, 16, 20, 24}},
                               Knob{"small_blocks", blocks_of, {16, 20, 24, 28}},
                               Knob{"middle_blocks", blocks_of, {3, 4, 5, 6}},
                               Knob{"large_blocks", blocks_of, {1, 2, 3}},
                               Knob{"huge_blocks", blocks_of, {1, 2}},
                               Knob{"assemble_blocks", blocks_of, {1, 2, 3, 4}},
                               Knob{"step_few_blocks", blocks_of, {2, 3, 4}},
                               Knob{"step_1_blocks", blocks_of, {1, 2}},
                               Knob{"step_2_blocks", blocks_of, {1, 2}},
                               Knob{"step_4_blocks", blocks_of, {1, 2}},
                               Knob{"step_8_blocks", blocks_of, {1, 2}},
                               Knob{"step_16_blocks", blocks_of, {1, 2}},
                               Knob{"panel_blocks", blocks_of, {1, 2, 3}},
                               Knob{"product_blocks", blocks_of, {2, 3, 4}},
                               Knob{"wide_product_blocks", blocks_of, {1, 2}},
                               Knob{"finish_blocks", blocks_of, {1, 2}},
                               Knob{"forward_small_blocks", blocks_of, {4, 5, 6, 8}},
                               Knob{"backward_small_blocks", blocks_of, {4, 6, 8, 10}},
                               Knob{"forward_blocks", blocks_of, {4, 5, 6, 8}},
                               Knob{"backward_blocks", blocks_of, {4, 6, 8, 10}},
                               Knob{"forward_pivots_blocks", blocks_of, {1, 2}},
                               Knob{"forward_kept_blocks", blocks_of, {1, 2, 3, 4}},
                               Knob{"backward_pivots_blocks", blocks_of, {1, 2}},
                               Knob{"backward_kept_blocks", blocks_of, {1, 2, 3, 4}},
                               Knob{"pixels_blocks", blocks_of, {1, 2, 4}}};

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
