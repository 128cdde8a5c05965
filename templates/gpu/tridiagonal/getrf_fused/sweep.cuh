/* Variant getrf-fused: sweeps of one chain by one thread block, with A or (Turned) A'. Forward: y = L^-1 P b, and the next block gets - R
 * y; backward: x = U^-1 (y - Z x of the next block). With A' the two triangles and the two panels trade places. */
#include "gpu/tridiagonal/getrf/factors.cuh"
#include "gpu/tridiagonal/levels/sweep.cuh"

static_assert(stage_factor, "host and device disagree");
TRIFOLD_DEVICE void fetch_triangles(SweepShared& shared, const real* factor) {
#pragma unroll 8
    for (int e = thread_index(); e < padded * padded; e += threads) shared.factor[e % padded + e / padded * factor_leading] = factor[e];
}

/* solved = T^-1 stacked, tile after tile. T is L (lower, with ones on its diagonal), U' (lower), U (upper) or L' (upper); the diagonal of U
 * has reciprocals. */
template <bool Lower, bool Turned>
TRIFOLD_DEVICE void substitute(SweepShared& shared) {
    constexpr int row = Turned ? factor_leading : 1, column = Turned ? 1 : factor_leading;
    const real* factor = shared.factor;
#pragma unroll 1
    for (int step = 0; step < padded; step += tile) {
        const int j = Lower ? step : padded - tile - step;
        if (const int c = thread_index(); c < columns_at_once) {
            real y[tile];
#pragma unroll
            for (int k = 0; k < tile; ++k) y[k] = shared.stacked[c][j + k];
#pragma unroll
            for (int number = 0; number < tile; ++number) {
                const int k = Lower ? number : tile - 1 - number;
                if (Lower == Turned) y[k] *= factor[(j + k) * (factor_leading + 1)];
#pragma unroll
                for (int r = 0; r < tile; ++r)
                    if (Lower ? r > k : r < k) y[r] -= factor[(j + r) * row + (j + k) * column] * y[k];
                shared.solved[c][j + k] = y[k];
            }
        }
        block_sync();
        const int rest = Lower ? padded - j - tile : j, first = Lower ? j + tile : 0;
#pragma unroll 1
        for (int r = first + thread_index(); r < first + rest; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll
            for (int k = j; k < j + tile; ++k) {
                const real a = factor[r * row + k * column];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][r] -= sum[c];
        }
        block_sync();
    }
}

/* The row of A that stands at place r in the order of the pivots. It means nothing if the block was never factored. */
TRIFOLD_DEVICE int row_at(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    const int given = order_of(args, member, block)[r];
    return static_cast<unsigned>(given) < static_cast<unsigned>(padded) ? given : r;
}

/* The panels of a block, to the next one and to the one behind, as they lie: R and G, or Z' and H'. */
struct PanelPair {
    const real *next, *behind;
};
TRIFOLD_DEVICE PanelPair panels_of(const trifold_args& args, const Chain& chain, trifold_int member, trifold_int block, bool has_next,
                                   bool right) {
    const trifold_int at = right ? storage : 0;
    return {has_next ? below_of(args, member, block) + at : nullptr,
            chain.behind >= 0 ? behind_panels_of(args, member, block) + at : nullptr};
}

template <bool Turned>
TRIFOLD_DEVICE void ascend(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain,
                           trifold_int member, Columns columns) {
    load_running(shared, padded, args, level, member, block_at(level, chain.first), columns);
    clear(shared, 2 * padded);
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length;
        fetch_triangles(shared, lu_of(args, member, block));
        block_sync();
        for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
            const int r = e % padded;
            shared.stacked[e / padded][r] = shared.stacked[e / padded][padded + (Turned ? r : row_at(args, member, block, r))];
        }
        block_sync();
        if (last)
            clear(shared, padded);
        else
            load_running(shared, padded, args, level, member, block_at(level, position + chain.step), columns);
        substitute<true, Turned>(shared);
        const PanelPair panels = panels_of(args, chain, member, block, !last || chain.ahead >= 0, Turned);
        apply_panels(shared, panels.next, panels.behind);
        store_rhs<true>(shared.solved, nullptr, args, member, block, columns);
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
TRIFOLD_DEVICE void descend(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain,
                            trifold_int member, Columns columns) {
    const trifold_int ends[] = {chain.ahead, chain.behind};
    for (int k = 0; k < 2; ++k)
        if (ends[k] >= 0) load_rhs(shared, (k + 1) * padded, args.x, args.x_strides, member, block_at(level, ends[k]), columns, block_size);
#pragma unroll 1
    for (trifold_int k = chain.length; k-- > 0;) {
        const trifold_int block = block_at(level, chain.first + k * chain.step);
        fetch_triangles(shared, lu_of(args, member, block));
        load_rhs(shared, 0, args.b, args.b_strides, member, block, columns, block_size);
        block_sync();
        const PanelPair panels = panels_of(args, chain, member, block, k + 1 < chain.length || chain.ahead >= 0, !Turned);
        apply_transposed(shared, panels.next, panels.behind);
        block_sync();
        substitute<false, Turned>(shared);
        for (int e = thread_index(); e < padded * columns_at_once; e += threads) { /* x, which the block before finds as that of the next */
            const int r = e % padded;
            shared.stacked[e / padded][padded + (Turned ? row_at(args, member, block, r) : r)] = shared.solved[e / padded][r];
        }
        block_sync();
        for (int e = thread_index(); e < block_size * columns.count; e += threads) {
            const int r = e % block_size, c = e / block_size;
            const real value = shared.stacked[c][padded + r];
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = value;
            watch(args, member, Result::solution, value);
        }
    }
}

template <bool Forward, bool Turned>
TRIFOLD_DEVICE void sweep_general(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Chain chain = find_chain(args, level, number, member);
    if (!Forward && thread_index() == 0 && begins_descent(level)) begin_result(args, member, Result::solution);
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const Columns columns = columns_from(args, first, columns_at_once);
        if (Forward)
            ascend<Turned>(shared, args, level, chain, member, columns);
        else
            descend<Turned>(shared, args, level, chain, member, columns);
        block_sync();
    }
}
