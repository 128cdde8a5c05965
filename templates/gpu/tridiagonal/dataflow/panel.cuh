/* The panel of a front: D factored, R, G and the right-hand sides behind it. */
#include "gpu/tridiagonal/bands/invert.cuh"
#include "gpu/tridiagonal/dense/column_tile.cuh"
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"

/* Column tile t of `Sets` times 32 rows, less what the tiles before it take: from shared memory to a lane a row. `wait()` returns when
 * the last of L's is there. Rows from `limit` on do not exist; those before `begin` are of no use. */
template <int Sets, class Wait>
TRIFOLD_DEVICE void update_rows(real (&a)[Sets][8], real* rows, int leading, int begin, int limit, const real* lower, int t,
                                const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    real* columns = rows + t * 8 * leading;
    constexpr bool by_tensor =
        use_tensor && (sizeof(real) == 8 || Sets > 1); /* with few rows, conversions would take longer than these products */
    if constexpr (by_tensor) {
        if (t > 0) {
            constexpr int own_bands = Sets * warp_lanes / 16;
            Patch sums[own_bands][1];
            /* A strip of 16 columns reaches beyond the tile. */
            const auto inside = [&](int h, int k) { return h * 16 + patch_row(k) < limit && (strip_columns == 8 || patch_column(k) < 8); };
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    element(sums[h][0], k) =
                        static_cast<product>(inside(h, k) ? columns[h * 16 + patch_row(k) + patch_column(k) * leading] : real(0));
            const auto subtract = [&](int s) {
#pragma unroll
                for (int h = 0; h < own_bands; ++h)
                    if (h * 16 < limit && begin < h * 16 + 16)
                        multiply_band<-1, 2, 8>(sums[h], rows + h * 16 + s * 8 * leading, leading, lower + t * 8 + s * 8 * lower_leading,
                                                lower_leading, h * 16 + 8 < limit, 1, 8);
            };
#pragma unroll 2
            for (int s = 0; s + 1 < t; ++s) subtract(s);
            wait();
            subtract(t - 1);
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (inside(h, k))
                        columns[h * 16 + patch_row(k) + patch_column(k) * leading] = static_cast<real>(element(sums[h][0], k));
            warp_sync();
        }
    }
#pragma unroll
    for (int q = 0; q < Sets; ++q)
#pragma unroll
        for (int c = 0; c < 8; ++c) a[q][c] = lane + q * warp_lanes < limit ? columns[lane + q * warp_lanes + c * leading] : real(0);
    if constexpr (!by_tensor) {
#pragma unroll 1
        for (int s = 0; s < t; ++s) {
            if (s + 1 == t) wait();
            const real* m = lower + t * 8 + s * 8 * lower_leading;
#pragma unroll
            for (int k = 0; k < 8; ++k)
#pragma unroll
                for (int q = 0; q < Sets; ++q) {
                    const real own = rows[(lane + q * warp_lanes < limit ? lane + q * warp_lanes : 0) + (s * 8 + k) * leading];
#pragma unroll
                    for (int c = 0; c < 8; c += vector_width) {
                        real v[vector_width];
                        load_vector(v, m + k * lower_leading + c);
#pragma unroll
                        for (int e = 0; e < vector_width; ++e) a[q][c + e] -= own * turned(v[e]);
                    }
                }
        }
        if (t > 0) {
#pragma unroll
            for (int q = 0; q < Sets; ++q)
                if (lane + q * warp_lanes < limit)
#pragma unroll
                    for (int c = 0; c < 8; ++c) columns[lane + q * warp_lanes + c * leading] = a[q][c];
            warp_sync();
        }
    }
}

/* The lanes that had the tile's own rows have the inverse's columns. */
TRIFOLD_DEVICE void store_tile_rows(FrontShared& shared, const real (&a)[row_sets][8], int t) {
    if (!inverse_apart) warp_sync(); /* all lanes have the tile */
#pragma unroll
    for (int q = 0; q < row_sets; ++q) {
        const int r = thread_index() % warp_lanes + q * warp_lanes;
        if (r >= padded || (!in_registers && r < t * 8)) continue; /* elements above the tile are not read */
        real* to = r / 8 == t ? inverse_of(shared, t) + r % 8 : shared.lower + r + t * 8 * lower_leading;
#pragma unroll
        for (int c = 0; c < 8; ++c) to[c * lower_leading] = a[q][c];
    }
}

/* Column tile t of up to 32 rows that follow L: a lane a row. The tiles before it are there; `wait()` returns when L's tile is. */
template <class Wait>
TRIFOLD_DEVICE void follow_tile(real (&a)[1][8], FrontShared& shared, real* rows, int leading, int limit, int t, const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    update_rows<1>(a, rows, leading, 0, limit, shared.lower, t, [] {});
    wait();
#pragma unroll
    for (int c = 7; c >= 0; --c) {
        real sum = 0;
#pragma unroll
        for (int k = 0; k <= c; k += vector_width) {
            real v[vector_width];
            load_vector(v, inverse_of(shared, t) + c * lower_leading + k);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (k + e <= c) sum += a[0][k + e] * v[e];
        }
        a[0][c] = panel_entry(sum, shared.diagonal[t * 8 + c]);
    }
    if (lane < limit) {
#pragma unroll
        for (int c = 0; c < 8; ++c) rows[lane + (t * 8 + c) * leading] = a[0][c];
    }
    warp_sync();
}

/* Column tile t of D by one warp: the rows below it, the tile itself in every lane, and the inverse of its factor. The elimination makes
 * that inverse of the identity, which stands in the lanes of the tile's own rows. */
TRIFOLD_DEVICE void factor_column_tile(FrontShared& shared, int t) {
    real a[row_sets][8];
    update_rows<row_sets>(a, shared.lower, lower_leading, t * 8, padded, shared.lower, t,
                          [&] { meet(shared, pivot_barriers, (t - 1) % 2); });
    real* own = shared.lower + t * 8 * lower_leading;
    real d[8][8];
    load_tile(d, own + t * 8, lower_leading);
    const int lane = thread_index() % warp_lanes;
    if constexpr (in_registers) {
#pragma unroll
        for (int q = 0; q < row_sets; ++q) {
            const int r = lane + q * warp_lanes;
            const real* mine = r / 8 == t ? inverse_of(shared, t) + r % 8 : own + r;
#pragma unroll
            for (int c = 0; c < 8; ++c) a[q][c] = r < padded ? mine[c * lower_leading] : real(0);
        }
    } else {
#pragma unroll
        for (int q = 0; q < row_sets; ++q)
#pragma unroll
            for (int c = 0; c < 8; ++c)
                if (lane / 8 + q * (warp_lanes / 8) == t) a[q][c] = lane % 8 == c ? real(1) : real(0);
    }
    real* const pivots = shared.diagonal + t * 8;
    unsigned negative = 0;
    if (eliminate_quickly(d, a, static_cast<real>(shared.pivots.floor), KeptAs<real>{pivots, nullptr}, negative)) {
#pragma unroll
        for (int q = 0; q < row_sets; ++q) finish_row(a[q], negative, (lane + q * warp_lanes) / 8 == t);
        store_tile_rows(shared, a, t);
    } else {
        warp_sync();
        eliminate_carefully(shared.lower, lower_leading, t * 8, padded, 0, shared.pivots, KeptAs<real>{pivots, shared.reciprocal + t * 8});
        invert_tile<lower_leading>(shared, t);
    }
    warp_sync();
    if (t + 1 < tiles) arrive(shared, pivot_barriers, t % 2);
    arrive(shared, tile_barriers, t);
}

/* Column tile t of the right-hand sides, by one warp. */
TRIFOLD_DEVICE void solve_riders(FrontShared& shared, int t) {
    real a[1][8];
    follow_tile(a, shared, shared.lower + padded, lower_leading, riders, t, [] {});
}

/* R and G a lane a row, tile after tile, out to the workspace as they are done; the first warp has the right-hand sides too. */
template <bool Riders>
TRIFOLD_DEVICE void solve_rows(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const int first = (front_thread() / warp_lanes - pivot_warps) * warp_lanes, row = first + thread_index() % warp_lanes;
    real* to = nullptr;
    if (row < padded && front.next >= 0) to = next_of(args, member, front.block) + row;
    if (row >= padded && row < 2 * padded && front.behind >= 0) to = behind_of(args, member, front.block) + row - padded;
    real squares = 0;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        real a[1][8];
        follow_tile(a, shared, shared.stacked + first, stacked_leading, stacked_rows - first, t, [&] { meet(shared, tile_barriers, t); });
        if (to != nullptr) {
#pragma unroll
            for (int c = 0; c < 8; ++c) to[(t * 8 + c) * padded] = a[0][c];
        }
        if constexpr (has_signs) squares += squares_of_row(a[0], 1, 8);
        if (Riders && first == 0) solve_riders(shared, t);
    }
    if (has_signs && to != nullptr) squares_of(args, member, front.block, row < padded ? 1 : 0)[row % padded] = squares;
}
