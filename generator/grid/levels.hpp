#pragma once
#include <cstdint>
#include <trifold/grid_spec.hpp>
#include <utility>
#include <vector>

#include "generator/program/knob.hpp"

/// The tree of boxes: leaf tiles, then merges of two boxes that lie side by side or one above the other. templates/grid/boxes.h says which
/// pixels a box has.
namespace trifold::grid {

/// All boxes of one level.
struct Level {
    int x_halvings = 0, y_halvings = 0;                         ///< the level has 2^x_halvings by 2^y_halvings boxes
    std::int64_t eliminated = 0, kept = 0;                      ///< pixels of the largest box
    std::int64_t min_kept = 0;                                  ///< kept pixels of the box that keeps fewest
    std::int64_t width_cells = 0, height_cells = 0;             ///< cells of the largest box
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes;  ///< eliminated and kept pixels of its boxes, each pair once
    double flops = 0;            ///< for one image: 2/3 s^3 + 2 s^2 r + 2 s r^2 a box, half of it if symmetric
    double factor_elements = 0;  ///< for one image: s^2 + 2 s r a box, s^2 + s r if symmetric
    std::int64_t boxes() const { return std::int64_t{1} << (x_halvings + y_halvings); }
};

/// Pixels that are unknowns, of a row and of a column.
std::int64_t unknown_width(const GridSpec& spec);
std::int64_t unknown_height(const GridSpec& spec);

/// Cells of a leaf tile each way, at most.
std::int64_t leaf_cells_of(const Knobs& knobs, const Target& target);
std::int64_t leaf_cells_of(const GridTuning& tuning, const Target& target);

/// From the leaf tiles, of at most that many cells each way, to the last line. A level merges the way in which its boxes have fewer cells.
std::vector<Level> levels_of(const GridSpec& spec, std::int64_t leaf_cells);

/// Pixels, both ends included, counted from the first unknown.
struct Rectangle {
    std::int64_t x0, x1, y0, y1;
};
/// Pixels that box (i, j) of a level eliminates.
Rectangle eliminated_pixels(const GridSpec& spec, const std::vector<Level>& levels, std::size_t level, std::int64_t i, std::int64_t j);

}  // namespace trifold::grid
