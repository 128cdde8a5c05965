/* The kernels of variant "getrf". A task is one chain of one group. */
#include "cpu/tridiagonal/getrf/factor.c"
#include "cpu/tridiagonal/getrf/sweep.c"
#include "cpu/tridiagonal/finish.c"

#define GETRF_KERNEL(NAME, ...)                                                                                                       \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const members g = find_members(args, task / level->chains);                                                               \
            const chain c = find_chain(args, level, task % level->chains, 0);                                                         \
            factor_scratch* const s = (factor_scratch*)scratch;                                                                       \
            if (g.any) __VA_ARGS__;                                                                                                   \
        }                                                                                                                             \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_chain(args, level, &g, c, 0, s))
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_chain(args, level, &g, c, 1, s))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_sweep(args, level, &g, c, s, 0))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_sweep(args, level, &g, c, s, 0))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD_TRANSPOSED, forward_sweep(args, level, &g, c, s, 1))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD_TRANSPOSED, backward_sweep(args, level, &g, c, s, 1))
#endif
