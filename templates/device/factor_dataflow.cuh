/* Factorization of all fronts in one launch, a thread block each, for blocks up to 88 (double) or 96 (single).
 *
 * A front pulls its Schur updates: D_i -= R_j R_j' + G_k G_k' for the fronts j to the left and k to the right that were
 * eliminated before, level by level; its couplings are -R_k G_k' and -G_j R_j' of the last such pair. So earlier levels' updates
 * overlap the waiting, nobody writes to another's data, and the sums have one order.
 *
 * The panel: two warps take turns at the column tiles of D, their lanes holding the rows, the tile itself redundantly in registers,
 * two pivots at a time: with a, b, c the 2 by 2 pivot, 1 / L11 = rsqrt(a) and 1 / L22 = a rsqrt(a (a c - b^2)) start together.
 * Right-hand sides ride along as rows below D's. The other warps hold a row of [R; G] a lane and follow a tile behind. */
/* R and G of a failed front, once more, by the warps of the stack. */
TRIFOLD_DEVICE void spoil_neighbours(const trifold_args& args, trifold_int member, const Front& front) {
    const real nan = static_cast<real>(not_a_number());
    for (int e = thread_index() - pivot_warps * warp_lanes; e < padded * padded; e += stacked_warps * warp_lanes) {
        if (front.next >= 0) next_of(args, member, front.block)[e] = nan;
        if (front.behind >= 0) behind_of(args, member, front.block)[e] = nan;
    }
}

/* L, its diagonal tiles inverted. */
TRIFOLD_DEVICE void store_lower(const FrontShared& shared, real* to) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const int r = e % padded, c = e / padded;
        real value = shared.lower[r + c * lower_leading];
        if (r / 8 == c / 8) value = shared.inverse[c / 8][r % 8 + c % 8 * 8];
        if (r >= c / 8 * 8) to[e] = value;
    }
}

/* What the neighbours subtract from their right-hand sides: R y and G y; and y itself. */
TRIFOLD_DEVICE void leave_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int workers = stacked_warps * warp_lanes;
    const int first = thread_index() - pivot_warps * warp_lanes;
#pragma unroll 1
    for (int e = first; e < 2 * padded * static_cast<int>(args.columns); e += workers) {
        const int row = e % (2 * padded), c = e / (2 * padded);
        const bool ahead = row < padded;
        if ((ahead ? front.next : front.behind) < 0) continue;
        real sum[4] = {};
#pragma unroll 4
        for (int k = 0; k < padded; k += 4)
#pragma unroll
            for (int q = 0; q < 4; ++q) sum[q] += shared.stacked[row + (k + q) * stacked_leading] * shared.lower[padded + c + (k + q) * lower_leading];
        const real total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        if (sends_messages(front)) send(message_of(args, member, front.block, row, padded + c), total, front.run);
        neighbour_rhs_of(args, member, front.block, ahead ? 1 : 0)[c * padded + row % padded] = total;
    }
}
TRIFOLD_DEVICE void store_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    const trifold_strides& s = args.x_strides;
    for (int e = thread_index(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        if (r < block_size && c < args.columns)
            static_cast<real*>(args.x)[rhs_at(s, member, block, r, c)] = shared.lower[padded + c + r * lower_leading];
    }
    for (int c = thread_index(); c < args.columns; c += threads) {
        double sum = 0;
        for (int r = 0; r < block_size; ++r) {
            const double y = static_cast<double>(shared.lower[padded + c + r * lower_leading]);
            sum += y * y;
        }
        buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC)[block_index(member, block) * TRIFOLD_RHS + c] = sum;
    }
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void spoil(FrontShared& shared) {
    const real nan = static_cast<real>(not_a_number());
    for (int e = thread_index(); e < lower_leading * padded; e += threads) shared.lower[e] = nan;
    for (int e = thread_index(); e < tiles * 64; e += threads) shared.inverse[e / 64][e % 64] = nan;
    for (int e = thread_index(); e < stacked_leading * padded; e += threads) shared.stacked[e] = nan;
}

/* The warps of the stack let the fronts that wait for this one go on. */
template <bool Riders>
TRIFOLD_DEVICE void leave_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool failed) {
    if (Riders) {
        meet(shared, stack_barrier, stacked_warps * warp_lanes);
        leave_riders(shared, args, member, front);
    }
    meet(shared, stack_barrier, stacked_warps * warp_lanes);
    if (thread_index() == pivot_warps * warp_lanes) release_front(args, member, front, failed);
}

template <bool Riders>
TRIFOLD_DEVICE void factor_front(const trifold_args& args, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::factor, shared.ticket);
    const int warp = thread_index() / warp_lanes;
    bool fed = load_front<Riders>(shared, args, member, front);
    const bool in_stack = warp >= pivot_warps, by_messages = gets_messages(front);
    if (by_messages) receive_updates(shared, args, member, front);
    if (in_stack) {
        if (front.level > 0 && !by_messages) make_couplings(shared, args, member, front);
        follow<Riders>(shared, args, member, front);
    } else {
#pragma unroll 1
        for (int t = warp; t < tiles; t += pivot_warps) factor_column_tile(shared, t);
    }
    /* The last tile's barrier has shown every failure to the warps of the stack. */
    if (in_stack && !fed && shared.pivots.failed_row < 0) leave_front<Riders>(shared, args, member, front, false);
    block_sync();
    /* What a failed front has sent is NaN: whoever got it has failed as well, and asks. */
    if (by_messages && shared.pivots.failed_row >= 0 &&
        await_fronts(args, member, front.run, left_child(front), right_child(front)))
        fed = true;
    report_pivots(args, front.level, member, front.block, fed, shared.pivots, shared.diagonal);
    if (fed || shared.pivots.failed_row >= 0) {
        spoil(shared);
        block_sync();
        if (in_stack) {
            spoil_neighbours(args, member, front);
            leave_front<Riders>(shared, args, member, front, true);
        }
    }
    store_lower(shared, factor_of(args, member, front.block));
    if (Riders) store_riders(shared, args, member, front.block);
}
