/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 128 blocks of 3 by 3, f64, 1 right-hand side(s), up to 1 system(s); target cpu:x86-64-v4; schedule segments:16; variant intervals.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 3 --horizon 128 --precision f64 --rhs 1 --batch 1 --schedule segments:16 --workers 1 --variant intervals --target cpu:x86-64-v4
 * Workspace: 48128 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 3
#define TRIFOLD_HORIZON 128LL
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS 1LL
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_SEPARATORS 7LL
#define TRIFOLD_SEPARATOR_BASE 16LL
#define TRIFOLD_SEPARATOR_SCALE 17LL
#define TRIFOLD_COUPLINGS 6LL
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 3LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 9LL
#define TRIFOLD_D_MEMBER 1152LL
#define TRIFOLD_E_ROW 3LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 9LL
#define TRIFOLD_E_MEMBER 1143LL
#define TRIFOLD_STORAGE_FACTOR 9LL
#define TRIFOLD_STORAGE_PANEL 9LL
#define TRIFOLD_STORAGE_UPDATE 9LL
#define TRIFOLD_STORAGE_COUPLING 9LL
#define TRIFOLD_STORAGE_VECTOR 3LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_RANGE 768LL
#define TRIFOLD_OFFSET_FACTOR 1024LL
#define TRIFOLD_OFFSET_NEXT 14336LL
#define TRIFOLD_OFFSET_BEHIND 27648LL
#define TRIFOLD_OFFSET_UPDATE 40960LL
#define TRIFOLD_OFFSET_COUPLING 42240LL
#define TRIFOLD_OFFSET_RHS_UPDATE 43008LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 43520LL
#define TRIFOLD_OFFSET_FAILURE 43520LL
#define TRIFOLD_OFFSET_FLOORS 43776LL
#define TRIFOLD_OFFSET_POISON 44032LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 44032LL
#define TRIFOLD_OFFSET_REDUCTION 44288LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 44544LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n3_f64_x8664v4_094e708b
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n3_f64_x8664v4_094e708b
#define TRIFOLD_KERNEL_FORWARD btd_forward_n3_f64_x8664v4_094e708b
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n3_f64_x8664v4_094e708b
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n3_f64_x8664v4_094e708b
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n3_f64_x8664v4_094e708b
#define TRIFOLD_LANES 8
#define TRIFOLD_LEADING 3
#define TRIFOLD_INTERLEAVE 8
#define TRIFOLD_CHAIN_RECORDS 1
#define TRIFOLD_IN_LINE 1
#define TRIFOLD_PANEL_COLUMNS 1
#define TRIFOLD_PANEL_LANES 1
#define TRIFOLD_PANEL_ROWS 8
#define TRIFOLD_BESIDE 1
#define TRIFOLD_TILE 3
#define TRIFOLD_FAR 0
#define TRIFOLD_LOW_1 0, 8, 2, 10, 4, 12, 6, 14
#define TRIFOLD_HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define TRIFOLD_LOW_2 0, 1, 8, 9, 4, 5, 12, 13
#define TRIFOLD_HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define TRIFOLD_LOW_4 0, 1, 2, 3, 8, 9, 10, 11
#define TRIFOLD_HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define TRIFOLD_SCRATCH_BYTES 3328
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
/* ---- cpu/tridiagonal/intervals/intervals.c ---- */
/* ---- cpu/tridiagonal/lanes/pivots.c ---- */
/* ---- cpu/tridiagonal/intervals/factor.c ---- */
/* ---- cpu/tridiagonal/lanes/back.c ---- */
/* ---- cpu/tridiagonal/intervals/sweep.c ---- */
/* ---- cpu/tridiagonal/slices_constants.c ---- */
/* ---- cpu/tridiagonal/slices.c ---- */
/* ---- cpu/tridiagonal/intervals/columns.c ---- */
/* ---- cpu/tridiagonal/intervals/groups.c ---- */
/* ---- cpu/tridiagonal/finish.c ---- */
/* ---- cpu/tridiagonal/intervals/entry.c ---- */

options: -std=gnu11 -march=x86-64-v4 -ffp-contract=fast -fno-math-errno -O3 -mprefer-vector-width=512
kernel btd_factor_n3_f64_x8664v4_094e708b
kernel btd_factor_forward_n3_f64_x8664v4_094e708b
kernel btd_forward_n3_f64_x8664v4_094e708b
kernel btd_backward_n3_f64_x8664v4_094e708b
kernel btd_finish_factor_n3_f64_x8664v4_094e708b
kernel btd_finish_forward_n3_f64_x8664v4_094e708b
