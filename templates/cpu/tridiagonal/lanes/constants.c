/* Constants of variant "lanes". */
#include "cpu/tridiagonal/constants.c"

#define TILE_SIDE TRIFOLD_TILE /* rows and columns of a register tile */
#define IS_FAR TRIFOLD_FAR     /* 1: the batch is far larger than the caches, so that the next front is fetched; measured */
