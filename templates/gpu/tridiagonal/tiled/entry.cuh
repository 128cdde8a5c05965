/* Variant tiled: fronts too large for shared memory, a launch for each level. */
#include "gpu/tridiagonal/tiled/factor.cuh"
#include "gpu/tridiagonal/levels/entry.cuh"
