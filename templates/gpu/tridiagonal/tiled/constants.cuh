/* What variant tiled is told. */
#include "gpu/platform.cuh"

constexpr int row_vectors = TRIFOLD_ROW_VECTORS;           /* vectors of 16 bytes that a thread has of a tile's rows */
constexpr int factor_shared_bytes = TRIFOLD_SHARED_FACTOR; /* of shared memory: FrontShared */
