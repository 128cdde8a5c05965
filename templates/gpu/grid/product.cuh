/* D of a front that several thread blocks share: the parts' updates, less Y Z'. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"
#include "gpu/grid/warp_tile.cuh"

/* A ring of stages. Each takes stage_depth columns of Y and as many of Z'. The last ones take columns of D as the parts left them, twice as
 * many a stage. */
constexpr int product_stages = grid_product_stages(fetches_async), stage_depth = grid_stage_depth;

/* A tile of `side` rows and columns of D. Each warp has RowSquares by ColumnSquares of its squares. */
template <int side, int RowSquares, int ColumnSquares>
struct ProductTile {
    static constexpr int warps_down = side / (16 * RowSquares), threads = warps_down * (side / (16 * ColumnSquares)) * warp_lanes;
    static constexpr int leading = static_cast<int>(grid_leading(side, sizeof(real))), width = 2 * stage_depth,
                         vectors = side / vector_width;
    static constexpr int last_stages = side / width;
    static_assert(16 * ColumnSquares == width && last_stages <= product_stages,
                  "a warp's columns of D are in one stage, and all of D in the ring");
    struct Chip {
        real stages[product_stages][width * leading];
        Places places[2 * side]; /* places of rows, then of columns */
        Updates updates;
        real* d; /* the tile's first element */
    };
    static_assert(sizeof(Chip) <= grid_product_bytes(side, fetches_async, sizeof(real)), "the launch asks for enough shared memory");
    Chip& chip;
    int rows, columns;

    TRIFOLD_METHOD real* stage(int t) const { return chip.stages[t % product_stages]; }
    /* Starts the copies of stage t: columns of Y and Z'. Rows beyond those of Y and Z' may hold anything. Columns behind the last one are
     * zero. */
    TRIFOLD_METHOD void fetch(int t, const real* y, const real* z, const Front& f) const {
        const int row = thread_index() % vectors * vector_width, first = thread_index() / vectors;
        const trifold_int from = trifold_int(t * stage_depth) * f.R + row;
        const real zero[vector_width] = {};
#pragma unroll
        for (int q = 0; q < stage_depth * vectors / threads; ++q) {
            const int at = first + q * (threads / vectors);
            real *to_y = stage(t) + row + at * leading, *to_z = to_y + stage_depth * leading;
            if (t * stage_depth + at < f.s) {
                if (row < rows) copy_async(to_y, y + from + at * f.R);
                if (row < columns) copy_async(to_z, z + from + at * f.R);
            } else {
                store_vector(to_y, zero);
                store_vector(to_z, zero);
            }
        }
    }
    TRIFOLD_METHOD void find_places(const Context& c, const Front& f, int top, int left) const {
        const Parts parts = parts_of(c, f);
        for (int k = thread_index(); k < 2 * side; k += threads) {
            const int kept = k < side ? top + k : left + k - side;
            if (kept < f.r) chip.places[k] = places_kept(parts, f, kept);
        }
        if (thread_index() > 0) return;
        chip.updates = updates_of(parts);
        chip.d = update_of(c, f) + top + trifold_int(left) * f.R;
    }
    /* Starts the copies of D's columns from `first` on. */
    TRIFOLD_METHOD void fetch_gathered(real* to, int first) const {
        const int thread = thread_afresh(), row = thread % side;
        if (row >= rows) return;
        const Updates updates = kept_updates(chip.updates);
        const Places at = chip.places[row];
        int any = -1;
#pragma unroll 4
        for (int j = thread / side; j < width; j += threads / side)
            if (first + j < columns) any = larger(any, gather_async(to + row + j * leading, updates, at, chip.places[side + first + j]));
        if (any < 0) return;
#pragma unroll 1
        for (int j = thread / side; j < smaller(width, columns - first); j += threads / side)
            gather_both(to + row + j * leading, updates, at, chip.places[side + first + j]);
    }
};

/* Computes and stores one tile of D. A thread block is (box, tile). */
template <int side, int RowSquares, int ColumnSquares>
TRIFOLD_DEVICE void store_update(const Context& c) {
    start_dependents();
    using Tile = ProductTile<side, RowSquares, ColumnSquares>;
    constexpr int ahead = product_stages - 1;
    const int tiles = static_cast<int>(share_of(c).parts);
    const Front f = front_of_launch(c, group_index() / (tiles * tiles));
    const int part = group_index() % (tiles * tiles), top = part % tiles * side, left = part / tiles * side;
    if (top >= f.r || left >= f.r || (symmetric && top < left)) return wait_for_launches();
    const Tile tile{*static_cast<typename Tile::Chip*>(shared_memory()), smaller(side, f.r - top), smaller(side, f.r - left)};
    const real *y = y_of(c, f) + top, *z = z_of(c, f) + left;
    const int steps = (f.s + stage_depth - 1) / stage_depth, last = larger(steps, ahead); /* stages from `last` on hold D */
    wait_for_launches();
#pragma unroll 1
    for (int t = 0; t < ahead; ++t) {
        if (t < steps) tile.fetch(t, y, z, f);
        end_copies();
    }
    tile.find_places(c, f, top, left);
    WarpTile<RowSquares, ColumnSquares> sum;
    sum.clear();
    const int warp_row = warp_index() % Tile::warps_down * (16 * RowSquares),
              warp_column = warp_index() / Tile::warps_down * (16 * ColumnSquares);
#pragma unroll 1
    for (int t = 0; t < last + larger(Tile::last_stages - ahead, 0); ++t) {
        wait_copies<ahead - 1>();
        block_sync();
        const int next = t + ahead;
        if (next < steps)
            tile.fetch(next, y, z, f);
        else if (next >= last && next < last + Tile::last_stages)
            tile.fetch_gathered(tile.stage(next), (next - last) * Tile::width);
        end_copies();
        const real* columns = tile.stage(t);
        if (t < steps)
            sum.add(columns + warp_row, Tile::leading, 16 * RowSquares, columns + stage_depth * Tile::leading + warp_column, Tile::leading,
                    stage_depth);
    }
    wait_copies<0>();
    block_sync();
    real* const d = global_pointer(tile.chip.d);
    const real* const before = tile.stage(last + warp_column / Tile::width);
    sum.each_pair([&](real(&pair)[2], int i, int j) {
        const int row = warp_row + i, column = warp_column + j;
        if (row >= tile.rows || column >= tile.columns || (symmetric && top + row + 1 < left + column)) return;
#pragma unroll
        for (int v = 0; v < 2; ++v) pair[v] = before[row + v + j * Tile::leading] - pair[v];
        /* The second row of a pair may be padding, or above the diagonal, where no kernel reads it. */
        store_pair_of(d + row + trifold_int(column) * f.R, pair);
    });
}

#ifdef TRIFOLD_KERNEL_PRODUCT
GRID_KERNEL(PRODUCT, 4 * warp_lanes, (store_update<grid_tile_rows, 2, 2>(c)))
#endif
#ifdef TRIFOLD_KERNEL_WIDE_PRODUCT
GRID_KERNEL(WIDE_PRODUCT, 8 * warp_lanes, (store_update<2 * grid_tile_rows, 4, 2>(c)))
#endif
