#include "generator/grid/gpu/placement.hpp"

#include <trifold/grid_args.h>

#include <algorithm>
#include <stdexcept>
#include <trifold/program.hpp>

#include "generator/program/device.hpp"

namespace trifold::grid::gpu {

bool fetches_async(const Target& target) { return target.backend == Backend::cuda && compute_capability(target) >= 80; }

std::int64_t threads_of(Kernel kernel, const Target& target) {
    const std::int64_t lanes = warp_lanes(target);
    switch (kernel) {
        case Kernel::leaf:
        case Kernel::tiny:
        case Kernel::small:
            return lanes;
        case Kernel::middle:
            return 128;
        case Kernel::large:
            return 256;
        case Kernel::huge:
            return 512;
        case Kernel::assemble:
        case Kernel::forward_kept:
        case Kernel::backward_kept:
        case Kernel::pixels:
        case Kernel::refine:
            return grid_wide_threads;
        case Kernel::step_few:
        case Kernel::step_1:
        case Kernel::step_2:
        case Kernel::step_4:
        case Kernel::step_8:
        case Kernel::step_16:
            return grid_step_threads(row_groups_of(kernel));
        case Kernel::product:
            return 4 * lanes;
        case Kernel::panel:
        case Kernel::wide_product:
            return 8 * lanes;
        case Kernel::finish:
            return 64;
        case Kernel::forward_small:
        case Kernel::backward_small:
        case Kernel::forward:
        case Kernel::backward:
            return grid_sweep_threads;
        case Kernel::forward_pivots:
        case Kernel::backward_pivots:
        case Kernel::forward_pivots_transposed:
        case Kernel::backward_pivots_transposed:
            return grid_triangle_threads;
    }
    throw std::logic_error("a kernel of no images");
}

std::int64_t chip_bytes(const GridSpec& spec, const Level& level, const OnChip& kernel) {
    const auto real = element_bytes(spec.precision);
    if (kernel.kernel == Kernel::leaf) return grid_leaf_bytes(level.eliminated, sizeof(trifold_grid_record), real);
    if (kernel.kernel == Kernel::tiny) return grid_tiny_bytes(sizeof(trifold_grid_record), real);
    const auto panels = spec.matrix == GridMatrix::symmetric ? 1L : 2L;
    return grid_chip_bytes(kernel.width, level.eliminated, level.kept, panels, sizeof(trifold_grid_record), real);
}

const OnChip* on_chip_of(const GridSpec& spec, const Target& target, const Level& level, bool leaf) {
    if (leaf) return &leaf_on_chip;
    if (level.eliminated <= grid_tiny_width && level.eliminated + level.kept <= grid_tiny_pixels) return &tiny_on_chip;
    const auto limit = device_of(target).count("facts.block_shared_bytes");
    for (const auto& kernel : on_chip)
        if (level.eliminated <= kernel.width && level.kept <= kernel.kept && chip_bytes(spec, level, kernel) <= limit) return &kernel;
    return nullptr;
}

std::int64_t refine_bytes(const Target& target, std::int64_t eliminated, std::int64_t real) {
    return grid_wide_threads / warp_lanes(target) * static_cast<std::int64_t>(sizeof(double)) + eliminated * real;
}

std::vector<Panel> panels_of(const Level& level, std::int64_t max_columns, bool small_blocks) {
    constexpr int max_row_groups = 16;
    std::vector<Panel> panels;
    if (level.eliminated > grid_max_rows(max_row_groups)) return panels;
    int row_groups = max_row_groups;
    for (std::int64_t first = 0; first < level.eliminated; first += grid_step_columns(row_groups)) {
        const auto left = level.eliminated - first;
        // Wider panels begin at multiples of their width.
        while (row_groups > 1 && grid_step_columns(row_groups) < max_columns && left <= grid_max_rows(row_groups / 2) &&
               first % grid_step_columns(row_groups / 2) == 0)
            row_groups /= 2;
        if (small_blocks && row_groups == 1 && left <= grid_small_step_rows) row_groups = 0;
        panels.push_back({first, row_groups});
    }
    return panels;
}

Kernel step_of(int row_groups) {
    return row_groups == 0   ? Kernel::step_few
           : row_groups == 1 ? Kernel::step_1
           : row_groups == 2 ? Kernel::step_2
           : row_groups == 4 ? Kernel::step_4
           : row_groups == 8 ? Kernel::step_8
                             : Kernel::step_16;
}

int row_groups_of(Kernel kernel) {
    for (const int row_groups : {0, 1, 2, 4, 8})
        if (step_of(row_groups) == kernel) return row_groups;
    return 16;
}

std::int64_t step_bytes(const Target& target, std::int64_t real, int row_groups, bool on_chip) {
    return grid_step_bytes(grid_step_columns(row_groups), grid_step_threads(row_groups) / warp_lanes(target), real,
                           on_chip ? grid_max_rows(row_groups) : 0);
}

bool panel_on_chip(const Target& target, std::int64_t real) {
    std::int64_t most = 0;
    for (const int row_groups : {0, 1, 2, 4, 8, 16}) most = std::max(most, step_bytes(target, real, row_groups, true));
    return most <= device_of(target).count("facts.block_shared_bytes");
}

}  // namespace trifold::grid::gpu
