/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * Blocks of 6 by 6, f32, 1 right-hand side(s) at once; target cpu:x86-64-v3; variant lanes. Any number of blocks and systems: the
 * caller gives these sizes, and places in the workspace, with each call.
 * Generated; do not edit.
 */
#define TRIFOLD_BLOCK 6
#define TRIFOLD_HORIZON (args->sizes[0])
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS (args->sizes[27])
#define TRIFOLD_BATCH (args->sizes[14])
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS (args->sizes[9])
#define TRIFOLD_SEPARATOR_BASE (args->sizes[10])
#define TRIFOLD_SEPARATOR_SCALE (args->sizes[11])
#define TRIFOLD_COUPLINGS (args->sizes[13])
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 6LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 36LL
#define TRIFOLD_D_MEMBER (args->sizes[15])
#define TRIFOLD_E_ROW 6LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 36LL
#define TRIFOLD_E_MEMBER (args->sizes[16])
#define TRIFOLD_STORAGE_FACTOR 36LL
#define TRIFOLD_STORAGE_PANEL 36LL
#define TRIFOLD_STORAGE_UPDATE 36LL
#define TRIFOLD_STORAGE_COUPLING 36LL
#define TRIFOLD_STORAGE_VECTOR 6LL
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
#define TRIFOLD_KERNEL_FACTOR btd_factor_n6_f32_x8664v3_ea682725
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n6_f32_x8664v3_ea682725
#define TRIFOLD_KERNEL_FORWARD btd_forward_n6_f32_x8664v3_ea682725
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n6_f32_x8664v3_ea682725
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n6_f32_x8664v3_ea682725
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n6_f32_x8664v3_ea682725
#define TRIFOLD_LANES 8
#define TRIFOLD_LEADING 6
#define TRIFOLD_INTERLEAVE 8
#define TRIFOLD_TILE 3
#define TRIFOLD_FAR 0
#define TRIFOLD_LOW_1 0, 8, 2, 10, 4, 12, 6, 14
#define TRIFOLD_HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define TRIFOLD_LOW_2 0, 1, 8, 9, 4, 5, 12, 13
#define TRIFOLD_HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define TRIFOLD_LOW_4 0, 1, 2, 3, 8, 9, 10, 11
#define TRIFOLD_HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define TRIFOLD_SCRATCH_BYTES 14080
#define TRIFOLD_SIZEOF_LEVEL 208

/* ---- integer.h ---- */
/* ---- tridiagonal_args.h ---- */
/* ---- cpu/constants.c ---- */
/* ---- cpu/tridiagonal/constants.c ---- */
/* ---- cpu/tridiagonal/lanes/constants.c ---- */
/* ---- cpu/vectors.c ---- */
/* ---- cpu/tridiagonal/common.c ---- */
/* ---- cpu/tridiagonal/lanes/pieces.c ---- */
/* ---- cpu/tridiagonal/lanes/fetch.c ---- */
/* ---- cpu/tridiagonal/lanes/lanes.c ---- */
/* ---- cpu/tridiagonal/lanes/arrays.c ---- */
/* ---- cpu/tridiagonal/lanes/factor.c ---- */
/* ---- cpu/tridiagonal/lanes/sweep.c ---- */
/* ---- cpu/tridiagonal/lanes/chains.c ---- */
/* ---- cpu/tridiagonal/finish.c ---- */
/* ---- cpu/tridiagonal/lanes/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O3
kernel btd_factor_n6_f32_x8664v3_ea682725
kernel btd_factor_forward_n6_f32_x8664v3_ea682725
kernel btd_forward_n6_f32_x8664v3_ea682725
kernel btd_backward_n6_f32_x8664v3_ea682725
kernel btd_finish_factor_n6_f32_x8664v3_ea682725
kernel btd_finish_forward_n6_f32_x8664v3_ea682725
