/* Trifold: A x = b with sparse A of blocks of 3 rows (f64), factors ildu by subdomains, method bicgstab; target cpu:x86-64-v3.
 * Generated; do not edit. It serves every pattern: launches say which. */
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_FACTOR double
#define TRIFOLD_FACTOR_BYTES 8
#define TRIFOLD_BLOCK 3
#define TRIFOLD_DIAGONAL_ALONE 0
#define TRIFOLD_HAS_FACTORS 1
#define TRIFOLD_KRYLOV 0
#define TRIFOLD_SIZEOF_ARGS 120
#define TRIFOLD_SIZEOF_LAUNCH 560
#define TRIFOLD_SIZEOF_RECORD 80
#define TRIFOLD_SIZEOF_STATE 232
#define TRIFOLD_LANES 4
#define TRIFOLD_LOCAL_INDEX unsigned short
#define TRIFOLD_KERNEL_GATHER sparse_gather_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_COMPARE sparse_compare_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_FACTOR sparse_factor_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_FINISH sparse_finish_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_PRECONDITION sparse_precondition_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_ORDER sparse_order_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_PRODUCT sparse_product_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_RESIDUAL sparse_residual_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_BEGIN sparse_begin_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_UPDATE sparse_update_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_JUDGE sparse_judge_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_DELIVER sparse_deliver_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_GRADIENT sparse_gradient_b3_f64_ildu_bicgstab
#define TRIFOLD_KERNEL_APPLY sparse_apply_b3_f64_ildu_bicgstab

/* ---- integer.h ---- */
/* ---- sparse_args.h ---- */
/* ---- cpu/constants.c ---- */
/* ---- cpu/sparse/constants.c ---- */
/* ---- cpu/vectors.c ---- */
/* ---- sparse/steps.h ---- */
/* ---- cpu/sparse/common.c ---- */
/* ---- cpu/sparse/factor.c ---- */
/* ---- cpu/sparse/apply.c ---- */
/* ---- cpu/sparse/product.c ---- */
/* ---- cpu/sparse/entry.c ---- */

options: -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno -O2 -Wno-psabi
kernel sparse_gather_b3_f64_ildu_bicgstab
kernel sparse_compare_b3_f64_ildu_bicgstab
kernel sparse_factor_b3_f64_ildu_bicgstab
kernel sparse_finish_b3_f64_ildu_bicgstab
kernel sparse_precondition_b3_f64_ildu_bicgstab
kernel sparse_order_b3_f64_ildu_bicgstab
kernel sparse_product_b3_f64_ildu_bicgstab
kernel sparse_residual_b3_f64_ildu_bicgstab
kernel sparse_begin_b3_f64_ildu_bicgstab
kernel sparse_update_b3_f64_ildu_bicgstab
kernel sparse_judge_b3_f64_ildu_bicgstab
kernel sparse_deliver_b3_f64_ildu_bicgstab
kernel sparse_gradient_b3_f64_ildu_bicgstab
kernel sparse_apply_b3_f64_ildu_bicgstab
