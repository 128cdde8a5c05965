#pragma once
#include <array>
#include <string>
#include <string_view>
#include <trifold/grid_spec.hpp>

#include "generator/grid/layout.hpp"
#include "generator/program/device.hpp"
#include "generator/program/words.hpp"

/// Grids on CPUs. Launches tell kernels all shapes, so that one unit serves every size of image.
namespace trifold::grid::cpu {

/// The kernels of a unit.
TRIFOLD_NAMED_ENUM(Kernel, kernel_names, eliminate, assemble, pivots, panel, product, finish, forward, backward, ring, refine, keep,
                   residual, correct, gradient);

/// A register tile: its strips, the lanes of each, and its columns.
struct Tile {
    std::int64_t lanes, strips, columns;
};
Tile tile_of(const GridSpec& spec, const Target& target);

/// How the levels are cut into launches.
Shape shape_of(const GridSpec& spec, const Target& target, const std::vector<Level>& levels);

Unit unit_of(const GridSpec& spec, const Target& target);

/// Launches of all operations, and the scratch of a worker.
void add_launches(Program& program, const GridSpec& spec, const Target& target, const std::vector<Level>& levels, const Shape& shape,
                  const Layout& layout);

}  // namespace trifold::grid::cpu
