/* Constants of the variants "lanes" and "intervals". */
#include "cpu/tridiagonal/constants.c"

#define TILE_SIDE TRIFOLD_TILE     /* rows and columns of a register tile */
#define MOST_BESIDE TRIFOLD_BESIDE /* right-hand sides of a task that are not in slices, at most; measured */
#define IS_FAR TRIFOLD_FAR         /* 1: the batch is far larger than the caches, so that the next front is fetched; measured */

/* Parts of a front are in line, so that numbers go from one to the next in registers, or functions. */
#if TRIFOLD_IN_LINE
#define FRONT_PART INLINE
#else
#define FRONT_PART NOINLINE
#endif
