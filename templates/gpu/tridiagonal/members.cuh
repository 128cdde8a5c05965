/* The members of a batch that one thread block treats. Grids are some number of chains by groups of members. */
#include "gpu/tridiagonal/common.cuh"

/* use(member) for each active member of this thread block's group. */
template <class Use>
TRIFOLD_DEVICE void each_member(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * members_per_group;
    for (trifold_int member = first; member < first + members_per_group; ++member) {
        if (is_active(args, by_length(args, member))) use(by_length(args, member));
        if (members_per_group > 1) block_sync();
    }
}

/* Calls `use` for the members of a thread block, without a loop if it has one. Compilers move repeated work before a loop, which costs a
 * factorization registers, and time before it claims a front. A sweep gains from such a loop: fewer instructions are left when the data
 * that it waits for has come. */
template <class Use>
TRIFOLD_DEVICE void each_factored_member(const trifold_args& args, const Use& use) {
    if constexpr (members_per_group > 1)
        each_member(args, use);
    else if (is_active(args, by_length(args, group_y())))
        use(by_length(args, group_y()));
}
