/* The diagonal tile, of which the inverse of the factor is wanted. It stands in shared memory above the identity, of which the
 * elimination of its columns makes X = L^-T. Row r of X is zero left of column r; so of all rows only `edge` take part when column
 * tile t, 8 wide, is eliminated: those from the tile's end on.
 *
 * One warp has the column tile (column_tile.cuh), a lane up to two of its rows; meanwhile the others bring the columns further right up
 * to date. */
#include "gpu/tridiagonal/dense/column_tile.cuh"
#include "gpu/tridiagonal/tiles/tile_products.cuh"

constexpr int leading = 2 * edge + 32 / static_cast<int>(sizeof(real)); /* free of bank conflicts */
constexpr int column_tiles = edge / 8, row_sets = (edge + warp_lanes - 1) / warp_lanes;

/* Column tile t, by one warp. */
TRIFOLD_DEVICE void eliminate(real* square, int t, int row, Pivots& pivots, double* diagonal) {
    real* columns = square + t * 8 * leading + t * 8;
    real d[8][8], a[row_sets][8];
    load_tile(d, columns, leading);
    const int lane = thread_index() % warp_lanes;
    real* rows = columns + 8 + lane;
    const bool exists = lane < edge; /* a wave may have more lanes than rows */
#pragma unroll
    for (int s = 0; s < row_sets; ++s)
#pragma unroll
        for (int c = 0; c < 8; ++c) a[s][c] = exists ? rows[s * warp_lanes + c * leading] : real(0);
    const Kept kept{diagonal + t * 8, nullptr};
    unsigned negative = 0;
    if (!eliminate_quickly(d, a, static_cast<real>(pivots.floor), kept, negative))
        return eliminate_carefully(square, leading, t * 8, t * 8 + 8 + edge, row, pivots, kept);
#pragma unroll
    for (int s = 0; s < row_sets; ++s)
#pragma unroll
        for (int c = 0; c < 8; ++c)
            if (exists) rows[s * warp_lanes + c * leading] = a[s][c];
}

/* 16 by 8 elements -= a S b' over 8 columns, whose signs are those of `pivots`, by one warp. */
template <class T> /* a template, so that only one branch must make sense */
TRIFOLD_DEVICE void subtract_product(T* at, const T* a, const T* b, const double* pivots) {
    if constexpr (use_tensor) {
        T sum[tensor_columns][tensor_vectors][2], lines[tensor_columns][2], others[2];
        const bool exists = result_row(0) < 8; /* the instruction may have more columns */
        at += tensor_column() + result_row(0) * leading;
        a += tensor_column() + tensor_depth() * leading;
        b += tensor_row() % 8 + tensor_depth() * leading;
        constexpr int each = tensor_vectors * 2;
#pragma unroll
        for (int k = 0; k < tensor_columns * each; ++k)
            sum[k / each][k % each / 2][k % 2] = exists ? at[k / each * 8 + k % each * leading] : T(0);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int c = 0; c < tensor_columns; ++c) lines[c][i] = by_sign(-a[c * 8 + 4 * i * leading], pivots, tensor_depth() + 4 * i);
            others[i] = b[4 * i * leading];
        }
        tensor_multiply<2>(sum, lines, others);
#pragma unroll
        for (int k = 0; k < tensor_columns * each; ++k)
            if (exists) at[k / each * 8 + k % each * leading] = sum[k / each][k % each / 2][k % 2];
    } else {
        constexpr int each = 16 * 8 / warp_lanes;
        const int lane = thread_index() % warp_lanes, r = lane % 16, c = lane / 16 * each;
        real sum[each];
#pragma unroll
        for (int q = 0; q < each; ++q) sum[q] = at[r + (c + q) * leading];
#pragma unroll
        for (int k = 0; k < 8; ++k)
#pragma unroll
            for (int q = 0; q < each; ++q) sum[q] -= by_sign(a[r + k * leading], pivots, k) * b[c + q + k * leading];
#pragma unroll
        for (int q = 0; q < each; ++q) at[r + (c + q) * leading] = sum[q];
    }
}

/* Subtracts the contribution of column tile t from 16 rows of column tile s. The rows begin `band` times 16 below the pivot tile of s. */
TRIFOLD_DEVICE void update_band(real* square, const double* diagonal, int t, int s, int band) {
    real* rows = square + s * 8 + band * 16;
    subtract_product(rows + s * 8 * leading, rows + t * 8 * leading, square + s * 8 + t * 8 * leading, diagonal + t * 8);
}

/* Subtracts the contribution of column tile t from all later column tiles but the next, by the warps that have nothing else to do. Column
 * tiles from `end` on are padding. If the last band is half beyond the rows that take part, it subtracts zeros from zeros there. */
TRIFOLD_DEVICE void update_right(real* square, const double* diagonal, int t, int end, int worker, int workers) {
    int band = worker;
#pragma unroll 1
    for (int s = t + 2; s < end; ++s) {
        const int bands = warps - (s - t - 1) / 2;
        for (; band < bands; band += workers) update_band(square, diagonal, t, s, band);
        band -= bands;
    }
}

/* Column tile t of X, as columns of the inverse, to the workspace: 8 rows of the factor's tile. Rows of the identity have become S times
 * these. */
TRIFOLD_DEVICE void store_inverse(real* to, const real* square, const double* diagonal, int t, int worker, int workers) {
    constexpr int vectors = 8 / vector_width;
#pragma unroll 1
    for (int e = worker; e < edge * vectors; e += workers) {
        const int r = e / vectors, c = t * 8 + e % vectors * vector_width;
        real v[vector_width];
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = by_sign(square[edge + r + (c + k) * leading], diagonal, c + k);
        store_global(to + place_in_tile(c, r), v);
    }
}

/* The identity below the tile. */
TRIFOLD_DEVICE void start_square(real* square) {
#pragma unroll 4
    for (int e = thread_index(); e < edge * edge / vector_width; e += threads) {
        const int r = e % (edge / vector_width) * vector_width, c = e / (edge / vector_width);
        real v[vector_width];
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = r + k == c ? real(1) : real(0);
        store_vector(square + edge + r + c * leading, v);
    }
}

/* Column tile t's part of what is known of pivots with both signs: the rows' squares to the sums behind `diagonal`; which pivots are
 * negative to the word at `negative`, and how many to the word before it, by the first worker. */
TRIFOLD_DEVICE void count_signs(const real* square, double* diagonal, trifold_int* negative, int t, int worker, int workers) {
    const real* columns = square + t * 8 * leading;
    const auto inverse = [&](int k, int c) { return by_sign(columns[edge + t * 8 + c + k * leading], diagonal, t * 8 + k); };
    for (int r = t * 8 + worker; r < edge; r += workers)
        diagonal[edge + r] += r < t * 8 + 8 ? squares_in_tile(diagonal + t * 8, r % 8, inverse) : squares_of_row(columns + r, leading, 8);
    if (worker == 0)
        for (int c = t * 8; c < t * 8 + 8; ++c)
            if (diagonal[c] < 0) *negative |= trifold_int(1) << c, ++negative[-1];
}

/* Factors the tile in `square`, writes the pivots to `diagonal`, and stores the factor's inverse, with zeros above, at `to`. Starts with a
 * barrier. The last thread knows which pivots are negative. */
TRIFOLD_DEVICE void invert_tile(real* square, int row, Pivots& pivots, double* diagonal, trifold_int* negative, real* to) {
    const int warp = thread_index() / warp_lanes, end = is_padded && block_size - row < edge ? (block_size - row + 7) / 8 : column_tiles;
    start_square(square);
    if (has_signs && thread_index() < edge) diagonal[thread_index()] = 1; /* for the padding */
    block_sync();
#pragma unroll 1
    for (int t = 0; t < end; ++t) {
        const int turn = t % warps; /* all parts of a multiprocessor get their share, since warps are assigned to them by their index */
        if (warp == turn) {
            eliminate(square, t, row, pivots, diagonal);
        } else if (t > 0) {
            const int worker = (warp - turn - 1 + warps) % warps;
            update_right(square, diagonal, t - 1, end, worker, warps - 1);
            const int number = worker * warp_lanes + thread_index() % warp_lanes;
            store_inverse(to, square, diagonal, t - 1, number, threads - warp_lanes);
            if constexpr (has_signs) count_signs(square, diagonal, negative, t - 1, number, threads - warp_lanes);
        }
        block_sync();
        if (t + 1 < end) update_band(square, diagonal, t, t + 1, warp);
        block_sync();
    }
#pragma unroll 1
    for (int t = end - 1; t < column_tiles; ++t) store_inverse(to, square, diagonal, t, thread_index(), threads);
    if constexpr (has_signs) count_signs(square, diagonal, negative, end - 1, threads - 1 - thread_index(), threads);
}
