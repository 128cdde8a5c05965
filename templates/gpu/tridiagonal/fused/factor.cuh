/* Factorization of one chain by one thread block, the whole front in shared memory. Panel rows: pivot block, next
 * neighbour (R), neighbour behind (G). */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/fused/constants.cuh"
#include "gpu/tridiagonal/fused/shared.h"
#include "gpu/tridiagonal/fused/pieces.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/levels/sums.cuh"
#include "gpu/tridiagonal/verdict.cuh"

constexpr int next_row = padded, behind_row = 2 * padded;

/* Loads the front of position `position` into the panel: the blocks of its level, less the updates that the chain's previous front left
 * there. */
TRIFOLD_DEVICE void load_front(real* panel, double* pivots, const trifold_args& args, const trifold_level& level, trifold_int member,
                               const Chain& chain, trifold_int position, bool has_next) {
    const bool first = position == chain.first, fill = chain.behind >= 0;
    if (!first && fill) multiply_fill(panel, pivots, behind_row, next_row);
    load_diagonal(panel, panel_leading, args, level, member, block_at(level, position));
    if constexpr (has_signs)
        start_sums(pivots + padded, args, level, member, block_at(level, position), first ? nullptr : panel + next_row, panel_leading);
    block_sync();
    if (!first) {
        update_pivot(panel, pivots, next_row, next_row, true);
        block_sync();
    }
#pragma unroll 1
    for (int part = first && fill ? 0 : 1; part < 2; ++part) {
        real* to = panel + (part == 0 ? behind_row : next_row);
        if (part == 0 || has_next) {
            load_coupling(to, panel_leading, args, level, member, part == 0 ? chain.behind : position + chain.step, position);
        } else {
#pragma unroll 1
            for (int e = thread_index(); e < padded * padded; e += threads) to[e % padded + e / padded * panel_leading] = 0;
        }
    }
}

/* Writes the chain's updates of the separators at its ends, and the coupling that it leaves between them. */
TRIFOLD_DEVICE void leave_chain(const real* panel, const double* pivots, const trifold_args& args, const trifold_level& level,
                                trifold_int member, const Chain& chain) {
    if (chain.ahead < 0) return;
    const bool add = level.index > 0, up = chain.step > 0;
#pragma unroll 1
    for (int part = 0; part < (chain.behind >= 0 ? 2 : 1); ++part) {
        Product product{next_row, next_row, nullptr, true, add, false};
        if (part == 0) {
            product.to = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
        } else {
            real* to = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, member, chain) * storage;
            product = {up ? next_row : behind_row, up ? behind_row : next_row, to, false, false, true};
        }
        multiply_out(panel, pivots, product);
        if constexpr (has_signs)
            if (part == 0)
                leave_sums(product.to, add, panel + next_row, closes_ring(level, chain) ? panel + behind_row : nullptr, panel_leading);
    }
}

TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    real* panel = shared.panel;
    if (thread_index() == 0) shared.chain = find_chain(args, level, number, member);
    block_sync();
    const Chain& chain = shared.chain;
    const bool fill = chain.behind >= 0;
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length, has_next = !last || chain.ahead >= 0;
        load_front(panel, shared.diagonal, args, level, member, chain, position, has_next);
        start_pivots(shared.pivots, args, member, block);
        block_sync();
        factor_panel<padded, tile>(panel, panel_leading, fill ? 3 * padded : 2 * padded, block_size, 0, shared.pivots, shared.diagonal);
        const bool fed = failed || is_poisoned(args, level, member, block);
        report_pivots(args, level.index, member, block, fed, shared.pivots, shared.diagonal);
        failed = fed || shared.pivots.failed_row >= 0;
        if (failed) {
            block_sync();
            poison(panel);
        }
        store_rows(factor_of(args, member, block), panel, 0);
        if (has_next) store_rows(next_of(args, member, block), panel, next_row);
        if (fill) {
            store_rows(behind_of(args, member, block), panel, behind_row);
            real* to = update_of(args, member, block_at(level, chain.behind), side_behind(chain));
            multiply_out(panel, shared.diagonal, {behind_row, behind_row, to, true, level.index > 0 || k > 0, false});
            if constexpr (has_signs) leave_sums(to, level.index > 0 || k > 0, panel + behind_row, nullptr, panel_leading);
        }
        block_sync();
    }
    leave_chain(panel, shared.diagonal, args, level, member, chain);
    if (thread_index() == 0) pass_poison(args, level, member, chain, failed);
}
