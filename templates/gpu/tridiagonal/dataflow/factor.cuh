/* Factorization of all fronts in one launch, a thread block each, for blocks up to 96.
 *
 * Two warps, the pivots', take turns at the column tiles of D, each 8 columns wide. The other warps, the stack's, follow a tile behind with
 * [R; G]. For four tiles, in time:
 *
 *      pivots' warp 0   | load |  tile 0  |          |  tile 2  |          |                 | verdict
 *                                         P0         P1         P0
 *      pivots' warp 1   | load |          |  tile 1  |          |  tile 3  |                 | logarithms
 *                                         T0         T1         T2         T3
 *      stack's warps    | load | pull     | [R;G] 0  | [R;G] 1  | [R;G] 2  | [R;G] 3 | S, couplings | R y, G y | everything
 *
 * Barriers, by their numbers (Barriers in front.cuh says who waits):
 *      T  1 ...            tile t of L and its inverse are there; the stack waits, the pivots' warp only arrives
 *      S  1 + tiles        all warps of the stack have stored their part
 *      P  2, 3 + tiles     tile t is there for tile t + 1; even and odd tiles have a barrier each
 *      and where [R; G] comes and goes as messages:
 *         4 + tiles        each pivots' warp has its part of a message's tile
 *         5 + tiles ...    tile t of a message has come; the stack waits
 *         5 + 2 tiles      the stack has pulled what D takes from fronts that send no messages; the pivots' warps wait
 *
 * What a front publishes, and when: L tile by tile, by the pivots' warps; [R; G] tile by tile, by the stack, as messages where it sends
 * any; the flag `couplings`, after which others may pull R and G; the flag `everything`, after which its verdict and right-hand sides are
 * there too.
 *
 * A front pulls its Schur updates: D_i -= R_j R_j' + G_k G_k' for the fronts j to the left and k to the right that were
 * eliminated before, level by level; its couplings are -R_k G_k' and -G_j R_j' of the last such pair. So earlier levels' updates
 * overlap the waiting, no front writes to another's data, and the sums have one order. In a ring the coupling to the tip is that of the
 * last front k that exists, or E.
 *
 * The lanes of a pivots' warp hold the rows of a column tile. Each lane has the tile itself too, and eliminates two pivots at a time: with
 * a, b, c the 2 by 2 pivot, 1 / L11 = rsqrt(a) and 1 / L22 = a rsqrt(a (a c - b^2)) start together. Right-hand sides ride along as rows
 * below D's. The stack has [R; G] a row a lane (panel.cuh), or bands of 16 rows in registers (stack.cuh). */
#include "gpu/tridiagonal/verdict.cuh"
#include "gpu/tridiagonal/dataflow/load.cuh"
#include "gpu/tridiagonal/dataflow/panel.cuh"
#include "gpu/tridiagonal/dataflow/stack.cuh"

/* Column tile t of L, its diagonal tile inverted, by one warp: a lane a row. Where there are sums of rows, they take its squares. */
TRIFOLD_DEVICE void store_column_tile(FrontShared& shared, real* to, int t, real* sums = nullptr) {
#pragma unroll 1
    for (int r = t * 8 + thread_index() % warp_lanes; r < padded; r += warp_lanes) {
        const bool own = r < t * 8 + 8;
        const real* from = own ? inverse_of(shared, t) + r % 8 * lower_leading : shared.lower + r + t * 8 * lower_leading;
        const int step = own ? 1 : lower_leading;
#pragma unroll
        for (int c = 0; c < 8; ++c) to[r + (t * 8 + c) * padded] = from[c * step];
        if (has_signs && sums != nullptr && !own) sums[r] += squares_of_row(from, step, 8);
    }
}

/* use(ahead, value, row, c) for R y and G y, which the neighbours subtract from their right-hand sides c. A lane has a row. */
template <class Use>
TRIFOLD_DEVICE void each_rider(const FrontShared& shared, const trifold_args& args, const Use& use) {
    constexpr int workers = stacked_warps * warp_lanes;
    const int first = front_thread() - pivot_warps * warp_lanes;
#pragma unroll 1
    for (int e = first; e < 2 * padded * static_cast<int>(args.columns); e += workers) {
        const int row = e % (2 * padded), c = e / (2 * padded);
        real sum[4] = {};
#pragma unroll 4
        for (int k = 0; k < padded; k += 4)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                sum[q] += shared.stacked[row + (k + q) * stacked_leading] *
                          by_sign(shared.lower[padded + c + (k + q) * lower_leading], shared.diagonal, k + q);
        use(row < padded, (sum[0] + sum[1]) + (sum[2] + sum[3]), row % padded, c);
    }
}
TRIFOLD_DEVICE void store_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    const trifold_strides& s = args.x_strides;
    for (int e = front_thread(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        if (r < stored_rows(args, block) && c < args.columns)
            static_cast<real*>(args.x)[rhs_at(s, member, block, r, c)] = shared.lower[padded + c + r * lower_leading];
    }
}
/* Their part of b' A^-1 b. */
TRIFOLD_DEVICE void report_quadratics(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int c = front_thread() / warp_lanes; c < args.columns; c += warps) {
        double sum = 0;
        for (int r = thread_index() % warp_lanes; r < block_size; r += warp_lanes)
            sum += square_of(shared.lower[padded + c + r * lower_leading], has_signs ? shared.diagonal[r] : real(1));
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (thread_index() % warp_lanes == 0)
            buffer<double>(args, Offset::block_quadratic(args))[block_index(args, member, block) * max_columns + c] = sum;
    }
}
/* One of those values to where its neighbour looks for it. */
TRIFOLD_DEVICE void leave_rider(const trifold_args& args, trifold_int member, const Front& front, bool ahead, real value, int r, int c) {
    if ((ahead ? front.next : front.behind) < 0) return;
    if (sends_messages(front)) post(message_of(args, member, front.block, ahead ? r : padded + r, padded + c), value);
    neighbour_rhs_of(args, member, front.block, ahead ? 1 : 0)[c * padded + r] = value;
}

/* The warps of the stack let the fronts that pull from this one go on, before anything else: those two levels up would be late
 * otherwise. */
TRIFOLD_DEVICE void leave_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool failed) {
    meet(shared, stack_barrier);
    if (front_thread() == pivot_warps * warp_lanes) release_front(args, member, front, Left::couplings, failed);
}

/* A failed front becomes NaN as a whole, so that everything it feeds does; R and G once more, by the warps of the stack. */
template <bool Riders>
TRIFOLD_DEVICE void poison(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int first = pivot_warps * warp_lanes, workers = stacked_warps * warp_lanes;
    const real nan = static_cast<real>(not_a_number());
    for (int e = front_thread(); e < lower_leading * padded; e += threads) shared.lower[e] = nan;
    for (int e = front_thread(); inverse_apart && e < 8 * lower_leading; e += threads) shared.inverse[e] = nan;
    block_sync();
    for (int t = front_thread() / warp_lanes; t < tiles; t += warps) store_column_tile(shared, factor_of(args, member, front.block), t);
    if (Riders) store_riders(shared, args, member, front.block);
    if (front_thread() < first) return;
    for (int e = front_thread() - first; e < padded * padded; e += workers) {
        if (front.next >= 0) next_of(args, member, front.block)[e] = nan;
        if (front.behind >= 0) behind_of(args, member, front.block)[e] = nan;
    }
    if (Riders)
        for (int e = front_thread() - first; e < stacked_rows * args.columns; e += workers)
            leave_rider(args, member, front, e % stacked_rows < padded, nan, e % padded, e / stacked_rows);
    leave_front(shared, args, member, front, true);
}

/* Solves for the couplings and publishes them, by the warps of the stack. At the last tile's barrier they have seen every failure. */
template <bool Riders>
TRIFOLD_DEVICE void eliminate_stack(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool fed,
                                    bool ends) {
    const auto leave = [&](bool ahead, real value, int r, int c) { leave_rider(args, member, front, ahead, value, r, c); };
    if constexpr (in_registers) {
        static_assert(!Riders || padded <= warp_lanes, "a lane a row");
        static_assert(!Riders || overlaps, "flags tell when a front's right-hand sides are there");
        if (gets_messages(front)) fed = pull_before_messages(shared, args, member, front);
        if (is_ring && lacks_right_child(args, front)) fetch_ahead(shared, args, member, front);
        Stack stack = empty_stack();
        start_stack(stack, shared, args, member, front);
        RiderLook look{};
        if (!Riders || !is_last(front)) {
            solve_stack<Riders>(stack, shared, args, member, front, look);
            if (!fed && shared.pivots.failed_row < 0) leave_front(shared, args, member, front, false);
        }
        if (!Riders) return;
        ride(look, shared, args, member, front, fed, ends); /* now, since their lag does not add up from level to level */
        if (fed || shared.pivots.failed_row >= 0) return;
        meet(shared, stack_barrier);
        each_rider(stack, shared, args, front, leave);
    } else {
        if (front.level > 0) make_couplings(shared, args, member, front);
        solve_rows<Riders>(shared, args, member, front);
        if (fed || shared.pivots.failed_row >= 0) return;
        if (Riders) {
            meet(shared, stack_barrier);
            each_rider(shared, args, leave);
        }
        leave_front(shared, args, member, front, false);
    }
}

/* Reports pivots of both signs, by one of the pivots' warps, when the other has all its squares and other fronts have left theirs. */
TRIFOLD_DEVICE void report_signs(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool reports) {
    if (!reports) return arrive(shared, pivot_barriers, (tiles - 1) % 2);
    if (pivot_warps > 1) meet(shared, pivot_barriers, (tiles - 1) % 2);
    const bool waits = gets_messages(front);
    if (waits) await_fronts(args, member, front.run, left_child(front), right_child(args, front));
    report_signed(args, member, front.block, shared.diagonal, [&](int r) {
        const real* const x = inverse_of(shared, r / 8);
        const real sum = shared.diagonal[padded + r] + shared.diagonal[2 * padded + r] +
                         squares_in_tile(shared.diagonal + r / 8 * 8, r % 8, [&](int k, int c) { return x[k * lower_leading + c]; });
        return static_cast<double>(waits ? sum + pair_squares(args, member, pair_of(args, front, front.level - 1), r) : sum);
    });
}

/* D, by the pivots' warps. */
TRIFOLD_DEVICE void eliminate_pivots(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool ends) {
    if (ends && is_last(front) && front_thread() == 0)
        begin_solution(args, member); /* done before its warp meets a tile's barrier, because x is sent after the last of these */
    const int warp = front_thread() / warp_lanes;
    if (in_registers)
#pragma unroll 1
        for (int t = warp; t < tiles; t += pivot_warps)
            for (int e = thread_index() % warp_lanes; e < 64; e += warp_lanes)
                inverse_of(shared, t)[e % 8 + e / 8 * lower_leading] = e % 8 == e / 8 ? real(1) : real(0);
    warp_sync();
    if (gets_messages(front)) receive_pivots(shared, args, member, front);
    real* const to = factor_of(args, member, front.block);
#pragma unroll 1
    for (int t = warp; t < tiles; t += pivot_warps) {
        factor_column_tile(shared, t);
        store_column_tile(shared, to, t, shared.diagonal + padded * (1 + warp));
    }
    const bool reports = warp == (tiles - 1) % pivot_warps; /* it has met the other */
    if constexpr (has_signs)
        report_signs(shared, args, member, front, reports);
    else if (reports)
        report_diagonal(args, member, front.block, shared.diagonal, shared.entry);
}

/* Factors a claimed front. `ends`: the backward sweep begins early, so the last front solves its own right-hand sides. */
template <bool Riders>
TRIFOLD_DEVICE void factor_front(const trifold_args& args, trifold_int member, bool ends) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::factor, shared.ticket);
    start_dependents();
    load_front<Riders>(shared, args, member, front);
    bool fed = false;
    if (!gets_messages(front)) {
        fed = pull_updates<Crew::all, Riders>(shared, args, member, front);
        block_sync();
    } else if (right_child(args, front) < 0) {
        clear_right(shared);
        block_sync();
    }
    if (front_thread() >= pivot_warps * warp_lanes)
        eliminate_stack<Riders>(shared, args, member, front, fed, ends);
    else
        eliminate_pivots(shared, args, member, front, Riders && ends);
    block_sync();
    if (gets_messages(front)) fed = shared.ticket != 0;
    /* A failed front has sent NaN, so the front that received it has failed as well, and asks whether its neighbours had. */
    if (gets_messages(front) && shared.pivots.failed_row >= 0 &&
        await_fronts(args, member, front.run, left_child(front), right_child(args, front)))
        fed = true;
    if (front_thread() == warp_lanes) report_verdict(args, front.level, member, front.block, fed, shared.pivots);
    const bool failed = fed || shared.pivots.failed_row >= 0;
    if (failed)
        poison<Riders>(shared, args, member, front);
    else if (Riders && !in_registers)
        store_riders(shared, args, member, front.block);
    if (overlaps || sends_messages(front)) {
        if (failed || !in_registers) block_sync();
        if (front_thread() == warp_lanes) release_front(args, member, front, Left::everything, failed);
    }
    if (gets_messages(front)) clear_messages(shared, args, member, front);
    if (Riders) report_quadratics(shared, args, member, front.block);
}
