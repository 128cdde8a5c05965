#include "generator/grid/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/program/places.hpp"

namespace trifold::grid {
namespace {

/// Two buffers that levels use alternately, since only the next level reads what a level leaves. Each image has a part of its own, since
/// images need not be at the same level at the same time.
class Generations {
  public:
    explicit Generations(std::string_view name) : name_(name) {}
    void need(std::size_t level, std::int64_t elements) { sizes_[level % 2] = std::max(sizes_[level % 2], elements); }
    void place(Places& memory, std::int64_t images, std::int64_t each) {
        for (const std::size_t k : {0, 1})
            offsets_[k] = memory.add(fmt::format("{}_{}", name_, k), checked_multiply(images, sizes_[k], name_), each);
    }
    std::int64_t at(std::size_t level) const { return offsets_[level % 2]; }
    std::int64_t stride(std::size_t level) const { return sizes_[level % 2]; }

  private:
    std::string_view name_;
    std::array<std::int64_t, 2> sizes_{}, offsets_{};
};

std::int64_t product(std::initializer_list<std::int64_t> factors, std::string_view what) {
    std::int64_t result = 1;
    for (const auto factor : factors) result = checked_multiply(result, factor, what);
    return result;
}

}  // namespace

Layout layout_of(const GridSpec& spec, const std::vector<Level>& levels, const Shape& shape) {
    const auto real = element_bytes(spec.precision);
    const bool symmetric = spec.matrix == GridMatrix::symmetric;
    Layout layout;
    Places memory;
    Generations updates("update"), vectors("vector");
    std::int64_t transposed_pivots = 0;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const auto& level = levels[k];
        const auto S = round_up(level.eliminated, shape.lanes), R = round_up(level.kept, shape.lanes);
        const auto boxes = checked_multiply(level.boxes(), spec.batch, "boxes");
        trifold_grid_level l{};
        l.x_halvings = level.x_halvings;
        l.y_halvings = level.y_halvings;
        l.eliminated = S;
        l.kept = R;
        for (const auto& [s, r] : level.shapes) {
            const auto rows = round_up(s, shape.lanes) + (symmetric ? 1 : 2) * round_up(r, shape.lanes);
            l.factor_elements = std::max<trifold_int>(l.factor_elements, round_up(s, shape.lanes) * rows);
        }
        l.factor = memory.add(fmt::format("factor_{}", k), checked_multiply(boxes, l.factor_elements, "factors"), real);
        l.inverse_elements = shape.inverse_elements.empty() ? S : shape.inverse_elements[k];
        l.pivot_elements = shape.pivot_elements.empty() ? S : shape.pivot_elements[k];
        l.inverses = memory.add(fmt::format("inverses_{}", k), checked_multiply(boxes, l.inverse_elements, "inverses"), real);
        if (!symmetric)
            l.pivots = memory.add(fmt::format("pivots_{}", k), checked_multiply(boxes, l.pivot_elements, "pivots"), sizeof(int));
        l.records = memory.add(fmt::format("records_{}", k), boxes, sizeof(trifold_grid_record));
        vectors.need(k, product({level.boxes(), R, shape.columns}, "vectors of a sweep"));
        const auto stage = std::ranges::find(shape.stages, k, &Stage::last);
        if (stage != shape.stages.end()) updates.need(k, product({level.boxes(), R, R}, "updates"));
        if (stage != shape.stages.end() && stage->shared && !symmetric)
            transposed_pivots = std::max(transposed_pivots, product({level.boxes(), S, S}, "pivot blocks"));
        layout.levels.push_back(l);
    }
    updates.place(memory, spec.batch, real);
    vectors.place(memory, spec.batch, real);
    const auto transposed_pivots_at =
        memory.add("transposed_pivots", checked_multiply(spec.batch, transposed_pivots, "pivot blocks"), real);
    for (std::size_t k = 0; k < levels.size(); ++k) {
        auto& l = layout.levels[k];
        l.update = updates.at(k);
        l.update_stride = updates.stride(k);
        l.vector = vectors.at(k);
        l.vector_stride = vectors.stride(k);
        l.transposed_pivots = transposed_pivots_at;
        l.transposed_pivots_stride = transposed_pivots;
    }
    layout.status = memory.add("status", spec.batch, sizeof(trifold_grid_status));
    if (!symmetric)
        layout.scale =
            memory.add("scale", product({spec.batch, unknown_width(spec), unknown_height(spec)}, "scales"), sizeof(std::int32_t));
    if (spec.ring() > 0)
        layout.edge = memory.add("edge", product({spec.batch, 2 * (unknown_width(spec) + unknown_height(spec)), 9}, "stencils"), real);
    const auto pixels = checked_multiply(spec.batch, spec.width * spec.height, "pixels");
    if (spec.operations.contains(GridOperation::refine) || can_be_rough(spec))
        layout.residual = memory.add("residual", checked_multiply(pixels, spec.rhs, "residuals"), real);
    if (has_solutions(spec)) layout.kept_b = memory.add("kept_b", checked_multiply(pixels, spec.rhs, "right-hand sides"), real);
    if (can_be_rough(spec)) {
        layout.stencil = memory.add("stencil", checked_multiply(pixels, 9, "stencils"), real);
        layout.all_levels = memory.add("all_levels", static_cast<std::int64_t>(levels.size()), sizeof(trifold_grid_level));
    }
    layout.bytes = memory.bytes();
    layout.buffers = memory.take();
    const auto table = std::ranges::find(layout.buffers, "all_levels", &Buffer::name);
    if (table != layout.buffers.end())
        table->contents.assign(reinterpret_cast<const char*>(layout.levels.data()), layout.levels.size() * sizeof(trifold_grid_level));
    return layout;
}

bool has_solutions(const GridSpec& spec) { return spec.operations != GridOperations{GridOperation::factor}; }
bool can_be_rough(const GridSpec& spec) { return spec.matrix == GridMatrix::general && has_solutions(spec); }

Limits limits_of(const GridSpec& spec) {
    // Found by experiment: see docs/users/grid.md. The error was seldom above ten times rounding times the growth.
    constexpr double entries = 9, min_f32 = 8, growth_f32 = 0x1p15, growth_f64 = 0x1p28, each = 64, by_side = 16;
    const bool symmetric = spec.matrix == GridMatrix::symmetric, is_f32 = spec.precision == Precision::f32;
    const double rounding = is_f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    const double pixels = static_cast<double>(unknown_width(spec)) * static_cast<double>(unknown_height(spec));
    const double doubtful = (each + by_side * std::sqrt(pixels)) * rounding, certain = (symmetric ? 1 : by_side) * doubtful;
    // Backward errors were at most 11 times rounding times growth over the least pivot. What is refined is held to an eighth of what is
    // promised, which costs a step more at most, so that the promise holds in other norms as well.
    constexpr double error_f32 = 2e-5, error_f64 = 1e-12, safety = 16, tighter = 8;
    const double error = is_f32 ? error_f32 : error_f64;
    return {.least_pivot = is_f32 ? min_f32 * rounding : certain,
            .doubtful_pivot = is_f32 ? doubtful : 0,
            .negligible_pivot = doubtful,
            .growth = is_f32 ? growth_f32 : growth_f64,
            .row_sum = entries * rounding,
            .rough = error / (safety * rounding),
            .backward_error = error / tighter};
}

trifold_grid_launch launch_of(const GridSpec& spec, const Layout& layout) {
    trifold_grid_launch launch{};
    launch.width = unknown_width(spec);
    launch.height = unknown_height(spec);
    launch.origin = spec.ring() * (spec.width + 1);
    launch.pitch = spec.width;
    launch.pixels = spec.width * spec.height;
    launch.edge = layout.edge;
    launch.status = layout.status;
    launch.scale = layout.scale;
    const auto limits = limits_of(spec);
    launch.least = limits.least_pivot;
    launch.negligible = limits.negligible_pivot;
    launch.growth = limits.growth;
    launch.row_sum = limits.row_sum;
    launch.rough = limits.rough;
    launch.bound = limits.backward_error;
    launch.residual = layout.residual;
    launch.kept_b = layout.kept_b;
    launch.stencil = layout.stencil;
    launch.all_levels = layout.all_levels;
    launch.level_count = static_cast<std::int64_t>(layout.levels.size());
    return launch;
}

std::string_view kind_of(const GridSpec& spec) {
    if (spec.matrix == GridMatrix::symmetric) return "symmetric";
    return spec.pivoting == GridPivoting::partial ? "general" : "unpivoted";
}

std::string title_of(const GridSpec& spec, const Target& target) {
    return fmt::format(
        "/* Trifold: factor and solve A x = b, where A couples each pixel of an image with its eight neighbours ({}, {}); target {}.\n"
        " * Generated; do not edit. It serves images of every size: launches say which. */\n",
        kind_of(spec), to_string(spec.precision), to_string(target));
}

void append(std::vector<Launch>& list, std::size_t kernel, const trifold_grid_launch& constants, std::int64_t groups, std::string what) {
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {groups, 1};
    launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
    if (!list.empty()) launch.after = {list.size() - 1};
    launch.what = std::move(what);
    list.push_back(std::move(launch));
}

std::vector<Launch> join(std::vector<Launch> first, const std::vector<Launch>& second) {
    const auto count = first.size();
    for (const auto& launch : second) {
        first.push_back(launch);
        for (auto& k : first.back().after) k += count;
        if (first.back().after.empty() && count > 0) first.back().after = {count - 1};
    }
    return first;
}

}  // namespace trifold::grid
