/* Factorization P D = L U of a front in shared memory, by tiles of 8 columns. Panel rows, column-major: D; R and G, which end as products
 * with U^-1; Z' and H', which end as products with (L^-1 P)'. So all but D are rows that ride along. Where a chain has no separator behind
 * it, there are no rows of G and H'. */
#include "gpu/pivots.cuh"
#include "gpu/tridiagonal/getrf/factors.cuh"
#include "gpu/tridiagonal/getrf_fused/constants.cuh"
#include "gpu/tridiagonal/getrf_fused/shared.h"
#include "gpu/tridiagonal/fused/pieces.cuh"

constexpr int next_row = padded, behind_row = 2 * padded, right_row = right_part * padded, far_row = right_row + padded;
/* The ends of the rows that U^-1 is for, and of those that L^-1 is for. */
struct Ends {
    int below, right;
};

constexpr int lane_rows = (padded + warp_lanes - 1) / warp_lanes;
/* A candidate for a pivot: the first digits of its size, and of equal ones the lowest row. */
constexpr unsigned row_digits = 255;
TRIFOLD_DEVICE unsigned key_of_row(real x, int row) { return (size_key(x) & ~row_digits) | (row_digits - static_cast<unsigned>(row)); }
static_assert(padded < row_digits && tile == 8, "host and device disagree");

/* Columns j .. j + 7 of D less the products of the tile before. */
TRIFOLD_DEVICE void update_columns(FrontShared& shared, int j) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * tile; e += threads) {
        const int r = e % padded, c = j + e / padded;
        if (r < j) continue;
        real sum = shared.panel[r + c * panel_leading];
#pragma unroll
        for (int k = 0; k < tile; ++k) sum -= shared.panel[r + (j - tile + k) * panel_leading] * shared.above[c + k * above_leading];
        shared.panel[r + c * panel_leading] = sum;
    }
    block_sync();
}

/* Factors columns j .. j + 7 of D, by one warp. A lane has rows, `warp_lanes` apart, in registers.
 * Rows get their places when all columns are done; other columns follow in interchange(). */
TRIFOLD_DEVICE void factor_columns(FrontShared& shared, int j) {
    const int lane = lane_index();
    real* panel = shared.panel + j * panel_leading;
    real a[lane_rows][tile];
    int place[lane_rows], order[lane_rows];
    bool candidate[lane_rows];
#pragma unroll
    for (int i = 0; i < lane_rows; ++i) {
        const int r = place[i] = j + lane + i * warp_lanes;
        candidate[i] = r < padded;
        order[i] = candidate[i] ? shared.order[r] : 0;
#pragma unroll
        for (int c = 0; c < tile; ++c) a[i][c] = candidate[i] ? panel[r + c * panel_leading] : real(0);
    }
#pragma unroll
    for (int c = 0; c < tile; ++c) {
        unsigned key = 0;
        real own = 1;
#pragma unroll
        for (int i = 0; i < lane_rows; ++i) {
            const unsigned other = candidate[i] ? key_of_row(a[i][c], j + lane + i * warp_lanes) : 0;
            if (other > key) key = other, own = a[i][c];
        }
        const unsigned best = warp_greatest(key);
        real inverse = may_divide(own) ? reciprocal(own) : static_cast<real>(not_a_number()); /* while the pivot is searched */
        if (key == best) {
            shared.inverse[c % 2] = inverse;
            shared.pivots[j + c] = own;
#pragma unroll
            for (int i = 0; i < lane_rows; ++i) {
                if (!candidate[i] || j + lane + i * warp_lanes != static_cast<int>(row_digits - (best & row_digits))) continue;
                shared.place[c % 2] = place[i];
                place[i] = j + c, candidate[i] = false;
#pragma unroll
                for (int k = 0; k < tile; ++k) shared.chosen[c % 2][k] = a[i][k];
                a[i][c] = inverse;
            }
        }
        warp_sync();
        inverse = shared.inverse[c % 2];
        const int from = shared.place[c % 2];
        if (lane == 0) {
            if (!(inverse == inverse) && shared.failed_row < 0) shared.failed_row = j + c;
            shared.interchanges += static_cast<int>(from != j + c);
        }
#pragma unroll
        for (int i = 0; i < lane_rows; ++i) {
            if (!candidate[i]) continue;
            if (place[i] == j + c) place[i] = from;
            const real m = a[i][c] *= inverse;
#pragma unroll
            for (int k = c + 1; k < tile; ++k) a[i][k] -= m * shared.chosen[c % 2][k];
        }
    }
#pragma unroll
    for (int i = 0; i < lane_rows; ++i) {
        const int r = j + lane + i * warp_lanes;
        if (r >= padded) continue;
        if (r < j + tile) shared.to[r - j] = place[i];
        if (place[i] < j + tile) shared.from[place[i] - j] = r;
        shared.order[place[i]] = order[i];
#pragma unroll
        for (int c = 0; c < tile; ++c) panel[place[i] + c * panel_leading] = a[i][c];
    }
}

/* The consequences of a tile's pivots: the interchanges in other columns of D, and in Z' and H' of columns; rows of U and Z, and columns
 * of R. A thread has a column of D, or a row of another block. */
TRIFOLD_DEVICE void interchange(FrontShared& shared, int j, const Ends& ends) {
    const real* d = shared.panel + j * (panel_leading + 1);
#pragma unroll 1
    for (int t = thread_index(); t < ends.right; t += threads) {
        const bool is_column = t < padded, below = !is_column && t < right_row;
        if (below ? t >= ends.below : t >= j && t < j + tile) continue;
        real* line = shared.panel + (is_column ? t * panel_leading : t);
        const int step = is_column ? 1 : panel_leading;
        real a[tile], gone[tile];
#pragma unroll
        for (int i = 0; i < tile; ++i) a[i] = line[(below ? j + i : shared.from[i]) * step];
        if (below) {
#pragma unroll
            for (int c = 0; c < tile; ++c) {
                a[c] *= d[c + c * panel_leading];
#pragma unroll
                for (int k = c + 1; k < tile; ++k) a[k] -= a[c] * d[c + k * panel_leading];
            }
        } else {
#pragma unroll
            for (int i = 0; i < tile; ++i) gone[i] = shared.to[i] >= j + tile ? line[(j + i) * step] : real(0);
#pragma unroll
            for (int i = 0; i < tile; ++i)
                if (shared.to[i] >= j + tile) line[shared.to[i] * step] = gone[i];
            if (t >= j) {
#pragma unroll
                for (int c = 0; c < tile; ++c)
#pragma unroll
                    for (int k = c + 1; k < tile; ++k) a[k] -= a[c] * d[k + c * panel_leading];
            }
        }
#pragma unroll
        for (int i = 0; i < tile; ++i) line[(j + i) * step] = a[i];
        if (!is_column || t < j) continue;
#pragma unroll
        for (int i = 0; i < tile; ++i) shared.above[t + i * above_leading] = a[i];
    }
}

/* Rows first .. last - 1 of the columns from `column` on, less the products of the tile at j with B', whose row is a column's number. All
 * warps but the first share the work, from `unit` on. */
TRIFOLD_DEVICE void eliminate_rows(real* panel, int j, int first, int last, int column, const real* b, int b_leading, int& unit) {
    constexpr int side = use_tensor ? 16 : strip, height = use_tensor ? 16 : vector_width;
    constexpr int workers = threads / (use_tensor ? warp_lanes : 1) - (use_tensor ? 1 : warp_lanes);
#pragma unroll 1
    for (; column < padded; column += side) {
        const int units = (last - first + height - 1) / height;
#pragma unroll 1
        for (; unit < units; unit += workers) {
            const int row = first + unit * height;
            if constexpr (use_tensor) {
                Square square{};
                multiply_square<2>(square, panel + row + j * panel_leading, b + column, row + 8 < last, column + 8 < padded, panel_leading,
                                   tile, nullptr, b_leading);
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
                    for (int q = 0; q < square_vectors; ++q)
                        if (row + first_of_eight(square_row(q)) < last && column + first_of_eight(square_column(c)) < padded)
                            subtract_vector(panel + row + square_row(q) + (column + square_column(c)) * panel_leading, square.at[c][q]);
            } else {
                real part[strip][1][vector_width] = {};
                multiply_strips<tile>(part, panel + row + j * panel_leading, 0, panel_leading, b + column, b_leading);
#pragma unroll
                for (int c = 0; c < strip; ++c) subtract_vector(panel + row + (column + c) * panel_leading, part[c][0]);
            }
        }
        unit -= units;
    }
}

/* The first warp factors the next tile's columns while the others update the rest, so its latency hides behind theirs. */
TRIFOLD_DEVICE void factor_front(FrontShared& shared, const Ends& ends) {
    static_assert(threads > warp_lanes || padded == tile, "one warp cannot look ahead");
    real* panel = shared.panel;
#pragma unroll 1
    for (int j = 0; j < padded; j += tile) {
        if (j > 0) update_columns(shared, j);
        if (thread_index() < warp_lanes) {
            factor_columns(shared, j);
        } else if (padded > tile && j > 0) {
            int unit = use_tensor ? warp_index() - 1 : thread_index() - warp_lanes;
            const int before = j - tile;
#pragma unroll 1
            for (int part = 0; part < 3; ++part) { /* D; R and G; Z' and H' */
                const int first = part == 0   ? j
                                  : part == 1 ? next_row
                                              : right_row,
                          last = part == 0   ? padded
                                 : part == 1 ? ends.below
                                             : ends.right;
                eliminate_rows(panel, before, first, last, part == 0 ? j + tile : j,
                               part < 2 ? shared.above : panel + before * panel_leading, part < 2 ? above_leading : panel_leading, unit);
            }
        }
        block_sync();
        interchange(shared, j, ends);
        block_sync();
    }
}
