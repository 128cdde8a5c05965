#include <fmt/format.h>

#include <algorithm>

#include "generator/grid/cpu/cpu.hpp"
#include "generator/grid/layout.hpp"
#include "generator/program/require.hpp"

namespace trifold::grid::cpu {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Writes the launches of a Program.
class Writer {
  public:
    Writer(const GridSpec& spec, const Target& target, const std::vector<Level>& levels, const Shape& shape, const Layout& layout)
        : spec_(spec), levels_(levels), shape_(shape), layout_(layout), tile_(device_of(target).count("models.grid.tile")) {}

    std::vector<Launch> factor() {
        list_.clear();
        for (const auto& stage : shape_.stages) add_stage(stage);
        for (std::size_t level = 0; level < levels_.size(); ++level) add(Kernel::finish, at(level, level), 1, "sums of level", level);
        return list_;
    }

    std::vector<Launch> solve(bool transposed) {
        list_.clear();
        const auto sweep = [&](Kernel kernel, std::size_t level) {
            auto launch = at(level > 0 ? level - 1 : 0, level);
            launch.transposed = transposed ? 1 : 0;
            add(kernel, launch, levels_[level].boxes(), kernel == Kernel::forward ? "forward level" : "backward level", level);
        };
        for (std::size_t level = 0; level < levels_.size(); ++level) sweep(Kernel::forward, level);
        for (std::size_t level = levels_.size(); level-- > 0;) sweep(Kernel::backward, level);
        if (spec_.ring() > 0) whole(Kernel::ring, transposed, "ring of");
        // An image of one box has had its last look by the backward sweep.
        if (spec_.ring() > 0 || levels_.size() > 1) whole(Kernel::refine, transposed, "last look at");
        return list_;
    }
    std::vector<Launch> correct(bool transposed) {
        rows(Kernel::correct);
        whole(Kernel::refine, transposed, "last look at");
        return list_;
    }

    /// Launches of one kernel, with a task for each row of an image.
    std::vector<Launch> rows(Kernel kernel, bool transposed = false) {
        list_.clear();
        auto launch = at(0, 0);
        launch.transposed = transposed ? 1 : 0;
        add(kernel, launch, spec_.height, kernel_names.at(static_cast<std::size_t>(kernel)), 0);
        return list_;
    }

    /// Elements of scratch memory that a worker needs.
    std::int64_t scratch() const {
        std::int64_t most = 0;
        for (const auto& level : layout_.levels) most = std::max<std::int64_t>(most, (level.eliminated + level.kept) * shape_.columns);
        for (const auto& stage : shape_.stages) {
            const auto launch = of_stage(stage);
            std::int64_t largest = 0;
            for (std::size_t k = stage.first; k <= stage.last; ++k) largest = std::max<std::int64_t>(largest, layout_.levels[k].eliminated);
            most = std::max<std::int64_t>(most, launch.task.spare_scratch + (stage.shared ? 0 : largest * largest));
        }
        return most;
    }

  private:
    /// A launch with a task for each image.
    void whole(Kernel kernel, bool transposed, std::string_view what) {
        auto launch = at(0, 0);
        launch.transposed = transposed ? 1 : 0;
        add(kernel, launch, 1, what, 0);
    }
    /// A launch with levels first .. last.
    trifold_grid_launch at(std::size_t first, std::size_t last) const {
        auto launch = launch_of(spec_, layout_);
        launch.leaves = first == 0 && last == 0 ? 1 : 0;
        launch.kind = trifold_grid_tasks;
        launch.task = {0, 0, tile_, shape_.columns};
        launch.number = static_cast<std::int64_t>(last);
        require(first <= last && last - first < trifold_grid_levels, "a launch has levels {} to {}, and kernels know {}", first, last,
                int{trifold_grid_levels});
        for (auto k = first; k <= last; ++k) launch.level[launch.levels++] = layout_.levels[k];
        return launch;
    }

    /// The launch of a stage. Scratch has places for what its levels leave to one another, so for all levels but the last.
    trifold_grid_launch of_stage(const Stage& stage) const {
        auto launch = at(stage.first > 0 ? stage.first - 1 : 0, stage.last);
        launch.leaves = stage.first == 0 ? 1 : 0;
        std::array<std::int64_t, 2> sizes{};
        const auto& last = layout_.levels[stage.last];
        for (auto k = stage.first; k < stage.last; ++k) {
            const auto& level = layout_.levels[k];
            const auto boxes = std::int64_t{1} << (level.x_halvings + level.y_halvings - last.x_halvings - last.y_halvings);
            auto& size = sizes.at((k - stage.first + (stage.first > 0 ? 1 : 0)) % 2);
            size = std::max<std::int64_t>(size, boxes * level.kept * level.kept);
        }
        launch.task.odd_scratch = sizes[0];
        launch.task.spare_scratch = sizes[0] + sizes[1];
        return launch;
    }

    void add_stage(const Stage& stage) {
        const auto launch = of_stage(stage);
        const auto boxes = levels_[stage.last].boxes();
        const auto [S, R] = std::pair(layout_.levels[stage.last].eliminated, layout_.levels[stage.last].kept);
        if (!stage.shared)
            return add(Kernel::eliminate, launch, boxes, stage.first < stage.last ? "fronts up to level" : "fronts of level", stage.last);
        const auto parts = divide_up(R, tile_);
        add(Kernel::assemble, launch, boxes * divide_up(S + R, tile_), "fronts of level", stage.last);
        add(Kernel::pivots, launch, boxes, "pivot blocks of level", stage.last);
        if (R == 0) return;
        add(Kernel::panel, launch, boxes * parts, "panels of level", stage.last);
        add(Kernel::product, launch, boxes * parts * parts, "products of level", stage.last);
    }

    void add(Kernel kernel, const trifold_grid_launch& constants, std::int64_t groups, std::string_view what, std::size_t level) {
        append(list_, static_cast<std::size_t>(kernel), constants, groups, fmt::format("{} {}", what, level));
    }

    const GridSpec& spec_;
    const std::vector<Level>& levels_;
    const Shape& shape_;
    const Layout& layout_;
    std::int64_t tile_;
    std::vector<Launch> list_;
};

}  // namespace

/// A task takes several levels of small boxes, so that what they leave stays in its caches. A larger box has a task of its own. Where boxes
/// are too few for the workers, several tasks share each box. No choice here changes a bit.
Shape shape_of(const GridSpec& spec, const Target& target, const std::vector<Level>& levels) {
    const auto& device = device_of(target);
    const auto task_cells = device.count("models.grid.task_cells"), whole_boxes = device.count("models.grid.whole_boxes");
    const auto shared_from = device.count("models.grid.shared_from");
    Shape shape{.lanes = tile_of(spec, target).lanes};
    shape.columns = spec.rhs == 1 ? 1 : round_up(spec.rhs, shape.lanes);  // whole slices
    std::size_t first = 0;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const auto small = [&](const Level& level) { return std::max(level.width_cells, level.height_cells) <= task_cells; };
        const auto held = k - first + 1;  // levels of this stage, and what is below it
        if (first == 0 && k + 1 < levels.size() && small(levels[k + 1]) && held + 1 < trifold_grid_levels) continue;
        const auto& level = levels[k];
        const bool shared = k > 0 && level.boxes() * spec.batch < whole_boxes && level.eliminated + level.kept >= shared_from && first == k;
        shape.stages.push_back({first, k, shared});
        first = k + 1;
    }
    return shape;
}

void add_launches(Program& program, const GridSpec& spec, const Target& target, const std::vector<Level>& levels, const Shape& shape,
                  const Layout& layout) {
    Writer writer(spec, target, levels, shape, layout);
    const auto needs = [&](GridOperation operation) { return spec.operations.contains(operation); };
    auto& operations = program.operations;
    if (needs(GridOperation::factor)) operations["factor"] = writer.factor();
    if (needs(GridOperation::solve) || needs(GridOperation::refine)) operations["solve"] = writer.solve(false);
    // Gradients and refinement of A' x = b are made of it too.
    if (needs(GridOperation::solve_transposed) || needs(GridOperation::gradient) || needs(GridOperation::refine))
        operations["solve_transposed"] = writer.solve(true);
    if (needs(GridOperation::factor_solve)) operations["factor_solve"] = join(writer.factor(), writer.solve(false));
    if (needs(GridOperation::gradient)) operations["gradient"] = writer.rows(Kernel::gradient);
    if (needs(GridOperation::refine)) {
        operations["residual"] = writer.rows(Kernel::residual);
        operations["residual_transposed"] = writer.rows(Kernel::residual, true);
        operations["correct"] = writer.correct(false);
        operations["correct_transposed"] = writer.correct(true);
    }
    if (has_solutions(spec)) operations["keep"] = writer.rows(Kernel::keep);
    program.scratch_bytes =
        round_up(checked_multiply(writer.scratch(), element_bytes(spec.precision), "scratch of a worker"), workspace_alignment);
}

}  // namespace trifold::grid::cpu
