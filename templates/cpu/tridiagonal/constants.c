/* Constants of all CPU kernels of the family. A variant's own constants are in its folder. Only files of constants read the generator's
 * macros, apart from names of kernels. The constants are macros too, because the preprocessor decides by some of them. Sizes of the
 * problem and places in the workspace may be read from the call's arguments, so that functions which use them have `args`. */
#include "tridiagonal_args.h"
#include "cpu/constants.c"

/* A size that is a literal of the text or comes with the arguments. */
#define OPEN(SIZE) ((void)args, (SIZE))

#define BLOCK TRIFOLD_BLOCK                 /* rows of a block, n */
#define HORIZON OPEN(TRIFOLD_HORIZON)       /* blocks of a system, N */
#define MEMBERS OPEN(TRIFOLD_BATCH)         /* systems that there is room for */
#define MOST_COLUMNS TRIFOLD_RHS            /* right-hand sides of a call of a kernel, at most */
#define PANEL_COLUMNS TRIFOLD_PANEL_COLUMNS /* right-hand sides of a task of a sweep, at most */
#define QUADRATICS OPEN(TRIFOLD_QUADRATICS) /* numbers b' A^-1 b of each system that there is room for */
#define LEADING TRIFOLD_LEADING             /* rows of a stored block: those of a block, rounded up to whole vectors */
#define GROUP_MEMBERS TRIFOLD_INTERLEAVE    /* members whose elements are interleaved; 1: each member is stored on its own */
#define SCRATCH_BYTES TRIFOLD_SCRATCH_BYTES /* bytes of scratch of each thread */

/* Strides of the caller's arrays. Element (r, c) of block i of member b is at b * D_MEMBER + i * D_STAGE + r * D_ROW + c * D_COLUMN of D. E
 * has the like. */
#define D_ROW TRIFOLD_D_ROW
#define D_COLUMN TRIFOLD_D_COLUMN
#define D_STAGE TRIFOLD_D_STAGE
#define D_MEMBER OPEN(TRIFOLD_D_MEMBER)
#define E_ROW TRIFOLD_E_ROW
#define E_COLUMN TRIFOLD_E_COLUMN
#define E_STAGE TRIFOLD_E_STAGE
#define E_MEMBER OPEN(TRIFOLD_E_MEMBER)
#define E_NEXT TRIFOLD_E_BAND /* from one of a band's blocks of the same stage to the next */

/* Separators: the blocks that level 0 leaves, SEPARATOR_BASE + k * SEPARATOR_SCALE for k below SEPARATORS. Chains write their updates to a
 * separator's slots. */
#define SEPARATORS OPEN(TRIFOLD_SEPARATORS)
#define SEPARATOR_BASE OPEN(TRIFOLD_SEPARATOR_BASE)
#define SEPARATOR_SCALE OPEN(TRIFOLD_SEPARATOR_SCALE)
#define COUPLINGS OPEN(TRIFOLD_COUPLINGS) /* couplings of a member, at all levels above 0 */

/* Whether pivots have both signs. A = L S L' then, where the diagonal of L has the signs S too, and so have the reciprocals of its entries.
 */
#define HAS_SIGNS TRIFOLD_SIGNS

/* Whether A is a general matrix, A = L U; and whether pivots have signs to count, and the growth of the factor is watched. */
#define IS_GENERAL TRIFOLD_GENERAL
#define HAS_INERTIA (HAS_SIGNS || IS_GENERAL)

/* Whether the last block is coupled to the first one. Block 0 then stays to the last level, and is also position `size` of each level. */
#define IS_RING TRIFOLD_RING

/* Whether members have lengths of their own; and whether kernels leave out what is beyond them, since each member has chains of its own. */
#define HAS_LENGTHS TRIFOLD_LENGTHS
#define CLIPS (HAS_LENGTHS && GROUP_MEMBERS == 1)

/* Whether blocks have numbers of rows of their own. The caller's blocks that a block is made of, those below the diagonal of a band; rows
 * of the last block that the caller's arrays have; and whether a block may have rows that are not theirs. */
#define HAS_SIZES TRIFOLD_SIZES
#define BANDWIDTH TRIFOLD_BAND
#define TAIL_ROWS TRIFOLD_TAIL
#define HAS_VIEWS (HAS_SIZES || BANDWIDTH > 1)

/* Verdicts of a member: one for each block; or one for each chain of level 0, and one for the separators. */
#define CHAIN_RECORDS TRIFOLD_CHAIN_RECORDS
#define FIRST_CHAINS \
    (SEPARATORS + (SEPARATORS * SEPARATOR_SCALE < HORIZON)) /* those of level 0: each but the first begins behind a separator */
#define RECORDS (CHAIN_RECORDS ? FIRST_CHAINS + (SEPARATORS > 0) : HORIZON)

/* Elements that the workspace holds for each block. */
#define STORAGE_FACTOR TRIFOLD_STORAGE_FACTOR     /* L, and reciprocals of its diagonal */
#define STORAGE_PANEL TRIFOLD_STORAGE_PANEL       /* R or G */
#define STORAGE_UPDATE TRIFOLD_STORAGE_UPDATE     /* update of a separator by chains */
#define STORAGE_COUPLING TRIFOLD_STORAGE_COUPLING /* A(higher position, lower position) */
#define STORAGE_VECTOR TRIFOLD_STORAGE_VECTOR     /* all right-hand sides of a block */

/* Places in the workspace, in bytes from its start. */
#define OFFSET_FACTOR OPEN(TRIFOLD_OFFSET_FACTOR)
#define OFFSET_NEXT OPEN(TRIFOLD_OFFSET_NEXT)                         /* R */
#define OFFSET_BEHIND OPEN(TRIFOLD_OFFSET_BEHIND)                     /* G */
#define OFFSET_UPDATE OPEN(TRIFOLD_OFFSET_UPDATE)                     /* slots of separators */
#define OFFSET_RHS_UPDATE OPEN(TRIFOLD_OFFSET_RHS_UPDATE)             /* slots of separators */
#define OFFSET_COUPLING OPEN(TRIFOLD_OFFSET_COUPLING)                 /* above level 0 */
#define OFFSET_INVERSE_COUPLING OPEN(TRIFOLD_OFFSET_INVERSE_COUPLING) /* the inverse's, above level 0 */
#define OFFSET_FAILURE OPEN(TRIFOLD_OFFSET_FAILURE)                   /* verdict on each block */
#define OFFSET_FLOORS OPEN(TRIFOLD_OFFSET_FLOORS)                     /* pivots of each block that were raised to the floor */
#define OFFSET_REDUCTION OPEN(TRIFOLD_OFFSET_REDUCTION)               /* largest diagonal entry over its pivot, of each block */
#define OFFSET_POISON OPEN(TRIFOLD_OFFSET_POISON)                     /* whether the chain that wrote a slot had failed */
#define OFFSET_BLOCK_LOG_DETERMINANT OPEN(TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)
#define OFFSET_BLOCK_QUADRATIC OPEN(TRIFOLD_OFFSET_BLOCK_QUADRATIC)
#define OFFSET_STATUS OPEN(TRIFOLD_OFFSET_STATUS) /* results of each member, as are all below */
#define OFFSET_LOG_DETERMINANT OPEN(TRIFOLD_OFFSET_LOG_DETERMINANT)
#define OFFSET_QUADRATIC OPEN(TRIFOLD_OFFSET_QUADRATIC)
#define OFFSET_RANGE OPEN(TRIFOLD_OFFSET_RANGE)

/* Lists of lanes. LOW_LANES(w) takes, from every 2 w lanes of two vectors, the first w of each, and HIGH_LANES(w) the last w. */
#define LOW_LANES(w) TRIFOLD_LOW_##w
#define HIGH_LANES(w) TRIFOLD_HIGH_##w

_Static_assert(sizeof(trifold_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_level) == TRIFOLD_SIZEOF_LEVEL,
               "host and kernel disagree on tridiagonal_args.h");
