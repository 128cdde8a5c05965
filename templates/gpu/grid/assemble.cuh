/* The first launch of a pivot block W that several thread blocks share: it writes W as the two parts of the merge left it. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"

/* Assembles some columns of W from the updates of the two parts. Each warp takes one column at a time. */
template <int Threads>
TRIFOLD_DEVICE void assemble(const Context& c) {
    constexpr int each = grid_assembled_rows / warp_lanes;
    static_assert(grid_assembled_rows == Threads && grid_assembled_columns == Threads / warp_lanes * (warp_lanes / 32),
                  "each thread finds the places of one row");
    start_dependents();
    Places* rows = static_cast<Places*>(shared_memory());
    const int tiles = static_cast<int>(share_of(c).parts), tile = group_index() % tiles, lane = lane_index();
    const Front f = front_of_launch(c, group_index() / tiles);
    const int left = tile * grid_assembled_columns, right = smaller(left + grid_assembled_columns, f.s);
    const Parts parts = parts_of(c, f);
    wait_for_launches();
    if (left >= f.s) return;
    if (tile == 0 && thread_index() == 0) *record_of(c, f) = with_parts(c, f, new_record());
    if (!symmetric && left + thread_index() < right) pivots_of(c, f)[left + thread_index()] = left + thread_index();
    for (int k = left + warp_index(); k < left + grid_assembled_columns; k += Threads / warp_lanes) {
        const Places column = places_eliminated(parts, f, smaller(k, f.s - 1));
        real* w = w_of(c, f) + trifold_int(k) * f.S;
        for (int top = symmetric ? left : 0; top < f.s; top += grid_assembled_rows) {
            block_sync();
            rows[thread_index()] = places_eliminated(parts, f, smaller(top + thread_index(), f.s - 1));
            block_sync();
            real values[each];
#pragma unroll
            for (int q = 0; q < each; ++q) values[q] = gathered(parts, rows[q * warp_lanes + lane], column);
#pragma unroll
            for (int q = 0; q < each; ++q) {
                const int i = top + q * warp_lanes + lane;
                if (i < f.s && k < right && !(symmetric && i < k)) w[i] = values[q];
            }
        }
    }
}

#ifdef TRIFOLD_KERNEL_ASSEMBLE
GRID_KERNEL(ASSEMBLE, grid_wide_threads, (assemble<grid_wide_threads>(c)))
#endif
