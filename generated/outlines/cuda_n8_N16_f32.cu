/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * Blocks of 8 by 8, f32, 1 right-hand side(s) at once; target cuda:sm_90; variant dataflow. Any number of blocks and systems: the
 * caller gives these sizes, and places in the workspace, with each call.
 * Generated; do not edit.
 */
#define TRIFOLD_SIZES_BY_VALUE 54
#define TRIFOLD_BLOCK 8
#define TRIFOLD_BAKED 0
#define TRIFOLD_HORIZON (args.sizes[0])
#define TRIFOLD_HORIZON_RECIPROCAL (args.sizes[1])
#define TRIFOLD_FRONTS (args.sizes[2])
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS (args.sizes[27])
#define TRIFOLD_BATCH (args.sizes[14])
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS (args.sizes[9])
#define TRIFOLD_SEPARATOR_BASE (args.sizes[10])
#define TRIFOLD_SEPARATOR_SCALE (args.sizes[11])
#define TRIFOLD_SEPARATOR_SCALE_RECIPROCAL (args.sizes[12])
#define TRIFOLD_COUPLINGS (args.sizes[13])
#define TRIFOLD_HAS_SEPARATORS 1
#define TRIFOLD_SIZEOF_ARGS 616
#define TRIFOLD_D_ROW 8LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 64LL
#define TRIFOLD_D_MEMBER (args.sizes[15])
#define TRIFOLD_D_STEP 64LL
#define TRIFOLD_E_ROW 8LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 64LL
#define TRIFOLD_E_MEMBER (args.sizes[16])
#define TRIFOLD_E_STEP 64LL
#define TRIFOLD_STORAGE_FACTOR 64LL
#define TRIFOLD_STORAGE_PANEL 64LL
#define TRIFOLD_STORAGE_UPDATE 64LL
#define TRIFOLD_STORAGE_COUPLING 64LL
#define TRIFOLD_STORAGE_VECTOR 8LL
#define TRIFOLD_OFFSET_STATUS (args.sizes[23])
#define TRIFOLD_OFFSET_LOG_DETERMINANT (args.sizes[24])
#define TRIFOLD_OFFSET_QUADRATIC (args.sizes[25])
#define TRIFOLD_OFFSET_RANGE (args.sizes[26])
#define TRIFOLD_OFFSET_FACTOR (args.sizes[3])
#define TRIFOLD_OFFSET_NEXT (args.sizes[4])
#define TRIFOLD_OFFSET_BEHIND (args.sizes[5])
#define TRIFOLD_OFFSET_UPDATE (args.sizes[6])
#define TRIFOLD_OFFSET_COUPLING (args.sizes[8])
#define TRIFOLD_OFFSET_RHS_UPDATE (args.sizes[7])
#define TRIFOLD_OFFSET_FAILURE (args.sizes[17])
#define TRIFOLD_OFFSET_FLOORS (args.sizes[18])
#define TRIFOLD_OFFSET_POISON (args.sizes[19])
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT (args.sizes[20])
#define TRIFOLD_OFFSET_REDUCTION (args.sizes[21])
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC (args.sizes[22])
#define TRIFOLD_OFFSET_TICKET (args.sizes[28])
#define TRIFOLD_OFFSET_FLAG (args.sizes[29])
#define TRIFOLD_OFFSET_UPDATE_WORDS (args.sizes[32])
#define TRIFOLD_OFFSET_SOLUTION_WORDS (args.sizes[34])
#define TRIFOLD_OFFSET_FORWARD_WORDS (args.sizes[33])
#define TRIFOLD_OFFSET_MESSAGE (args.sizes[30])
#define TRIFOLD_KERNEL_FACTOR btd_factor_n8_f32_sm90_6fc46638
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n8_f32_sm90_6fc46638
#define TRIFOLD_KERNEL_FORWARD btd_forward_n8_f32_sm90_6fc46638
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n8_f32_sm90_6fc46638
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n8_f32_sm90_6fc46638
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n8_f32_sm90_6fc46638
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
#define TRIFOLD_MESSAGE_FRONTS (args.sizes[31])
#define TRIFOLD_SHARED_FACTOR 2368
#define TRIFOLD_FACTOR_BLOCKS 6
#define TRIFOLD_FACTOR_FORWARD_BLOCKS 6
#define TRIFOLD_SWEEP_COLUMNS 1
#define TRIFOLD_SWEEP_REREADS 0
#define TRIFOLD_LONG_INVERSE 8
#define TRIFOLD_SHORT_INVERSE 8
#define TRIFOLD_WAITING_FRONTS 1024
#define TRIFOLD_SHARED_SWEEP 496
#define TRIFOLD_SWEEP_BLOCKS 16
#define TRIFOLD_WIDE_LEVELS 0
#define TRIFOLD_WIDE_RECIPROCAL (args.sizes[35])
#define TRIFOLD_ABOVE_RECIPROCAL (args.sizes[36])

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
/* ---- gpu/tridiagonal/dataflow/constants.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/flags.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/shared.h ---- */
/* ---- gpu/tridiagonal/dataflow/front.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/message.cuh ---- */
/* ---- gpu/tridiagonal/dataflow/load.cuh ---- */
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
kernel btd_factor_n8_f32_sm90_6fc46638: 64 threads, 2368 bytes of shared memory
kernel btd_factor_forward_n8_f32_sm90_6fc46638: 64 threads, 2368 bytes of shared memory
kernel btd_forward_n8_f32_sm90_6fc46638: 32 threads, 496 bytes of shared memory
kernel btd_backward_n8_f32_sm90_6fc46638: 32 threads, 496 bytes of shared memory
kernel btd_finish_factor_n8_f32_sm90_6fc46638: 64 threads, 2048 bytes of shared memory
kernel btd_finish_forward_n8_f32_sm90_6fc46638: 64 threads, 2048 bytes of shared memory
