/* The kernels of a unit: those that the Program needs. A thread block is (box, or part of one; member). */
#include "gpu/grid/assemble.cuh"
#include "gpu/grid/eliminate.cuh"
#include "gpu/grid/leaf.cuh"
#include "gpu/grid/panel.cuh"
#include "gpu/grid/pixels.cuh"
#include "gpu/grid/product.cuh"
#include "gpu/grid/step.cuh"
#include "gpu/grid/sweep_shared.cuh"
#include "gpu/grid/tiny.cuh"

/* TRIFOLD_BLOCKS_...: thread blocks for which a multiprocessor must have registers, as rows of generator/devices say. */
#define GRID_KERNEL(kind, threads, body) GRID_KERNEL_AS(TRIFOLD_KERNEL_##kind, threads, TRIFOLD_BLOCKS_##kind, body)
#define GRID_KERNEL_AS(name, threads, blocks, body)                                                                                     \
    TRIFOLD_KERNEL(threads, blocks) void name(TRIFOLD_PARAMETER trifold_grid_args args, TRIFOLD_PARAMETER trifold_grid_launch launch) { \
        const Context c = {args, launch};                                                                                               \
        assume_thread();                                                                                                                \
        body;                                                                                                                           \
    }

#ifdef TRIFOLD_KERNEL_LEAF
GRID_KERNEL(LEAF, warp_lanes, eliminate_leaf(c))
#endif
#ifdef TRIFOLD_KERNEL_TINY
GRID_KERNEL(TINY, warp_lanes, eliminate_tiny(c))
#endif
#ifdef TRIFOLD_KERNEL_SMALL
GRID_KERNEL(SMALL, warp_lanes, (eliminate<warp_lanes, 8>(c)))
#endif
#ifdef TRIFOLD_KERNEL_MIDDLE
GRID_KERNEL(MIDDLE, 128, (eliminate<128, 16>(c)))
#endif
#ifdef TRIFOLD_KERNEL_LARGE
GRID_KERNEL(LARGE, 256, (eliminate<256, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_HUGE
GRID_KERNEL(HUGE, 512, (eliminate<512, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_ASSEMBLE
GRID_KERNEL(ASSEMBLE, wide_threads, (assemble<wide_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_FEW
GRID_KERNEL(STEP_FEW, grid_step_threads(0), step_of<0>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_1
GRID_KERNEL(STEP_1, grid_step_threads(1), step_of<1>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_2
GRID_KERNEL(STEP_2, grid_step_threads(2), step_of<2>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_4
GRID_KERNEL(STEP_4, grid_step_threads(4), step_of<4>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_8
GRID_KERNEL(STEP_8, grid_step_threads(8), step_of<8>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_16
GRID_KERNEL(STEP_16, grid_step_threads(16), step_of<16>(c))
#endif
#ifdef TRIFOLD_KERNEL_PANEL
GRID_KERNEL(PANEL, panel_threads, solve_panel(c))
#endif
#ifdef TRIFOLD_KERNEL_PRODUCT
GRID_KERNEL(PRODUCT, 4 * warp_lanes, (store_update<grid_tile_rows, 2, 2>(c)))
#endif
#ifdef TRIFOLD_KERNEL_WIDE_PRODUCT
GRID_KERNEL(WIDE_PRODUCT, 8 * warp_lanes, (store_update<2 * grid_tile_rows, 4, 2>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FINISH
GRID_KERNEL(FINISH, 64, finish(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_SMALL
GRID_KERNEL(FORWARD_SMALL, sweep_threads, (forward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_SMALL
GRID_KERNEL(BACKWARD_SMALL, sweep_threads, (backward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GRID_KERNEL(FORWARD, sweep_threads, (forward_small<sweep_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GRID_KERNEL(BACKWARD, sweep_threads, (backward_small<sweep_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_PIVOTS
GRID_KERNEL(FORWARD_PIVOTS, triangle_threads, forward_pivots(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_KEPT
GRID_KERNEL(FORWARD_KEPT, wide_threads, forward_kept(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_PIVOTS
GRID_KERNEL(BACKWARD_PIVOTS, triangle_threads, backward_pivots(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_KEPT
GRID_KERNEL(BACKWARD_KEPT, wide_threads, backward_kept(c))
#endif
#ifdef TRIFOLD_KERNEL_PIXELS
GRID_KERNEL(PIXELS, wide_threads, (treat_pixel<wide_threads>(c)))
#endif
