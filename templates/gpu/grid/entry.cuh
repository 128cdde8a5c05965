/* How a template defines a kernel: behind what the kernel does, in an #ifdef of its name, which units with the kernel define. A thread
 * block is (box, or part of one; member). */
#include "gpu/grid/common.cuh"

/* TRIFOLD_BLOCKS_...: thread blocks for which a multiprocessor must have registers, as rows of generator/devices say. */
#define GRID_KERNEL(kind, threads, body) GRID_KERNEL_AS(TRIFOLD_KERNEL_##kind, threads, TRIFOLD_BLOCKS_##kind, body)
#define GRID_KERNEL_AS(name, threads, blocks, body)                                                                                     \
    TRIFOLD_KERNEL(threads, blocks) void name(TRIFOLD_PARAMETER trifold_grid_args args, TRIFOLD_PARAMETER trifold_grid_launch launch) { \
        const Context c = {args, launch};                                                                                               \
        assume_thread();                                                                                                                \
        body;                                                                                                                           \
    }
