/* Constants of the kernels of grids. Shapes are no constants: one unit serves every size of image. */
#include "grid_args.h"
#include "cpu/constants.c"

#define TILE_STRIPS TRIFOLD_STRIPS   /* vectors of a register tile */
#define TILE_COLUMNS TRIFOLD_COLUMNS /* its columns, which divide VECTOR_LANES */
#define SYMMETRIC TRIFOLD_SYMMETRIC  /* 1: the matrix is positive definite, and only one half of it is read */
#define PIVOTING TRIFOLD_PIVOTING    /* 1: rows of an eliminated block are exchanged */
#define SLICE TRIFOLD_SLICE          /* columns that a product takes at a time, so that its multipliers stay in the nearest cache */
#define BAND TRIFOLD_BAND            /* columns that are eliminated before the rest of a pivot block is updated */

#if REAL_BYTES == 4
typedef unsigned real_bits; /* an integer of a real's size */
#else
typedef unsigned long long real_bits;
#endif

_Static_assert(sizeof(trifold_grid_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_grid_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                   sizeof(trifold_grid_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_grid_status) == TRIFOLD_SIZEOF_STATUS,
               "host and kernels agree on what is passed");
