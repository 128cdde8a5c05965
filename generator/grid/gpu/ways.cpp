#include "generator/grid/gpu/ways.hpp"

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

std::vector<Panel> panels_of(const Level& level, std::int64_t most_columns, bool few) {
    constexpr int most_times = 16;
    std::vector<Panel> panels;
    if (level.eliminated > grid_most_rows(most_times)) return panels;
    int times = most_times;
    for (std::int64_t first = 0; first < level.eliminated; first += grid_step_columns(times)) {
        const auto left = level.eliminated - first;
        // Wider ones begin at multiples of their width.
        while (times > 1 && grid_step_columns(times) < most_columns && left <= grid_most_rows(times / 2) &&
               first % grid_step_columns(times / 2) == 0)
            times /= 2;
        if (few && times == 1 && left <= grid_small_step_rows) times = 0;
        panels.push_back({first, times});
    }
    return panels;
}

Kernel step_of(int times) {
    return times == 0   ? Kernel::step_few
           : times == 1 ? Kernel::step_1
           : times == 2 ? Kernel::step_2
           : times == 4 ? Kernel::step_4
           : times == 8 ? Kernel::step_8
                        : Kernel::step_16;
}

}  // namespace trifold::grid::gpu
