/* Elimination of a merge of few pixels by one warp, as of a leaf tile: a lane has the row of one pixel, eliminated or kept. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"
#include "gpu/grid/rows.cuh"

constexpr int tiny_width = grid_tiny_width, tiny_columns = grid_tiny_pixels;

struct TinyChip {
    RowChip<tiny_columns> rows;
    trifold_grid_record* parts; /* the record of all fronts below */
    Places* columns;            /* where columns of the parts' updates begin; their places if the matrix is symmetric */
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

TRIFOLD_DEVICE Places element_at(const Sources& sources, const TinyChip& chip, Places row, int k) {
    const Places column = chip.columns[k];
    return symmetric ? offsets_at(sources, row, column) : Places{row.first + column.first, row.second + column.second};
}
/* Gathers the lane's row. All loads are in flight together. Bit k of `both`: both parts have the pixel of column k, which is rare. */
TRIFOLD_DEVICE void gather_row(const Sources& sources, const TinyChip& chip, Places row, int pixels, unsigned both,
                               real (&a)[tiny_columns]) {
#pragma unroll
    for (int k = 0; k < tiny_columns; ++k) {
        a[k] = 0;
        const Places at = element_at(sources, chip, row, smaller(k, pixels - 1));
        if (k < pixels && larger(at.first, at.second) >= 0) a[k] = sources.update[larger(at.first, at.second)];
    }
#pragma unroll
    for (int k = 0; k < tiny_columns; ++k) {
        if ((both >> k & 1) == 0) continue;
        const Places at = element_at(sources, chip, row, k);
        if (smaller(at.first, at.second) >= 0) a[k] += sources.update[smaller(at.first, at.second)];
    }
}
TRIFOLD_DEVICE unsigned bits_of_lanes(bool bit) {
    unsigned bits = bit ? 1u << lane_index() % 32 : 0u;
#pragma unroll
    for (int apart = 1; apart < warp_lanes; apart *= 2) bits |= shuffle_xor(bits, apart);
    return bits;
}

TRIFOLD_DEVICE void eliminate_tiny(const Context& c) {
    start_dependents();
    const Front f = kept_front(front_of_launch(c, group_index()));
    Parts parts = parts_of(c, f);
    parts.first = kept_front(parts.first), parts.second = kept_front(parts.second);
    const TinyChip chip = tiny_chip();
    const int lane = lane_index(), pixels = f.s + f.r, mine = smaller(lane, pixels - 1);
    Sources sources = sources_of(parts);
    sources.update = kept_pointer(sources.update);
    const Places row = offsets_of(mine < f.s ? places_eliminated(parts, f, mine) : places_kept(parts, f, mine - f.s));
    const real before = diagonal_of(c, f, smaller(lane, f.s - 1));
    wait_for_launches();
    if (lane == warp_lanes - 1) {
        *chip.parts = *record_of(c, parts.first);
        add_record(*chip.parts, *record_of(c, parts.second));
    }
    if (lane < pixels) chip.columns[lane] = symmetric ? row : column_offsets(sources, row);
    warp_sync();
    real a[tiny_columns];
    gather_row(sources, chip, row, pixels, bits_of_lanes(lane < pixels && smaller(row.first, row.second) >= 0), a);
    const trifold_grid_record record = eliminate_rows<tiny_columns, tiny_columns>(c, f, chip.rows, a, before);
    if (lane == 0) {
        trifold_grid_record all = placed(f, record, c.launch.number);
        add_record(all, *chip.parts);
        *record_of(c, f) = all;
    }
}

#ifdef TRIFOLD_KERNEL_TINY
GRID_KERNEL(TINY, warp_lanes, eliminate_tiny(c))
#endif
