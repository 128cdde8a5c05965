/* Forward and backward sweeps of one chain by one thread block. `columns_at_once` right-hand sides are solved together. Shared memory holds
 * their vectors as three stacked blocks (pivot, next, behind) a column. Small factors are staged there too. */
#include "gpu/tridiagonal/levels/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/levels/shared.h"

/* `rows`: those that are loaded; the others are zero. */
TRIFOLD_DEVICE void load_rhs(SweepShared& shared, int row, const void* from, const trifold_strides& strides, trifold_int member,
                             trifold_int block, Columns columns, int rows) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
        const int r = e % padded, c = e / padded;
        const bool inside = r < rows && c < columns.count;
        shared.stacked[c][row + r] =
            inside ? static_cast<const real*>(from)[rhs_at(strides, member, block, r, columns.first + c)] : real(0);
    }
}

/* Stores a block's solved right-hand sides, on the way forward with the signs of the factor's diagonal. */
template <bool Forward>
TRIFOLD_DEVICE void store_rhs(const real (*values)[padded], const real* factor, const trifold_args& args, trifold_int member,
                              trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
        const int r = e % padded, c = e / padded;
        if (r >= (has_tail ? stored_rows(args, block) : block_size) || c >= columns.count) continue;
        const real value = Forward ? by_sign(values[c][r], factor, r + r * factor_leading) : values[c][r];
        static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = value;
        if (!Forward) watch(args, member, Result::solution, value);
    }
}

/* The right-hand side of a block as its level finds it. */
TRIFOLD_DEVICE void load_running(SweepShared& shared, int row, const trifold_args& args, const trifold_level& level, trifold_int member,
                                 trifold_int block, Columns columns) {
    load_rhs(shared, row, args.b, args.b_strides, member, block, columns, rows_of(args, member, block));
    if (level.index == 0) return;
    for (int side = 0; side < 2; ++side) {
        if (!has_side(args, member, block, side)) continue;
        const real* slot = rhs_update_of(args, member, block, side) + columns.first * padded;
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            if (e / padded < columns.count) shared.stacked[e / padded][row + e % padded] -= slot[e];
    }
}

/* Adds `sign` times the accumulated update in `row` to a separator's slot, or sets it. */
TRIFOLD_DEVICE void store_update(const SweepShared& shared, int row, real* slot, bool add, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns.count; e += threads) {
        real* at = slot + columns.first * padded + e;
        const real value = -shared.stacked[e / padded][row + e % padded];
        *at = add ? *at + value : value;
    }
}

TRIFOLD_DEVICE void clear(SweepShared& shared, int row) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) shared.stacked[e / padded][row + e % padded] = 0;
}

/* The factor where the triangular solve reads it. */
TRIFOLD_DEVICE const real* fetch_factor(SweepShared& shared, const real* factor) {
    if constexpr (stage_factor) {
#pragma unroll 8
        for (int e = thread_index(); e < padded * padded; e += threads) {
            const int r = e % padded, c = e / padded;
            if (is_general || r / tile >= c / tile) shared.factor[r + c * factor_leading] = factor[e];
        }
        return shared.factor;
    } else {
        return factor;
    }
}

/* solved = L^-1 stacked, tile after tile; the inverted diagonal tiles make every step a product. */
TRIFOLD_DEVICE void solve_lower(SweepShared& shared, const real* factor) {
#pragma unroll 1
    for (int j = 0; j < padded; j += tile) {
#pragma unroll 1
        for (int e = thread_index(); e < tile * columns_at_once; e += threads) {
            const int r = j + e % tile, c = e / tile;
            real sum = 0;
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) sum += factor[r + k * factor_leading] * shared.stacked[c][k];
            shared.solved[c][r] = sum;
        }
        block_sync();
#pragma unroll 1
        for (int r = j + tile + thread_index(); r < padded; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) {
                const real a = factor[r + k * factor_leading];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][r] -= sum[c];
        }
        block_sync();
    }
}

/* solved = L^-T stacked, from the last tile to the first. */
TRIFOLD_DEVICE void solve_upper(SweepShared& shared, const real* factor) {
#pragma unroll 1
    for (int j = padded - tile; j >= 0; j -= tile) {
#pragma unroll 1
        for (int e = thread_index(); e < tile * columns_at_once; e += threads) {
            const int r = j + e % tile, c = e / tile;
            real sum = 0;
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) sum += factor[k + r * factor_leading] * shared.stacked[c][k];
            shared.solved[c][r] = sum;
        }
        block_sync();
#pragma unroll 1
        for (int r = thread_index(); r < j; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) {
                const real a = factor[k + r * factor_leading];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][r] -= sum[c];
        }
        block_sync();
    }
}

constexpr int panel_rows = 2 * padded, part_depth = padded / parts;

/* stacked next and behind -= panels * solved; a thread takes whole rows of a part, so that lanes read down columns. */
TRIFOLD_DEVICE void apply_panels(SweepShared& shared, const real* next, const real* behind) {
#pragma unroll 1
    for (int unit = thread_index(); unit < panel_rows * parts; unit += threads) {
        const int row = unit % panel_rows, part = unit / panel_rows, first = part * part_depth;
        const real* panel = row < padded ? next : behind;
        real sum[columns_at_once] = {};
        if (panel != nullptr) {
            panel += row % padded + static_cast<trifold_int>(first) * padded;
#pragma unroll 16
            for (int k = 0; k < part_depth; ++k) {
                const real a = panel[static_cast<trifold_int>(k) * padded];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][first + k];
            }
        }
        if (parts > 1 && part > 0) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.partial[part - 1][c][row] = sum[c];
        } else {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][padded + row] -= sum[c];
        }
    }
    if (parts == 1) return;
    block_sync();
#pragma unroll 1
    for (int row = thread_index(); row < panel_rows; row += threads)
        for (int part = 1; part < parts; ++part)
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][padded + row] -= shared.partial[part - 1][c][row];
}

/* Pivot rows of stacked -= panels' * stacked next and behind: a warp takes four columns, its lanes the rows. */
TRIFOLD_DEVICE void apply_transposed(SweepShared& shared, const real* next, const real* behind) {
    constexpr int group = columns_at_once > 4 ? 2 : 4;
    const int lane = thread_index() % warp_lanes;
#pragma unroll 1
    for (int k = thread_index() / warp_lanes * group; k < padded; k += threads / warp_lanes * group) {
        real sum[group][columns_at_once] = {};
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const real* panel = which == 0 ? next : behind;
            if (panel == nullptr) continue;
            panel += static_cast<trifold_int>(k) * padded;
#pragma unroll 1
            for (int r = lane; r < padded; r += warp_lanes) {
                real a[group];
#pragma unroll
                for (int q = 0; q < group; ++q) a[q] = panel[r + q * padded];
#pragma unroll
                for (int q = 0; q < group; ++q)
#pragma unroll
                    for (int c = 0; c < columns_at_once; ++c) sum[q][c] += a[q] * shared.stacked[c][(which + 1) * padded + r];
            }
        }
#pragma unroll
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2)
#pragma unroll
            for (int q = 0; q < group; ++q)
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[q][c] += shuffle_xor(sum[q][c], mask);
        if (lane == 0) {
#pragma unroll
            for (int q = 0; q < group; ++q)
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][k + q] -= sum[q][c];
        }
    }
}

/* The squared norm of the solved block, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const SweepShared& shared, const real* factor, const trifold_args& args, trifold_int member,
                                    trifold_int block, Columns columns) {
    const int lane = thread_index() % warp_lanes;
    double* to = buffer<double>(args, Offset::block_quadratic(args)) + block_index(args, member, block) * max_columns + columns.first;
    for (int c = thread_index() / warp_lanes; c < columns.count; c += threads / warp_lanes) {
        double sum = 0;
        for (int r = lane; r < block_size; r += warp_lanes) sum += square_of(shared.solved[c][r], factor[r + r * factor_leading]);
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = sum;
    }
}

/* The panels that a sweep reads. Those of a general matrix are pairs, one for each way; with A' they trade places. */
template <bool Forward, bool Turned>
constexpr trifold_int panel_at = is_general && Forward == Turned ? storage : 0;
/* In the place of solve_lower and solve_upper, for general matrices. */
template <bool Lower, bool Turned>
TRIFOLD_DEVICE void solve_general(SweepShared& shared, const real* factor);

template <bool Turned>
TRIFOLD_DEVICE void forward_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain,
                                    trifold_int member, Columns columns) {
    load_running(shared, 0, args, level, member, block_at(level, chain.first), columns);
    clear(shared, 2 * padded);
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length;
        const real* factor = fetch_factor(shared, factor_of(args, member, block));
        if (last)
            clear(shared, padded);
        else
            load_running(shared, padded, args, level, member, block_at(level, position + chain.step), columns);
        block_sync();
        if constexpr (is_general)
            solve_general<true, Turned>(shared, factor_of(args, member, block));
        else
            solve_lower(shared, factor);
        const bool has_next = !last || chain.ahead >= 0;
        apply_panels(shared, has_next ? next_of(args, member, block) + panel_at<true, Turned> : nullptr,
                     chain.behind >= 0 ? behind_of(args, member, block) + panel_at<true, Turned> : nullptr);
        store_rhs<true>(shared.solved, factor, args, member, block, columns);
        if (!is_general) store_quadratic(shared, factor, args, member, block, columns);
        block_sync();
        if (last) break;
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            shared.stacked[e / padded][e % padded] = shared.stacked[e / padded][padded + e % padded];
        block_sync();
    }
    const bool add = level.index > 0;
    if (chain.ahead >= 0)
        store_update(shared, padded, rhs_update_of(args, member, block_at(level, chain.ahead), side_ahead(chain)), add, columns);
    if (chain.behind >= 0)
        store_update(shared, 2 * padded, rhs_update_of(args, member, block_at(level, chain.behind), side_behind(chain)), add, columns);
    block_sync();
}

template <bool Turned>
TRIFOLD_DEVICE void backward_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain,
                                     trifold_int member, Columns columns) {
    const auto load_x = [&](int row, trifold_int position) {
        const trifold_int block = block_at(level, position);
        load_rhs(shared, row, args.x, args.x_strides, member, block, columns, stored_rows(args, block));
    };
    if (chain.ahead >= 0) load_x(padded, chain.ahead);
    if (chain.behind >= 0) load_x(2 * padded, chain.behind);
#pragma unroll 1
    for (trifold_int k = chain.length; k-- > 0;) {
        const trifold_int block = block_at(level, chain.first + k * chain.step);
        const bool last = k + 1 == chain.length;
        const real* factor = fetch_factor(shared, factor_of(args, member, block));
        load_rhs(shared, 0, args.b, args.b_strides, member, block, columns, rows_of(args, member, block));
        block_sync();
        const bool has_next = !last || chain.ahead >= 0;
        apply_transposed(shared, has_next ? next_of(args, member, block) + panel_at<false, Turned> : nullptr,
                         chain.behind >= 0 ? behind_of(args, member, block) + panel_at<false, Turned> : nullptr);
        block_sync();
        if constexpr (is_general)
            solve_general<false, Turned>(shared, factor_of(args, member, block));
        else
            solve_upper(shared, factor);
        store_rhs<false>(shared.solved, factor, args, member, block, columns);
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            shared.stacked[e / padded][padded + e % padded] = shared.solved[e / padded][e % padded];
        block_sync();
    }
}

template <bool Forward, bool Turned = false>
TRIFOLD_DEVICE void sweep_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Chain chain = find_chain(args, level, number, member);
    if (!Forward && thread_index() == 0 && begins_descent(level)) begin_result(args, member, Result::solution);
    if (has_lengths && chain.length == 0) return;
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const Columns columns = columns_from(args, first, columns_at_once);
        if (Forward)
            forward_columns<Turned>(shared, args, level, chain, member, columns);
        else
            backward_columns<Turned>(shared, args, level, chain, member, columns);
    }
}
