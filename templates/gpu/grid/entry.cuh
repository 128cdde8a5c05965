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

#define GRID_KERNEL(name, threads, blocks, body)                                                                                        \
    TRIFOLD_KERNEL(threads, blocks) void name(TRIFOLD_PARAMETER trifold_grid_args args, TRIFOLD_PARAMETER trifold_grid_launch launch) { \
        const Context c = {args, launch};                                                                                               \
        assume_thread();                                                                                                                \
        body;                                                                                                                           \
    }

#ifdef TRIFOLD_KERNEL_LEAF
GRID_KERNEL(TRIFOLD_KERNEL_LEAF, warp_lanes, 20, eliminate_leaf(c))
#endif
#ifdef TRIFOLD_KERNEL_TINY
GRID_KERNEL(TRIFOLD_KERNEL_TINY, warp_lanes, (symmetric ? 16 : 20), eliminate_tiny(c))
#endif
#ifdef TRIFOLD_KERNEL_SMALL
GRID_KERNEL(TRIFOLD_KERNEL_SMALL, warp_lanes, 24, (eliminate<warp_lanes, 8>(c)))
#endif
#ifdef TRIFOLD_KERNEL_MIDDLE
GRID_KERNEL(TRIFOLD_KERNEL_MIDDLE, 128, 5, (eliminate<128, 16>(c)))
#endif
#ifdef TRIFOLD_KERNEL_LARGE
GRID_KERNEL(TRIFOLD_KERNEL_LARGE, 256, 2, (eliminate<256, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_HUGE
GRID_KERNEL(TRIFOLD_KERNEL_HUGE, 512, 1, (eliminate<512, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_ASSEMBLE
GRID_KERNEL(TRIFOLD_KERNEL_ASSEMBLE, wide_threads, 2, (assemble<wide_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_FEW
GRID_KERNEL(TRIFOLD_KERNEL_STEP_FEW, grid_step_threads(0), 3, step_of<0>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_1
GRID_KERNEL(TRIFOLD_KERNEL_STEP_1, grid_step_threads(1), 1, step_of<1>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_2
GRID_KERNEL(TRIFOLD_KERNEL_STEP_2, grid_step_threads(2), 1, step_of<2>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_4
GRID_KERNEL(TRIFOLD_KERNEL_STEP_4, grid_step_threads(4), 1, step_of<4>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_8
GRID_KERNEL(TRIFOLD_KERNEL_STEP_8, grid_step_threads(8), 1, step_of<8>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_16
GRID_KERNEL(TRIFOLD_KERNEL_STEP_16, grid_step_threads(16), 1, step_of<16>(c))
#endif
#ifdef TRIFOLD_KERNEL_PANEL
GRID_KERNEL(TRIFOLD_KERNEL_PANEL, panel_threads, 2, solve_panel(c))
#endif
#ifdef TRIFOLD_KERNEL_PRODUCT
GRID_KERNEL(TRIFOLD_KERNEL_PRODUCT, 4 * warp_lanes, 3, (store_update<grid_tile_rows, 2, 2>(c)))
#endif
#ifdef TRIFOLD_KERNEL_WIDE_PRODUCT
GRID_KERNEL(TRIFOLD_KERNEL_WIDE_PRODUCT, 8 * warp_lanes, 1, (store_update<2 * grid_tile_rows, 4, 2>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FINISH
GRID_KERNEL(TRIFOLD_KERNEL_FINISH, 64, 1, finish(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_SMALL
GRID_KERNEL(TRIFOLD_KERNEL_FORWARD_SMALL, sweep_threads, 5, (forward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_SMALL
GRID_KERNEL(TRIFOLD_KERNEL_BACKWARD_SMALL, sweep_threads, 8, (backward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GRID_KERNEL(TRIFOLD_KERNEL_FORWARD, sweep_threads, 5, (forward_small<sweep_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GRID_KERNEL(TRIFOLD_KERNEL_BACKWARD, sweep_threads, 8, (backward_small<sweep_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_PIVOTS
GRID_KERNEL(TRIFOLD_KERNEL_FORWARD_PIVOTS, triangle_threads, 1, forward_pivots(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_KEPT
GRID_KERNEL(TRIFOLD_KERNEL_FORWARD_KEPT, wide_threads, 2, forward_kept(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_PIVOTS
GRID_KERNEL(TRIFOLD_KERNEL_BACKWARD_PIVOTS, triangle_threads, 1, backward_pivots(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_KEPT
GRID_KERNEL(TRIFOLD_KERNEL_BACKWARD_KEPT, wide_threads, 2, backward_kept(c))
#endif
#ifdef TRIFOLD_KERNEL_PIXELS
GRID_KERNEL(TRIFOLD_KERNEL_PIXELS, wide_threads, 1, (treat_pixel<wide_threads>(c)))
#endif
