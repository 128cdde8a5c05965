/* Right-hand sides of a front, by one warp. A lane has a row of them, or more, 32 apart. */
#include "gpu/tridiagonal/chains/constants.cuh"
#include "gpu/tridiagonal/common.cuh"

/* Tiles of a solution whose steps are unrolled, so that their places are known. */
[[maybe_unused]] constexpr int unrolled_tiles = tiles <= 4 ? tiles : 1;

struct Rows {
    real at[row_sets][columns_at_once];
};
/* use(q, row) for a lane's rows. */
template <class Use>
TRIFOLD_DEVICE void each_row(const Use& use) {
#pragma unroll
    for (int q = 0; q < row_sets; ++q) {
        const int row = lane_index() + q * warp_lanes;
        if (padded % warp_lanes == 0 || row < padded) use(q, row);
    }
}
TRIFOLD_DEVICE void load_line(real (&line)[8], const real* from) {
#pragma unroll
    for (int k = 0; k < 8; k += vector_width) {
        real v[vector_width];
        load_vector(v, from + k);
#pragma unroll
        for (int e = 0; e < vector_width; ++e) line[k + e] = v[e];
    }
}
TRIFOLD_DEVICE real dot(const real (&a)[8], const real (&b)[8]) {
    real sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = a[k] * b[k];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += a[k + 4] * b[k + 4];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* A lane's part of L for tile t of a solution: a line of the tile's inverse, and lines of the tile's columns or rows. */
struct TileLines {
    real inverse[8], lines[row_sets][8];
};
template <bool Forward>
TRIFOLD_DEVICE bool takes_tile(int row, int t) {
    return Forward ? row >= t * 8 + 8 : row < t * 8;
}
/* take_inverse(line, t, j) loads row j of the inverse of L's tile t, or column j. `lower` is L, column-major. */
template <bool Forward, class Take>
TRIFOLD_DEVICE void load_tile_lines(TileLines& of, int t, const real* lower, int leading, const Take& take_inverse) {
    take_inverse(of.inverse, t, lane_index() % 8);
    each_row([&](int q, int row) {
        const int from = takes_tile<Forward>(row, t) ? row : t * 8; /* others load the tile, and use nothing of it */
        const real* at = lower + (Forward ? from + t * 8 * leading : t * 8 + from * leading);
        if constexpr (Forward) {
#pragma unroll
            for (int k = 0; k < 8; ++k) of.lines[q][k] = at[k * leading];
        } else {
            load_line(of.lines[q], at);
        }
    });
}
/* Tile t of solved = L^-1 rows, or of L^-T rows, which goes from the last tile to the first; the rows of other tiles take their products.
 */
template <bool Forward>
TRIFOLD_DEVICE void solve_tile(int t, Rows& rows, const TileLines& of, real (*running)[padded], real (*solved)[padded]) {
    constexpr int together = warp_lanes / 8; /* right-hand sides whose tiles are solved side by side */
    const int j = lane_index() % 8;
    each_row([&](int q, int row) {
        if (row / 8 == t)
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) running[c][row] = rows.at[q][c];
    });
    warp_sync();
#pragma unroll
    for (int first = 0; first < columns_at_once; first += together) {
        const int c = first + lane_index() / 8;
        real values[8];
        load_line(values, running[c < columns_at_once ? c : 0] + t * 8);
        const real sum = dot(of.inverse, values);
        if (c < columns_at_once) solved[c][t * 8 + j] = sum;
    }
    warp_sync();
#pragma unroll
    for (int c = 0; c < columns_at_once; ++c) {
        real values[8];
        load_line(values, solved[c] + t * 8);
        each_row([&](int q, int row) {
            const real product = dot(of.lines[q], values);
            if (takes_tile<Forward>(row, t)) rows.at[q][c] -= product;
        });
    }
}

/* Solutions out to X; forward, with the signs of pivot_of(row). */
template <bool Forward, class Pivot>
TRIFOLD_DEVICE void store_solved(const real (*solved)[padded], const trifold_args& args, trifold_int member, trifold_int block,
                                 Columns columns, const Pivot& pivot_of) {
    each_row([&](int, int row) {
        if (row >= stored_rows(args, block)) return;
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) {
            if (c >= columns.count) continue;
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, row, columns.first + c)] =
                has_signs && Forward ? by_sign(solved[c][row], pivot_of(row)) : solved[c][row];
            if (!Forward) watch(args, member, Result::solution, solved[c][row]);
        }
    });
    if (!Forward || !has_lengths || lane_index() != 0) return;
    /* The block may have been the last of its chain before, with all of the chain's sum. */
    double* const sums = buffer<double>(args, Offset::block_quadratic(args)) + block_index(args, member, block) * max_columns;
    for (int c = 0; c < columns.count; ++c) sums[columns.first + c] = 0;
}
/* A chain's part of b' A^-1 b, from the sums of its rows. One block of the chain has all of it, and others zero. */
template <class Squares>
TRIFOLD_DEVICE void store_quadratics(const trifold_args& args, trifold_int member, trifold_int block, Columns columns,
                                     const Squares& squares) {
#pragma unroll 1
    for (int c = 0; c < columns.count; ++c) {
        double sum = 0;
        each_row([&](int q, int row) { sum += squares(q, row, c); });
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane_index() == 0)
            buffer<double>(args, Offset::block_quadratic(args))[block_index(args, member, block) * max_columns + columns.first + c] = sum;
    }
}

/* use(q, row, c, at) for each right-hand side of a lane's first `rows` rows, at its place in the caller's array. */
template <class Use>
TRIFOLD_DEVICE void each_place(const void* from, const trifold_strides& strides, trifold_int member, trifold_int block, Columns columns,
                               int rows, const Use& use) {
    each_row([&](int q, int row) {
        if (row >= rows) return;
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c)
            if (c < columns.count) use(q, row, c, static_cast<const real*>(from) + rhs_at(strides, member, block, row, columns.first + c));
    });
}
/* Loads the first `count` rows of a block's right-hand sides; and starts their copies, which leave the padding as it is. */
TRIFOLD_DEVICE void load_rows(Rows& rows, const void* from, const trifold_strides& strides, trifold_int member, trifold_int block,
                              Columns columns, int count) {
    rows = Rows{};
    each_place(from, strides, member, block, columns, count, [&](int q, int, int c, const real* at) { rows.at[q][c] = *at; });
}
TRIFOLD_DEVICE void fetch_rows(real (*to)[padded], const void* from, const trifold_strides& strides, trifold_int member, trifold_int block,
                               Columns columns, int count) {
    if (has_views)
        each_row([&](int, int row) {
            for (int c = 0; c < columns_at_once && row >= count; ++c) to[c][row] = 0;
        });
    each_place(from, strides, member, block, columns, count,
               [&](int, int row, int c, const real* at) { copy_element_async(&to[c][row], at); });
}
TRIFOLD_DEVICE void store_rows(real (*to)[padded], const Rows& rows) {
    each_row([&](int q, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) to[c][row] = rows.at[q][c];
    });
}
/* Subtracts the updates of the chains at both sides of a separator. */
TRIFOLD_DEVICE void subtract_updates(Rows& rows, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    for (int side = 0; side < 2; ++side) {
        if (!has_side(args, member, block, side)) continue;
        const real* from = rhs_update_of(args, member, block, side) + columns.first * padded;
        each_row([&](int q, int row) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c)
                if (c < columns.count) rows.at[q][c] -= from[c * padded + row];
        });
    }
}
/* A chain's update of the right-hand sides of the separator ahead. */
TRIFOLD_DEVICE void leave_update(const Rows& rows, const trifold_args& args, const trifold_level& level, trifold_int member,
                                 const Chain& chain, Columns columns) {
    real* to = rhs_update_of(args, member, block_at(level, chain.ahead), side_ahead(chain)) + columns.first * padded;
    each_row([&](int q, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c)
            if (c < columns.count) to[c * padded + row] = rows.at[q][c];
    });
}
/* The product of a block's rows, or its columns, with vectors. Sums are parted, so that they need not wait for one another. */
template <bool Transposed>
TRIFOLD_DEVICE void multiply_vectors(Rows& product, const real* block, int leading, const real (*vectors)[padded]) {
    constexpr int parts = columns_at_once > 2 ? 1 : columns_at_once > 1 ? 2 : 4;
    constexpr int together = padded <= 32 ? tiles : 4; /* lines in flight */
    product = Rows{};
    each_row([&](int q, int row) {
        const real* at = block + (Transposed ? row * leading : row);
        real sum[columns_at_once][parts] = {};
#pragma unroll together
        for (int k = 0; k < padded; k += 8) {
            real line[8];
            if constexpr (Transposed) {
                load_line(line, at + k);
            } else {
#pragma unroll
                for (int e = 0; e < 8; ++e) line[e] = at[(k + e) * leading];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) {
                real values[8];
                load_line(values, vectors[c] + k);
#pragma unroll
                for (int e = 0; e < 8; ++e) sum[c][e % parts] += line[e] * values[e];
            }
        }
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c)
#pragma unroll
            for (int part = 0; part < parts; ++part) product.at[q][c] += sum[c][part];
    });
}
