/* [R; G] by messages, column tile after column tile as it is made, to the front of the next level, which takes its updates in the
 * same steps: when the last tile comes, products of depth 8 are all that stands before the first pivot. Flags still tell the other
 * fronts, and what failed. */
constexpr bool has_messages = TRIFOLD_MESSAGE_FRONTS > 0;
constexpr int message_level = TRIFOLD_MESSAGE_LEVEL; /* fronts from this level on send */
TRIFOLD_DEVICE bool sends_messages(const Front& front) { return has_messages && front.level >= message_level; }
TRIFOLD_DEVICE bool gets_messages(const Front& front) { return has_messages && front.level > message_level; }

/* The last fronts that update this one; the right one may not exist. */
TRIFOLD_DEVICE trifold_int left_child(const Front& front) { return front.block - (trifold_int(1) << (front.level - 1)); }
TRIFOLD_DEVICE trifold_int right_child(const Front& front) {
    const trifold_int right = front.block + (trifold_int(1) << (front.level - 1));
    return right < TRIFOLD_HORIZON ? right : -1;
}

/* Element (row, column) of a front's [R; G], or from column `padded` on, of the product with its right-hand sides. */
TRIFOLD_DEVICE trifold_word* message_of(const trifold_args& args, trifold_int member, trifold_int block, int row, int column) {
    const trifold_int front = member * TRIFOLD_MESSAGE_FRONTS + ((block + 1) >> message_level) - 1;
    return buffer<trifold_word>(args, TRIFOLD_OFFSET_MESSAGE) + ((front * (padded + riders) + column) * stacked_rows + row) * message_words;
}

/* What a thread receives of both children: a row of [R; G], and of every column tile some columns. Where nothing is to come it looks
 * at what is sure to. */
constexpr int row_threads = threads / stacked_rows >= 4 ? 4 : 2, row_columns = 8 / row_threads;
struct Inbox {
    const trifold_word *left, *right;
    real *left_to, *right_to; /* null: nothing comes */
    int left_leading, right_leading;
};
TRIFOLD_DEVICE Inbox inbox_of(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const trifold_int left = left_child(front), right = right_child(front);
    const int row = thread_index() % stacked_rows, column = thread_index() / stacked_rows % row_threads;
    const bool mine = thread_index() < row_threads * stacked_rows, is_r = row < padded;
    const bool has_left = mine && (is_r || front.behind >= 0), has_right = mine && right >= 0 && (!is_r || front.next >= 0);
    Inbox inbox{};
    inbox.left = message_of(args, member, left, has_left ? row : 0, column);
    inbox.right = has_right ? message_of(args, member, right, row, column) : inbox.left;
    inbox.left_leading = is_r ? pulled_leading : stacked_leading, inbox.right_leading = is_r ? stacked_leading : pulled_leading;
    if (has_left) inbox.left_to = (is_r ? left_of(shared) : shared.stacked) + row + column * inbox.left_leading;
    if (has_right) inbox.right_to = (is_r ? shared.stacked + row : right_of(shared) + row - padded) + column * inbox.right_leading;
    return inbox;
}

/* Column tile t, to where the products look for it. */
TRIFOLD_DEVICE void receive_tile(const Inbox& inbox, int t, trifold_int run) {
    constexpr int apart = row_threads * stacked_rows * message_words;
    const int first = t * 8 * stacked_rows * message_words;
    Message left[row_columns], right[row_columns];
    for (bool come = false; !come;) {
#pragma unroll
        for (int k = 0; k < row_columns; ++k) left[k] = look(inbox.left + first + k * apart), right[k] = look(inbox.right + first + k * apart);
        come = true;
#pragma unroll
        for (int k = 0; k < row_columns; ++k) come = has_come(left[k], run) && has_come(right[k], run) && come;
        if (!come) spin();
    }
    if (inbox.left_to != nullptr)
#pragma unroll
        for (int k = 0; k < row_columns; ++k) inbox.left_to[(t * 8 + k * row_threads) * inbox.left_leading] = content_of(left[k]);
    if (inbox.right_to != nullptr)
#pragma unroll
        for (int k = 0; k < row_columns; ++k) inbox.right_to[(t * 8 + k * row_threads) * inbox.right_leading] = content_of(right[k]);
}

/* What does not exist is zero. */
TRIFOLD_DEVICE void clear_right(FrontShared& shared) {
    for (int e = thread_index(); e < padded * padded; e += threads) right_of(shared)[e % padded + e / padded * pulled_leading] = 0;
}

/* D's columns that a pivots' warp will factor, so that these warps need not meet: a tile of the first band, two of the second. A strip
 * that does not exist repeats the first, and is not stored. */
constexpr int pivot_columns = pivot_warps * 8;
struct PivotShare {
    Patch first[1], second[2];
};
template <class Use>
TRIFOLD_DEVICE void each_pivot(PivotShare& share, FrontShared& shared, const Use& use) {
    const int column = thread_index() / warp_lanes * 8;
    const auto each = [&](Patch& patch, int row, int c) {
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (c < padded && row + patch_row(k) < padded)
                use(element(patch, k), shared.lower[row + patch_row(k) + (c + patch_column(k)) * lower_leading]);
    };
    each(share.first[0], 0, column);
    if constexpr (bands > 1) each(share.second[0], 16, column), each(share.second[1], 16, column + pivot_columns);
}
TRIFOLD_DEVICE void multiply_pivot(PivotShare& share, const real* columns) {
    const real* own = columns + thread_index() / warp_lanes * 8;
    multiply_band<-1, 2, strip_columns>(share.first, columns, pulled_leading, own, pulled_leading, 8 < padded, 1, 8);
    if constexpr (bands > 1) {
        constexpr bool whole = padded % 16 == 0;
        if (whole || own == columns)
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 2, 8);
        else
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 1, 8);
    }
}

/* Two bands of the couplings. */
struct StackShare {
    const real* other;
    real* band; /* where the first factor stands and the product will */
    bool whole;
    Patch sums[strips];
};
TRIFOLD_DEVICE StackShare stack_share(FrontShared& shared, int band) {
    const int unit = 2 * (thread_index() / warp_lanes - pivot_warps) + band, row = unit % bands * 16;
    const bool ahead = unit < bands;
    return {ahead ? right_of(shared) : left_of(shared), shared.stacked + (ahead ? 0 : padded) + row, row + 8 < padded, {}};
}
TRIFOLD_DEVICE void multiply_stack(StackShare& share, int t) {
    multiply_band<-1, 2, strip_columns>(share.sums, share.band + t * 8 * stacked_leading, stacked_leading, share.other + t * 8 * pulled_leading, pulled_leading,
                                        share.whole, strips, 8);
}
TRIFOLD_DEVICE void store_stack(const StackShare& share) {
#pragma unroll
    for (int strip = 0; strip < strips; ++strip)
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (padded % 16 == 0 || share.whole || patch_row(k) < 8)
                share.band[patch_row(k) + (strip * strip_columns + patch_column(k)) * stacked_leading] = element(share.sums[strip], k);
}

/* The updates of D and the couplings by the last pair. The pivots' warps have what they need, and the stack's have met. */
TRIFOLD_DEVICE void receive_updates(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    static_assert(!has_messages || (has_room && bands <= 2 && bands == stacked_warps && strip_columns == 8), "two bands a warp");
    const bool in_stack = thread_index() >= pivot_warps * warp_lanes;
    const Inbox inbox = inbox_of(shared, args, member, front);
    if (right_child(front) < 0) clear_right(shared);
    PivotShare pivots{};
    StackShare first = stack_share(shared, 0), second = stack_share(shared, 1);
    if (!in_stack) each_pivot(pivots, shared, [](real& value, const real& at) { value = at; });
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        receive_tile(inbox, t, front.run);
        block_sync();
        if (in_stack) {
            multiply_stack(first, t);
            multiply_stack(second, t);
        } else {
            multiply_pivot(pivots, left_of(shared) + t * 8 * pulled_leading);
            multiply_pivot(pivots, right_of(shared) + t * 8 * pulled_leading);
        }
    }
    warp_sync();
    if (in_stack) {
        store_stack(first);
        store_stack(second);
        meet(shared, stack_barrier, stacked_warps * warp_lanes);
    } else {
        each_pivot(pivots, shared, [](real value, real& at) { at = value; });
        warp_sync();
    }
}

/* What the last pair takes from the right-hand sides, by one warp. */
TRIFOLD_DEVICE void receive_riders(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const trifold_int left = left_child(front), right = right_child(front);
#pragma unroll 1
    for (int e = thread_index() % warp_lanes; e < padded * static_cast<int>(args.columns); e += warp_lanes) {
        const int r = e % padded, c = e / padded;
        const trifold_word* from_left = message_of(args, member, left, r, padded + c);
        const trifold_word* from_right = message_of(args, member, right < 0 ? left : right, padded + r, padded + c);
        const Message by_left = look(from_left), by_right = look(from_right);
        real* at = shared.lower + padded + c + r * lower_leading;
        real value = *at - receive(by_left, from_left, front.run);
        if (right >= 0) value -= receive(by_right, from_right, front.run);
        *at = value;
    }
    warp_sync();
}
