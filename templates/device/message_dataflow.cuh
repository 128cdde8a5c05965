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

/* A message is a number's bits in a word of their size, and zero as long as nothing has come. The number zero is sent as minus zero. Who has
 * taken it clears it for the next run, so one thread alone looks at it. */
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
    const trifold_int front = member * TRIFOLD_MESSAGE_FRONTS + ((block + 1) >> message_level) - 1;
    return buffer<Mail>(args, TRIFOLD_OFFSET_MESSAGE) + (front * (padded + riders) + column) * stacked_rows + row;
}

/* What a thread receives of both children: a row of [R; G], and of every column tile some columns. */
constexpr int row_threads = threads / stacked_rows >= 4 ? 4 : 2, row_columns = 8 / row_threads;
struct Inbox {
    Mail *left, *right; /* null: nothing comes */
    real *left_to, *right_to;
    int left_leading, right_leading;
};
TRIFOLD_DEVICE Inbox inbox_of(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const trifold_int right = right_child(front);
    const int row = thread_index() % stacked_rows, column = thread_index() / stacked_rows % row_threads;
    const bool mine = thread_index() < row_threads * stacked_rows, is_r = row < padded;
    Inbox inbox{};
    if (mine && (is_r || front.behind >= 0)) inbox.left = message_of(args, member, left_child(front), row, column);
    if (mine && right >= 0 && (!is_r || front.next >= 0)) inbox.right = message_of(args, member, right, row, column);
    inbox.left_leading = is_r ? pulled_leading : stacked_leading, inbox.right_leading = is_r ? stacked_leading : pulled_leading;
    inbox.left_to = (is_r ? left_of(shared) : shared.stacked) + row + column * inbox.left_leading;
    inbox.right_to = (is_r ? shared.stacked + row : right_of(shared) + row - padded) + column * inbox.right_leading;
    return inbox;
}

/* Looks at a row's columns of a tile. */
struct Looks {
    Mail at[row_columns];
};
constexpr int column_step = row_threads * stacked_rows, tile_step = 8 * stacked_rows;
TRIFOLD_DEVICE void look_at(Looks& looks, const Mail* from) {
#pragma unroll
    for (int k = 0; k < row_columns; ++k) looks.at[k] = from == nullptr ? Mail(1) : load_word(from + k * column_step);
}
TRIFOLD_DEVICE bool have_come(const Looks& looks) {
    bool come = true;
#pragma unroll
    for (int k = 0; k < row_columns; ++k) come = looks.at[k] != 0 && come;
    return come;
}
TRIFOLD_DEVICE void store_looks(real* to, int leading, const Looks& looks) {
#pragma unroll
    for (int k = 0; k < row_columns; ++k) to[k * row_threads * leading] = content_of(looks.at[k]);
}
TRIFOLD_DEVICE void clear(Mail* from) {
#pragma unroll
    for (int k = 0; k < row_columns; ++k) store_word(from + k * column_step, Mail(0));
}

/* Column tile after column tile to where the products look for it, then use(t). The next tile is looked at before the products. The pivots'
 * warps and the stack's call this apart, so that they meet at a barrier with a name. */
template <class Use>
TRIFOLD_DEVICE void receive_tiles(FrontShared& shared, Inbox inbox, const Use& use) {
    Looks left, right;
    look_at(left, inbox.left), look_at(right, inbox.right);
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        while (!(have_come(left) && have_come(right))) {
            spin();
            look_at(left, inbox.left), look_at(right, inbox.right);
        }
        if (inbox.left != nullptr) {
            store_looks(inbox.left_to, inbox.left_leading, left);
            clear(inbox.left);
            inbox.left += tile_step, inbox.left_to += 8 * inbox.left_leading;
        }
        if (inbox.right != nullptr) {
            store_looks(inbox.right_to, inbox.right_leading, right);
            clear(inbox.right);
            inbox.right += tile_step, inbox.right_to += 8 * inbox.right_leading;
        }
        if (t + 1 < tiles) look_at(left, inbox.left), look_at(right, inbox.right);
        meet(shared, message_barrier, threads);
        use(t);
    }
    warp_sync();
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

/* D when the last pair has updated it, by the pivots' warps: each has what it needs. */
TRIFOLD_DEVICE void receive_pivots(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    PivotShare pivots{};
    each_pivot(pivots, shared, [](product& value, const real& at) { value = static_cast<product>(at); });
    receive_tiles(shared, inbox_of(shared, args, member, front), [&](int t) {
        multiply_pivot(pivots, left_of(shared) + t * 8 * pulled_leading);
        multiply_pivot(pivots, right_of(shared) + t * 8 * pulled_leading);
    });
    each_pivot(pivots, shared, [](product value, real& at) { at = static_cast<real>(value); });
    warp_sync();
}

/* What the last pair takes from row r of right-hand side c. */
TRIFOLD_DEVICE real receive_rider(const trifold_args& args, trifold_int member, const Front& front, int r, int c) {
    const trifold_int right = right_child(front);
    Mail* const from_left = message_of(args, member, left_child(front), r, padded + c);
    Mail* const from_right = right < 0 ? nullptr : message_of(args, member, right, padded + r, padded + c);
    Mail by_left = load_word(from_left), by_right = right < 0 ? Mail(1) : load_word(from_right);
    while (by_left == 0 || by_right == 0) {
        spin();
        by_left = load_word(from_left);
        if (right >= 0) by_right = load_word(from_right);
    }
    store_word(from_left, Mail(0));
    if (right < 0) return content_of(by_left);
    store_word(from_right, Mail(0));
    return content_of(by_left) + content_of(by_right);
}
