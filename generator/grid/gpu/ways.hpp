#pragma once
#include <array>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "generator/grid/levels.hpp"

/// How the fronts of a level are eliminated, and by which kernels.
namespace trifold::grid::gpu {

#include "templates/gpu/grid/shared.h"

enum class Kernel {
    small,
    middle,
    large,
    assemble,
    step_1,
    step_2,
    step_4,
    step_8,
    step_16,
    panel,
    product,
    finish,
    forward_small,
    backward_small,
    forward,
    backward,
    forward_pivots,
    forward_kept,
    backward_pivots,
    backward_kept,
    pixels
};
inline constexpr std::array<std::string_view, 21> kernel_names{
    "small",   "middle",   "large",          "assemble",     "step_1",          "step_2",        "step_4",
    "step_8",  "step_16",  "panel",          "product",      "finish",          "forward_small", "backward_small",
    "forward", "backward", "forward_pivots", "forward_kept", "backward_pivots", "backward_kept", "pixels"};

/// A kernel that has whole fronts: threads of its thread block, and the most columns it eliminates and rows it keeps.
struct OnChip {
    Kernel kernel;
    std::int64_t threads, width, kept;
};
inline constexpr std::array on_chip{OnChip{Kernel::small, 64, 16, 56}, OnChip{Kernel::middle, 128, 16, 128},
                                    OnChip{Kernel::large, 256, 32, 1 << 20}};

/// Shared memory of a thread block that has a whole front of the level.
std::int64_t chip_bytes(const GridSpec& spec, const Target& target, const Level& level, bool leaf, const OnChip& kernel);

/// The first that fits; null: thread blocks share such fronts.
const OnChip* on_chip_of(const GridSpec& spec, const Target& target, const Level& level, bool leaf);

/// Columns of a pivot block that are factored at a time, by threads with so many rows each.
struct Panel {
    std::int64_t first, columns, rows;
};
/// Of a shared front: the more rows are left, the narrower, and at most so wide. None where they are too many.
std::vector<Panel> panels_of(const Level& level, std::int64_t most_columns = grid_tile_width);
Kernel step_of(std::int64_t rows);

}  // namespace trifold::grid::gpu
