/* See admm_solver.h. Plain C99, and C++ as well: no recursion, no heap, no library. */
#include "admm_solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math and -ffinite-math-only: the tests of the pivots and of X rely on NaN and infinity"
#endif

/* What stands before the functions; it may be set on the compiler's command line, to an attribute that puts them into fast memory. */
#ifndef ADMM_CODE
#define ADMM_CODE
#endif

#define ADMM_LARGEST FLT_MAX

/* Indices are ints. */
typedef char admm_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];

/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers can
 * be included in one translation unit. */
#define real admm_solver_real
#define n admm_solver_n
#define N admm_solver_N
#define m admm_solver_m
#define BLOCK admm_solver_BLOCK
#define partner admm_solver_partner
#define VECTOR admm_solver_VECTOR
#define SIZE admm_solver_SIZE
#define outcome admm_solver_outcome
#define is_finite admm_solver_is_finite
#define check_finite admm_solver_check_finite
#define poison_solution admm_solver_poison_solution
#define start_row admm_solver_start_row
#define end_row admm_solver_end_row
#define pair admm_solver_pair
#define subtract_rows admm_solver_subtract_rows
#define subtract_columns admm_solver_subtract_columns
#define forward_block admm_solver_forward_block
#define backward_block admm_solver_backward_block
#define solve_blocks admm_solver_solve_blocks

/* Operations on one block. A block is row-major, n by n. Two rows and two columns at a time: four sums in registers take four
 * products from four numbers. An odd last row or column is its own partner, and computed twice with the same outcome. */

typedef admm_real real;

enum { n = ADMM_BLOCK, N = ADMM_HORIZON, m = ADMM_RHS, BLOCK = n * n };

/* The row or column after k, or k itself where there is none. */
static inline int partner(int k) { return k + 1 < n ? k + 1 : k; }

/* ---- what a call returns ---- */

enum { VECTOR = ADMM_BLOCK * ADMM_RHS, SIZE = ADMM_HORIZON * VECTOR };

static admm_status outcome(admm_code code, int block, int row) {
    admm_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(admm_real x) { return x >= -ADMM_LARGEST && x <= ADMM_LARGEST; }

/* Names the first element of x that is NaN or infinite. */
ADMM_CODE static admm_status check_finite(const admm_real* x) {
    int sound = 1;
    int i = 0;
    for (i = 0; i < SIZE; ++i) {
        sound &= is_finite(x[i]);
    }
    if (sound) {
        return outcome(ADMM_OK, -1, -1);
    }
    i = 0;
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(ADMM_OUT_OF_RANGE, block, (i - block * VECTOR) / ADMM_RHS);
}

/* What becomes of X where there is no factor. */
ADMM_CODE static void poison_solution(admm_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (admm_real)NAN;
    }
}

/* ---- where a row of the backward sweep starts, x = L^-T y, and how it ends ---- */

static inline real start_row(real y) { return y; }
static inline real end_row(real y, real sum, real reciprocal) {
    (void)y;
    return sum * reciprocal;
}

/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */

typedef struct {
    real s0, s1;
} pair;

/* s - a x for rows r and r1 of a, over the first `count` columns. */
static inline pair subtract_rows(pair s, const real* a, int r, int r1, const real* x, int count) {
    for (int k = 0; k < count; ++k) {
        s.s0 -= a[r * n + k] * x[k * m];
        s.s1 -= a[r1 * n + k] * x[k * m];
    }
    return s;
}

/* s - a' x for columns r and r1 of a, over its last `count` rows. */
static inline pair subtract_columns(pair s, const real* a, int r, int r1, const real* x, int count) {
    const int first = n - count;
    for (int k = 0; k < count; ++k) {
        s.s0 -= a[(first + k) * n + r] * x[(first + k) * m];
        s.s1 -= a[(first + k) * n + r1] * x[(first + k) * m];
    }
    return s;
}

/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
ADMM_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; r += 2) {
            const int r1 = partner(r);
            pair s = {b[r * m + c], b[r1 * m + c]};
            s = subtract_rows(s, a, r, r1, y_before + c, width);
            s = subtract_rows(s, l, r, r1, y + c, r);
            s.s0 *= l[r * n + r];
            y[r * m + c] = s.s0;
            if (r1 > r) {
                y[r1 * m + c] = (s.s1 - s.s0 * l[r1 * n + r]) * l[r1 * n + r1];
            }
        }
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
ADMM_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        for (int r = (n - 1) / 2 * 2; r >= 0; r -= 2) {
            const int r1 = partner(r);
            pair s = {start_row(x[r * m + c]), start_row(x[r1 * m + c])};
            s = subtract_columns(s, a, r, r1, x_next + c, height);
            s = subtract_columns(s, l, r, r1, x + c, n - r1 - 1);
            if (r1 > r) {
                s.s1 = end_row(x[r1 * m + c], s.s1, l[r1 * n + r1]);
                x[r1 * m + c] = s.s1;
                s.s0 -= l[r1 * n + r] * s.s1;
            }
            x[r * m + c] = end_row(x[r * m + c], s.s0, l[r * n + r]);
        }
    }
}

/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. */
ADMM_CODE static admm_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    forward_block(l, l, x, 0, b, x);
    for (int i = 1; i < N; ++i) {
        forward_block(l + i * BLOCK, r + (i - 1) * BLOCK, x + (i - 1) * VECTOR, n, b + i * VECTOR, x + i * VECTOR);
    }
    backward_block(l + (N - 1) * BLOCK, l, x, 0, x + (N - 1) * VECTOR);
    for (int i = N - 2; i >= 0; --i) {
        backward_block(l + i * BLOCK, r + i * BLOCK, x + (i + 1) * VECTOR, n, x + i * VECTOR);
    }
    return check_finite(x);
}

/* ---- the interface ---- */

ADMM_CODE admm_status admm_solve(int shift, const admm_real* b, admm_real* x) {
    if (shift < 0 || shift >= ADMM_SHIFTS) {
        poison_solution(x);
        return outcome(ADMM_NO_SUCH_SHIFT, -1, -1);
    }
    return solve_blocks(admm_factor_diagonal[shift], admm_factor_coupling[shift], b, x);
}

#undef real
#undef n
#undef N
#undef m
#undef BLOCK
#undef partner
#undef VECTOR
#undef SIZE
#undef outcome
#undef is_finite
#undef check_finite
#undef poison_solution
#undef start_row
#undef end_row
#undef pair
#undef subtract_rows
#undef subtract_columns
#undef forward_block
#undef backward_block
#undef solve_blocks
