/* Constants of variant dataflow. */
#include "gpu/tridiagonal/constants.cuh"
#include "gpu/tridiagonal/bands/constants.cuh"

constexpr int multiprocessors = TRIFOLD_MULTIPROCESSORS; /* multiprocessors of the device */
constexpr bool overlaps = TRIFOLD_OVERLAPS;              /* launches may begin while the one before them is at work */

/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, factor_forward = TRIFOLD_FACTOR_FORWARD_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};
/* Bytes of shared memory: FrontShared and SweepShared. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};

/* ---- factorization ---- */

constexpr int riders = TRIFOLD_RIDERS;                    /* right-hand sides that ride along as rows below D's */
constexpr int stacked_leading = TRIFOLD_STACKED_LEADING;  /* leading dimension of [R; G] in shared memory */
constexpr bool has_room = TRIFOLD_FRONT_ROOM;             /* shared memory has room for the blocks that a front pulls, next to its own */
constexpr bool in_registers = TRIFOLD_STACK_IN_REGISTERS; /* [R; G], by tensor instructions of double precision */
constexpr int wide_levels = TRIFOLD_WIDE_LEVELS; /* the first levels, which have a launch of their own, before that of all others */
/* See divided(): of the numbers of a member's fronts at those levels, and above them. */
TRIFOLD_DEVICE unsigned long long wide_reciprocal(const trifold_args& args) { return TRIFOLD_WIDE_RECIPROCAL; }
TRIFOLD_DEVICE unsigned long long above_reciprocal(const trifold_args& args) { return TRIFOLD_ABOVE_RECIPROCAL; }
constexpr bool has_messages = TRIFOLD_HAS_MESSAGES; /* some fronts send [R; G] as messages: few, so that latency binds them */
TRIFOLD_DEVICE trifold_int message_fronts_of(const trifold_args& args) { return TRIFOLD_MESSAGE_FRONTS; } /* those of a member */
constexpr int message_level = TRIFOLD_MESSAGE_LEVEL; /* fronts from this level on send */

/* ---- sweeps ---- */

constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS; /* right-hand sides that a sweep treats together: a panel */
constexpr int sharers = TRIFOLD_SWEEP_SHARERS;         /* thread blocks that share a front's panels, each with its own */
constexpr bool sweeps_reread = TRIFOLD_SWEEP_REREADS;  /* they read a thread's number again at each use, which frees registers */
/* Columns of the diagonal tiles whose inverses a front makes and uses: of a front that waits for its neighbours, and of others;
 * measured. */
constexpr int long_inverse = TRIFOLD_LONG_INVERSE, short_inverse = TRIFOLD_SHORT_INVERSE;
constexpr trifold_int waiting_fronts = TRIFOLD_WAITING_FRONTS; /* fronts wait at levels of at most as many, of all members; measured */

/* Places in the workspace through which fronts communicate, in bytes from its start. */
struct FlowOffset {
    OFFSET(ticket, TRIFOLD_OFFSET_TICKET)   /* counters from which fronts are claimed */
    OFFSET(flag, TRIFOLD_OFFSET_FLAG)       /* state of each block's front: what it has left */
    OFFSET(message, TRIFOLD_OFFSET_MESSAGE) /* messages with [R; G] */
    OFFSET(squares, TRIFOLD_OFFSET_SIGNS)   /* the squares of the rows of [R; G], where pivots have both signs */
    OFFSET(update_words, TRIFOLD_OFFSET_UPDATE_WORDS)
    OFFSET(forward_words, TRIFOLD_OFFSET_FORWARD_WORDS)
    OFFSET(solution_words, TRIFOLD_OFFSET_SOLUTION_WORDS)
};
