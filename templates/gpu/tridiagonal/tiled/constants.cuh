/* Constants of variant tiled. */
#include "gpu/platform.cuh"

constexpr int row_vectors = TRIFOLD_ROW_VECTORS;           /* vectors of 16 bytes that a thread has of a tile's rows */
constexpr int factor_shared_bytes = TRIFOLD_SHARED_FACTOR; /* bytes of FrontShared */
