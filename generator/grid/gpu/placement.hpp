#pragma once
#include <array>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "generator/grid/levels.hpp"
#include "generator/program/words.hpp"

/// Placement of fronts: which kernels eliminate those of a level, on chip or shared by thread blocks.
namespace trifold::grid::gpu {

#include "templates/gpu/grid/shared.h"

/// a / b, rounded up.
constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

TRIFOLD_NAMED_ENUM(Kernel, kernel_names, leaf, tiny, small, middle, large, huge, assemble, step_few, step_1, step_2, step_4, step_8,
                   step_16, panel, product, wide_product, finish, refine, forward_small, backward_small, forward, backward, forward_pivots,
                   forward_kept, backward_pivots, backward_kept, forward_pivots_transposed, backward_pivots_transposed, pixels);
constexpr std::string_view name_of(Kernel kernel) { return kernel_names.at(static_cast<std::size_t>(kernel)); }

/// A kernel that keeps whole fronts on chip: the most columns that it eliminates and rows that it keeps.
struct OnChip {
    Kernel kernel;
    std::int64_t width, kept;
};
inline constexpr OnChip leaf_on_chip{Kernel::leaf, grid_leaf_pixels, grid_leaf_pixels};
inline constexpr OnChip tiny_on_chip{Kernel::tiny, grid_tiny_width, grid_tiny_pixels};
inline constexpr std::array on_chip{OnChip{Kernel::small, 8, 56}, OnChip{Kernel::middle, 16, 128}, OnChip{Kernel::large, 32, 136},
                                    OnChip{Kernel::huge, 32, 1 << 20}};
/// Whether copies to shared memory go on in the background.
bool fetches_async(const Target& target);

/// Threads of a kernel's thread block.
std::int64_t threads_of(Kernel kernel, const Target& target);

/// Shared memory of a thread block that has a whole front of the level.
std::int64_t chip_bytes(const GridSpec& spec, const Level& level, const OnChip& kernel);

/// The first kernel that has room for the level's fronts; null: thread blocks share such fronts.
const OnChip* on_chip_of(const GridSpec& spec, const Target& target, const Level& level, bool leaf);

/// A panel: columns of a pivot block that one thread block factors at a time. It takes `row_groups` times grid_step_rows rows, or
/// grid_small_step_rows where `row_groups` is 0.
struct Panel {
    std::int64_t first;
    int row_groups;
    std::int64_t columns() const { return grid_step_columns(row_groups); }
};
/// Splits a shared front's pivot block into panels of at most `max_columns`. More remaining rows need narrower panels. `small_blocks`:
/// small thread blocks take the last rows. Empty if the block has too many rows.
std::vector<Panel> panels_of(const Level& level, std::int64_t max_columns = grid_tile_width, bool small_blocks = false);
/// The kernel that factors such a panel, and the row groups of such a kernel's thread block.
Kernel step_of(int row_groups);
int row_groups_of(Kernel kernel);
/// Shared memory of a step's kernel, with room for a panel where that stays on chip.
std::int64_t step_bytes(const Target& target, std::int64_t real, int row_groups, bool on_chip);
/// Shared memory of a refinement whose widest front eliminates `eliminated` pixels.
std::int64_t refine_bytes(const Target& target, std::int64_t eliminated, std::int64_t real);
/// Whether shared memory has room for the panels of every step's kernel.
bool panel_on_chip(const Target& target, std::int64_t real);

}  // namespace trifold::grid::gpu
