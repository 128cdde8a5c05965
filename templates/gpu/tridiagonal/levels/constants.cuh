/* Constants of the kernels that treat one level in each launch. */
#include "gpu/platform.cuh"

/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};

constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS;   /* right-hand sides that a sweep treats together */
constexpr bool stage_factor = TRIFOLD_STAGE_FACTOR;      /* sweeps copy the factor to shared memory */
constexpr int parts = TRIFOLD_SWEEP_PARTS;               /* parts of a panel's columns, so that all threads have some */
constexpr int sweep_shared_bytes = TRIFOLD_SHARED_SWEEP; /* bytes of SweepShared */
