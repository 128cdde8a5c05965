/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 8 blocks of 4 by 4, f64, 1 right-hand side(s), up to 1 system(s); target cpu:x86-64-v3; schedule twisted:2; variant tile.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 4 --horizon 8 --precision f64 --rhs 1 --batch 1 --schedule twisted:2 --workers 1 --variant tile --target cpu:x86-64-v3
 * Workspace: 5632 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 4
#define TRIFOLD_HORIZON 8LL
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS 1LL
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_SEPARATORS 1LL
#define TRIFOLD_SEPARATOR_BASE 4LL
#define TRIFOLD_SEPARATOR_SCALE 1LL
#define TRIFOLD_COUPLINGS 0LL
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 4LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 16LL
#define TRIFOLD_D_MEMBER 128LL
#define TRIFOLD_E_ROW 4LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 16LL
#define TRIFOLD_E_MEMBER 112LL
#define TRIFOLD_STORAGE_FACTOR 20LL
#define TRIFOLD_STORAGE_PANEL 16LL
#define TRIFOLD_STORAGE_UPDATE 16LL
#define TRIFOLD_STORAGE_COUPLING 16LL
#define TRIFOLD_STORAGE_VECTOR 4LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_RANGE 768LL
#define TRIFOLD_OFFSET_FACTOR 1024LL
#define TRIFOLD_OFFSET_NEXT 2304LL
#define TRIFOLD_OFFSET_BEHIND 3328LL
#define TRIFOLD_OFFSET_UPDATE 3328LL
#define TRIFOLD_OFFSET_COUPLING 3584LL
#define TRIFOLD_OFFSET_RHS_UPDATE 3584LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 3840LL
#define TRIFOLD_OFFSET_FAILURE 3840LL
#define TRIFOLD_OFFSET_FLOORS 4096LL
#define TRIFOLD_OFFSET_POISON 4352LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 4608LL
#define TRIFOLD_OFFSET_REDUCTION 4864LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 5120LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FORWARD btd_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_LANES 4
#define TRIFOLD_LEADING 4
#define TRIFOLD_INTERLEAVE 1
#define TRIFOLD_CHAIN_RECORDS 0
#define TRIFOLD_WIDTH 4
#define TRIFOLD_HALVES 0
#define TRIFOLD_FEW_STRIPS 0
#define TRIFOLD_FETCH_LINES 0
#define TRIFOLD_FETCH_COLUMNS 4
#define TRIFOLD_PANEL_COLUMNS 1
#define TRIFOLD_PANEL_LANES 1
#define TRIFOLD_BESIDE 2
#define TRIFOLD_PANEL_ROWS 4
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
/* ---- cpu/tridiagonal/slices_constants.c ---- */
/* ---- cpu/tridiagonal/slices.c ---- */
/* ---- cpu/tridiagonal/tile/columns.c ---- */
/* ---- cpu/tridiagonal/finish.c ---- */
/* ---- cpu/tridiagonal/tile/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O2 -fno-unroll-loops -fno-tree-vectorize -fno-tree-slp-vectorize
kernel btd_factor_n4_f64_x8664v3_df574320
kernel btd_factor_forward_n4_f64_x8664v3_df574320
kernel btd_forward_n4_f64_x8664v3_df574320
kernel btd_backward_n4_f64_x8664v3_df574320
kernel btd_finish_factor_n4_f64_x8664v3_df574320
kernel btd_finish_forward_n4_f64_x8664v3_df574320
