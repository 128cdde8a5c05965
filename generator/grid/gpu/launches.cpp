#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/grid/gpu/gpu.hpp"
#include "generator/grid/gpu/placement.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/layout.hpp"
#include "generator/program/device.hpp"
#include "generator/program/require.hpp"

namespace trifold::grid::gpu {
namespace {

constexpr std::int64_t max_images = 65535;  // the limit of a launch's second dimension

/// Writes the launches of a Program, and collects the kernels that they need. Launches name a kernel by its number until units are made.
class Launches {
  public:
    Launches(const GridSpec& spec, const Target& target, const Knobs& knobs, const std::vector<Level>& levels, const Layout& layout)
        : spec_(spec), target_(target), knobs_(knobs), levels_(levels), layout_(layout), real_(element_bytes(spec.precision)) {}

    std::vector<Launch> factor() {
        list_.clear();
        for (std::size_t level = 0; level < levels_.size(); ++level) {
            const auto* placement = placement_of(level);
            if (placement != nullptr)
                add_early(placement->kernel, chip_bytes(spec_, levels_[level], *placement), at(level), levels_[level].boxes(),
                          "fronts of level", level);
            else
                add_shared(level);
        }
        add_outcome();
        return list_;
    }

    std::vector<Launch> solve(bool transposed) {
        list_.clear();
        for (std::size_t level = 0; level < levels_.size(); ++level)
            placement_of(level) != nullptr ? sweep(true, level, transposed) : forward(level, transposed);
        for (std::size_t level = levels_.size(); level-- > 0;)
            placement_of(level) != nullptr ? sweep(false, level, transposed) : backward(level, transposed);
        if (spec_.ring() > 0) add_pixels(trifold_grid_ring, transposed, "ring");
        add_refinement(transposed);
        return list_;
    }

    std::vector<Launch> correct(bool transposed) {
        pixels(trifold_grid_correct, transposed, "correction");
        add_refinement(transposed);
        return list_;
    }

    std::vector<Launch> pixels(trifold_grid_work work, bool transposed, std::string_view what) {
        list_.clear();
        add_pixels(work, transposed, what);
        return list_;
    }

    const SharedBytes& launched() const { return launched_; }

  private:
    std::int64_t decide(std::string_view knob, const Quantities& of) const { return take(knobs_, device_of(target_), knob, of); }
    static double number(std::int64_t value) { return static_cast<double>(value); }
    const OnChip* placement_of(std::size_t level) const { return on_chip_of(spec_, target_, levels_[level], level == 0); }

    /// A launch for a level, which also gets the level below it.
    trifold_grid_launch at(std::size_t level) const {
        auto launch = launch_of(spec_, layout_);
        launch.leaves = level == 0 ? 1 : 0;
        launch.number = static_cast<std::int64_t>(level);
        for (auto k = level > 0 ? level - 1 : 0; k <= level; ++k) launch.level[launch.levels++] = layout_.levels[k];
        return launch;
    }
    /// Launch of a level in a sweep.
    trifold_grid_launch at(std::size_t level, bool transposed) const {
        auto launch = at(level);
        launch.transposed = transposed ? 1 : 0;
        return launch;
    }
    /// Launch of a level where `parts` thread blocks share a front.
    trifold_grid_launch shared(std::size_t level, std::int64_t parts) const {
        auto launch = at(level);
        launch.kind = trifold_grid_shared;
        launch.share = {parts};
        return launch;
    }

    void add_shared(std::size_t level) {
        const auto& l = levels_[level];
        const auto boxes = l.boxes(), tiles = quotient(l.eliminated, grid_assembled_columns);
        add_early(Kernel::assemble, 2 * sizeof(int) * grid_assembled_rows, shared(level, tiles), boxes * tiles, "pivot blocks of level",
                  level);
        add_steps(level);
        if (l.kept == 0) return;
        const std::int64_t parts = quotient(l.kept, grid_tile_rows), kinds = spec_.matrix == GridMatrix::symmetric ? 1 : 2;
        add_early(Kernel::panel, grid_panel_bytes(fetches_async(target_), real_), shared(level, parts), boxes * parts * kinds,
                  "panels of level", level);
        add_product(level);
    }

    /// Tiles twice as wide read half as much, and need more shared memory. They pay where each multiprocessor gets several tiles.
    void add_product(std::size_t level) {
        const auto& l = levels_[level];
        const bool async = fetches_async(target_);
        const std::int64_t wide_side = 2 * grid_tile_rows, tiles = l.boxes() * quotient(l.kept, wide_side) * quotient(l.kept, wide_side);
        const bool fits = async && grid_product_bytes(wide_side, async, real_) <= device_of(target_).count("facts.block_shared_bytes");
        const bool is_wide = decide("product_side", {{"eliminated", number(l.eliminated)}, {"tiles", number(tiles)}}) == wide_side && fits;
        const auto side = is_wide ? wide_side : std::int64_t{grid_tile_rows}, parts = quotient(l.kept, side);
        add_early(is_wide ? Kernel::wide_product : Kernel::product, grid_product_bytes(side, async, real_), shared(level, parts),
                  l.boxes() * parts * parts, "products of level", level);
    }

    /// Launch k applies panel k - 1 to the columns behind it, and factors panel k. A tile on the diagonal is inverted by the launch that
    /// applies its panel. A tile of several panels is inverted one launch later, since the last of them still moves its rows.
    void add_steps(std::size_t level) {
        const auto& l = levels_[level];
        const bool many = decide("step_rows", {{"boxes", number(l.boxes() * spec_.batch)}}) == grid_small_step_rows;
        const auto panels = panels_of(l, decide("panel_columns", {}), many);
        const auto first_of = [&](std::size_t index) {
            return index < panels.size() ? panels[index].first : panels.back().first + panels.back().columns();
        };
        const auto tiles = quotient(l.eliminated, grid_tile_width);
        std::int64_t inverted = 0;
        for (std::size_t k = 0; k <= panels.size() || inverted < tiles; ++k) {
            const auto& panel = panels[std::min(k, panels.size() - 1)];
            const auto shares =
                k == 0 ? 1 : quotient(l.eliminated, panel.columns()) + grid_step_groups(spec_.matrix == GridMatrix::symmetric);
            trifold_grid_step step{shares, k == 0 ? -1 : first_of(k - 1), first_of(k), static_cast<std::int64_t>(k), inverted, inverted};
            const bool is_tile = step.factored - step.applied == grid_tile_width;
            if (k > 0) inverted = step.applied >= l.eliminated ? tiles : (is_tile ? step.factored : step.applied) / grid_tile_width;
            step.inverse_end = inverted;
            auto launch = at(level);
            launch.kind = trifold_grid_stepping;
            launch.step = step;
            const auto bytes = step_bytes(target_, real_, panel.row_groups, panel_on_chip(target_, real_));
            add_early(step_of(panel.row_groups), bytes, launch, l.boxes() * shares, fmt::format("panel {} of level", k), level);
        }
        require(inverted == tiles && first_of(panels.size()) >= l.eliminated, "panels of level {} leave out some columns", level);
    }

    /// The outcome of an image, from the record of its last front.
    void add_outcome() { add_early(Kernel::finish, 0, at(levels_.size() - 1), 1, "outcome, from level", levels_.size() - 1); }

    /// The last look at a solution, and refinement where it is needed.
    void add_refinement(bool transposed) {
        const auto widest = static_cast<std::size_t>(std::ranges::max_element(levels_, {}, &Level::eliminated) - levels_.begin());
        add_early(Kernel::refine, refine_bytes(target_, levels_[widest].eliminated, real_), at(widest, transposed), 1,
                  "last look, with level", widest);
    }

    /// A front gets a thread block. A small one gets a team of lanes, with at least one lane for each pixel that it eliminates.
    void sweep(bool forward, std::size_t level, bool transposed) {
        const bool small = placement_of(level)->kernel <= Kernel::small && layout_.levels[level].eliminated <= grid_team_lanes;
        const std::int64_t lanes = small ? grid_team_lanes : grid_sweep_threads, teams = grid_sweep_threads / lanes;
        const auto& l = layout_.levels[level];
        const auto bytes =
            teams * grid_team_reals(l.eliminated, l.kept, std::max<std::int64_t>(lanes / warp_lanes(target_), 1), real_) * real_;
        const auto kernel = forward ? (small ? Kernel::forward_small : Kernel::forward) : small ? Kernel::backward_small : Kernel::backward;
        add_early(kernel, bytes, at(level, transposed), quotient(levels_[level].boxes(), teams),
                  forward ? "forward level" : "backward level", level);
    }
    void forward(std::size_t level, bool transposed) {
        const auto& l = levels_[level];
        for (const auto& [first, end] : parts_of(l)) {
            add_triangle(true, level, {first, end}, transposed);
            if (end < l.eliminated)
                add_adjacent(level, {first, end}, l.eliminated - end, trifold_grid_rows_behind, transposed, is_general() && transposed);
        }
        if (l.kept > 0) add_rows(at(level, transposed), {}, l.kept, "forward level", level);
    }
    void backward(std::size_t level, bool transposed) {
        const auto& l = levels_[level];
        if (l.kept > 0) add_columns(at(level, transposed), {}, l.eliminated, "backward level", level);
        auto parts = parts_of(l);
        std::ranges::reverse(parts);
        for (const auto& [first, end] : parts) {
            add_triangle(false, level, {first, end}, transposed);
            if (first > 0) add_adjacent(level, {first, end}, first, trifold_grid_rows_before, transposed, !is_general() || transposed);
        }
    }
    bool is_general() const { return spec_.matrix != GridMatrix::symmetric; }

    /// Columns of W, from the first to before the second.
    using Columns = std::pair<std::int64_t, std::int64_t>;
    /// The columns that one thread block solves with at a time.
    static std::vector<Columns> parts_of(const Level& l) {
        const auto tiles = quotient(l.eliminated, grid_tile_width), count = quotient(tiles, grid_triangle_tiles);
        std::vector<Columns> parts;
        for (std::int64_t k = 0; k < count; ++k)
            parts.emplace_back(tiles * k / count * grid_tile_width, std::min(tiles * (k + 1) / count * grid_tile_width, l.eliminated));
        return parts;
    }
    void add_triangle(bool forward, std::size_t level, Columns columns, bool transposed) {
        const bool async = fetches_async(target_);
        auto launch = at(level, transposed);
        launch.kind = trifold_grid_solving;
        launch.triangle = {columns.first, columns.second};
        const auto bytes = grid_triangle_bytes(columns.second - columns.first, levels_[level].eliminated, async, real_);
        const auto kernel = transposed && is_general() ? (forward ? Kernel::forward_pivots_transposed : Kernel::backward_pivots_transposed)
                            : forward                  ? Kernel::forward_pivots
                                                       : Kernel::backward_pivots;
        add_early(kernel, bytes, launch, levels_[level].boxes(), forward ? "forward pivots of level" : "backward pivots of level", level);
    }
    /// Subtracts the columns' part from the `count` rows behind or before them; `by_columns`: rows are columns of memory.
    void add_adjacent(std::size_t level, Columns columns, std::int64_t count, trifold_grid_rows rows, bool transposed, bool by_columns) {
        const auto launch = at(level, transposed);
        const trifold_grid_factor factor{0, rows, columns.first, columns.second};
        const auto* what = "next to pivots of level";
        by_columns ? add_columns(launch, factor, count, what, level) : add_rows(launch, factor, count, what, level);
    }
    void add_rows(trifold_grid_launch launch, trifold_grid_factor factor, std::int64_t rows, std::string_view what, std::size_t level) {
        factor.parts = quotient(rows, grid_kept_rows);
        launch.kind = trifold_grid_sweeping;
        launch.factor = factor;
        const auto bytes = (layout_.levels[level].eliminated + grid_wide_threads / warp_lanes(target_) * grid_kept_rows) * real_;
        add_early(Kernel::forward_kept, bytes, launch, levels_[level].boxes() * factor.parts, what, level);
    }
    void add_columns(trifold_grid_launch launch, trifold_grid_factor factor, std::int64_t columns, std::string_view what,
                     std::size_t level) {
        factor.parts = quotient(columns, grid_wide_threads / warp_lanes(target_) * grid_kept_columns);
        launch.kind = trifold_grid_sweeping;
        launch.factor = factor;
        add_early(Kernel::backward_kept, grid_kept_chunk * real_, launch, levels_[level].boxes() * factor.parts, what, level);
    }

    void add_pixels(trifold_grid_work work, bool transposed, std::string_view what) {
        auto launch = at(0, transposed);
        launch.kind = trifold_grid_pixelwise;
        launch.pixelwise = {work};
        add(Kernel::pixels, 0, launch, quotient(spec_.width * spec_.height, grid_wide_threads), what, 0);
    }

    /// Adds a launch that may start before its predecessor ends (programmatic dependent launch). It computes addresses, and a sweep fetches
    /// factors. Then it waits by itself, before it reads what the predecessor wrote.
    void add_early(Kernel kernel, std::int64_t shared_bytes, const trifold_grid_launch& constants, std::int64_t groups,
                   std::string_view what, std::size_t level) {
        const bool first = list_.empty();
        add(kernel, shared_bytes, constants, groups, what, level);
        list_.back().early = !first && device_of(target_).has("early_launches");
    }

    void add(Kernel kernel, std::int64_t shared_bytes, const trifold_grid_launch& constants, std::int64_t groups, std::string_view what,
             std::size_t level) {
        const Needs needs{threads_of(kernel, target_), shared_bytes};
        require_sound(spec_, target_, {kernel, needs, constants, groups, levels_[level]});
        auto& most = launched_[kernel];
        most = std::max(most, shared_bytes);
        append(list_, static_cast<std::size_t>(kernel), constants, groups, fmt::format("{} {}", what, level));
    }

    const GridSpec& spec_;
    const Target& target_;
    const Knobs& knobs_;
    const std::vector<Level>& levels_;
    const Layout& layout_;
    std::int64_t real_;
    std::vector<Launch> list_;
    SharedBytes launched_;
};

}  // namespace

void check(const GridSpec& spec, const Target& target) {
    constexpr std::int64_t max_leaf = 4;  // so that a tile without neighbours has at most 25 pixels
    if (spec.batch > max_images)
        throw SpecError(
            fmt::format("batch capacity {} is out of range for {}; give at most {}", spec.batch, to_string(target), max_images));
    for (const auto& level : levels_of(spec, max_leaf)) {
        // Merges on chip have 29 bits for the distance, in elements, between what two boxes leave.
        if (level.eliminated <= grid_tile_width && (level.kept * level.kept) << (level.x_halvings + 1) >= std::int64_t{1} << 29)
            throw SpecError(
                fmt::format("an image of {} by {} pixels is too wide for kernels of GPUs; give one of at most 500000 pixels a row",
                            spec.width, spec.height));
        if (panels_of(level).empty())
            throw SpecError(
                fmt::format("a line of {} pixels is eliminated at once, and kernels for GPUs take at most {}; give a smaller image",
                            level.eliminated, grid_max_rows(16)));
    }
}

Shape shape_of(const GridSpec& spec, const Target& target, const std::vector<Level>& levels) {
    Shape shape{16 / element_bytes(spec.precision), spec.rhs, {}, {}, {}};
    const auto triangles = spec.matrix == GridMatrix::symmetric ? 1 : 2;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const auto size = round_up(levels[k].eliminated, shape.lanes);
        const bool shared = on_chip_of(spec, target, levels[k], k == 0) == nullptr;
        shape.stages.push_back({k, k, false});
        shape.pivot_elements.push_back(shared ? size + 8 * grid_tile_width : size);
        shape.inverse_elements.push_back(
            shared ? quotient(levels[k].eliminated, grid_tile_width) * grid_tile_width * grid_tile_width * triangles : size);
    }
    return shape;
}

void add_launches(Program& program, const GridSpec& spec, const Target& target, const Knobs& knobs, const std::vector<Level>& levels,
                  const Layout& layout) {
    Launches launches(spec, target, knobs, levels, layout);
    const auto needs = [&](GridOperation operation) { return spec.operations.contains(operation); };
    auto& operations = program.operations;
    if (needs(GridOperation::factor)) operations["factor"] = launches.factor();
    if (needs(GridOperation::solve) || needs(GridOperation::refine)) operations["solve"] = launches.solve(false);
    // Gradients and refinement of A' x = b are made of it too.
    if (needs(GridOperation::solve_transposed) || needs(GridOperation::gradient) || needs(GridOperation::refine))
        operations["solve_transposed"] = launches.solve(true);
    if (needs(GridOperation::factor_solve)) operations["factor_solve"] = join(launches.factor(), launches.solve(false));
    if (needs(GridOperation::gradient)) operations["gradient"] = launches.pixels(trifold_grid_gradient, false, "gradient");
    if (needs(GridOperation::refine)) {
        operations["residual"] = launches.pixels(trifold_grid_residual, false, "residual");
        operations["residual_transposed"] = launches.pixels(trifold_grid_residual, true, "residual");
        operations["correct"] = launches.correct(false);
        operations["correct_transposed"] = launches.correct(true);
    }
    if (has_solutions(spec)) operations["keep"] = launches.pixels(trifold_grid_keep, false, "copy of B");
    add_units(program, spec, target, knobs, launches.launched());
}

}  // namespace trifold::grid::gpu
