/* Variant "lanes": the chains of a launch. A task is one chain of one group. */
#include "cpu/tridiagonal/lanes/arrays.c"

typedef void chain_work(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch);

COLD void each_chain(const trifold_args* args, const trifold_level* level, integer first, integer last, void* scratch, chain_work* work) {
    for (integer task = first; task < last; ++task) {
        const lanes g = find_lanes(args, task / level->chains);
        if (g.any) work(args, level, &g, find_chain(args, level, task % level->chains, 0), scratch);
    }
}

#define LANES_KERNEL(NAME, WORK)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        each_chain(args, level, first_task, last_task, scratch, WORK);                                                                \
    }
