/* Constants of bands: 16 rows of a block, which warps multiply by tiles of 8 columns. */
#include "gpu/tridiagonal/dense/constants.cuh"

constexpr int lower_leading = TRIFOLD_LOWER_LEADING; /* leading dimension of D in shared memory, with the rows that ride along */

constexpr int tiles = padded / 8, bands = (padded + 15) / 16;
constexpr int row_sets = (padded + warp_lanes - 1) / warp_lanes; /* rows of D a lane has */
