/* Factorization of a panel in shared memory: rows 0 .. size - 1 are the pivot block, the rows below it ride along. The
 * panel is column-major; its leading dimension is 4 modulo 8. Tiles of `w` columns; the diagonal tiles are left inverted. */
#include "gpu/tridiagonal/dense/products.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

/* Factors the w by w tile at `at` and leaves the factor's inverse there. Called by one warp; every lane factors the tile
 * redundantly in registers, which costs less than one shuffle a column. `row` is the tile's first row in the block, of
 * which the first `rows` are real and the rest padding. `diagonal` gets the pivots; where they have both signs, the sums of
 * rows that begin `padded` behind them grow by the squares of the factor. */
template <int w>
TRIFOLD_DEVICE void factor_tile(real* at, int leading, int row, int rows, Pivots& pivots, double* diagonal) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(pivots.floor);
    real t[w][w], inverse[w];
#pragma unroll
    for (int c = 0; c < w; ++c)
#pragma unroll
        for (int r = c; r < w; ++r) t[r][c] = at[r + c * leading];
    int failed = -1, floors = 0;
#pragma unroll
    for (int c = 0; c < w; ++c) {
        real d = t[c][c];
        if (d < floor && d >= -largest && row + c < (has_views ? static_cast<int>(pivots.rows) : rows)) d = floor, ++floors;
        const bool passes = is_pivot(d);
        if (!passes && failed < 0) failed = row + c;
        if (lane == 0) diagonal[row + c] = d;
        inverse[c] = passes ? inverse_root(d) : static_cast<real>(not_a_number());
#pragma unroll
        for (int r = c + 1; r < w; ++r) t[r][c] *= by_sign(inverse[c], d);
#pragma unroll
        for (int k = c + 1; k < w; ++k)
#pragma unroll
            for (int r = k; r < w; ++r) t[r][k] -= t[r][c] * by_sign(t[k][c], d);
    }
    warp_sync();
    if (lane == 0) {
        if (failed >= 0 && pivots.failed_row < 0) pivots.failed_row = failed;
        pivots.floors += floors;
    }
    if constexpr (has_signs) { /* Lane r has row r. */
        real sum = 0;
#pragma unroll
        for (int r = 1; r < w; ++r)
#pragma unroll
            for (int c = 0; c < r; ++c) sum += r == lane ? t[r][c] * t[r][c] : real(0);
        if (lane < w) diagonal[padded + row + lane] += sum;
    }
    /* Lane c solves for column c of the inverse. */
    real z[w];
#pragma unroll
    for (int r = 0; r < w; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= t[r][k] * z[k];
        z[r] = sum * inverse[r];
    }
    if (lane < w) {
#pragma unroll
        for (int r = 0; r < w; ++r) at[r + lane * leading] = z[r];
    }
    warp_sync();
}

/* Rows first .. last of column tile `at` times the transposed inverse of the diagonal tile. A thread takes whole rows. */
template <int w>
TRIFOLD_DEVICE void solve_rows(real* panel, int leading, int j, int first, int last) {
    const real* inverse = panel + j + j * leading;
#pragma unroll 1
    for (int r = first + thread_index(); r < last; r += threads) {
        real* at = panel + r + j * leading;
        real a[w];
#pragma unroll
        for (int c = 0; c < w; ++c) a[c] = at[c * leading];
#pragma unroll
        for (int c = w - 1; c >= 0; --c) {
            real sum = 0;
#pragma unroll
            for (int k = 0; k <= c; ++k) sum += a[k] * inverse[c + k * leading];
            at[c * leading] = by_sign(sum, inverse, c + c * leading);
        }
    }
}

/* Columns j .. j + 7 eliminated from the diagonal tile at row and column c, by one warp. */
TRIFOLD_DEVICE void update_tile(real* panel, int leading, const double* pivots, int j, int c) {
#pragma unroll 1
    for (int e = thread_index() % warp_lanes; e < 64; e += warp_lanes) {
        const int r = c + e % 8, s = c + e / 8;
        real sum = panel[r + s * leading];
#pragma unroll
        for (int k = j; k < j + 8; ++k) sum -= panel[r + k * leading] * by_sign(panel[s + k * leading], pivots, k);
        panel[r + s * leading] = sum;
    }
    warp_sync();
}

/* Adds the squares left of the diagonal tiles. Ends with the sums visible to all threads. */
template <int w>
TRIFOLD_DEVICE void add_squares(double* sums, const real* factor, int leading, int size) {
    for (int r = thread_index(); r < size; r += threads) sums[r] += squares_of_row(factor + r, leading, r / w * w);
    block_sync();
}

/* The first warp factors the next diagonal tile while the others update the rest, so its latency hides behind theirs.
 * `rows` is a multiple of vector_width. Starts and ends with the panel visible to all threads. */
template <int Size, int w>
TRIFOLD_DEVICE void factor_panel(real* panel, int leading, int rows, int real_rows, int row, Pivots& pivots, double* diagonal) {
    static_assert(threads > warp_lanes || Size == w, "one warp cannot look ahead");
#pragma unroll 1
    for (int j = 0; j < Size; j += w) {
        if (thread_index() < warp_lanes) {
            if (Size > w && j > 0) update_tile(panel, leading, diagonal + row, j - w, j);
            factor_tile<w>(panel + j * (leading + 1), leading, row + j, real_rows, pivots, diagonal);
        } else if (Size > w && j > 0) {
            update_trailing(panel, leading, diagonal + row, j - w, Size, rows);
        }
        block_sync();
        solve_rows<w>(panel, leading, j, j + w, rows);
        block_sync();
    }
    if constexpr (has_signs) add_squares<w>(diagonal + padded + row, panel, leading, Size);
}
