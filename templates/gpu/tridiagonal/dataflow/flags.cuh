/* One launch for all levels of the multi-stage schedule. Thread blocks claim fronts in the order of their levels and wait for the fronts
 * that they need. Those have been claimed before, so waiting cannot deadlock. Levels hold chains of one front each, and block i = (2 q + 1)
 * 2^l - 1 is front q of level l. The last block of a ring is the tip: it stays to the end, the other blocks are a path, and a front at an
 * end of the path has the tip for a neighbour. The tip is the only front of a level of its own. */
#include "gpu/tridiagonal/dataflow/constants.cuh"
#include "gpu/tridiagonal/common.cuh"

/* A front and its place. Fronts at distance 2^k, k < level, were eliminated before it and update it: those to the left through their R,
 * those to the right through their G. */
struct Front {
    trifold_int block, next, behind; /* -1 where the path ends */
    trifold_int run;                 /* counts the launches of this kind of kernel, from 1 */
    int level;
    int panel; /* the first panel of right-hand sides of this thread block */
};

/* It has no neighbours left. */
TRIFOLD_DEVICE bool is_last(const Front& front) { return front.next < 0 && front.behind < 0; }

/* Blocks of the path. */
TRIFOLD_DEVICE trifold_int path_of(const trifold_args& args) { return is_ring ? horizon_of(args) - 1 : horizon_of(args); }

/* The number-th front of a level. */
TRIFOLD_DEVICE Front front_at(const trifold_args& args, int level, trifold_int number) {
    const trifold_int distance = trifold_int(1) << level;
    Front front{};
    front.level = level;
    front.block = (2 * number + 1) * distance - 1;
    front.next = front.block + distance < path_of(args) ? front.block + distance : -1;
    front.behind = front.block - distance;
    if (front.behind < 0) front.behind = -1;
    if constexpr (is_ring) {
        const trifold_int tip = path_of(args);
        if (front.block >= tip) return Front{tip, -1, -1, 0, level, 0};
        if (front.next < 0) front.next = tip;
        if (front.behind < 0) front.behind = tip;
    }
    return front;
}
/* The number-th front to be claimed. */
TRIFOLD_DEVICE Front find_front(const trifold_args& args, trifold_int number) {
    int level = 0;
    trifold_int size = path_of(args);
    while (number >= (size + 1) / 2) {
        if constexpr (is_ring)
            if (size == 0) break; /* the tip */
        number -= (size + 1) / 2;
        size /= 2;
        ++level;
    }
    return front_at(args, level, number);
}

/* The fronts of level k that update a front: `left` by its R, `right` by its G. The tip is updated by the fronts at both ends of the path,
 * and `left` is -1 where no front of the level is at the far end. `right` may be beyond the path. */
struct Pair {
    trifold_int left, right;
};
TRIFOLD_DEVICE Pair pair_of(const trifold_args& args, const Front& front, int k) {
    const trifold_int distance = trifold_int(1) << k;
    if (is_ring && is_last(front)) return {(path_of(args) & distance) != 0 ? (path_of(args) & -distance) - 1 : -1, distance - 1};
    const trifold_int left = front.block - distance;
    return {left, front.block + distance};
}

/* Fronts of the wide levels, which have a launch of their own. */
TRIFOLD_DEVICE trifold_int wide_fronts_of(const trifold_args& args) {
    return wide_levels == 0 ? 0 : path_of(args) - (path_of(args) >> wide_levels);
}
/* Thread blocks that share a front. */
TRIFOLD_DEVICE int sharers_of(Kind kind) { return kind == Kind::forward || kind == Kind::backward ? sharers : 1; }
/* The run of a ticket, from 0: each run has a ticket for each front of the kernel's, and here sharers of a front have one. */
TRIFOLD_DEVICE trifold_int run_of_ticket(const trifold_args& args, Kind kind, trifold_int ticket) {
    if constexpr (wide_levels > 0) {
        if (kind == Kind::wide) return divided(ticket, wide_fronts_of(args), wide_reciprocal(args));
        if (kind == Kind::factor) return divided(ticket, horizon_of(args) - wide_fronts_of(args), above_reciprocal(args));
    }
    return divided_by_horizon(args, ticket);
}

/* Claims a front, or a share of it, for the whole thread block; `shared` is a word of its shared memory. Backward sweeps claim from the
 * last level back. */
TRIFOLD_DEVICE Front claim_front(const trifold_args& args, trifold_int member, Kind kind, trifold_int& shared) {
    if (thread_index() == 0)
        shared = claim(buffer<trifold_int>(args, FlowOffset::ticket(args)) + static_cast<int>(kind) * batch_of(args) + member);
    block_sync();
    const trifold_int first = kind == Kind::factor ? wide_fronts_of(args) : 0;
    const trifold_int fronts = (kind == Kind::wide ? wide_fronts_of(args) : horizon_of(args)) - first;
    const trifold_int ticket = shared / sharers_of(kind), run = run_of_ticket(args, kind, ticket), number = first + ticket - run * fronts;
    Front front = find_front(args, kind == Kind::backward ? horizon_of(args) - 1 - number : number);
    front.run = run + 1;
    front.panel = static_cast<int>(shared % sharers_of(kind));
    return front;
}

TRIFOLD_DEVICE trifold_int* flag_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<trifold_int>(args, FlowOffset::flag(args)) + member * horizon_of(args) + block;
}

/* Publishes that a front has left R and G, or everything, and whether it failed. One thread calls it. Earlier writes of its warp, and of
 * threads that it has met at a barrier, are visible then. */
enum class Left { couplings, everything };
TRIFOLD_DEVICE void release_front(const trifold_args& args, trifold_int member, const Front& front, Left left, bool failed) {
    store_release(flag_of(args, member, front.block), 4 * front.run + 2 * static_cast<int>(left) + static_cast<int>(failed));
}
TRIFOLD_DEVICE trifold_start start_of(const trifold_all_levels& all) {
    return overlaps ? static_cast<trifold_start>(all.start) : trifold_after;
}
/* The number that a solution's words carry if the backward sweep starts during the factorization. The factorization's last front sends the
 * first of these words, and does not know the number of the sweep's run. */
TRIFOLD_DEVICE trifold_int early_run(trifold_int factor_run) { return factor_run | trifold_int(1) << 31; }
/* The number of the run of those fronts. */
TRIFOLD_DEVICE trifold_int last_run(const trifold_args& args, trifold_int member, Kind kind) {
    const auto* ticket = buffer<trifold_int>(args, FlowOffset::ticket(args)) + static_cast<int>(kind) * batch_of(args) + member;
    return divided_by_horizon(args, load_acquire(ticket) / sharers_of(kind));
}
/* A thread waits for all that a front leaves in a run of the factorization. */
TRIFOLD_DEVICE void await_everything(const trifold_args& args, trifold_int member, trifold_int block, trifold_int run) {
    while (load_acquire(flag_of(args, member, block)) < 4 * run + 2 * static_cast<int>(Left::everything)) spin();
}

/* A warp waits for up to two fronts (-1: none) of the same run. Returns whether one of them failed. */
TRIFOLD_DEVICE bool await_fronts(const trifold_args& args, trifold_int member, trifold_int run, trifold_int a, trifold_int b) {
    const int lane = thread_index() % warp_lanes;
    const trifold_int block = lane == 0 ? a : lane == 1 ? b : -1;
    int failed = 0;
    if (block >= 0) {
        const trifold_int* flag = flag_of(args, member, block);
        trifold_int value = load_acquire(flag);
        while (value / 4 != run) {
            spin();
            value = load_acquire(flag);
        }
        failed = static_cast<int>(value & 1);
    }
    warp_sync();
    return (shuffle(failed, 0) | shuffle(failed, 1)) != 0;
}

/* The updates that a front leaves for its neighbours' right-hand sides: side 0 for the one behind, side 1 for the next. */
TRIFOLD_DEVICE real* neighbour_rhs_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::rhs_update(args)) + (side * fronts_of(args) + block_index(args, member, block)) * vector_storage;
}

/* The squares of the rows of G, side 0, or R, side 1, and the sum of those that a pair of fronts has for a front's row r. */
TRIFOLD_DEVICE real* squares_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, FlowOffset::squares(args)) + (side * fronts_of(args) + block_index(args, member, block)) * padded;
}
TRIFOLD_DEVICE real pair_squares(const trifold_args& args, trifold_int member, const Pair& pair, int r) {
    const real left = !is_ring || pair.left >= 0 ? squares_of(args, member, pair.left, 1)[r] : real(0);
    return pair.right < path_of(args) ? left + squares_of(args, member, pair.right, 0)[r] : left;
}

/* A message: 64-bit words of (run number, 32 bits of payload). A reader that sees the current run number has valid payload, since a
 * word is written atomically: no flag, no fence, no second load. A place is written
 * once a run, by one kind of kernel, and starts at zero. */
constexpr int message_words = static_cast<int>(sizeof(real)) / 4;
struct Message {
    trifold_word words[message_words];
};
TRIFOLD_DEVICE void send(trifold_word* to, real value, trifold_int run) {
    unsigned content[message_words];
    copy_bits(content, value);
    Message message;
#pragma unroll
    for (int k = 0; k < message_words; ++k) message.words[k] = static_cast<trifold_word>(run) << 32 | content[k];
    store_words(to, message.words);
}
/* Reads a message once. The first read may come long before the message is needed, so that several reads are in flight together. */
TRIFOLD_DEVICE Message look(const trifold_word* at) {
    Message message;
    load_words(message.words, at);
    return message;
}
TRIFOLD_DEVICE bool has_come(const Message& message, trifold_int run) {
    bool all = true;
#pragma unroll
    for (int k = 0; k < message_words; ++k) all = all && message.words[k] >> 32 == static_cast<unsigned>(run);
    return all;
}
TRIFOLD_DEVICE real content_of(const Message& message) {
    unsigned content[message_words];
#pragma unroll
    for (int k = 0; k < message_words; ++k) content[k] = static_cast<unsigned>(message.words[k]);
    real value;
    copy_bits(value, content);
    return value;
}
TRIFOLD_DEVICE real receive(Message message, const trifold_word* at, trifold_int run) {
    while (!has_come(message, run)) {
        spin();
        message = look(at);
    }
    return content_of(message);
}

/* Clears the mark of a solution that has left the range. One thread of the last front calls it, before the barrier after which its thread
 * block sends x. Words that carry x order no other memory. So a fence follows, and fronts that receive x set the mark only after it was
 * cleared. Thread blocks with the last front's other panels wait for the first word of its x. */
TRIFOLD_DEVICE void begin_solution(const trifold_args& args, trifold_int member) {
    begin_result(args, member, Result::solution);
    fence_device();
}

/* The words in which a front leaves its x. */
TRIFOLD_DEVICE trifold_word* solution_words(const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::solution_words(args)) + block_index(args, member, block) * words;
}
