/* Constants of the kernels that refine: places of vectors in the workspace, in bytes from its start. */
#include "cpu/tridiagonal/constants.c"

#define OFFSET_NARROW_X OPEN(TRIFOLD_OFFSET_NARROW_X) /* the residual, then its solution, in the precision of the kernels that sweep */
#define OFFSET_ERRORS OPEN(TRIFOLD_OFFSET_ERRORS)     /* error of each block and column */
#define OFFSET_REFINED OPEN(TRIFOLD_OFFSET_REFINED)   /* outcome of each member */
