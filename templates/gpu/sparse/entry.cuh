/* The kernels of a unit. A thread block is (subdomain or part of the rows; member). */
#include "gpu/sparse/iterate.cuh"

#define SPARSE_KERNEL(kind, body) SPARSE_KERNEL_OF(kind, sparse_threads, 1, body)
#define ROW_KERNEL(kind, body) SPARSE_KERNEL_OF(kind, sparse_threads, row_blocks, body) /* it streams, and waits for memory */
#define SPARSE_KERNEL_OF(kind, threads, blocks, body)                                                                        \
    TRIFOLD_KERNEL(threads, blocks)                                                                                          \
    void TRIFOLD_KERNEL_##kind(TRIFOLD_PARAMETER trifold_sparse_args args, TRIFOLD_PARAMETER trifold_sparse_launch launch) { \
        const Context c = {args, launch, launch.step};                                                                       \
        assume_thread();                                                                                                     \
        body;                                                                                                                \
    }
#define ROOM static_cast<double*>(shared_memory()) /* for sums */

ROW_KERNEL(GATHER, gather_rows(c))
SPARSE_KERNEL(COMPARE, c.launch.transposed ? measure_columns(c) : compare_rows(c))
SPARSE_KERNEL_OF(FACTOR, sweep_threads, factor_blocks, c.step == trifold_sparse_plain ? factor_tile(c) : turn_tile(c))
SPARSE_KERNEL(FINISH, add_records(c))
SPARSE_KERNEL_OF(PRECONDITION, sweep_threads, precondition_blocks, precondition_tile<false>(c))
SPARSE_KERNEL_OF(APPLY, sweep_threads, sweep_blocks, precondition_tile<true>(c))
ROW_KERNEL(ORDER, order_factor(c))
ROW_KERNEL(PRODUCT, product_rows(c, ROOM))
SPARSE_KERNEL(RESIDUAL, residual_rows(c, ROOM))
SPARSE_KERNEL(BEGIN, begin_rows(c, ROOM))
SPARSE_KERNEL(UPDATE, update_rows(c, ROOM))
SPARSE_KERNEL(JUDGE, judge_systems(c, ROOM))
SPARSE_KERNEL(DELIVER, deliver_rows(c))
SPARSE_KERNEL(GRADIENT, gradient_rows(c))
#if ONE_LAUNCH
SPARSE_KERNEL_OF(ITERATE, iterate_threads, 1, iterate_systems(c))
#endif
