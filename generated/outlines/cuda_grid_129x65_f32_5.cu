/* Trifold: factor and solve A x = b, where A couples each pixel of an image with its eight neighbours (general, f32); target cuda:sm_90.
 * Generated; do not edit. It serves images of every size: launches say which. */
#define TRIFOLD_ARCH 90
#define TRIFOLD_REAL float
#define TRIFOLD_SYMMETRIC 0
#define TRIFOLD_PIVOTING 1
#define TRIFOLD_TENSOR 1
#define TRIFOLD_PANEL_STAYS 1
#define TRIFOLD_FETCHES_ASYNC 1
#define TRIFOLD_SIZEOF_ARGS 104
#define TRIFOLD_SIZEOF_LAUNCH 1872
#define TRIFOLD_SIZEOF_RECORD 80
#define TRIFOLD_SIZEOF_STATUS 112
#define TRIFOLD_KERNEL_FORWARD_SMALL grid_forward_small_general_f32
#define TRIFOLD_BLOCKS_FORWARD_SMALL 5
#define TRIFOLD_KERNEL_BACKWARD_SMALL grid_backward_small_general_f32
#define TRIFOLD_BLOCKS_BACKWARD_SMALL 8
#define TRIFOLD_KERNEL_FORWARD grid_forward_general_f32
#define TRIFOLD_BLOCKS_FORWARD 5
#define TRIFOLD_KERNEL_BACKWARD grid_backward_general_f32
#define TRIFOLD_BLOCKS_BACKWARD 8
#define TRIFOLD_KERNEL_FORWARD_KEPT grid_forward_kept_general_f32
#define TRIFOLD_BLOCKS_FORWARD_KEPT 2
#define TRIFOLD_KERNEL_BACKWARD_KEPT grid_backward_kept_general_f32
#define TRIFOLD_BLOCKS_BACKWARD_KEPT 2
#define TRIFOLD_KERNEL_REFINE grid_refine_general_f32
#define TRIFOLD_BLOCKS_REFINE 1

/* ---- integer.h ---- */
/* ---- gpu/platform_cuda.cuh ---- */
/* ---- gpu/constants.cuh ---- */
/* ---- gpu/lanes.cuh ---- */
/* ---- gpu/grid/shared.h ---- */
/* ---- grid_args.h ---- */
/* ---- gpu/grid/constants.cuh ---- */
/* ---- grid/boxes.h ---- */
/* ---- grid/outcome.h ---- */
/* ---- grid/scale.h ---- */
/* ---- gpu/grid/common.cuh ---- */
/* ---- gpu/grid/entry.cuh ---- */
/* ---- gpu/grid/gather.cuh ---- */
/* ---- gpu/grid/sweep.cuh ---- */
/* ---- gpu/grid/sweep_shared.cuh ---- */
/* ---- gpu/grid/pixels.cuh ---- */
/* ---- gpu/grid/pivots.cuh ---- */
/* ---- gpu/grid/records.cuh ---- */
/* ---- gpu/grid/refine.cuh ---- */

options: -arch=sm_90 -std=c++17 --ptxas-options=-v --split-compile=4 --diag-suppress=128,177
kernel grid_forward_small_general_f32: 128 threads, 23040 bytes of shared memory
kernel grid_backward_small_general_f32: 128 threads, 23040 bytes of shared memory
kernel grid_forward_general_f32: 128 threads, 18448 bytes of shared memory
kernel grid_backward_general_f32: 128 threads, 18448 bytes of shared memory
kernel grid_forward_kept_general_f32: 256 threads, 1280 bytes of shared memory
kernel grid_backward_kept_general_f32: 256 threads, 4096 bytes of shared memory
kernel grid_refine_general_f32: 256 threads, 324 bytes of shared memory
