/* Sums of the squares of a row of the factor, where pivots have both signs. They go with the row's block: along a chain, and to a separator
 * in its slot, behind the update. */
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/panel.cuh"

/* The sums that a block's front begins with: of the panel to this block that the chain's front before has left, if any, and of earlier
 * levels. */
TRIFOLD_DEVICE void start_sums(double* sums, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block,
                               const real* panel, int leading) {
    for (int r = thread_index(); r < padded; r += threads) {
        sums[r] = panel != nullptr ? squares_of_row(panel + r, leading, padded) : real(0);
        for (int side = 0; side < 2; ++side)
            if (level.index > 0 && has_side(args, member, block, side)) sums[r] += update_of(args, member, block, side)[storage + r];
    }
}

/* Adds the sums of a panel to a slot, or sets them. Where a ring makes `other` a panel to the same block, its rows have the sum of both. */
TRIFOLD_DEVICE void leave_sums(real* slot, bool add, const real* panel, const real* other, int leading) {
    for (int r = thread_index(); r < padded; r += threads) {
        real sum = squares_of_row(panel + r, leading, padded);
        for (int k = 0; other != nullptr && k < padded; ++k) sum += 2 * panel[r + k * leading] * other[r + k * leading];
        slot[storage + r] = add ? slot[storage + r] + sum : sum;
    }
}
TRIFOLD_DEVICE bool closes_ring(const trifold_level& level, const Chain& chain) {
    return is_ring && chain.ahead >= 0 && chain.behind >= 0 && block_at(level, chain.ahead) == block_at(level, chain.behind);
}
