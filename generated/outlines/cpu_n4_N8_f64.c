/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * Blocks of 4 by 4, f64, 1 right-hand side(s) at once; target cpu:x86-64-v3; variant tile. Any number of blocks and systems: the
 * caller gives these sizes, and places in the workspace, with each call.
 * Generated; do not edit.
 */
#define TRIFOLD_BLOCK 4
#define TRIFOLD_HORIZON (args->sizes[0])
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS (args->sizes[27])
#define TRIFOLD_BATCH (args->sizes[14])
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_SEPARATORS (args->sizes[9])
#define TRIFOLD_SEPARATOR_BASE (args->sizes[10])
#define TRIFOLD_SEPARATOR_SCALE (args->sizes[11])
#define TRIFOLD_COUPLINGS (args->sizes[13])
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 4LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 16LL
#define TRIFOLD_D_MEMBER (args->sizes[15])
#define TRIFOLD_E_ROW 4LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 16LL
#define TRIFOLD_E_MEMBER (args->sizes[16])
#define TRIFOLD_STORAGE_FACTOR 20LL
#define TRIFOLD_STORAGE_PANEL 16LL
#define TRIFOLD_STORAGE_UPDATE 16LL
#define TRIFOLD_STORAGE_COUPLING 16LL
#define TRIFOLD_STORAGE_VECTOR 4LL
#define TRIFOLD_OFFSET_STATUS (args->sizes[23])
#define TRIFOLD_OFFSET_LOG_DETERMINANT (args->sizes[24])
#define TRIFOLD_OFFSET_QUADRATIC (args->sizes[25])
#define TRIFOLD_OFFSET_RANGE (args->sizes[26])
#define TRIFOLD_OFFSET_FACTOR (args->sizes[3])
#define TRIFOLD_OFFSET_NEXT (args->sizes[4])
#define TRIFOLD_OFFSET_BEHIND (args->sizes[5])
#define TRIFOLD_OFFSET_UPDATE (args->sizes[6])
#define TRIFOLD_OFFSET_COUPLING (args->sizes[8])
#define TRIFOLD_OFFSET_RHS_UPDATE (args->sizes[7])
#define TRIFOLD_OFFSET_INVERSE_COUPLING (args->sizes[38])
#define TRIFOLD_OFFSET_FAILURE (args->sizes[17])
#define TRIFOLD_OFFSET_FLOORS (args->sizes[18])
#define TRIFOLD_OFFSET_POISON (args->sizes[19])
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT (args->sizes[20])
#define TRIFOLD_OFFSET_REDUCTION (args->sizes[21])
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC (args->sizes[22])
#define TRIFOLD_KERNEL_FACTOR btd_factor_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_KERNEL_FORWARD btd_forward_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n4_f64_x8664v3_7be5eaba
#define TRIFOLD_LANES 4
#define TRIFOLD_LEADING 4
#define TRIFOLD_INTERLEAVE 1
#define TRIFOLD_WIDTH 4
#define TRIFOLD_HALVES 0
#define TRIFOLD_FEW_STRIPS 0
#define TRIFOLD_FETCH_LINES 0
#define TRIFOLD_FETCH_COLUMNS 4
#define TRIFOLD_FILL 0
#define TRIFOLD_FRONTS_HAVE_PRODUCTS 0
#define TRIFOLD_LOW_1 0, 4, 2, 6
#define TRIFOLD_HIGH_1 1, 5, 3, 7
#define TRIFOLD_LOW_2 0, 1, 4, 5
#define TRIFOLD_HIGH_2 2, 3, 6, 7
#define TRIFOLD_SHIFT 4, 5, 6, 7
#define TRIFOLD_SCRATCH_BYTES 256
#define TRIFOLD_SIZEOF_LEVEL 208

/* ---- integer.h ---- */
/* ---- tridiagonal_args.h ---- */
/* ---- cpu/constants.c ---- */
/* ---- cpu/tridiagonal/constants.c ---- */
/* ---- cpu/tridiagonal/tile/constants.c ---- */
/* ---- cpu/vectors.c ---- */
/* ---- cpu/tridiagonal/common.c ---- */
/* ---- cpu/tridiagonal/tile/fetch.c ---- */
/* ---- cpu/tridiagonal/tile/tile.c ---- */
/* ---- cpu/tridiagonal/tile/load.c ---- */
/* ---- cpu/tridiagonal/tile/diagonal.c ---- */
/* ---- cpu/tridiagonal/tile/front.c ---- */
/* ---- cpu/tridiagonal/tile/sweep.c ---- */
/* ---- cpu/tridiagonal/tile/factor.c ---- */
/* ---- cpu/tridiagonal/finish.c ---- */
/* ---- cpu/tridiagonal/tile/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O2 -fno-unroll-loops -fno-tree-vectorize -fno-tree-slp-vectorize
kernel btd_factor_n4_f64_x8664v3_7be5eaba
kernel btd_factor_forward_n4_f64_x8664v3_7be5eaba
kernel btd_forward_n4_f64_x8664v3_7be5eaba
kernel btd_backward_n4_f64_x8664v3_7be5eaba
kernel btd_finish_factor_n4_f64_x8664v3_7be5eaba
kernel btd_finish_forward_n4_f64_x8664v3_7be5eaba
