/* Constants of the kernels for members with lengths of their own. */
#include "gpu/platform.cuh"

constexpr int blank_threads = TRIFOLD_THREADS_BLANK; /* threads of a thread block */
