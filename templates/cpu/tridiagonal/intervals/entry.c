/* The kernels of variant "intervals". A task is one group of chains of one member. */
#include "cpu/tridiagonal/intervals/factor.c"
#include "cpu/tridiagonal/intervals/columns.c"
#include "cpu/tridiagonal/finish.c"

typedef void group_work(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch);

COLD void each_group(const trifold_args* args, const trifold_level* level, integer first, integer last, void* scratch, group_work* work) {
    const integer groups = group_count(level->chains);
    for (integer task = first; task < last; ++task) {
        const integer member = task / groups;
        if (!is_active(args, member)) continue;
        const interval g = level->index > 0 ? find_separators(args, level, member) : find_interval(args, level, member, task % groups);
        work(args, level, &g, scratch);
    }
}

#define INTERVALS_KERNEL(NAME, WORK)                                                                                                  \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        each_group(args, level, first_task, last_task, scratch, WORK);                                                                \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
INTERVALS_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_only)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_forward)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_any)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_any)
#endif
