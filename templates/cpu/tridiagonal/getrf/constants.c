/* Constants of the variant "getrf". */
#include "cpu/tridiagonal/constants.c"

#define IN_LANES (GROUP_MEMBERS > 1) /* whether each lane of a vector has a member of its own; otherwise lanes have columns of one */
#define ACROSS TRIFOLD_ACROSS        /* vectors of a row that a register tile has */
