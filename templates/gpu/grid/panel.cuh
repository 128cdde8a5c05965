/* The panels Y and Z' of a front that several thread blocks share. Its pivot block W is factored by then. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"
#include "gpu/grid/warp_tile.cuh"

/* Columns are solved tile by tile, tile_width columns at a time, from left to right. A tile takes one step for each solved tile to its
 * left, which multiplies that tile's columns by an entry tile of U, or of L'. Its own step then multiplies by the inverse of the diagonal
 * tile. A ring of stages holds the steps' operands: 64 rows of tile_width columns, and a tile of the triangle. */
constexpr int tile_rows = grid_tile_rows, panel_threads = 8 * warp_lanes, panel_stages = grid_panel_stages(fetches_async);
constexpr int columns_leading = static_cast<int>(grid_leading(tile_rows, sizeof(real)));
constexpr int triangle_leading = static_cast<int>(grid_leading(tile_width, sizeof(real)));
constexpr bool keeps_last = panel_stages > 1; /* the columns solved last are kept, since they cannot be fetched ahead */

struct PanelStage {
    real columns[tile_width * columns_leading], triangle[tile_width * triangle_leading];
};
struct PanelChip {
    PanelStage stages[panel_stages];
    real last[keeps_last ? tile_width * columns_leading : vector_width];
    Places rows[tile_rows];
    Updates updates;
};
static_assert(sizeof(PanelChip) <= grid_panel_bytes(fetches_async, sizeof(real)), "the launch asks for enough shared memory");

struct PanelStep {
    int left, behind;
    TRIFOLD_METHOD bool is_last() const { return behind == left; } /* steps of its tile */
    TRIFOLD_METHOD void advance() {
        const bool was_last = is_last();
        left += was_last ? tile_width : 0;
        behind = was_last ? 0 : behind + tile_width;
    }
};

/* Starts the copies of whole columns, `height` rows each, by vectors. Only the first `rows` rows count. */
template <int height>
TRIFOLD_DEVICE void fetch_whole(real* to, int leading, const real* from, int from_leading, int rows, int columns) {
    constexpr int vectors = height / vector_width, apart = panel_threads / vectors;
    const int row = thread_index() % vectors * vector_width, first = thread_index() / vectors;
#pragma unroll
    for (int q = 0; q < (tile_width + apart - 1) / apart; ++q) {
        const int j = first + q * apart;
        if (row < rows && j < columns) copy_async(to + row + j * leading, from + row + j * from_leading);
    }
}

/* The work of a thread block: tile_rows rows of Y U^-1, or Y L^-T, or of (L^-1 P Z)'. */
struct Panel {
    PanelChip& chip;
    const Front& f;
    const real *w, *inverses; /* the inverses are those of the triangle that it solves with */
    const int* pivots;
    real* to;
    int rows;
    bool is_z, lower;
    Places eliminated; /* places of the first eliminated pixel; the others follow it in either part, since all lie on one line */
    int pivot;         /* for Z': the pixel that the thread gathers next */

    TRIFOLD_METHOD int width_at(int left) const { return smaller(tile_width, f.s - left); }
    TRIFOLD_METHOD void find_pivot(int left) {
        const int k = left + thread_index() % tile_width;
        if (is_z && k < f.s) pivot = pivoting ? pivots[k] : k;
    }
    TRIFOLD_METHOD Places places_at(int k) const { return {eliminated.first + k, eliminated.second + k}; }
    /* Gathers a tile's columns. Neighbours in memory are kept pixels in Y, and eliminated ones in Z. Returns whether both parts have some
     * of the entries; these need a second call, with `Both`. */
    template <bool Both>
    TRIFOLD_METHOD bool gather(real* columns, int left) const {
        const Updates updates = kept_updates(chip.updates);
        const int width = width_at(left), fastest = is_z ? tile_width : tile_rows, i = thread_index() % fastest,
                  first = thread_index() / fastest;
        const int count = i >= (is_z ? width : rows) ? 0 : is_z ? rows : width;
        const Places mine = is_z ? places_at(pivot) : chip.rows[smaller(i, rows - 1)];
        int any = -1;
#pragma unroll(Both ? 1 : 4)
        for (int j = first; j < count; j += panel_threads / fastest) {
            real* const to_it = columns + (is_z ? j + i * columns_leading : i + j * columns_leading);
            const Places other = is_z ? chip.rows[j] : places_at(left + j);
            if (Both)
                gather_both(to_it, updates, mine, other);
            else
                any = larger(any, gather_async(to_it, updates, mine, other));
        }
        return any >= 0;
    }
    TRIFOLD_METHOD void fetch(PanelStage& stage, PanelStep at) {
        const int width = width_at(at.left);
        if (width <= 0) return;
        const int depth = at.is_last() ? width : tile_width, S = at.is_last() ? tile_width : f.S;
        const real* from = at.is_last() ? inverses + at.left * (tile_width * (symmetric ? 1 : 2))
                           : lower      ? w + at.left + trifold_int(at.behind) * f.S
                                        : w + at.behind + trifold_int(at.left) * f.S;
        fetch_whole<tile_width>(stage.triangle, triangle_leading, from, S, lower ? width : depth, lower ? depth : width);
        if (at.is_last()) {
            if (gather<false>(stage.columns, at.left)) gather<true>(stage.columns, at.left);
            find_pivot(at.left + tile_width);
        } else if (!keeps_last || at.behind + tile_width < at.left)
            fetch_whole<tile_rows>(stage.columns, columns_leading, to + trifold_int(at.behind) * f.R, f.R, rows, tile_width);
    }
    /* Adds to `sum` the product of columns and a tile of the triangle. */
    TRIFOLD_METHOD void add(WarpTile<1, 1>& sum, const real* columns, const real* triangle, int depth) const {
        const int row = warp_index() % 4 * 16, column = warp_index() / 4 * 16;
        if (lower)
            sum.add(columns + row, columns_leading, 16, triangle + column, triangle_leading, depth);
        else
            sum.add(columns + row, columns_leading, 16, triangle + column * triangle_leading, 1, depth, triangle_leading);
    }
    /* Solves a tile: subtracts `sum` from the gathered columns, multiplies by the inverse, and stores the result. */
    TRIFOLD_METHOD void solve(WarpTile<1, 1>& sum, PanelStage& stage, int left) const {
        const int warp_row = warp_index() % 4 * 16, warp_column = warp_index() / 4 * 16, width = width_at(left);
        sum.each([&](real& element, int i, int j) { stage.columns[warp_row + i + (warp_column + j) * columns_leading] -= element; });
        sum.clear();
        block_sync();
        add(sum, stage.columns, stage.triangle, width);
        sum.each_pair([&](real(&pair)[2], int i, int j) {
            const int row = warp_row + i, column = warp_column + j;
            /* The second row of a pair may be padding. */
            if (row < rows && column < width) store_pair_of(to + row + trifold_int(left + column) * f.R, pair);
            if (keeps_last) chip.last[row + column * columns_leading] = pair[0], chip.last[row + 1 + column * columns_leading] = pair[1];
        });
        sum.clear();
    }
};

/* Solves some rows of a panel. A thread block is (box, rows). */
TRIFOLD_DEVICE void solve_panel(const Context& c) {
    start_dependents();
    PanelChip& chip = *static_cast<PanelChip*>(shared_memory());
    constexpr int ahead = panel_stages - 1;
    const int tiles = static_cast<int>(share_of(c).parts), kinds = symmetric ? 1 : 2;
    const Front f = front_of_launch(c, group_index() / (tiles * kinds));
    const int part = group_index() % (tiles * kinds), top = part % tiles * tile_rows;
    const bool is_z = !symmetric && part >= tiles;
    if (top >= f.r) return wait_for_launches();
    const Parts parts = parts_of(c, f);
    Panel panel{chip,
                f,
                w_of(c, f),
                inverse_tile(c, f, 0, symmetric || is_z ? 0 : 1),
                pivots_of(c, f),
                (is_z ? z_of(c, f) : y_of(c, f)) + top,
                smaller(tile_rows, f.r - top),
                is_z,
                symmetric || is_z,
                places_eliminated(parts, f, 0),
                0};
    wait_for_launches();
    panel.find_pivot(0);
    if (thread_index() < panel.rows) chip.rows[thread_index()] = places_kept(parts, f, top + thread_index());
    if (thread_index() == 0) chip.updates = updates_of(parts);
    block_sync();
    PanelStep next = {0, 0};
#pragma unroll 1
    for (int t = 0; t < ahead; ++t) {
        panel.fetch(chip.stages[t], next);
        end_copies();
        next.advance();
    }
    WarpTile<1, 1> sum;
    sum.clear();
    int t = 0;
#pragma unroll 1
    for (PanelStep at = {0, 0}; at.left < f.s; at.advance()) {
        if constexpr (ahead > 0) wait_copies<ahead - 1>();
        block_sync();
        panel.fetch(chip.stages[t + ahead < panel_stages ? t + ahead : t - 1], next);
        end_copies();
        next.advance();
        if (ahead == 0) block_sync();
        PanelStage& stage = chip.stages[t];
        if (at.is_last())
            panel.solve(sum, stage, at.left);
        else
            panel.add(sum, keeps_last && at.behind + tile_width == at.left ? chip.last : stage.columns, stage.triangle, tile_width);
        t = t + 1 < panel_stages ? t + 1 : 0;
    }
}

#ifdef TRIFOLD_KERNEL_PANEL
GRID_KERNEL(PANEL, panel_threads, solve_panel(c))
#endif
