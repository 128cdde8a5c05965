/* The kernels of variant "tile". A task is one chain of one member. */
#include "cpu/tridiagonal/tile/factor.c"
#include "cpu/tridiagonal/tile/sweep.c"
#include "cpu/tridiagonal/finish.c"

#define CHAIN_KERNEL(NAME, CALL)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const integer member = task / level->chains;                                                                              \
            if (!is_active(args, member)) continue;                                                                                   \
            const chain c = find_chain(level, task % level->chains);                                                                  \
            CALL;                                                                                                                     \
        }                                                                                                                             \
        (void)scratch;                                                                                                                \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_chain(args, level, member, &c, 0, scratch))
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_chain(args, level, member, &c, 1, scratch))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain(args, level, member, &c, scratch))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain(args, level, member, &c, scratch))
#endif
