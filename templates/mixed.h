/* Mixed precision: when the refinement of a member's solution ends. One text for C and device code. */
#include "args.h"

#ifdef TRIFOLD_DEVICE
#define TRIFOLD_MIXED_FUNCTION TRIFOLD_DEVICE
#else
#define TRIFOLD_MIXED_FUNCTION static inline __attribute__((always_inline, unused))
#endif

/* `value` or `*largest`, whichever is larger; NaN stays. */
TRIFOLD_MIXED_FUNCTION void raise(double* largest, double value) {
    if (!(value <= *largest) && *largest == *largest) *largest = value;
}

/* Backward error of one column, from the largest entries of b - A x, x and b and the largest row sum of A. */
TRIFOLD_MIXED_FUNCTION double backward_error(double residual, double a, double x, double b) {
    return residual == 0 ? 0 : residual / (a * x + b);
}

/* Whether a member goes on after its residual of round `round`, of error `error`, the worst column's. `progress` keeps the error, -1 once it
 * is given up: when the error has not halved since the last round (that of x = 0 is 1), or the rounds are used up. */
TRIFOLD_MIXED_FUNCTION int judge(trifold_refined* result, double* progress, double error, trifold_int round, trifold_int first_column,
                                 int factored) {
    const double before = round == 0 ? 2 : *progress;
    const int converged = factored && error <= TRIFOLD_BACKWARD_ERROR;
    const int goes_on = factored && !converged && round < TRIFOLD_ROUNDS && error <= before / 2;
    const trifold_int corrections = round > 1 ? round - 1 : 0; /* after the first solution */
    *progress = converged || goes_on ? error : -1;
    if (round == 0 && first_column == 0) {
        result->iterations = 0;
        result->converged = 1;
        result->backward_error = 0;
    }
    if (goes_on) return 1;
    if (corrections > result->iterations) result->iterations = corrections;
    if (!converged) result->converged = 0;
    raise(&result->backward_error, error);
    return 0;
}
