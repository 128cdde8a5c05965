/* The factors: see admm_solver.h. */
#include "admm_solver.h"

/* What stands before the constants; it may be set on the compiler's command line, to an attribute that puts them into fast memory. */
#ifndef ADMM_TABLES
#define ADMM_TABLES
#endif

ADMM_TABLES const admm_real admm_factor_diagonal[ADMM_SHIFTS][ADMM_HORIZON * ADMM_BLOCK * ADMM_BLOCK] = {
{
    0.4938648f, 0.0f, 0.4938648f, 0.59171623f, 0.45476776f, 0.0f, 0.49360362f, 0.5340476f
},
{
    0.4472136f, 0.0f, 0.4472136f, 0.51298916f, 0.4156047f, 0.0f, 0.43747863f, 0.4690416f
}};

ADMM_TABLES const admm_real admm_factor_coupling[ADMM_SHIFTS][ADMM_COUPLINGS * ADMM_BLOCK * ADMM_BLOCK] = {
{
    0.4938648f, -0.14432102f, 0.0f, 0.59171623f
},
{
    0.4472136f, -0.10259783f, 0.0f, 0.51298916f
}};
