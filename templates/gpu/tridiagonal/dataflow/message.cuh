/* Messages. A front sends [R; G], each column tile as soon as it is made, to the front of the next level, which subtracts its updates in
 * the same steps. So when the last tile arrives, only products of depth 8 are left before the first pivot. Other fronts, and failures, are
 * still told by flags. */
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"

TRIFOLD_DEVICE bool sends_messages(const Front& front) { return has_messages && front.level >= message_level; }
TRIFOLD_DEVICE bool gets_messages(const Front& front) { return has_messages && front.level > message_level; }

/* The last fronts that update this one; the right one may not exist. The tip has one child, whose neighbours on both sides it is. */
TRIFOLD_DEVICE trifold_int only_child(const Front& front) { return (trifold_int(1) << (front.level - 1)) - 1; }
TRIFOLD_DEVICE trifold_int left_child(const Front& front) {
    if (is_ring && is_last(front)) return only_child(front);
    return front.block - (trifold_int(1) << (front.level - 1));
}
TRIFOLD_DEVICE trifold_int right_child(const trifold_args& args, const Front& front) {
    if (is_ring && is_last(front)) return only_child(front);
    const trifold_int right = front.block + (trifold_int(1) << (front.level - 1));
    return right < path_of(args) ? right : -1;
}
/* The front that left the coupling to the next one, for fronts above level 0. In a ring it is the last of those that exist to the right, or
 * -1 where none does and E still is the coupling. */
TRIFOLD_DEVICE trifold_int ahead_child(const trifold_args& args, const Front& front) {
    if constexpr (is_ring) {
        trifold_int distance = trifold_int(1) << (front.level - 1);
        while (distance > 0 && front.block + distance >= path_of(args)) distance /= 2;
        return distance > 0 ? front.block + distance : -1;
    } else {
        return right_child(args, front);
    }
}
/* Whether a front of a ring has the tip for its next one, and no right front in its last pair. */
TRIFOLD_DEVICE bool lacks_right_child(const trifold_args& args, const Front& front) {
    return front.level > 0 && front.next >= 0 && right_child(args, front) < 0;
}

/* A message is a number's bits in a word of their size, and zero as long as nothing has come. The number zero is sent as minus zero. Who
 * has taken it clears it for the next run, so one thread alone looks at it. */
template <int Bytes>
struct MailOf {
    typedef trifold_word type;
};
template <>
struct MailOf<4> {
    typedef unsigned type;
};
typedef MailOf<sizeof(real)>::type Mail;
TRIFOLD_DEVICE void post(Mail* to, real value) {
    Mail bits;
    copy_bits(bits, value);
    store_word(to, bits == 0 ? Mail(1) << (sizeof(Mail) * 8 - 1) : bits);
}
TRIFOLD_DEVICE real content_of(Mail mail) {
    real value;
    copy_bits(value, mail);
    return value;
}

/* Element (row, column) of a front's [R; G], or from column `padded` on, of the product with its right-hand sides. */
TRIFOLD_DEVICE Mail* message_of(const trifold_args& args, trifold_int member, trifold_int block, int row, int column) {
    const trifold_int front = member * message_fronts_of(args) + ((block + 1) >> message_level) - 1;
    return buffer<Mail>(args, FlowOffset::message(args)) + (front * (padded + riders) + column) * stacked_rows + row;
}

/* The pivots' warps receive the operands of D's updates: R of the child to the left and G of the one to the right. They go on when they
 * have them. The stack's warps receive the other two blocks, and need all four for their products. A thread of either has a row, and some
 * columns of every column tile. */
enum class Receiver { pivots, stack };
template <Receiver By>
struct Inbox {
    static constexpr int first = By == Receiver::pivots ? 0 : pivot_warps * warp_lanes,
                         workers = By == Receiver::pivots ? pivot_warps * warp_lanes : threads - first;
    static constexpr int row_threads = workers < 2 * stacked_rows ? 1 : 2, row_columns = 8 / row_threads;
    static constexpr int column_step = row_threads * stacked_rows, tile_step = 8 * stacked_rows;
    Mail* from; /* null: nothing comes */
    real* to;
    int leading;
};
template <Receiver By>
TRIFOLD_DEVICE Inbox<By> inbox_of(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr bool pivots = By == Receiver::pivots;
    const int worker = front_thread() - Inbox<By>::first, row = worker % stacked_rows, column = worker / stacked_rows;
    const bool is_r = row < padded, by_left = is_r == pivots;
    const trifold_int child = by_left ? left_child(front) : right_child(args, front);
    Inbox<By> inbox{};
    if (column < Inbox<By>::row_threads && child >= 0 && (pivots || (is_r ? front.next : front.behind) >= 0))
        inbox.from = message_of(args, member, child, row, column);
    inbox.leading = pivots ? pulled_leading : stacked_leading;
    real* const place = !pivots ? shared.stacked + row : by_left ? left_of(shared) + row : right_of(shared) + row - padded;
    inbox.to = place + column * inbox.leading;
    return inbox;
}

/* Looks at a row's columns of a tile. */
template <Receiver By>
struct Looks {
    Mail at[Inbox<By>::row_columns];
};
template <Receiver By>
TRIFOLD_DEVICE void look_at(Looks<By>& looks, const Inbox<By>& inbox) {
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k)
        looks.at[k] = inbox.from == nullptr ? Mail(1) : load_word(inbox.from + k * Inbox<By>::column_step);
}
template <Receiver By>
TRIFOLD_DEVICE bool have_come(const Looks<By>& looks) {
    bool come = true;
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k) come = looks.at[k] != 0 && come;
    return come;
}
template <Receiver By>
TRIFOLD_DEVICE void store_looks(const Inbox<By>& inbox, const Looks<By>& looks) {
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k) inbox.to[k * Inbox<By>::row_threads * inbox.leading] = content_of(looks.at[k]);
}

/* Column tile after column tile to where the products look for it, then use(t). The next tile is looked at before the products. */
template <Receiver By, class Use>
TRIFOLD_DEVICE void receive_tiles(FrontShared& shared, Inbox<By> inbox, const Use& use) {
    Looks<By> looks;
    look_at(looks, inbox);
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        while (!have_come(looks)) {
            spin();
            look_at(looks, inbox);
        }
        if (inbox.from != nullptr) {
            store_looks(inbox, looks);
            inbox.from += Inbox<By>::tile_step, inbox.to += 8 * inbox.leading;
        }
        if (t + 1 < tiles) look_at(looks, inbox);
        if (By == Receiver::pivots) {
            arrive(shared, message_barriers, t);
            meet(shared, part_barrier);
        } else {
            meet(shared, message_barriers, t);
        }
        use(t);
    }
    warp_sync();
}
/* Makes an inbox ready for the next run, by the threads that have read it. */
template <Receiver By>
TRIFOLD_DEVICE void clear_inbox(const Inbox<By>& inbox) {
    if (inbox.from == nullptr) return;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int k = 0; k < Inbox<By>::row_columns; ++k)
            store_word(inbox.from + t * Inbox<By>::tile_step + k * Inbox<By>::column_step, Mail(0));
}
TRIFOLD_DEVICE void clear_messages(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front_thread() < pivot_warps * warp_lanes)
        clear_inbox(inbox_of<Receiver::pivots>(shared, args, member, front));
    else
        clear_inbox(inbox_of<Receiver::stack>(shared, args, member, front));
}

/* Clears the place of the front to the right, for a front that has none. */
TRIFOLD_DEVICE void clear_right(FrontShared& shared) {
    for (int e = front_thread(); e < padded * padded; e += threads) right_of(shared)[e % padded + e / padded * pulled_leading] = 0;
}

/* D's columns that a pivots' warp will factor, so that these warps need not meet: a tile of the first band, two of the second. A strip
 * that does not exist repeats the first, and is not stored. */
constexpr int pivot_columns = pivot_warps * 8;
struct PivotShare {
    Patch first[1], second[2];
};
template <class Use>
TRIFOLD_DEVICE void each_pivot(PivotShare& share, FrontShared& shared, const Use& use) {
    const int column = front_thread() / warp_lanes * 8;
    const auto each = [&](Patch& patch, int row, int c) {
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (c < padded && row + patch_row(k) < padded)
                use(element(patch, k), shared.lower[row + patch_row(k) + (c + patch_column(k)) * lower_leading]);
    };
    each(share.first[0], 0, column);
    if constexpr (bands > 1) each(share.second[0], 16, column), each(share.second[1], 16, column + pivot_columns);
}
/* Takes the columns times the others, transposed, away. */
TRIFOLD_DEVICE void multiply_pivot(PivotShare& share, const real* columns, const real* others) {
    const real* own = others + front_thread() / warp_lanes * 8;
    multiply_band<-1, 2, strip_columns>(share.first, columns, pulled_leading, own, pulled_leading, 8 < padded, 1, 8);
    if constexpr (bands > 1) {
        constexpr bool whole = padded % 16 == 0;
        if (whole || own == others)
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 2, 8);
        else
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 1, 8);
    }
}

/* Adds what the squares of the tip's rows have in common, where R and G of one front are panels to it. */
TRIFOLD_DEVICE void add_cross_squares(FrontShared& shared, const real* r, const real* g, int leading, int worker, int workers) {
    for (int row = worker; row < padded; row += workers)
        for (int k = 0; k < padded * leading; k += leading) shared.diagonal[padded + row] += 2 * r[row + k] * g[row + k];
}

/* Receives the last pair's updates of D, by the pivots' warps. Each receives the part that it needs. */
TRIFOLD_DEVICE void receive_pivots(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    PivotShare pivots{};
    receive_tiles(shared, inbox_of<Receiver::pivots>(shared, args, member, front), [&](int t) {
        const real* const left = left_of(shared) + t * 8 * pulled_leading;
        const real* const right = right_of(shared) + t * 8 * pulled_leading;
        multiply_pivot(pivots, left, left);
        if (!is_ring || !lacks_right_child(args, front)) multiply_pivot(pivots, right, right);
        if (is_ring && is_last(front)) multiply_pivot(pivots, left, right), multiply_pivot(pivots, right, left);
    });
    meet(shared, pulled_barrier);
    if (has_signs && is_ring && is_last(front) && front_thread() < warp_lanes)
        add_cross_squares(shared, left_of(shared), right_of(shared), pulled_leading, front_thread(), warp_lanes);
    each_pivot(pivots, shared, [](product value, real& at) { at = static_cast<real>(static_cast<product>(at) + value); });
    warp_sync();
}

/* The last pair's update of row r of right-hand side c. A first read (look_at_rider) may come long before the number is needed;
 * receive_rider then waits for it. */
struct RiderLook {
    Mail left, right;
};
TRIFOLD_DEVICE RiderLook look_at_rider(const trifold_args& args, trifold_int member, const Front& front, int r, int c) {
    const trifold_int right = right_child(args, front);
    return {load_word(message_of(args, member, left_child(front), r, padded + c)),
            right < 0 ? Mail(1) : load_word(message_of(args, member, right, padded + r, padded + c))};
}
TRIFOLD_DEVICE real receive_rider(RiderLook look, const trifold_args& args, trifold_int member, const Front& front, int r, int c) {
    const trifold_int right = right_child(args, front);
    while (look.left == 0 || look.right == 0) {
        spin();
        look = look_at_rider(args, member, front, r, c);
    }
    store_word(message_of(args, member, left_child(front), r, padded + c), Mail(0));
    if (right < 0) return content_of(look.left);
    store_word(message_of(args, member, right, padded + r, padded + c), Mail(0));
    return content_of(look.left) + content_of(look.right);
}
