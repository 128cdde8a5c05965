/* Constants of variant chains. */
#include "gpu/tridiagonal/bands/warp_constants.cuh"

/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};
constexpr bool has_helper = TRIFOLD_CHAIN_HELPER;      /* one more warp has right-hand sides and reports */
constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS; /* right-hand sides that ride, and that a sweep treats together */
constexpr bool has_copier = TRIFOLD_SWEEP_COPIER;      /* a second warp of a sweep has its copies */
[[maybe_unused]] constexpr int sweep_threads = has_copier ? 2 * warp_lanes : warp_lanes;
constexpr int ring = TRIFOLD_SWEEP_RING; /* blocks of a sweep that are in flight or in shared memory */

/* Bytes of shared memory: ChainShared and SweepShared. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};
