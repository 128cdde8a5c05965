/* Constants of all kernels of block tridiagonal systems. A variant's own constants are in its folder. Only files of constants read the
 * generator's macros, apart from names of kernels and choices of the preprocessor. */
#include "tridiagonal_args.h"
#include "gpu/tridiagonal/dense/constants.cuh"

constexpr int max_columns = TRIFOLD_RHS; /* right-hand sides of a call, at most */

/* x / by. The generator gives the reciprocal of a size that is no literal, since division takes a hundred instructions. */
TRIFOLD_DEVICE trifold_int divided(trifold_int x, trifold_int by, unsigned long long reciprocal) {
    if (TRIFOLD_BAKED) return x / by;
    return reciprocal == 0 ? x : static_cast<trifold_int>(multiply_high(static_cast<unsigned long long>(x), reciprocal));
}

/* Sizes of the problem. They are literals, or the call's arguments have them. */
TRIFOLD_DEVICE trifold_int horizon_of(const trifold_args& args) { return TRIFOLD_HORIZON; } /* blocks of a system, N */
TRIFOLD_DEVICE trifold_int batch_of(const trifold_args& args) { return TRIFOLD_BATCH; }     /* systems that there is room for */
TRIFOLD_DEVICE trifold_int fronts_of(const trifold_args& args) { return TRIFOLD_FRONTS; }   /* blocks of all systems */
TRIFOLD_DEVICE trifold_int divided_by_horizon(const trifold_args& args, trifold_int x) {
    return divided(x, TRIFOLD_HORIZON, TRIFOLD_HORIZON_RECIPROCAL);
}
/* Numbers b' A^-1 b of each system that there is room for. */
TRIFOLD_DEVICE trifold_int quadratics_of(const trifold_args& args) { return TRIFOLD_QUADRATICS; }

/* Members of the batch that one thread block treats, one after another. */
[[maybe_unused]] constexpr trifold_int members_per_group = TRIFOLD_MEMBERS_PER_GROUP;

/* Separators: the blocks that level 0 leaves, separator_base + k * separator_scale for k below `separators`. Chains write their updates to
 * a separator's slots. Couplings: those of a member at all levels above 0, which are in the workspace. */
[[maybe_unused]] constexpr bool has_separators = TRIFOLD_HAS_SEPARATORS;
TRIFOLD_DEVICE trifold_int separators_of(const trifold_args& args) { return TRIFOLD_SEPARATORS; }
TRIFOLD_DEVICE trifold_int separator_base_of(const trifold_args& args) { return TRIFOLD_SEPARATOR_BASE; }
TRIFOLD_DEVICE trifold_int divided_by_scale(const trifold_args& args, trifold_int x) {
    return divided(x, TRIFOLD_SEPARATOR_SCALE, TRIFOLD_SEPARATOR_SCALE_RECIPROCAL);
}
TRIFOLD_DEVICE trifold_int couplings_of(const trifold_args& args) { return TRIFOLD_COUPLINGS; }
/* Whether the last block is coupled to the first one. Block 0 then stays to the last level, and is also position `size` of each level. */
[[maybe_unused]] constexpr bool is_ring = TRIFOLD_RING;
/* Whether members have lengths of their own. */
[[maybe_unused]] constexpr bool has_lengths = TRIFOLD_LENGTHS;
/* Whether thread blocks take such members by their lengths, the longest first. */
[[maybe_unused]] constexpr bool orders_members = has_lengths && TRIFOLD_ORDERS;

/* Whether D and E are copied to the workspace before a factorization, to the places where it writes its results. */
[[maybe_unused]] constexpr bool loads_ahead = TRIFOLD_LOADS;

/* Strides of the caller's arrays. Element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column of D. E has the
 * like. All blocks begin at multiples of `step` elements. */
struct D {
    static constexpr trifold_int row = TRIFOLD_D_ROW, column = TRIFOLD_D_COLUMN, stage = TRIFOLD_D_STAGE, step = TRIFOLD_D_STEP;
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_D_MEMBER; }
};
struct E {
    static constexpr trifold_int row = TRIFOLD_E_ROW, column = TRIFOLD_E_COLUMN, stage = TRIFOLD_E_STAGE, step = TRIFOLD_E_STEP;
    static constexpr trifold_int next = TRIFOLD_E_BAND; /* from one of a band's blocks of the same stage to the next */
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_E_MEMBER; }
};

/* Whether blocks of the workspace lie tile by tile. */
constexpr bool in_tiles = TRIFOLD_IN_TILES;
/* Elements of a block in the workspace. It lies column-major with leading dimension `padded`, or tile by tile. */
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
/* Elements of a separator's slot: a block's, and behind them the sums of squares of its rows, where pivots have both signs. */
constexpr trifold_int update_storage = storage + (has_inertia ? padded : 0);
/* Elements of a block's right-hand sides in the workspace. */
constexpr trifold_int vector_storage = TRIFOLD_STORAGE_VECTOR;

/* Places in the workspace, in bytes from its start. Those that all variants use: */
#define OFFSET(NAME, PLACE) \
    static TRIFOLD_METHOD trifold_int NAME(const trifold_args& args) { return PLACE; }
struct Offset {
    OFFSET(factor, TRIFOLD_OFFSET_FACTOR) /* L */
    OFFSET(next, TRIFOLD_OFFSET_NEXT)     /* R */
    OFFSET(behind, TRIFOLD_OFFSET_BEHIND) /* G */
    OFFSET(update, TRIFOLD_OFFSET_UPDATE) /* slots of separators */
    OFFSET(rhs_update, TRIFOLD_OFFSET_RHS_UPDATE)
    OFFSET(coupling, TRIFOLD_OFFSET_COUPLING)   /* above level 0 */
    OFFSET(poison, TRIFOLD_OFFSET_POISON)       /* whether a chain that updated a separator had failed */
    OFFSET(failure, TRIFOLD_OFFSET_FAILURE)     /* verdict on each block */
    OFFSET(floors, TRIFOLD_OFFSET_FLOORS)       /* pivots of each block that were raised to the floor; then its negative pivots */
    OFFSET(reduction, TRIFOLD_OFFSET_REDUCTION) /* largest diagonal entry over its pivot, of each block: the first of `records` */
    OFFSET(block_log_determinant, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)
    OFFSET(block_quadratic, TRIFOLD_OFFSET_BLOCK_QUADRATIC)
    OFFSET(status, TRIFOLD_OFFSET_STATUS) /* results of a member, as are all below */
    OFFSET(log_determinant, TRIFOLD_OFFSET_LOG_DETERMINANT)
    OFFSET(quadratic, TRIFOLD_OFFSET_QUADRATIC)
    OFFSET(range, TRIFOLD_OFFSET_RANGE)
};

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_constants) == 208 &&
                  sizeof(trifold_args) == TRIFOLD_SIZEOF_ARGS,
              "host and device disagree");
/* Elements of a factor, of a panel and of a coupling. Those of a general matrix are pairs, and its factor has an order of rows too. Behind
 * a factor that overwrites D stands the diagonal of D. */
constexpr trifold_int factor_storage = storage + (is_general || loads_ahead ? padded : 0),
                      panel_storage = is_general ? 2 * storage : storage;
static_assert(TRIFOLD_STORAGE_FACTOR == factor_storage && TRIFOLD_STORAGE_PANEL == panel_storage &&
                  TRIFOLD_STORAGE_UPDATE == update_storage && TRIFOLD_STORAGE_COUPLING == panel_storage &&
                  vector_storage == static_cast<trifold_int>(padded) * max_columns,
              "host and device disagree");
