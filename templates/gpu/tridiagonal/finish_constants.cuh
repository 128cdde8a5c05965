/* Constants of the kernels that finish. */
#include "gpu/platform.cuh"

constexpr int finish_threads = TRIFOLD_THREADS_FINISH; /* threads of the block that gathers a member's verdict */
[[maybe_unused]] constexpr int log_parts =
    TRIFOLD_LOG_PARTS; /* terms of a block's log determinant, one for each diagonal tile that has its own task */
