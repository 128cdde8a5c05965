/* Constants of variant team. */
#include "gpu/platform.cuh"

constexpr int team = TRIFOLD_TEAM;                    /* lanes of a team, which has a chain */
constexpr int riders = TRIFOLD_RIDERS;                /* right-hand sides treated at once */
constexpr int panels = TRIFOLD_PANELS;                /* panels of a front: L, R and, in schedules with fill, G */
[[maybe_unused]] constexpr int depth = TRIFOLD_DEPTH; /* fronts in flight */
/* Chains of a member that a thread block has, a team for each. */
[[maybe_unused]] constexpr int chains_per_group = TRIFOLD_CHAINS_PER_GROUP;

/* Bytes of shared memory that all teams of a thread block have together. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};
/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, factor_forward = TRIFOLD_FACTOR_FORWARD_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};
