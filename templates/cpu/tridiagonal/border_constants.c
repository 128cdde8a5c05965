/* Constants of the kernels of a border. */
#include "tridiagonal_args.h"
#include "cpu/constants.c"

#define BLOCK TRIFOLD_BLOCK    /* rows of a block of the chain, n */
#define BANDWIDTH TRIFOLD_BAND /* those of the caller's that are one of the blocks that are solved */
#define BORDER TRIFOLD_BORDER  /* rows of F and C, a */
#define MOST_RHS TRIFOLD_RHS   /* right-hand sides of a call, at most */
