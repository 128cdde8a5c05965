/* Members with lengths, and blocks with sizes, of their own: the check of what the caller gave, and results beyond lengths. Schedules are
 * those of N blocks, of which a chain leaves out what its member does not have. */
#include "gpu/tridiagonal/lengths_constants.cuh"
#include "gpu/tridiagonal/members.cuh"

/* The caller's sizes go to the workspace, by thread blocks of `groups`. */
TRIFOLD_DEVICE void take_sizes(const trifold_args& args, trifold_int member, trifold_int groups) {
    const int* given = static_cast<const int*>(args.inverse_diagonal);
    for (trifold_int block = group_x() * blank_threads + thread_index(); block < horizon_of(args); block += groups * blank_threads) {
        const int size = given == nullptr ? block_size : given[block_index(args, member, block)];
        *size_of(args, member, block) = size < 0 || size > block_size ? -1 : size;
    }
}
/* The caller's length goes to the workspace. A member without blocks has its results here, since no chain concludes for it. */
TRIFOLD_DEVICE void take_length(const trifold_args& args, trifold_int member) {
    const int* given = static_cast<const int*>(args.inverse_coupling);
    const trifold_int length = given == nullptr ? horizon_of(args) : given[member];
    const bool odd = length < 0 || length > horizon_of(args);
    lengths_of(args)[member] = odd ? trifold_odd_length : length;
    if (length > 0 && !odd) return;
    report_member(args, member, sound, 0, 0, 0);
    for (trifold_int c = 0; c < quadratics_of(args); ++c)
        buffer<double>(args, Offset::quadratic(args))[member * quadratics_of(args) + c] = 0;
}

/* The member's place by length. All members are ordered, also those that are left out. A warp's lanes look at 32 lengths at once. */
TRIFOLD_DEVICE void order_member(const trifold_args& args, trifold_int member) {
    constexpr trifold_int most = 1 << 16; /* the order of more does not matter, since each processor takes many */
    const int* given = static_cast<const int*>(args.inverse_coupling);
    const bool exists = member < args.members;
    if (given == nullptr || args.members > most) {
        if (exists) *place_in_order(args, member) = 0;
        return;
    }
    const int own = exists ? given[member] : 0, lane = thread_index() % warp_lanes;
    const auto length_at = [&](trifold_int other) { return other < args.members ? given[other] : 0; };
    trifold_int before = 0;
    int next = length_at(lane);
#pragma unroll 1
    for (trifold_int first = 0; first < args.members; first += warp_lanes) {
        const int lengths = next;
        next = length_at(first + warp_lanes + lane); /* in flight */
#pragma unroll 8
        for (int k = 0; k < warp_lanes; ++k) {
            const int length = shuffle(lengths, k);
            const bool is_before = length > own || (length == own && first + k < member);
            before += static_cast<trifold_int>(is_before && first + k < args.members);
        }
    }
    if (exists) *place_in_order(args, before) = args.members * order_count + member;
}

/* The number that results have beyond a length: zero, or NaN where the length was odd. */
TRIFOLD_DEVICE real beyond(const trifold_args& args, trifold_int member) {
    return lengths_of(args)[member] < 0 ? static_cast<real>(not_a_number()) : real(0);
}
/* use(block) for the thread block's share of those beyond a member's length. */
template <class Use>
TRIFOLD_DEVICE void each_block_beyond(const trifold_args& args, trifold_int member, trifold_int groups, const Use& use) {
    for (trifold_int block = blocks_of(args, member) + group_x(); block < horizon_of(args); block += groups) use(block);
}
TRIFOLD_DEVICE void blank_solution(const trifold_args& args, trifold_int member, trifold_int groups) {
    each_block_beyond(args, member, groups, [&](trifold_int block) {
        for (int e = thread_index(); e < block_size * args.columns; e += blank_threads)
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, e % block_size, e / block_size)] = beyond(args, member);
    });
}
/* The coupling of the last block to the one after it is beyond the length too. */
TRIFOLD_DEVICE void blank_inverse(const trifold_args& args, trifold_int member, trifold_int groups) {
    constexpr trifold_int area = static_cast<trifold_int>(block_size) * block_size;
    const auto fill = [&](void* to, trifold_int block) {
        for (trifold_int e = thread_index(); e < area; e += blank_threads) static_cast<real*>(to)[block * area + e] = beyond(args, member);
    };
    const trifold_int horizon = horizon_of(args);
    each_block_beyond(args, member, groups, [&](trifold_int block) {
        fill(args.inverse_diagonal, member * horizon + block);
        if (block > 0) fill(args.inverse_coupling, member * (horizon - 1) + block - 1);
    });
}

#ifdef TRIFOLD_KERNEL_LENGTHS
TRIFOLD_KERNEL(blank_threads, 1)
void TRIFOLD_KERNEL_LENGTHS(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    if constexpr (has_sizes) {
        const trifold_int first = group_y() * members_per_group;
        for (trifold_int member = first; member < first + members_per_group; ++member) {
            const bool first_thread = has_lengths && group_x() == 0 && thread_index() == 0;
            if (orders_members && first_thread && member < args.members) *place_in_order(args, member) = 0;
            if (!is_active(args, member)) continue;
            take_sizes(args, member, all.groups);
            if (first_thread) take_length(args, member);
        }
        return;
    }
    const trifold_int together = members_per_group > blank_threads ? members_per_group : blank_threads;
    for (trifold_int first = 0; first < together; first += blank_threads) { /* by whole warps */
        const trifold_int k = first + thread_index(), member = k < together ? group_y() * together + k : args.members;
        if (is_active(args, member)) take_length(args, member);
        if (orders_members) order_member(args, member);
    }
}
#endif

#ifdef TRIFOLD_KERNEL_BLANK
TRIFOLD_KERNEL(blank_threads, 1) void TRIFOLD_KERNEL_BLANK(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    each_member(args, [&](trifold_int member) { blank_solution(args, member, all.groups); });
}
#endif

#ifdef TRIFOLD_KERNEL_BLANK_INVERSE
TRIFOLD_KERNEL(blank_threads, 1)
void TRIFOLD_KERNEL_BLANK_INVERSE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    each_member(args, [&](trifold_int member) { blank_inverse(args, member, all.groups); });
}
#endif
