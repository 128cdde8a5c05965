/* Further constants of the kernels of the selected inverse of large blocks. */
#include "gpu/platform.cuh"

/* Three blocks a front: L^-1, R L^-1 and G L^-1. */
TRIFOLD_DEVICE trifold_int offset_quotients(const trifold_args& args) { return TRIFOLD_OFFSET_QUOTIENTS; }
