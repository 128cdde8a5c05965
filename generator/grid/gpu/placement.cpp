#include "generator/grid/gpu/placement.hpp"

#include <trifold/grid_args.h>

#include <trifold/program.hpp>

#include "generator/program/device.hpp"

namespace trifold::grid::gpu {

bool fetches_async(const Target& target) { return target.backend == Backend::cuda && compute_capability(target) >= 80; }

std::int64_t threads_of(const Target& target, const OnChip& kernel) {
    return kernel.threads != 0 ? kernel.threads : std::int64_t{warp_lanes(target)};
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

std::vector<Panel> panels_of(const Level& level, std::int64_t most_columns, bool small_blocks) {
    constexpr int most_row_groups = 16;
    std::vector<Panel> panels;
    if (level.eliminated > grid_most_rows(most_row_groups)) return panels;
    int row_groups = most_row_groups;
    for (std::int64_t first = 0; first < level.eliminated; first += grid_step_columns(row_groups)) {
        const auto left = level.eliminated - first;
        // Wider panels begin at multiples of their width.
        while (row_groups > 1 && grid_step_columns(row_groups) < most_columns && left <= grid_most_rows(row_groups / 2) &&
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

}  // namespace trifold::grid::gpu
