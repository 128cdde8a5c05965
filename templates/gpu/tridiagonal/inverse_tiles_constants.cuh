/* Further constants of the kernels of the selected inverse of large blocks. */
#include "gpu/platform.cuh"

constexpr trifold_int offset_quotients = TRIFOLD_OFFSET_QUOTIENTS; /* three blocks a front: L^-1, R L^-1 and G L^-1 */
