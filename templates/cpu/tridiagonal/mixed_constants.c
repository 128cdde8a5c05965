/* Constants of the kernels of mixed precision: those around the kernels that factor and sweep in single precision. */
#include "cpu/tridiagonal/residual_constants.c"

/* Strides of the caller's arrays, which are in double precision: see D_ROW and the others. */
#define CALLER_D_ROW TRIFOLD_CALLER_D_ROW
#define CALLER_D_COLUMN TRIFOLD_CALLER_D_COLUMN
#define CALLER_D_STAGE TRIFOLD_CALLER_D_STAGE
#define CALLER_D_MEMBER OPEN(TRIFOLD_CALLER_D_MEMBER)
#define CALLER_E_ROW TRIFOLD_CALLER_E_ROW
#define CALLER_E_COLUMN TRIFOLD_CALLER_E_COLUMN
#define CALLER_E_STAGE TRIFOLD_CALLER_E_STAGE
#define CALLER_E_MEMBER OPEN(TRIFOLD_CALLER_E_MEMBER)

/* Places of refinement's data in the workspace, in bytes from its start. */
#define OFFSET_WIDE_D OPEN(TRIFOLD_OFFSET_WIDE_D) /* D and E in double precision */
#define OFFSET_WIDE_E OPEN(TRIFOLD_OFFSET_WIDE_E)
#define OFFSET_NARROW_D OPEN(TRIFOLD_OFFSET_NARROW_D) /* D and E in single precision */
#define OFFSET_NARROW_E OPEN(TRIFOLD_OFFSET_NARROW_E)
#define OFFSET_SOLUTION OPEN(TRIFOLD_OFFSET_SOLUTION) /* x, in double precision */
#define OFFSET_RUNNING OPEN(TRIFOLD_OFFSET_RUNNING)   /* state of each member, as are all below */
#define OFFSET_PROGRESS OPEN(TRIFOLD_OFFSET_PROGRESS)
