/* Residuals b - A x with their sizes |A| |x| + |b|, in double precision, and what solutions are judged by. Tasks are blocks of members, or
 * members. */
#include "cpu/tridiagonal/residual_constants.c"
#include "cpu/tridiagonal/common.c"
#include "tridiagonal/mixed.h"

typedef double doubles __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long words __attribute__((vector_size(32)));
enum { WIDE = 4 };

INLINE double* doubles_at(const trifold_args* args, integer offset, integer index) { return (double*)workspace_at(args, offset) + index; }
/* Matrices, vectors and errors are counted by blocks, verdicts of some variants by chains. */
INLINE integer block_index(const trifold_args* args, integer member, integer block) { return member * HORIZON + block; }

INLINE double magnitude(double x) { return __builtin_fabs(x); }

/* The number in the precision of the kernels that sweep; in single precision infinity beyond its range. Only numbers that fit are
 * converted, so that no conversion overflows. */
INLINE real narrowed(double x) {
    if (REAL_BYTES == 8) return (real)x;
    const double largest = 3.40282346638528859811704183484516925e+38, within = magnitude(x) <= largest ? x : 0;
    return within == x ? (real)within : x > 0 ? __builtin_inff() : x < 0 ? -__builtin_inff() : __builtin_nanf("");
}

/* A column of b - A x, and of |b| + |A| |x|. */
typedef struct {
    double y[n], size[n];
} residual;

/* Subtracts x times the first `count` elements of a row from as many rows. */
INLINE void subtract_row(residual* to, const double* a, double x, integer count) {
    for (integer c = 0; c < count; ++c) {
        const double term = a[c] * x;
        to->y[c] -= term;
        to->size[c] += magnitude(term);
    }
}

INLINE void subtract_dot(residual* to, integer r, const double* a, const double* x, integer count) {
    doubles sums = {}, sizes = {};
    double sum = 0, size = 0;
    integer c = 0;
    for (; c + WIDE <= count; c += WIDE) {
        const doubles term = *(const doubles*)(a + c) * *(const doubles*)(x + c);
        sums += term;
        sizes += (doubles)((words)term & 0x7fffffffffffffffLL); /* without the sign */
    }
    for (; c < count; ++c) {
        const double term = a[c] * x[c];
        sum += term;
        size += magnitude(term);
    }
    to->y[r] -= sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    to->size[r] += size + ((sizes[0] + sizes[1]) + (sizes[2] + sizes[3]));
}

/* Errors of a block in one column: maxima over its rows, as add_row() makes them; and the backward error of a member, of its worst row. */
INLINE double* errors_of(const trifold_args* args, integer member, integer block, integer column) {
    return doubles_at(args, OFFSET_ERRORS, (block_index(args, member, block) * MOST_COLUMNS + column) * ERRORS);
}
KERNEL_PART double worst_error(const trifold_args* args, integer member) {
    double worst = 0;
    for (integer column = 0; column < columns_of(args); ++column) {
        double largest[ERRORS] = {0};
        for (integer block = 0; block < HORIZON; ++block)
            for (int k = 0; k < ERRORS; ++k) raise(&largest[k], errors_of(args, member, block, column)[k]);
        raise(&worst, backward_error(largest));
    }
    return worst;
}

#define BLOCK_KERNEL(NAME, CALL)                                                                                               \
    KERNEL NAME(const trifold_args* args, const trifold_refinement* refinement, trifold_int first_task, trifold_int last_task, \
                void* scratch) {                                                                                               \
        for (integer task = first_task; task < last_task; ++task) {                                                            \
            const integer member = task / HORIZON, block = task % HORIZON;                                                     \
            CALL;                                                                                                              \
        }                                                                                                                      \
        (void)refinement, (void)scratch;                                                                                       \
    }
