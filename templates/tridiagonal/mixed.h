/* The error of a solution that is refined, and in mixed precision when that ends. One text for C and device code. */
#include "tridiagonal_args.h"

#ifdef TRIFOLD_DEVICE
#define TRIFOLD_MIXED_FUNCTION TRIFOLD_DEVICE
#else
#define TRIFOLD_MIXED_FUNCTION static inline __attribute__((always_inline, unused))
#endif

/* `value` or `*largest`, whichever is larger; NaN stays. */
TRIFOLD_MIXED_FUNCTION void raise(double* largest, double value) {
    if (!(value <= *largest) && *largest == *largest) *largest = value;
}

/* The backward error of a row is |b - A x| over |A| |x| + |b|, in which the units of rows and columns do not matter (Oettli and Prager,
 * 1964). If the diagonal entry makes the residual a correction below the normal numbers of the factor, it cannot be solved for. Its
 * size relative to the column's largest b counts then. `errors` has three maxima over many rows of a column: of such errors, of such
 * residuals, and of b. */
enum { ROW_ERROR, SMALL_RESIDUAL, LARGEST_B, ERRORS };
TRIFOLD_MIXED_FUNCTION void add_row(double* errors, double residual, double size, double entry, double b) {
    const double least_normal = sizeof(real) == 4 ? 0x1p-126 : 0x1p-1022, smallest = least_normal * (entry > 1 ? entry : 1);
    const double magnitude = residual < 0 ? -residual : residual;
    if (magnitude <= smallest)
        raise(&errors[SMALL_RESIDUAL], magnitude);
    else
        raise(&errors[ROW_ERROR], magnitude / size);
    raise(&errors[LARGEST_B], b < 0 ? -b : b);
}
TRIFOLD_MIXED_FUNCTION double backward_error(const double* errors) {
    double error = errors[ROW_ERROR];
    if (errors[SMALL_RESIDUAL] > 0) raise(&error, errors[SMALL_RESIDUAL] / errors[LARGEST_B]);
    return error;
}

/* Whether a member goes on after its residual of round `round`, of error `error`, that of the worst row. `progress` keeps the error, -1
 * once it is given up: when the error has not halved since the last round (that of x = 0 is 1), or the rounds are used up. */
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

/* What a step of refinement has come to in the columns from `first_column` on. A member that is left out has made none. Errors of all
 * members stand behind their results. */
TRIFOLD_MIXED_FUNCTION void report_step(trifold_refined* all, trifold_int members, trifold_int member, int active, double error,
                                        trifold_int first_column) {
    trifold_refined* result = all + member;
    if (first_column == 0) {
        result->iterations = active ? 1 : -1;
        result->converged = 1;
        result->backward_error = 0;
    }
    if (!(error <= TRIFOLD_BACKWARD_ERROR)) result->converged = 0;
    raise(&result->backward_error, error);
    ((double*)(all + members))[member] = result->backward_error;
}
