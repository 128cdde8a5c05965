/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 16 blocks of 8 by 8, f32, 1 right-hand side(s), up to 1 system(s); target cuda:sm_90; schedule multi-stage; variant dataflow.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 8 --horizon 16 --precision f32 --rhs 1 --batch 1 --schedule multi-stage --workers 1 --variant dataflow --target cuda:sm_90
 * Workspace: 32512 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 8
#define TRIFOLD_BAKED 1
#define TRIFOLD_HORIZON 16LL
#define TRIFOLD_HORIZON_RECIPROCAL 1152921504606846976ULL
#define TRIFOLD_FRONTS 16LL
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS 1LL
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 8LL
#define TRIFOLD_SEPARATOR_BASE 1LL
#define TRIFOLD_SEPARATOR_SCALE 2LL
#define TRIFOLD_SEPARATOR_SCALE_RECIPROCAL 9223372036854775808ULL
#define TRIFOLD_COUPLINGS 11LL
#define TRIFOLD_HAS_SEPARATORS 1
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 8LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 64LL
#define TRIFOLD_D_MEMBER 1024LL
#define TRIFOLD_D_STEP 64LL
#define TRIFOLD_E_ROW 8LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 64LL
#define TRIFOLD_E_MEMBER 960LL
#define TRIFOLD_E_STEP 64LL
#define TRIFOLD_STORAGE_FACTOR 64LL
#define TRIFOLD_STORAGE_PANEL 64LL
#define TRIFOLD_STORAGE_UPDATE 64LL
#define TRIFOLD_STORAGE_COUPLING 64LL
#define TRIFOLD_STORAGE_VECTOR 8LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_RANGE 768LL
#define TRIFOLD_OFFSET_FACTOR 1024LL
#define TRIFOLD_OFFSET_NEXT 5120LL
#define TRIFOLD_OFFSET_BEHIND 9216LL
#define TRIFOLD_OFFSET_UPDATE 13312LL
#define TRIFOLD_OFFSET_COUPLING 13312LL
#define TRIFOLD_OFFSET_RHS_UPDATE 16128LL
#define TRIFOLD_OFFSET_FAILURE 17152LL
#define TRIFOLD_OFFSET_FLOORS 17408LL
#define TRIFOLD_OFFSET_POISON 17664LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 17920LL
#define TRIFOLD_OFFSET_REDUCTION 18176LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 18432LL
#define TRIFOLD_OFFSET_TICKET 18688LL
#define TRIFOLD_OFFSET_FLAG 18944LL
#define TRIFOLD_OFFSET_UPDATE_WORDS 19200LL
#define TRIFOLD_OFFSET_SOLUTION_WORDS 21248LL
#define TRIFOLD_OFFSET_FORWARD_WORDS 22272LL
#define TRIFOLD_OFFSET_MESSAGE 23296LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n8_f32_sm90_b99a8ba3
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n8_f32_sm90_b99a8ba3
#define TRIFOLD_KERNEL_FORWARD btd_forward_n8_f32_sm90_b99a8ba3
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n8_f32_sm90_b99a8ba3
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n8_f32_sm90_b99a8ba3
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n8_f32_sm90_b99a8ba3
#define TRIFOLD_ARCH 90
#define TRIFOLD_PADDED 8
#define TRIFOLD_TILE 8
#define TRIFOLD_IN_TILES 0
#define TRIFOLD_THREADS 64
#define TRIFOLD_TENSOR 1
#define TRIFOLD_MEMBERS_PER_GROUP 1
#define TRIFOLD_OVERLAPS 1
#define TRIFOLD_THREADS_FINISH 64
#define TRIFOLD_LOG_PARTS 1
#define TRIFOLD_RIDERS 1
#define TRIFOLD_LOWER_LEADING 12
#define TRIFOLD_STACKED_LEADING 20
#define TRIFOLD_FRONT_ROOM 1
#define TRIFOLD_STACK_IN_REGISTERS 1
#define TRIFOLD_MULTIPROCESSORS 132
#define TRIFOLD_MESSAGE_LEVEL 0
#define TRIFOLD_HAS_MESSAGES 1
#define TRIFOLD_MESSAGE_FRONTS 16
#define TRIFOLD_SHARED_FACTOR 2368
#define TRIFOLD_FACTOR_BLOCKS 6
#define TRIFOLD_FACTOR_FORWARD_BLOCKS 6
#define TRIFOLD_SWEEP_COLUMNS 1
#define TRIFOLD_SWEEP_SHARERS 1
#define TRIFOLD_SWEEP_REREADS 0
#define TRIFOLD_LONG_INVERSE 8
#define TRIFOLD_SHORT_INVERSE 8
#define TRIFOLD_WAITING_FRONTS 1024
#define TRIFOLD_SHARED_SWEEP 496
#define TRIFOLD_SWEEP_BLOCKS 16
#define TRIFOLD_WIDE_LEVELS 0
#define TRIFOLD_WIDE_RECIPROCAL 0ULL
#define TRIFOLD_ABOVE_RECIPROCAL 0ULL

/* ---- integer.h ---- */
/* ---- tridiagonal_args.h ---- */
/* ---- gpu/platform_cuda.cuh ---- */
/* ---- gpu/constants.cuh ---- */
/* ---- gpu/lanes.cuh ---- */
/* ---- gpu/tridiagonal/dense/constants.cuh ---- */
/* ---- gpu/tridiagonal/constants.cuh ---- */
/* ---- gpu/tridiagonal/common.cuh ---- */
/* ---- gpu/tridiagonal/input.cuh ---- */
/* ---- gpu/tridiagonal/dense/pivots.cuh ---- */
/* ---- gpu/tridiagonal/verdict.cuh ---- */
/* ---- gpu/tridiagonal/bands/constants.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/constants.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/flags.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/shared.h ---- */
/* ---- gpu/tridiagonal/dataflow/front.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/message.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/load.cuh ---- */
/* ---- gpu/tridiagonal/bands/invert.cuh ---- */
/* ---- gpu/tridiagonal/dense/column_tile.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/panel.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/stack.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/factor.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/sweep.cuh ---- */
/* ---- gpu/tridiagonal/finish_constants.cuh ---- */
/* ---- gpu/tridiagonal/finish.cuh ---- */
/* ---- gpu/tridiagonal/members.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/finish.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/entry.cuh ---- */

options: -arch=sm_90 -std=c++17 --ptxas-options=-v --split-compile=4
kernel btd_factor_n8_f32_sm90_b99a8ba3: 64 threads, 2368 bytes of shared memory
kernel btd_factor_forward_n8_f32_sm90_b99a8ba3: 64 threads, 2368 bytes of shared memory
kernel btd_forward_n8_f32_sm90_b99a8ba3: 32 threads, 496 bytes of shared memory
kernel btd_backward_n8_f32_sm90_b99a8ba3: 32 threads, 496 bytes of shared memory
kernel btd_finish_factor_n8_f32_sm90_b99a8ba3: 64 threads, 2048 bytes of shared memory
kernel btd_finish_forward_n8_f32_sm90_b99a8ba3: 64 threads, 2048 bytes of shared memory
