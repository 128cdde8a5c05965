/* A merge of few pixels, by one warp, like a leaf tile: a lane has a row, of all that it eliminates and keeps. */
#include "gpu/grid/gather.cuh"
#include "gpu/grid/rows.cuh"

constexpr int tiny_width = grid_tiny_width, tiny_columns = grid_tiny_pixels;

struct TinyChip {
    RowChip<tiny_columns> rows;
    trifold_grid_record* parts; /* what is known of all below */
    Places* columns;            /* where columns of the parts' updates begin, or places of them where the matrix is symmetric */
};
TRIFOLD_DEVICE TinyChip tiny_chip() {
    TinyChip chip;
    chip.rows.rows = static_cast<real*>(shared_memory());
    chip.rows.lower = chip.rows.rows + tiny_width * tiny_columns;
    chip.parts = reinterpret_cast<trifold_grid_record*>(chip.rows.lower + tiny_width * tiny_columns);
    chip.columns = reinterpret_cast<Places*>(chip.parts + 1);
    chip.rows.order = reinterpret_cast<int*>(chip.columns + tiny_columns);
    return chip;
}

/* The lane's row; all loads are on their way together. */
TRIFOLD_DEVICE void gather_row(const Sources& sources, const TinyChip& chip, Places row, int pixels, real (&a)[tiny_columns]) {
    int both = -1;
#pragma unroll
    for (int k = 0; k < tiny_columns; ++k) {
        a[k] = 0;
        if (k >= pixels) continue;
        const Places at = symmetric ? offsets_at(sources, row, chip.columns[k]) : Places{row.first + chip.columns[k].first, row.second + chip.columns[k].second};
        const int any = larger(at.first, at.second);
        if (any >= 0) a[k] = sources.update[any];
        both = larger(both, smaller(at.first, at.second));
    }
    if (both < 0) return;
#pragma unroll
    for (int k = 0; k < tiny_columns; ++k) {
        if (k >= pixels) continue;
        const Places at = symmetric ? offsets_at(sources, row, chip.columns[k]) : Places{row.first + chip.columns[k].first, row.second + chip.columns[k].second};
        if (smaller(at.first, at.second) >= 0) a[k] += sources.update[smaller(at.first, at.second)];
    }
}

TRIFOLD_DEVICE void eliminate_tiny(const Context& c) {
    const Front f = kept_front(front_of_launch(c, group_index()));
    Parts parts = parts_of(c, f);
    parts.first = kept_front(parts.first), parts.second = kept_front(parts.second);
    const TinyChip chip = tiny_chip();
    const int lane = lane_index(), pixels = f.s + f.r, mine = smaller(lane, pixels - 1);
    Sources sources = sources_of(parts);
    sources.update = kept_pointer(sources.update);
    const Places row = offsets_of(mine < f.s ? places_eliminated(parts, f, mine) : places_kept(parts, f, mine - f.s));
    if (lane == warp_lanes - 1) {
        *chip.parts = *record_of(c, parts.first);
        add_record(*chip.parts, *record_of(c, parts.second));
    }
    if (lane < pixels) chip.columns[lane] = symmetric ? row : column_offsets(sources, row);
    warp_sync();
    real a[tiny_columns];
    gather_row(sources, chip, row, pixels, a);
    /* The largest entries of columns, by way of shared memory. */
#pragma unroll
    for (int k = 0; k < tiny_width; ++k)
        if (lane < f.s) chip.rows.lower[lane * tiny_width + k] = a[k];
    warp_sync();
    const real before = largest_of_column(f.s, chip.rows.lower, 1, tiny_width);
    warp_sync();
    const trifold_grid_record record = eliminate_rows<tiny_columns, tiny_columns>(c, f, chip.rows, a, before);
    if (lane == 0) {
        trifold_grid_record all = placed(f, record, c.launch.number);
        add_record(all, *chip.parts);
        *record_of(c, f) = all;
    }
}
