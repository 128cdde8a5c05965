/* Constants of variant tile-dataflow. */
#include "gpu/tridiagonal/constants.cuh"

constexpr int level_count = TRIFOLD_LEVELS;               /* levels that there is room for */
constexpr bool has_short_numbers = TRIFOLD_SHORT_NUMBERS; /* numbers of tasks need half the digits */
/* Tasks of a launch, and thread blocks that share them. */
TRIFOLD_DEVICE trifold_int factor_tasks(const trifold_args& args) { return TRIFOLD_TASKS; }
TRIFOLD_DEVICE trifold_int sweep_tasks(const trifold_args& args) { return TRIFOLD_SWEEP_TASKS; }
TRIFOLD_DEVICE trifold_int factor_groups(const trifold_args& args) { return TRIFOLD_TASK_BLOCKS; }
TRIFOLD_DEVICE trifold_int sweep_groups(const trifold_args& args) { return TRIFOLD_SWEEP_TASK_BLOCKS; }
constexpr int chains_together =
    TRIFOLD_GROUP_LINES; /* fronts of a rank that go side by side: they fill the device, and few enough for its cache */

constexpr bool may_leave = TRIFOLD_LEAVES; /* a part of a chain over ranks: others eliminate the blocks of its last level */
/* From this level on, what comes from below a block and what comes from above are sums of their own, as those that ranks send are. */
constexpr int apart_from = TRIFOLD_APART_FROM;
constexpr bool sums_apart = apart_from < level_count;

constexpr int stage_columns = TRIFOLD_STAGE_COLUMNS, stages = TRIFOLD_STAGES; /* columns of a copy, and copies in flight; measured */
constexpr int half_panels = TRIFOLD_HALF_PANELS; /* panels of a block that are kept as pairs of halves too; 0: none */

constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS; /* right-hand sides that a sweep treats together */
constexpr int sweep_threads = TRIFOLD_SWEEP_THREADS;

/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};
/* Bytes of shared memory: TileShared and SweepShared. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};

/* Places in the workspace through which tasks communicate, in bytes from its start. */
struct TaskOffset {
    OFFSET(ticket, TRIFOLD_OFFSET_TICKET) /* counters from which tasks are claimed */
    OFFSET(flag, TRIFOLD_OFFSET_FLAG)     /* counts of finished tiles */
    OFFSET(halves, TRIFOLD_OFFSET_HALVES) /* panels as pairs of halves */
    OFFSET(signs, TRIFOLD_OFFSET_SIGNS)   /* which pivots are negative */
    OFFSET(levels, TRIFOLD_OFFSET_LEVELS) /* TaskLevels, where they are no literals */
};

/* A level, and what the numbers of its tasks follow from. Where others eliminate its blocks, level.next_size is -1. */
struct TaskLevel {
    trifold_level level;
    int longest, panels;               /* fronts of its longest chain; most blocks of a front, apart from the pivot block */
    trifold_int first_single, singles; /* chains of one front, where there are longer ones too */
};
#define HAS_LITERAL_LEVELS TRIFOLD_BAKED
#if HAS_LITERAL_LEVELS
TRIFOLD_CONSTANT TaskLevel literal_levels[level_count] = {TRIFOLD_TASK_LEVELS};
#endif
