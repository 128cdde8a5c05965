/* Constants of all kernels of block tridiagonal systems. A variant's own constants are in its folder. Only files of constants read the
 * generator's macros, apart from names of kernels and choices of the preprocessor. */
#include "tridiagonal_args.h"
#include "gpu/tridiagonal/dense/constants.cuh"

constexpr trifold_int horizon = TRIFOLD_HORIZON; /* blocks of a system, N */
constexpr trifold_int batch = TRIFOLD_BATCH;     /* systems that there is room for */
constexpr int most_columns = TRIFOLD_RHS;        /* right-hand sides of a call, at most */

/* Members of the batch that one thread block treats, one after another. */
[[maybe_unused]] constexpr trifold_int members_per_group = TRIFOLD_MEMBERS_PER_GROUP;

/* Separators: the blocks that level 0 leaves, separator_base + k * separator_scale for k below `separators`. Chains write their updates to
 * a separator's slots. */
constexpr trifold_int separators = TRIFOLD_SEPARATORS, separator_base = TRIFOLD_SEPARATOR_BASE, separator_scale = TRIFOLD_SEPARATOR_SCALE;
/* Couplings of a member at all levels above 0, which are in the workspace. */
constexpr trifold_int couplings = TRIFOLD_COUPLINGS;

/* Strides of the caller's arrays. Element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column of D. E has the
 * like. */
struct D {
    static constexpr trifold_int row = TRIFOLD_D_ROW, column = TRIFOLD_D_COLUMN, stage = TRIFOLD_D_STAGE, member = TRIFOLD_D_MEMBER;
};
struct E {
    static constexpr trifold_int row = TRIFOLD_E_ROW, column = TRIFOLD_E_COLUMN, stage = TRIFOLD_E_STAGE, member = TRIFOLD_E_MEMBER;
};

/* Whether blocks of the workspace lie tile by tile. */
constexpr bool in_tiles = TRIFOLD_IN_TILES;
/* Elements of a block in the workspace. It lies column-major with leading dimension `padded`, or tile by tile. */
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
/* Elements of a block's right-hand sides in the workspace. */
constexpr trifold_int vector_storage = TRIFOLD_STORAGE_VECTOR;

/* Places in the workspace that all variants use, in bytes from its start. */
struct Offset {
    static constexpr trifold_int factor = TRIFOLD_OFFSET_FACTOR, next = TRIFOLD_OFFSET_NEXT,
                                 behind = TRIFOLD_OFFSET_BEHIND;                                         /* L, R and G */
    static constexpr trifold_int update = TRIFOLD_OFFSET_UPDATE, rhs_update = TRIFOLD_OFFSET_RHS_UPDATE; /* slots of separators */
    static constexpr trifold_int coupling = TRIFOLD_OFFSET_COUPLING;                                     /* above level 0 */
    static constexpr trifold_int poison = TRIFOLD_OFFSET_POISON;       /* whether a chain that updated a separator had failed */
    static constexpr trifold_int failure = TRIFOLD_OFFSET_FAILURE;     /* verdict on each block */
    static constexpr trifold_int floors = TRIFOLD_OFFSET_FLOORS;       /* pivots of each block that were raised to the floor */
    static constexpr trifold_int reduction = TRIFOLD_OFFSET_REDUCTION; /* largest diagonal entry over its pivot, of each block */
    static constexpr trifold_int block_log_determinant = TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT,
                                 block_quadratic = TRIFOLD_OFFSET_BLOCK_QUADRATIC;
    /* Results of a member. */
    static constexpr trifold_int status = TRIFOLD_OFFSET_STATUS, log_determinant = TRIFOLD_OFFSET_LOG_DETERMINANT;
    static constexpr trifold_int quadratic = TRIFOLD_OFFSET_QUADRATIC, range = TRIFOLD_OFFSET_RANGE;
};

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_constants) == 208 &&
                  sizeof(trifold_args) == 184,
              "host and device disagree");
static_assert(TRIFOLD_STORAGE_FACTOR == storage && TRIFOLD_STORAGE_PANEL == storage && TRIFOLD_STORAGE_UPDATE == storage &&
                  TRIFOLD_STORAGE_COUPLING == storage && vector_storage == static_cast<trifold_int>(padded) * most_columns,
              "host and device disagree");
