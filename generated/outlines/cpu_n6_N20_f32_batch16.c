/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 20 blocks of 6 by 6, f32, 1 right-hand side(s), up to 16 system(s); target cpu:x86-64-v3; schedule sequential; variant lanes.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 6 --horizon 20 --precision f32 --rhs 1 --batch 16 --schedule sequential --workers 1 --variant lanes --target cpu:x86-64-v3
 * Workspace: 119296 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 6
#define TRIFOLD_HORIZON 20LL
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS 1LL
#define TRIFOLD_BATCH 16LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 0LL
#define TRIFOLD_SEPARATOR_BASE 0LL
#define TRIFOLD_SEPARATOR_SCALE 1LL
#define TRIFOLD_COUPLINGS 0LL
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 6LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 36LL
#define TRIFOLD_D_MEMBER 720LL
#define TRIFOLD_E_ROW 6LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 36LL
#define TRIFOLD_E_MEMBER 684LL
#define TRIFOLD_STORAGE_FACTOR 36LL
#define TRIFOLD_STORAGE_PANEL 36LL
#define TRIFOLD_STORAGE_UPDATE 36LL
#define TRIFOLD_STORAGE_COUPLING 36LL
#define TRIFOLD_STORAGE_VECTOR 6LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 768LL
#define TRIFOLD_OFFSET_QUADRATIC 1024LL
#define TRIFOLD_OFFSET_RANGE 1280LL
#define TRIFOLD_OFFSET_FACTOR 1536LL
#define TRIFOLD_OFFSET_NEXT 47616LL
#define TRIFOLD_OFFSET_BEHIND 93696LL
#define TRIFOLD_OFFSET_UPDATE 93696LL
#define TRIFOLD_OFFSET_COUPLING 93696LL
#define TRIFOLD_OFFSET_RHS_UPDATE 93696LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 93696LL
#define TRIFOLD_OFFSET_FAILURE 93696LL
#define TRIFOLD_OFFSET_FLOORS 96256LL
#define TRIFOLD_OFFSET_POISON 97536LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 97536LL
#define TRIFOLD_OFFSET_REDUCTION 100096LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 102656LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FORWARD btd_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_LANES 8
#define TRIFOLD_LEADING 6
#define TRIFOLD_INTERLEAVE 8
#define TRIFOLD_CHAIN_RECORDS 0
#define TRIFOLD_IN_LINE 0
#define TRIFOLD_PANEL_COLUMNS 1
#define TRIFOLD_BESIDE 1
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
/* ---- cpu/tridiagonal/lanes/transfer.c ---- */
/* ---- cpu/tridiagonal/lanes/arrays.c ---- */
/* ---- cpu/tridiagonal/lanes/pivots.c ---- */
/* ---- cpu/tridiagonal/lanes/factor.c ---- */
/* ---- cpu/tridiagonal/lanes/back.c ---- */
/* ---- cpu/tridiagonal/lanes/sweep.c ---- */
/* ---- cpu/tridiagonal/lanes/chains.c ---- */
/* ---- cpu/tridiagonal/finish.c ---- */
/* ---- cpu/tridiagonal/lanes/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O3
kernel btd_factor_n6_f32_x8664v3_cc691bea
kernel btd_factor_forward_n6_f32_x8664v3_cc691bea
kernel btd_forward_n6_f32_x8664v3_cc691bea
kernel btd_backward_n6_f32_x8664v3_cc691bea
kernel btd_finish_factor_n6_f32_x8664v3_cc691bea
kernel btd_finish_forward_n6_f32_x8664v3_cc691bea
