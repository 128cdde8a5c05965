/* Trifold: A x = b with sparse A of blocks of 1 rows (f32), factors dilu by subdomains, method cg; target hip:gfx942.
 * Generated; do not edit. It serves every pattern: launches say which. */
#define TRIFOLD_REAL float
#define TRIFOLD_FACTOR float
#define TRIFOLD_BLOCK 1
#define TRIFOLD_DIAGONAL_ALONE 1
#define TRIFOLD_HAS_FACTORS 1
#define TRIFOLD_KRYLOV 1
#define TRIFOLD_SIZEOF_ARGS 120
#define TRIFOLD_SIZEOF_LAUNCH 560
#define TRIFOLD_SIZEOF_RECORD 80
#define TRIFOLD_SIZEOF_STATE 232
#define TRIFOLD_WAVE 64
#define TRIFOLD_TENSOR 0
#define TRIFOLD_SWEEPERS 128
#define TRIFOLD_FETCHERS 0
#define TRIFOLD_SWEEP_BLOCKS 5
#define TRIFOLD_KEPT_SLOTS 1
#define TRIFOLD_KEEPS_ALL 0
#define TRIFOLD_ONE_LAUNCH 0
#define TRIFOLD_GROUPS 1
#define TRIFOLD_KERNEL_GATHER sparse_gather_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_COMPARE sparse_compare_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_FACTOR sparse_factor_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_FINISH sparse_finish_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_PRECONDITION sparse_precondition_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_ORDER sparse_order_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_PRODUCT sparse_product_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_RESIDUAL sparse_residual_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_BEGIN sparse_begin_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_UPDATE sparse_update_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_JUDGE sparse_judge_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_DELIVER sparse_deliver_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_GRADIENT sparse_gradient_b1_f32_dilu_cg
#define TRIFOLD_KERNEL_APPLY sparse_apply_b1_f32_dilu_cg

/* ---- integer.h ---- */
/* ---- gpu/platform_hip.cuh ---- */
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

options: --offload-arch=gfx942 -std=c++20 -O3 -Wno-pass-failed
kernel sparse_gather_b1_f32_dilu_cg: 256 threads, 20480 bytes of shared memory
kernel sparse_compare_b1_f32_dilu_cg: 256 threads, 20480 bytes of shared memory
kernel sparse_factor_b1_f32_dilu_cg: 128 threads, 10240 bytes of shared memory
kernel sparse_finish_b1_f32_dilu_cg: 256 threads, 20480 bytes of shared memory
kernel sparse_precondition_b1_f32_dilu_cg: 128 threads, 1344 bytes of shared memory
kernel sparse_order_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_product_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_residual_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_begin_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_update_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_judge_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_deliver_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_gradient_b1_f32_dilu_cg: 256 threads, 2368 bytes of shared memory
kernel sparse_apply_b1_f32_dilu_cg: 128 threads, 1344 bytes of shared memory
