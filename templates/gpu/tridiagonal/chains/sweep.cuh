/* Sweeps of a chain by one warp, for schedules without fill. Blocks of L and R come in turn, and go around in a ring of slots in shared
 * memory: copies fill a slot again as soon as its block is done with.
 *
 *      forward      L of front 0, R, L of front 1, R, ...      y = L^-1 (b - R y of the front before)
 *      backward     ..., R, L of front 1, R, L of front 0      x = L'^-1 (y - R' x of the front behind it) */
#include "gpu/tridiagonal/chains/rows.cuh"
#include "gpu/tridiagonal/chains/shared.h"
#include "gpu/tridiagonal/members.cuh"

/* The blocks that a sweep of a chain takes, in its order. */
template <bool Forward>
struct Pieces {
    trifold_int length, skipped, count;
    TRIFOLD_METHOD explicit Pieces(const Chain& chain) {
        length = chain.length;
        const int whole = chain.ahead >= 0 ? 1 : 0; /* the last front has an R */
        count = 2 * length - 1 + whole;
        skipped = Forward ? 0 : 1 - whole;
    }
    TRIFOLD_METHOD bool is_panel(trifold_int p) const { return (p + skipped) % 2 == (Forward ? 1 : 0); }
    /* Its front's number in the chain. */
    TRIFOLD_METHOD trifold_int front(trifold_int p) const { return Forward ? p / 2 : length - 1 - (p + skipped) / 2; }
};

/* Starts the copies of a block; of L without what is above its diagonal tiles. */
TRIFOLD_DEVICE void fetch_block(real* to, const real* from, bool whole) {
    constexpr int vectors = padded / vector_width;
#pragma unroll 4
    for (int e = lane_index(); e < vectors * padded; e += warp_lanes) {
        const int r = e % vectors * vector_width, c = e / vectors;
        if (whole || r / 8 >= c / 8) copy_async(to + r + c * factor_leading, from + e * vector_width);
    }
}

template <bool Forward>
TRIFOLD_DEVICE void fetch_piece(SweepShared& shared, const Pieces<Forward>& pieces, trifold_int p, const trifold_args& args,
                                const trifold_level& level, trifold_int member, Columns columns) {
    if (p < pieces.count) {
        const Chain& chain = shared.chain;
        const trifold_int block = block_at(level, chain.first + pieces.front(p) * chain.step);
        const bool is_panel = pieces.is_panel(p);
        Slot& slot = shared.slots[p % ring];
        fetch_block(slot.block, is_panel ? next_of(args, member, block) : factor_of(args, member, block), is_panel);
        if (!is_panel) fetch_vectors(slot.vectors, args.b, args.b_strides, member, block, columns);
    }
    end_copies();
}

/* The right-hand sides of a front, less the product with its neighbour's, solved. */
template <bool Forward>
TRIFOLD_DEVICE void solve_front(SweepShared& shared, const Slot& slot, const Rows& product, const trifold_args& args,
                                const trifold_level& level, trifold_int member, trifold_int block, Columns columns) {
    Rows rows;
    each_row([&](int q, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) rows.at[q][c] = slot.vectors[c][row] - product.at[q][c];
    });
    if (Forward && has_separators && level.index > 0) subtract_updates(rows, args, member, block, columns);
    solve_rows<Forward>(rows, shared.running, shared.solved, slot.block, factor_leading,
                        [&](int t, int j, int k) { return slot.block[t * 8 + j + (t * 8 + k) * factor_leading]; });
    store_solved<Forward>(shared.solved, args, member, block, columns);
    if (Forward) store_quadratics(shared.solved, args, member, block, columns);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  Columns columns) {
    const Chain& chain = shared.chain;
    const Pieces<Forward> pieces(chain);
    for (int k = 0; k < ring; ++k) clear_vectors(shared.slots[k].vectors);
    if (!Forward && chain.ahead >= 0) {
        clear_vectors(shared.solved);
        fetch_vectors(shared.solved, args.x, args.x_strides, member, block_at(level, chain.ahead), columns);
    }
    for (int p = 0; p < ring; ++p) fetch_piece(shared, pieces, p, args, level, member, columns);
    Rows product{};
#pragma unroll 1
    for (trifold_int p = 0; p < pieces.count; ++p) {
        wait_copies<ring - 1>();
        warp_sync();
        const Slot& slot = shared.slots[p % ring];
        if (pieces.is_panel(p)) {
            multiply_vectors<!Forward>(product, slot.block, factor_leading, shared.solved);
        } else {
            const trifold_int block = block_at(level, chain.first + pieces.front(p) * chain.step);
            solve_front<Forward>(shared, slot, product, args, level, member, block, columns);
        }
        warp_sync();
        fetch_piece(shared, pieces, p + ring, args, level, member, columns);
    }
    wait_copies<0>();
    if (Forward && has_separators && chain.ahead >= 0) leave_update(product, args, level, member, chain, columns);
    warp_sync();
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    if (lane_index() == 0) shared.chain = find_chain(level, number);
    if (!Forward && lane_index() == 0 && begins_descent(level)) begin_result(args, member, Result::solution);
    warp_sync();
    for (int first = 0; first < args.columns; first += columns_at_once)
        sweep_columns<Forward>(shared, args, level, member, columns_from(args, first, columns_at_once));
}
