/* The kernels of a unit: those that the Program needs. A thread block is (box, or part of one; member). */
#include "gpu/grid/eliminate.cuh"
#include "gpu/grid/panel.cuh"
#include "gpu/grid/pixels.cuh"
#include "gpu/grid/step.cuh"
#include "gpu/grid/sweep_shared.cuh"

#define GRID_KERNEL(name, threads, blocks, body)                                                                                         \
    TRIFOLD_KERNEL(threads, blocks) void name(TRIFOLD_PARAMETER trifold_grid_args args, TRIFOLD_PARAMETER trifold_grid_launch launch) { \
        const Context c = {args, launch};                                                                                                \
        assume_thread();                                                                                                                 \
        body;                                                                                                                            \
    }

#ifdef TRIFOLD_KERNEL_SMALL
GRID_KERNEL(TRIFOLD_KERNEL_SMALL, 64, 8, (eliminate<64, 16>(c)))
#endif
#ifdef TRIFOLD_KERNEL_MIDDLE
GRID_KERNEL(TRIFOLD_KERNEL_MIDDLE, 128, 4, (eliminate<128, 16>(c)))
#endif
#ifdef TRIFOLD_KERNEL_LARGE
GRID_KERNEL(TRIFOLD_KERNEL_LARGE, 256, 1, (eliminate<256, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_ASSEMBLE
GRID_KERNEL(TRIFOLD_KERNEL_ASSEMBLE, wide_threads, 2, (assemble<wide_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_1
GRID_KERNEL(TRIFOLD_KERNEL_STEP_1, grid_step_threads, 1, (step<32, 1, grid_step_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_2
GRID_KERNEL(TRIFOLD_KERNEL_STEP_2, grid_step_threads, 1, (step<16, 2, grid_step_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_4
GRID_KERNEL(TRIFOLD_KERNEL_STEP_4, grid_step_threads, 1, (step<8, 4, grid_step_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_8
GRID_KERNEL(TRIFOLD_KERNEL_STEP_8, grid_step_threads, 1, (step<4, 8, grid_step_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_STEP_16
GRID_KERNEL(TRIFOLD_KERNEL_STEP_16, grid_step_threads, 1, (step<2, 16, grid_step_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_PANEL
GRID_KERNEL(TRIFOLD_KERNEL_PANEL, panel_threads, 1, solve_panel(c))
#endif
#ifdef TRIFOLD_KERNEL_PRODUCT
GRID_KERNEL(TRIFOLD_KERNEL_PRODUCT, shared_threads, 2, leave_product(c))
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
GRID_KERNEL(TRIFOLD_KERNEL_BACKWARD, sweep_threads, 6, (backward_small<sweep_threads>(c)))
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
