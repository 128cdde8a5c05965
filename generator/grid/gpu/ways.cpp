#include "generator/grid/gpu/ways.hpp"

#include <trifold/grid_args.h>

#include <trifold/program.hpp>

#include "generator/program/device.hpp"

namespace trifold::grid::gpu {
namespace {

/// As leading_of in templates/gpu/grid/products.cuh.
std::int64_t leading_of(std::int64_t rows, std::int64_t real) { return round_up(rows, 16) + (real == 8 ? 4 : 8); }

constexpr std::int64_t place_bytes = 8, integer_bytes = 4;

}  // namespace

std::int64_t chip_bytes(const GridSpec& spec, const Target& target, const Level& level, bool leaf, const OnChip& kernel) {
    const auto real = element_bytes(spec.precision), s = level.eliminated, r = level.kept, R = round_up(r, 16 / real);
    const auto panels = spec.matrix == GridMatrix::symmetric ? 1 : 2;
    const auto reals = kernel.width * (kernel.width + 1) + panels * s * leading_of(r, real) + kernel.width + (leaf ? R * R : 0);
    const auto bytes = kernel.threads / warp_lanes(target) * static_cast<std::int64_t>(sizeof(trifold_grid_record)) +
                       round_up(reals * real, 8) + (s + r) * place_bytes + kernel.width * integer_bytes;
    return round_up(bytes, 16);
}

const OnChip* on_chip_of(const GridSpec& spec, const Target& target, const Level& level, bool leaf) {
    const auto limit = device_of(target).count("facts.block_shared_bytes");
    for (const auto& kernel : on_chip)
        if (level.eliminated <= kernel.width && level.kept <= kernel.kept && chip_bytes(spec, target, level, leaf, kernel) <= limit)
            return &kernel;
    return nullptr;
}

std::vector<Panel> panels_of(const Level& level, std::int64_t most_columns) {
    constexpr std::int64_t most_rows = 16;
    std::vector<Panel> panels;
    if (level.eliminated > step_threads * most_rows) return panels;
    for (std::int64_t first = 0, rows = most_rows; first < level.eliminated; first += tile_width / rows) {
        // Wider ones begin at multiples of their width.
        while (tile_width / rows < most_columns && level.eliminated - first <= step_threads * (rows / 2) &&
               first % (2 * tile_width / rows) == 0)
            rows /= 2;
        panels.push_back({first, tile_width / rows, rows});
    }
    return panels;
}

Kernel step_of(std::int64_t rows) {
    return rows == 1   ? Kernel::step_1
           : rows == 2 ? Kernel::step_2
           : rows == 4 ? Kernel::step_4
           : rows == 8 ? Kernel::step_8
                       : Kernel::step_16;
}

/// As StepChip.
std::int64_t step_bytes(const GridSpec& spec, const Target& target, std::int64_t rows) {
    const auto real = element_bytes(spec.precision), columns = tile_width / rows, warps = step_threads / warp_lanes(target);
    const auto square = std::max<std::int64_t>(columns, 16);
    const auto reals = tile_width * (tile_width + 1) + columns * (square + 4) + 2 * warps * columns + columns + tile_width;
    return round_up(round_up(reals * real, 8) + (4 * warps + 8 * columns) * integer_bytes, 16);
}

/// As PanelChip and ProductChip.
std::int64_t panel_bytes(const GridSpec& spec) {
    return tile_width * (tile_rows + tile_width + 16) * element_bytes(spec.precision) + (tile_rows + tile_width) * place_bytes;
}
std::int64_t product_bytes(const GridSpec& spec) {
    constexpr std::int64_t depth = 16;
    return 4 * depth * (tile_rows + 8) * element_bytes(spec.precision) + 2 * tile_rows * place_bytes;
}

}  // namespace trifold::grid::gpu
