/* Trifold: A x = b with sparse A of blocks of 3 rows (f64), factors ildu by subdomains, method bicgstab; target cuda:sm_90.
 * Generated; do not edit. It serves every pattern: launches say which. */
#define TRIFOLD_REAL double
#define TRIFOLD_FACTOR double
#define TRIFOLD_BLOCK 3
#define TRIFOLD_DIAGONAL_ALONE 0
#define TRIFOLD_HAS_FACTORS 1
#define TRIFOLD_KRYLOV 0
#define TRIFOLD_SIZEOF_ARGS 120
#define TRIFOLD_SIZEOF_LAUNCH 560
#define TRIFOLD_SIZEOF_RECORD 80
#define TRIFOLD_SIZEOF_STATE 232
#define TRIFOLD_ARCH 90
#define TRIFOLD_TENSOR 0
#define TRIFOLD_SWEEPERS 64
#define TRIFOLD_FETCHERS 32
#define TRIFOLD_SWEEP_BLOCKS 8
#define TRIFOLD_KEPT_SLOTS 3
#define TRIFOLD_KEEPS_ALL 1
#define TRIFOLD_ONE_LAUNCH 1
#define TRIFOLD_GROUPS 8
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
#define TRIFOLD_KERNEL_ITERATE sparse_iterate_b3_f64_ildu_bicgstab

/* ---- integer.h ---- */
/* ---- gpu/platform_cuda.cuh ---- */
/* ---- gpu/constants.cuh ---- */
/* ---- gpu/lanes.cuh ---- */
/* ---- gpu/sparse/shared.h ---- */
/* ---- sparse_args.h ---- */
/* ---- gpu/sparse/constants.cuh ---- */
/* ---- sparse/steps.h ---- */
/* ---- gpu/sparse/common.cuh ---- */
/* ---- gpu/sparse/factor.cuh ---- */
/* ---- gpu/sparse/apply.cuh ---- */
/* ---- gpu/sparse/product.cuh ---- */
/* ---- gpu/sparse/iterate.cuh ---- */
/* ---- gpu/sparse/entry.cuh ---- */

options: -arch=sm_90 -std=c++17 --ptxas-options=-v --split-compile=4
kernel sparse_gather_b3_f64_ildu_bicgstab: 256 threads, 20480 bytes of shared memory
kernel sparse_compare_b3_f64_ildu_bicgstab: 256 threads, 20480 bytes of shared memory
kernel sparse_factor_b3_f64_ildu_bicgstab: 96 threads, 10720 bytes of shared memory
kernel sparse_finish_b3_f64_ildu_bicgstab: 256 threads, 20480 bytes of shared memory
kernel sparse_precondition_b3_f64_ildu_bicgstab: 96 threads, 27792 bytes of shared memory
kernel sparse_order_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_product_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_residual_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_begin_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_update_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_judge_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_deliver_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_gradient_b3_f64_ildu_bicgstab: 256 threads, 2368 bytes of shared memory
kernel sparse_apply_b3_f64_ildu_bicgstab: 96 threads, 27792 bytes of shared memory
kernel sparse_iterate_b3_f64_ildu_bicgstab: 512 threads, 73680 bytes of shared memory
