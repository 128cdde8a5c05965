/* Variant fused: fronts that shared memory holds whole, a launch for each level. */
#include "gpu/tridiagonal/fused/factor.cuh"
#include "gpu/tridiagonal/levels/entry.cuh"
