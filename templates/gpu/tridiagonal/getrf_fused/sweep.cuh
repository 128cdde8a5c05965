/* Variant getrf-fused: the triangular solves of sweeps, with A or (Turned) A'. Forward by L, backward by U; with A' by U' and L'. */
#include "gpu/tridiagonal/levels/sweep.cuh"

/* solved = T^-1 stacked, tile after tile, for lower or upper T. L has ones on its diagonal, U has reciprocals. Rows of L are those of A in
 * the order of the pivots. */
template <bool Lower, bool Turned>
TRIFOLD_DEVICE void solve_general(SweepShared& shared, const real* factor) {
    static_assert(stage_factor, "host and device disagree");
    constexpr int row = Turned ? factor_leading : 1, column = Turned ? 1 : factor_leading;
    /* The row of A at place r. It means nothing if the block was never factored. */
    const auto row_at = [&](int r) {
        const int given = reinterpret_cast<const int*>(factor + storage)[r];
        return static_cast<unsigned>(given) < static_cast<unsigned>(padded) ? given : r;
    };
    real* y = Lower ? shared.solved[0] : shared.stacked[0];
    constexpr int leading = Lower ? padded : stack;
    const auto move = [&] {
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
            const int r = e % padded, c = e / padded, given = Lower == Turned ? r : row_at(r);
            shared.solved[c][Lower ? r : given] = shared.stacked[c][Lower ? given : r];
        }
        block_sync();
    };
    if (Lower) move();
#pragma unroll 1
    for (int step = 0; step < padded; step += tile) {
        const int j = Lower ? step : padded - tile - step, first = Lower ? j + tile : 0, last = Lower ? padded : j;
        const real* d = shared.factor + j * (factor_leading + 1);
        if (thread_index() < columns_at_once) {
            real* own = y + thread_index() * leading + j;
            real v[tile];
#pragma unroll
            for (int k = 0; k < tile; ++k) v[k] = own[k];
#pragma unroll
            for (int number = 0; number < tile; ++number) {
                const int k = Lower ? number : tile - 1 - number;
                if (Lower == Turned) v[k] *= d[k * (factor_leading + 1)];
#pragma unroll
                for (int r = 0; r < tile; ++r)
                    if (Lower ? r > k : r < k) v[r] -= d[r * row + k * column] * v[k];
            }
#pragma unroll
            for (int k = 0; k < tile; ++k) own[k] = v[k];
        }
        block_sync();
#pragma unroll 1
        for (int r = first + thread_index(); r < last; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll
            for (int k = j; k < j + tile; ++k) {
                const real a = shared.factor[r * row + k * column];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * y[c * leading + k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) y[c * leading + r] -= sum[c];
        }
        block_sync();
    }
    if (!Lower) move();
}
