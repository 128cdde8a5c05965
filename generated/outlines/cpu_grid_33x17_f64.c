/* Trifold: factor and solve A x = b, where A couples each pixel of an image with its eight neighbours (general, f64); target cpu:x86-64-v3.
 * Generated; do not edit. It serves images of every size: launches say which. */
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_LANES 4
#define TRIFOLD_STRIPS 3
#define TRIFOLD_COLUMNS 4
#define TRIFOLD_SYMMETRIC 0
#define TRIFOLD_PIVOTING 1
#define TRIFOLD_SLICE 256
#define TRIFOLD_BAND 16
#define TRIFOLD_SIZEOF_ARGS 104
#define TRIFOLD_SIZEOF_LAUNCH 1872
#define TRIFOLD_SIZEOF_RECORD 80
#define TRIFOLD_SIZEOF_STATUS 112
#define TRIFOLD_KERNEL_ELIMINATE grid_eliminate_general_f64
#define TRIFOLD_KERNEL_ASSEMBLE grid_assemble_general_f64
#define TRIFOLD_KERNEL_PIVOTS grid_pivots_general_f64
#define TRIFOLD_KERNEL_PANEL grid_panel_general_f64
#define TRIFOLD_KERNEL_PRODUCT grid_product_general_f64
#define TRIFOLD_KERNEL_FINISH grid_finish_general_f64
#define TRIFOLD_KERNEL_FORWARD grid_forward_general_f64
#define TRIFOLD_KERNEL_BACKWARD grid_backward_general_f64
#define TRIFOLD_KERNEL_RING grid_ring_general_f64
#define TRIFOLD_KERNEL_REFINE grid_refine_general_f64
#define TRIFOLD_KERNEL_KEEP grid_keep_general_f64
#define TRIFOLD_KERNEL_RESIDUAL grid_residual_general_f64
#define TRIFOLD_KERNEL_CORRECT grid_correct_general_f64
#define TRIFOLD_KERNEL_GRADIENT grid_gradient_general_f64

/* ---- integer.h ---- */
/* ---- grid_args.h ---- */
/* ---- cpu/constants.c ---- */
/* ---- cpu/grid/constants.c ---- */
/* ---- cpu/vectors.c ---- */
/* ---- grid/boxes.h ---- */
/* ---- grid/outcome.h ---- */
/* ---- grid/scale.h ---- */
/* ---- cpu/grid/common.c ---- */
/* ---- cpu/grid/products.c ---- */
/* ---- cpu/grid/pivots.c ---- */
/* ---- cpu/grid/assemble.c ---- */
/* ---- cpu/grid/leaf.c ---- */
/* ---- cpu/grid/factor.c ---- */
/* ---- cpu/grid/sweep.c ---- */
/* ---- cpu/grid/columns.c ---- */
/* ---- cpu/grid/images.c ---- */
/* ---- cpu/grid/refine.c ---- */
/* ---- cpu/grid/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O2 -fno-unroll-loops -falign-loops=32 -fno-tree-vectorize -fno-tree-slp-vectorize -Wno-psabi
kernel grid_eliminate_general_f64
kernel grid_assemble_general_f64
kernel grid_pivots_general_f64
kernel grid_panel_general_f64
kernel grid_product_general_f64
kernel grid_finish_general_f64
kernel grid_forward_general_f64
kernel grid_backward_general_f64
kernel grid_ring_general_f64
kernel grid_refine_general_f64
kernel grid_keep_general_f64
kernel grid_residual_general_f64
kernel grid_correct_general_f64
kernel grid_gradient_general_f64
