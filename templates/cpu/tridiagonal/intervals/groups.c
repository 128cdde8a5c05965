/* Variant "intervals": the groups of a launch. A task is one group of chains of one member. */
#include "cpu/tridiagonal/intervals/intervals.c"

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
