/* Constants of variant "tile". */
#include "cpu/tridiagonal/constants.c"

#define TILE_WIDTH TRIFOLD_WIDTH                          /* columns of a register tile */
#define HALF_VECTORS TRIFOLD_HALVES                       /* 1: the processor carries out a vector in two halves */
#define MOST_FEW_STRIPS TRIFOLD_FEW_STRIPS                /* the most strips of a block that is treated strip by strip; 0: none; measured */
#define FETCHED_LINES TRIFOLD_FETCH_LINES                 /* lines of the next front that are fetched at a time; 0: none */
#define FETCH_COLUMNS TRIFOLD_FETCH_COLUMNS               /* columns of products between two fetches */
#define HAS_FILL TRIFOLD_FILL                             /* 1: some chain has a neighbour behind, so that its fronts have a G */
#define MOST_BESIDE TRIFOLD_BESIDE                        /* right-hand sides of a task that are not in slices, at most; measured */
#define FRONTS_HAVE_PRODUCTS TRIFOLD_FRONTS_HAVE_PRODUCTS /* 1: each front has products of its own, not just the last of a chain */

/* Lanes of a vector that ends at a column's last row, then of zeros: the last rows of a column, padded. */
#define LAST_LANES TRIFOLD_SHIFT
