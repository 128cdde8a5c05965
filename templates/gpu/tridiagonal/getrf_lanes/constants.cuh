/* Constants of variant getrf-lanes. */
#include "gpu/platform.cuh"

constexpr int stage_blocks = TRIFOLD_STAGE_BLOCKS; /* blocks of a chain that are copied together */
constexpr int depth = TRIFOLD_DEPTH;               /* such stages in flight */

/* Bytes of a thread block's shared memory. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};
