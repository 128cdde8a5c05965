/* The kernels of variant "tile". A task is one chain of one member; in sweeps it has one panel of right-hand sides. */
#include "cpu/tridiagonal/tile/factor.c"
#include "cpu/tridiagonal/tile/sweep.c"
#include "cpu/tridiagonal/tile/columns.c"
#include "cpu/tridiagonal/finish.c"
#include "cpu/tridiagonal/lengths.c"

#define CHAIN_KERNEL(NAME, CALL)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const integer member = task / level->chains;                                                                              \
            if (!is_active(args, member)) continue;                                                                                   \
            const chain c = find_chain(args, level, task % level->chains, member);                                                    \
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

#if HAS_SLICES
/* The first call takes few right-hand sides one by one. Later calls treat the last of many, whose results depend on no number of columns.
 */
#define SWEEP_KERNEL(NAME, ONE, PANEL)                                                                                                \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        const integer panels = MOST_COLUMNS / PANEL_COLUMNS, tasks = level->chains * panels;                                          \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const integer member = task / tasks, panel = task % panels;                                                               \
            if (!is_active(args, member) || args->columns <= panel * PANEL_COLUMNS) continue;                                         \
            const chain c = find_chain(args, level, task % tasks / panels, member);                                                   \
            if (args->columns <= FEW_COLUMNS && args->first_column == 0)                                                              \
                ONE(args, level, member, &c, scratch);                                                                                \
            else                                                                                                                      \
                PANEL(args, level, member, &c, panel, scratch);                                                                       \
        }                                                                                                                             \
    }
#else
#define SWEEP_KERNEL(NAME, ONE, PANEL) CHAIN_KERNEL(NAME, ONE(args, level, member, &c, scratch))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
SWEEP_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain, forward_panel)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
SWEEP_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain, backward_panel)
#endif
