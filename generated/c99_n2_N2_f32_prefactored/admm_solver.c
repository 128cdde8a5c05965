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
#define ADMM_EPSILON FLT_EPSILON

/* Indices are ints. */
typedef char admm_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];

/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers can
 * be included in one translation unit. */
#define real admm_solver_real
#define n admm_solver_n
#define N admm_solver_N
#define m admm_solver_m
#define BLOCK admm_solver_BLOCK
#define VECTOR admm_solver_VECTOR
#define SIZE admm_solver_SIZE
#define outcome admm_solver_outcome
#define is_finite admm_solver_is_finite
#define judge admm_solver_judge
#define poison_solution admm_solver_poison_solution
#define forward_rows_2 admm_solver_forward_rows_2
#define backward_rows_2 admm_solver_backward_rows_2
#define forward_block admm_solver_forward_block
#define backward_block admm_solver_backward_block
#define check_finite admm_solver_check_finite
#define solve_blocks admm_solver_solve_blocks

/* Operations on one block. A block is row-major, n by n. */

typedef admm_real real;

enum { n = ADMM_BLOCK, N = ADMM_HORIZON, m = ADMM_RHS, BLOCK = n * n };

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

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static admm_status judge(admm_real zero, const admm_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(ADMM_OK, -1, -1);
    }
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

/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */

/* 2 row(s) of y = L^-1 (b - a y_before) from row r on; 2 sums take one load of the vector. */
static inline void forward_rows_2(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    real s0 = b[0], s1 = b[m];
    if (width > 0) {
        const real x0 = y_before[0];
        s0 -= a[0] * x0;
        s1 -= a[n] * x0;
        const real x1 = y_before[m];
        s0 -= a[1] * x1;
        s1 -= a[n + 1] * x1;
    }
    s0 *= l[0];
    s1 -= l[n] * s0;
    s1 *= l[n + 1];
    y[0] = s0;
    y[m] = s1;
}

/* 2 row(s) of x = L^-T (x - a' x_next) from row r on, with products of L's rows from the last one up. */
static inline void backward_rows_2(const real* l, const real* a, const real* x_next, int height, real* x) {
    real s0 = x[0], s1 = x[m];
    if (height > 0) {
        const real x0 = x_next[0];
        s0 -= a[0] * x0;
        s1 -= a[1] * x0;
        const real x1 = x_next[m];
        s0 -= a[n] * x1;
        s1 -= a[n + 1] * x1;
    }
    s1 *= l[n + 1];
    s0 -= l[n] * s1;
    s0 *= l[0];
    x[0] = s0;
    x[m] = s1;
}

/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
ADMM_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        forward_rows_2(l, a, y_before + c, width, b + c, y + c);
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
ADMM_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        backward_rows_2(l, a, x_next + c, height, x + c);
    }
}

ADMM_CODE static admm_status check_finite(const admm_real* x) {
    admm_real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
    int i = 0;
    for (i = 0; i < SIZE / 4 * 4; i += 4) {
        zero0 -= x[i] * 0;
        zero1 -= x[i + 1] * 0;
        zero2 -= x[i + 2] * 0;
        zero3 -= x[i + 3] * 0;
    }
    for (i = SIZE / 4 * 4; i < SIZE; ++i) {
        zero0 -= x[i] * 0;
    }
    return judge((zero0 + zero1) + (zero2 + zero3), x);
}

/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. */
ADMM_CODE static admm_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    const real* coupling = r;
    const real* solved = x;
    int width = 0;
    for (int i = 0; i < N; ++i) {
        forward_block(l + i * BLOCK, coupling, solved, width, b + i * VECTOR, x + i * VECTOR);
        coupling = r + i * BLOCK;
        solved = x + i * VECTOR;
        width = n;
    }
    width = 0;
    for (int i = N - 1; i >= 0; --i) {
        backward_block(l + i * BLOCK, r + i * BLOCK, solved, width, x + i * VECTOR);
        solved = x + i * VECTOR;
        width = n;
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
#undef VECTOR
#undef SIZE
#undef outcome
#undef is_finite
#undef judge
#undef poison_solution
#undef forward_rows_2
#undef backward_rows_2
#undef forward_block
#undef backward_block
#undef check_finite
#undef solve_blocks
