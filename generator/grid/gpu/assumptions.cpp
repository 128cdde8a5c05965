#include <algorithm>

#include "generator/grid/gpu/gpu.hpp"
#include "generator/program/device.hpp"
#include "generator/program/require.hpp"

namespace trifold::grid::gpu {
namespace {

/// The kernel's limits where it keeps whole fronts on chip, else null.
const OnChip* chip_kernel(Kernel kernel) {
    const auto found = std::ranges::find(on_chip, kernel, &OnChip::kernel);
    if (found != on_chip.end()) return &*found;
    return kernel == Kernel::leaf ? &leaf_on_chip : kernel == Kernel::tiny ? &tiny_on_chip : nullptr;
}

/// The assumptions about one launch, which are named as the templates name them.
class Assumptions {
  public:
    Assumptions(const GridSpec& spec, const Target& target, const Made& made)
        : spec_(spec),
          target_(target),
          made_(made),
          launch_(made.constants),
          level_(made.level),
          lanes_(warp_lanes(target)),
          real_(element_bytes(spec.precision)),
          async_(fetches_async(target)) {}

    void check() const {
        all();
        switch (made_.kernel) {
            case Kernel::leaf:
            case Kernel::tiny:
            case Kernel::small:
            case Kernel::middle:
            case Kernel::large:
            case Kernel::huge:
                return chip(*chip_kernel(made_.kernel));
            case Kernel::assemble:
                return assemble();
            case Kernel::step_few:
            case Kernel::step_1:
            case Kernel::step_2:
            case Kernel::step_4:
            case Kernel::step_8:
            case Kernel::step_16:
                return step(row_groups_of(made_.kernel));
            case Kernel::panel:
                return panel();
            case Kernel::product:
                return product(grid_tile_rows, 4);
            case Kernel::wide_product:
                return product(2 * grid_tile_rows, 8);
            case Kernel::finish:
                return finish();
            case Kernel::refine:
                return refine();
            case Kernel::forward_small:
            case Kernel::backward_small:
                return teams(grid_team_lanes);
            case Kernel::forward:
            case Kernel::backward:
                return teams(grid_sweep_threads);
            case Kernel::forward_pivots:
            case Kernel::backward_pivots:
            case Kernel::forward_pivots_transposed:
            case Kernel::backward_pivots_transposed:
                return triangle();
            case Kernel::forward_kept:
                return rows();
            case Kernel::backward_kept:
                return columns();
            case Kernel::pixels:
                return pixels();
        }
    }

  private:
    template <class... Values>
    void holds(bool truth, fmt::format_string<Values...> what, Values&&... values) const {
        if (truth) return;
        require(false, "the launch of kernel {} for level {} of an image of {} by {} pixels on {}: {}", name_of(made_.kernel),
                launch_.number, spec_.width, spec_.height, to_string(target_), fmt::format(what, std::forward<Values>(values)...));
    }
    void at_most(std::int64_t value, std::int64_t most, std::string_view what) const {
        holds(value <= most, "{} are {}, and it takes at most {}", what, value, most);
    }
    /// Requires exactly `expected` thread blocks: others have no box.
    void groups(std::int64_t expected) const { holds(made_.groups == expected, "thread blocks are {}, not {}", made_.groups, expected); }
    void threads(std::int64_t expected) const {
        holds(made_.needs.threads == expected, "threads are {}, not {}", made_.needs.threads, expected);
    }
    void shared(std::int64_t least) const {
        holds(made_.needs.shared_bytes >= least, "it has {} bytes of shared memory and uses {}", made_.needs.shared_bytes, least);
    }
    /// `parts` of `each` cover `all`.
    void covers(std::int64_t parts, std::int64_t each, std::int64_t all, std::string_view what) const {
        holds(parts >= 1 && parts * each >= all, "{} parts of {} do not cover {} {}", parts, each, all, what);
    }

    /// The constants of their own that its kernels read.
    trifold_grid_kind kind() const {
        switch (made_.kernel) {
            case Kernel::assemble:
            case Kernel::panel:
            case Kernel::product:
            case Kernel::wide_product:
                return trifold_grid_shared;
            case Kernel::step_few:
            case Kernel::step_1:
            case Kernel::step_2:
            case Kernel::step_4:
            case Kernel::step_8:
            case Kernel::step_16:
                return trifold_grid_stepping;
            case Kernel::forward_pivots:
            case Kernel::backward_pivots:
            case Kernel::forward_pivots_transposed:
            case Kernel::backward_pivots_transposed:
                return trifold_grid_solving;
            case Kernel::forward_kept:
            case Kernel::backward_kept:
                return trifold_grid_sweeping;
            case Kernel::pixels:
                return trifold_grid_pixelwise;
            default:
                return trifold_grid_whole;
        }
    }
    void all() const {
        holds(launch_.kind == kind(), "it has constants of kind {}, and its kernel reads those of kind {}", launch_.kind,
              static_cast<int>(kind()));
        holds(made_.groups >= 1 && made_.groups <= 0x7fffffff, "{} thread blocks are not counted in 31 bits", made_.groups);
        holds(launch_.levels >= 1 && launch_.levels <= trifold_grid_levels, "{} levels", launch_.levels);
        if (made_.kernel == Kernel::pixels || made_.kernel == Kernel::refine) return;
        const auto& last = launch_.level[launch_.levels - 1];
        holds(last.x_halvings == level_.x_halvings && last.y_halvings == level_.y_halvings, "it has the boxes of another level");
        holds(last.eliminated >= level_.eliminated && last.kept >= level_.kept, "its boxes have more pixels than there is room for");
        holds(launch_.levels == (launch_.leaves != 0 ? 1 : 2), "a merge needs the level below it");
    }

    /// A lane has a row of a leaf tile or of a tiny merge, and of what larger ones eliminate.
    void chip(const OnChip& kernel) const {
        at_most(level_.eliminated, kernel.width, "eliminated pixels");
        at_most(level_.kept, kernel.kept, "kept pixels");
        at_most(level_.eliminated, lanes_, "eliminated pixels");
        holds(level_.eliminated >= 1, "it eliminates nothing");
        if (kernel.kernel == Kernel::leaf) whole_rows(grid_leaf_pixels), at_most(level_.kept, 16, "kept pixels");
        if (kernel.kernel == Kernel::tiny) whole_rows(grid_tiny_pixels);
        holds((kernel.kernel == Kernel::leaf) == (launch_.leaves != 0), "leaf tiles have a kernel of their own");
        threads(threads_of(kernel.kernel, target_));
        shared(chip_bytes(spec_, level_, kernel));
        groups(level_.boxes());
    }
    void whole_rows(std::int64_t most) const {
        for (const auto& [s, r] : level_.shapes) at_most(s + r, std::min(most, lanes_), "pixels of a box");
    }

    void assemble() const {
        threads(grid_wide_threads);
        shared(static_cast<std::int64_t>(2 * sizeof(int) * grid_assembled_rows));
        covers(launch_.share.parts, grid_assembled_columns, level_.eliminated, "columns");
        groups(level_.boxes() * launch_.share.parts);
    }

    void step(int row_groups) const {
        const auto& step = launch_.step;
        const std::int64_t columns = grid_step_columns(row_groups), next = step.factored, s = level_.eliminated;
        const bool begins = step.applied < 0, symmetric = spec_.matrix == GridMatrix::symmetric;
        const auto width = begins ? 0 : next - step.applied;  // width of the panel that it applies
        threads(grid_step_threads(row_groups));
        shared(grid_step_bytes(columns, grid_step_threads(row_groups) / lanes_, real_, 0));
        at_most(s - next, grid_max_rows(row_groups), "rows that are left");
        at_most(width, columns, "columns of the panel before");
        at_most(columns, lanes_, "columns");
        holds(begins ? next == 0 : width > 0 || step.applied >= s, "panels do not follow one another");
        holds(next >= s || next % columns == 0, "column {} does not begin a thread block's {}", next, columns);
        covers(step.parts - (begins ? 0 : grid_step_groups(symmetric)), columns, begins ? 1 : s, "columns");
        groups(level_.boxes() * step.parts);
        const auto fixed = step.applied >= s ? s : width == grid_tile_width ? next : std::max<std::int64_t>(step.applied, 0);
        holds(step.inverse <= step.inverse_end && step.inverse_end <= quotient(fixed, grid_tile_width),
              "it inverts tiles {} to {}, in which rows still move", step.inverse, step.inverse_end);
    }

    void panel() const {
        threads(8 * lanes_);
        shared(grid_panel_bytes(async_, real_));
        covers(launch_.share.parts, grid_tile_rows, level_.kept, "rows");
        groups(level_.boxes() * launch_.share.parts * (spec_.matrix == GridMatrix::symmetric ? 1 : 2));
    }
    void product(std::int64_t side, std::int64_t warps) const {
        threads(warps * lanes_);
        shared(grid_product_bytes(side, async_, real_));
        covers(launch_.share.parts, side, level_.kept, "rows");
        groups(level_.boxes() * launch_.share.parts * launch_.share.parts);
    }
    void finish() const {
        holds(level_.boxes() == 1 && level_.kept == 0, "it gathers what the last front knows");
        threads(64);
        groups(1);
    }

    void refine() const {
        threads(grid_wide_threads);
        shared(refine_bytes(target_, level_.eliminated, real_));
        groups(1);
    }

    /// A front has a team of lanes: one solves for each pixel, and all multiply with whole columns of Z.
    void teams(std::int64_t lanes) const {
        const auto room = grid_sweep_threads / lanes;
        at_most(launch_.level[launch_.levels - 1].eliminated, std::min({lanes, lanes_, std::int64_t{grid_tile_width}}),
                "pixels that a team eliminates");
        threads(grid_sweep_threads);
        shared(room * grid_team_reals(level_.eliminated, level_.kept, std::max<std::int64_t>(lanes / lanes_, 1), real_) * real_);
        covers(made_.groups, room, level_.boxes(), "boxes");
    }

    void triangle() const {
        const auto first = launch_.triangle.first, end = launch_.triangle.end;
        const bool transposes = made_.kernel >= Kernel::forward_pivots_transposed, asked = launch_.transposed != 0;
        holds(transposes == (asked && spec_.matrix == GridMatrix::general), "A' and A have kernels of their own");
        threads(grid_triangle_threads);
        holds(grid_triangle_threads / lanes_ > 3, "no warp is left to take later tiles");
        holds(first >= 0 && first < end && first % grid_tile_width == 0, "columns {} to {} are no tiles", first, end);
        holds(end == level_.eliminated || end % grid_tile_width == 0, "columns {} to {} are no whole tiles", first, end);
        shared(grid_triangle_bytes(end - first, level_.eliminated, async_, real_));
        groups(level_.boxes());
    }
    /// Rows or columns that a product takes: those of a panel, or those behind or before some columns of W.
    std::int64_t taken(std::int64_t of_panel) const {
        if (launch_.factor.rows == trifold_grid_panel) return of_panel;
        return launch_.factor.rows == trifold_grid_rows_behind ? level_.eliminated - launch_.factor.end : launch_.factor.first;
    }
    void rows() const {
        threads(grid_wide_threads);
        shared((launch_.level[launch_.levels - 1].eliminated + grid_wide_threads / lanes_ * grid_kept_rows) * real_);
        covers(launch_.factor.parts, grid_kept_rows, taken(level_.kept), "rows");
        groups(level_.boxes() * launch_.factor.parts);
    }
    void columns() const {
        threads(grid_wide_threads);
        shared(grid_kept_chunk * real_);
        covers(launch_.factor.parts, grid_wide_threads / lanes_ * grid_kept_columns, taken(level_.eliminated), "columns");
        groups(level_.boxes() * launch_.factor.parts);
    }

    void pixels() const {
        threads(grid_wide_threads);
        covers(made_.groups, grid_wide_threads, launch_.pixels, "pixels");
    }

    const GridSpec& spec_;
    const Target& target_;
    const Made& made_;
    const trifold_grid_launch& launch_;
    const Level& level_;
    std::int64_t lanes_, real_;
    bool async_;
};

}  // namespace

void require_sound(const GridSpec& spec, const Target& target, const Made& made) { Assumptions(spec, target, made).check(); }

}  // namespace trifold::grid::gpu
