#pragma once
#include <array>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "generator/grid/levels.hpp"

/// How the fronts of a level are eliminated, and by which kernels.
namespace trifold::grid::gpu {

#include "templates/gpu/grid/shared.h"

/// Rounded up.
constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

enum class Kernel {
    leaf,
    tiny,
    small,
    middle,
    large,
    huge,
    assemble,
    step_few,
    step_1,
    step_2,
    step_4,
    step_8,
    step_16,
    panel,
    product,
    wide_product,
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
inline constexpr std::array<std::string_view, 26> kernel_names{
    "leaf",           "tiny",         "small",           "middle",        "large",          "huge",    "assemble",
    "step_few",       "step_1",       "step_2",          "step_4",        "step_8",         "step_16", "panel",
    "product",        "wide_product", "finish",          "forward_small", "backward_small", "forward", "backward",
    "forward_pivots", "forward_kept", "backward_pivots", "backward_kept", "pixels"};

/// A kernel that has whole fronts: threads of its thread block, 0 for one warp, and the most columns it eliminates and rows it keeps.
struct OnChip {
    Kernel kernel;
    std::int64_t threads, width, kept;
};
inline constexpr OnChip leaf_on_chip{Kernel::leaf, 0, grid_leaf_pixels, grid_leaf_pixels};
inline constexpr OnChip tiny_on_chip{Kernel::tiny, 0, grid_tiny_width, grid_tiny_pixels};
inline constexpr std::array on_chip{OnChip{Kernel::small, 0, 8, 56}, OnChip{Kernel::middle, 128, 16, 128},
                                    OnChip{Kernel::large, 256, 32, 136}, OnChip{Kernel::huge, 512, 32, 1 << 20}};
/// Whether threads go on while what they fetch is on its way to shared memory.
bool fetches_async(const Target& target);

std::int64_t threads_of(const Target& target, const OnChip& kernel);

/// Shared memory of a thread block that has a whole front of the level.
std::int64_t chip_bytes(const GridSpec& spec, const Level& level, const OnChip& kernel);

/// The first that fits; null: thread blocks share such fronts.
const OnChip* on_chip_of(const GridSpec& spec, const Target& target, const Level& level, bool leaf);

/// Columns of a pivot block that are factored at a time, by a thread block that takes so many times grid_step_rows rows; 0: grid_small_step_rows.
struct Panel {
    std::int64_t first;
    int times;
    std::int64_t columns() const { return grid_step_columns(times); }
};
/// Of a shared front: the more rows are left, the narrower, and at most so wide. `few`: by small thread blocks once few are left. None
/// where they are too many.
std::vector<Panel> panels_of(const Level& level, std::int64_t most_columns = grid_tile_width, bool few = false);
Kernel step_of(int times);

}  // namespace trifold::grid::gpu
