#include "generator/grid/levels.hpp"

#include <trifold/grid_args.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "generator/grid/knobs.hpp"
#include "generator/program/device.hpp"

namespace trifold::grid {
namespace {

#include "templates/grid/boxes.h"

/// Halvings of `cells` cells until each part has at most `most`.
int halvings(std::int64_t cells, std::int64_t most) {
    int count = 0;
    while ((cells + (std::int64_t{1} << count) - 1) >> count > most) ++count;
    return count;
}

/// Places along one side whose boxes differ in their pixels, each with the number of places that are like it.
std::vector<std::pair<int, std::int64_t>> places(int pixels, int halved) {
    std::map<std::tuple<int, bool, bool, int>, std::pair<int, std::int64_t>> found;
    const int count = 1 << halved;
    for (int k = 0; k < count; ++k) {
        const auto first = grid_line(pixels, halved, k), end = grid_line(pixels, halved, k + 1);
        ++found.try_emplace({end - first, k > 0, k + 1 < count, grid_line(pixels, halved + 1, 2 * k + 1) - first}, k, 0)
              .first->second.second;
    }
    std::vector<std::pair<int, std::int64_t>> result;
    for (const auto& [shape, place] : found) result.push_back(place);
    return result;
}

Level level_of(const GridSpec& spec, int x_halvings, int y_halvings, int made) {
    const auto width = static_cast<int>(unknown_width(spec)), height = static_cast<int>(unknown_height(spec));
    Level level{.x_halvings = x_halvings, .y_halvings = y_halvings, .min_kept = std::int64_t{1} << 62};
    const bool symmetric = spec.matrix == GridMatrix::symmetric;
    for (const auto& [i, columns] : places(width, x_halvings))
        for (const auto& [j, rows] : places(height, y_halvings)) {
            const auto box = grid_box_at(width, height, x_halvings, y_halvings, i, j, made);
            const auto s = grid_eliminated(&box), r = grid_kept(&box);
            if (std::ranges::find(level.shapes, std::pair<std::int64_t, std::int64_t>(s, r)) == level.shapes.end())
                level.shapes.emplace_back(s, r);
            level.eliminated = std::max<std::int64_t>(level.eliminated, s);
            level.kept = std::max<std::int64_t>(level.kept, r);
            level.min_kept = std::min<std::int64_t>(level.min_kept, r);
            level.width_cells = std::max<std::int64_t>(level.width_cells, box.x1 - box.x0);
            level.height_cells = std::max<std::int64_t>(level.height_cells, box.y1 - box.y0);
            const auto n = static_cast<double>(s), m = static_cast<double>(r), count = static_cast<double>(columns * rows);
            level.flops += count * (n * n * n / 3 + n * n * m + n * m * m) * (symmetric ? 1 : 2);
            level.factor_elements += count * (n * n + n * m * (symmetric ? 1 : 2));
        }
    return level;
}

}  // namespace

std::int64_t unknown_width(const GridSpec& spec) { return spec.width - 2 * spec.ring(); }
std::int64_t unknown_height(const GridSpec& spec) { return spec.height - 2 * spec.ring(); }

std::int64_t leaf_cells_of(const Knobs& knobs, const Target& target) { return take(knobs, device_of(target), "leaf_cells", {}); }

std::int64_t leaf_cells_of(const GridTuning& tuning, const Target& target) { return leaf_cells_of(pinned_by(tuning, target), target); }

std::vector<Level> levels_of(const GridSpec& spec, std::int64_t leaf_cells) {
    const auto width = unknown_width(spec) - 1, height = unknown_height(spec) - 1;
    int x = halvings(width, leaf_cells), y = halvings(height, leaf_cells);
    std::vector<Level> levels{level_of(spec, x, y, grid_leaf)};
    while (x + y > 0) {
        // Width and height of a box, compared without rounding.
        const bool side_by_side = y == 0 || (x > 0 && (width << y) <= (height << x));
        (side_by_side ? x : y) -= 1;
        levels.push_back(level_of(spec, x, y, side_by_side ? grid_side_by_side : grid_above));
    }
    return levels;
}

Rectangle eliminated_pixels(const GridSpec& spec, const std::vector<Level>& levels, std::size_t level, std::int64_t i, std::int64_t j) {
    const auto& l = levels.at(level);
    const int made = level == 0 ? grid_leaf : l.x_halvings < levels[level - 1].x_halvings ? grid_side_by_side : grid_above;
    const auto width = static_cast<int>(unknown_width(spec)), height = static_cast<int>(unknown_height(spec));
    const auto box = grid_box_at(width, height, l.x_halvings, l.y_halvings, static_cast<int>(i), static_cast<int>(j), made);
    return {box.ex0, box.ex1, box.ey0, box.ey1};
}

}  // namespace trifold::grid
