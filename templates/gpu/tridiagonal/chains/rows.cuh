/* Right-hand sides of a front, by one warp. A lane has a row of them, or more, 32 apart. */
#include "gpu/tridiagonal/chains/constants.cuh"
#include "gpu/tridiagonal/common.cuh"

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

/* solved = L^-1 rows, or L^-T rows from the last tile to the first. inverse(t, j, k): element of the inverse of L's tile t. `lower` is L,
 * column-major. */
template <bool Forward, class Inverse>
TRIFOLD_DEVICE void solve_rows(Rows& rows, real (*running)[padded], real (*solved)[padded], const real* lower, int leading,
                               const Inverse& inverse) {
    constexpr int together = warp_lanes / 8; /* right-hand sides whose tiles are solved side by side */
#pragma unroll 1
    for (int step = 0; step < tiles; ++step) {
        const int t = Forward ? step : tiles - 1 - step;
        each_row([&](int q, int row) {
            if (row / 8 == t)
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) running[c][row] = rows.at[q][c];
        });
        warp_sync();
        const int j = lane_index() % 8;
#pragma unroll
        for (int first = 0; first < columns_at_once; first += together) {
            const int c = first + lane_index() / 8;
            real sum[2] = {};
#pragma unroll
            for (int k = 0; k < 8; ++k)
                sum[k % 2] += (Forward ? inverse(t, j, k) : inverse(t, k, j)) * running[c < columns_at_once ? c : 0][t * 8 + k];
            if (c < columns_at_once) solved[c][t * 8 + j] = sum[0] + sum[1];
        }
        warp_sync();
        each_row([&](int q, int row) {
            if (Forward ? row < t * 8 + 8 : row >= t * 8) return;
            const real* at = lower + (Forward ? row + t * 8 * leading : t * 8 + row * leading);
            real line[8];
            if constexpr (Forward) {
#pragma unroll
                for (int k = 0; k < 8; ++k) line[k] = at[k * leading];
            } else {
#pragma unroll
                for (int k = 0; k < 8; k += vector_width) {
                    real v[vector_width];
                    load_vector(v, at + k);
#pragma unroll
                    for (int e = 0; e < vector_width; ++e) line[k + e] = v[e];
                }
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) {
                real sum[2] = {};
#pragma unroll
                for (int k = 0; k < 8; ++k) sum[k % 2] += line[k] * solved[c][t * 8 + k];
                rows.at[q][c] -= sum[0] + sum[1];
            }
        });
    }
    warp_sync();
}

/* Solutions out to X. */
template <bool Forward>
TRIFOLD_DEVICE void store_solved(const real (*solved)[padded], const trifold_args& args, trifold_int member, trifold_int block,
                                 Columns columns) {
    each_row([&](int, int row) {
        if (row >= block_size) return;
#pragma unroll 1
        for (int c = 0; c < columns.count; ++c) {
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, row, columns.first + c)] = solved[c][row];
            if (!Forward) watch(args, member, Result::solution, solved[c][row]);
        }
    });
}
/* Their part of b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratics(const real (*solved)[padded], const trifold_args& args, trifold_int member, trifold_int block,
                                     Columns columns) {
#pragma unroll 1
    for (int c = 0; c < columns.count; ++c) {
        double sum = 0;
        each_row([&](int, int row) { sum += row < block_size ? square_of(solved[c][row]) : 0; });
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane_index() == 0)
            buffer<double>(args, Offset::block_quadratic(args))[block_index(args, member, block) * most_columns + columns.first + c] = sum;
    }
}

/* Starts the copies of a block's right-hand sides. The padding stays as it is. */
TRIFOLD_DEVICE void fetch_vectors(real (*to)[padded], const void* from, const trifold_strides& strides, trifold_int member,
                                  trifold_int block, Columns columns) {
    each_row([&](int, int row) {
        if (row >= block_size) return;
#pragma unroll 1
        for (int c = 0; c < columns.count; ++c)
            copy_element_async(&to[c][row], static_cast<const real*>(from) + rhs_at(strides, member, block, row, columns.first + c));
    });
}
/* Clears right-hand sides with their padding. */
TRIFOLD_DEVICE void clear_vectors(real (*to)[padded]) {
    each_row([&](int, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) to[c][row] = 0;
    });
}
/* Subtracts the updates of the chains at both sides of a separator. */
TRIFOLD_DEVICE void subtract_updates(Rows& rows, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    for (int side = 0; side < 2; ++side) {
        if (!has_side(args, block, side)) continue;
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
/* The product of a block's rows, or its columns, with vectors. */
template <bool Transposed>
TRIFOLD_DEVICE void multiply_vectors(Rows& product, const real* block, int leading, const real (*vectors)[padded]) {
    product = Rows{};
    each_row([&](int q, int row) {
        const real* at = block + (Transposed ? row * leading : row);
#pragma unroll 4
        for (int k = 0; k < padded; k += vector_width) {
            real line[vector_width];
            if constexpr (Transposed) {
                load_vector(line, at + k);
            } else {
#pragma unroll
                for (int e = 0; e < vector_width; ++e) line[e] = at[(k + e) * leading];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c)
#pragma unroll
                for (int e = 0; e < vector_width; ++e) product.at[q][c] += line[e] * vectors[c][k + e];
        }
    });
}
