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
#define TRIFOLD_KERNEL_LEAF grid_leaf_general_f32
#define TRIFOLD_BLOCKS_LEAF 20
#define TRIFOLD_KERNEL_TINY grid_tiny_general_f32
#define TRIFOLD_BLOCKS_TINY 20
#define TRIFOLD_KERNEL_FINISH grid_finish_general_f32
#define TRIFOLD_BLOCKS_FINISH 1

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
/* ---- gpu/pivots.cuh ---- */
/* ---- gpu/grid/pivots.cuh ---- */
/* ---- gpu/grid/records.cuh ---- */
/* ---- gpu/grid/rows.cuh ---- */
/* ---- gpu/grid/leaf.cuh ---- */
/* ---- gpu/grid/gather.cuh ---- */
/* ---- gpu/grid/tiny.cuh ---- */
/* ---- gpu/grid/pixels.cuh ---- */

options: -arch=sm_90 -std=c++17 --ptxas-options=-v --split-compile=4 --diag-suppress=128,177
kernel grid_leaf_general_f32: 32 threads, 4848 bytes of shared memory
kernel grid_tiny_general_f32: 32 threads, 2128 bytes of shared memory
kernel grid_finish_general_f32: 64 threads, 0 bytes of shared memory
