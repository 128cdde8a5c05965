/* Constants of the kernels whose warps keep bands in registers. */
#include "gpu/tridiagonal/bands/constants.cuh"

constexpr int band_threads = TRIFOLD_BAND_THREADS;  /* threads that have a front's bands */
constexpr bool band_rereads = TRIFOLD_BAND_REREADS; /* a thread's number is read again at each use, which frees registers; measured */
