/* See kalman_solver.h. Plain C99, and C++ as well: no recursion, no heap, no library but the square root. */
#include "kalman_solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math and -ffinite-math-only: the tests of the pivots and of X rely on NaN and infinity"
#endif

/* What stands before the functions; it may be set on the compiler's command line, to an attribute that puts them into fast memory. */
#ifndef KALMAN_CODE
#define KALMAN_CODE
#endif

#define KALMAN_LARGEST DBL_MAX
#define KALMAN_EPSILON DBL_EPSILON

/* May be set likewise: another square root, which must round correctly for the same bits everywhere. */
#ifndef KALMAN_SQRT
#define KALMAN_SQRT(x) sqrt(x)
#endif

/* Indices are ints. */
typedef char kalman_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];

/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers can
 * be included in one translation unit. */
#define real kalman_solver_real
#define n kalman_solver_n
#define N kalman_solver_N
#define m kalman_solver_m
#define BLOCK kalman_solver_BLOCK
#define VECTOR kalman_solver_VECTOR
#define SIZE kalman_solver_SIZE
#define outcome kalman_solver_outcome
#define is_finite kalman_solver_is_finite
#define judge kalman_solver_judge
#define is_computed kalman_solver_is_computed
#define solved kalman_solver_solved
#define poison_solution kalman_solver_poison_solution
#define forward_rows_6 kalman_solver_forward_rows_6
#define backward_rows_6 kalman_solver_backward_rows_6
#define forward_block kalman_solver_forward_block
#define backward_block kalman_solver_backward_block
#define is_sound kalman_solver_is_sound
#define is_pivot kalman_solver_is_pivot
#define finish_block kalman_solver_finish_block
#define solve_columns_6 kalman_solver_solve_columns_6
#define factor_corner_6 kalman_solver_factor_corner_6
#define factor_block kalman_solver_factor_block
#define solve_panel kalman_solver_solve_panel
#define solve_blocks kalman_solver_solve_blocks
#define factor_blocks kalman_solver_factor_blocks
#define reset_workspace kalman_solver_reset_workspace
#define keep kalman_solver_keep

/* Operations on one block. A block is row-major, n by n. */

typedef kalman_real real;

enum { n = KALMAN_BLOCK, N = KALMAN_HORIZON, m = KALMAN_RHS, BLOCK = n * n };

/* ---- what a call returns ---- */

enum { VECTOR = KALMAN_BLOCK * KALMAN_RHS, SIZE = KALMAN_HORIZON * VECTOR };

static kalman_status outcome(kalman_code code, int block, int row) {
    kalman_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(kalman_real x) { return x >= -KALMAN_LARGEST && x <= KALMAN_LARGEST; }

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static kalman_status judge(kalman_real zero, const kalman_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(KALMAN_OK, -1, -1);
    }
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(KALMAN_OUT_OF_RANGE, block, (i - block * VECTOR) / KALMAN_RHS);
}

/* Whether there is a factor, or an X. */
static inline int is_computed(kalman_status status) { return status.code == KALMAN_OK || status.code == KALMAN_NEARLY_SINGULAR; }

/* The outcome of a solution is that of the factorization, unless X has left the range. */
static inline kalman_status solved(kalman_status range, kalman_status factorization) { return range.code == KALMAN_OK ? factorization : range; }

/* What becomes of X where there is no factor. */
KALMAN_CODE static void poison_solution(kalman_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (kalman_real)NAN;
    }
}

/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */

/* 6 row(s) of y = L^-1 (b - a y_before) from row r on; 6 sums take one load of the vector. */
static inline void forward_rows_6(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    real s0 = b[0], s1 = b[m], s2 = b[2 * m], s3 = b[3 * m], s4 = b[4 * m], s5 = b[5 * m];
    if (width > 0) {
        const real x0 = y_before[0];
        s0 -= a[0] * x0;
        s1 -= a[n] * x0;
        s2 -= a[2 * n] * x0;
        s3 -= a[3 * n] * x0;
        s4 -= a[4 * n] * x0;
        s5 -= a[5 * n] * x0;
        const real x1 = y_before[m];
        s0 -= a[1] * x1;
        s1 -= a[n + 1] * x1;
        s2 -= a[2 * n + 1] * x1;
        s3 -= a[3 * n + 1] * x1;
        s4 -= a[4 * n + 1] * x1;
        s5 -= a[5 * n + 1] * x1;
        const real x2 = y_before[2 * m];
        s0 -= a[2] * x2;
        s1 -= a[n + 2] * x2;
        s2 -= a[2 * n + 2] * x2;
        s3 -= a[3 * n + 2] * x2;
        s4 -= a[4 * n + 2] * x2;
        s5 -= a[5 * n + 2] * x2;
        const real x3 = y_before[3 * m];
        s0 -= a[3] * x3;
        s1 -= a[n + 3] * x3;
        s2 -= a[2 * n + 3] * x3;
        s3 -= a[3 * n + 3] * x3;
        s4 -= a[4 * n + 3] * x3;
        s5 -= a[5 * n + 3] * x3;
        const real x4 = y_before[4 * m];
        s0 -= a[4] * x4;
        s1 -= a[n + 4] * x4;
        s2 -= a[2 * n + 4] * x4;
        s3 -= a[3 * n + 4] * x4;
        s4 -= a[4 * n + 4] * x4;
        s5 -= a[5 * n + 4] * x4;
        const real x5 = y_before[5 * m];
        s0 -= a[5] * x5;
        s1 -= a[n + 5] * x5;
        s2 -= a[2 * n + 5] * x5;
        s3 -= a[3 * n + 5] * x5;
        s4 -= a[4 * n + 5] * x5;
        s5 -= a[5 * n + 5] * x5;
    }
    s0 *= l[0];
    s1 -= l[n] * s0;
    s2 -= l[2 * n] * s0;
    s3 -= l[3 * n] * s0;
    s4 -= l[4 * n] * s0;
    s5 -= l[5 * n] * s0;
    s1 *= l[n + 1];
    s2 -= l[2 * n + 1] * s1;
    s3 -= l[3 * n + 1] * s1;
    s4 -= l[4 * n + 1] * s1;
    s5 -= l[5 * n + 1] * s1;
    s2 *= l[2 * n + 2];
    s3 -= l[3 * n + 2] * s2;
    s4 -= l[4 * n + 2] * s2;
    s5 -= l[5 * n + 2] * s2;
    s3 *= l[3 * n + 3];
    s4 -= l[4 * n + 3] * s3;
    s5 -= l[5 * n + 3] * s3;
    s4 *= l[4 * n + 4];
    s5 -= l[5 * n + 4] * s4;
    s5 *= l[5 * n + 5];
    y[0] = s0;
    y[m] = s1;
    y[2 * m] = s2;
    y[3 * m] = s3;
    y[4 * m] = s4;
    y[5 * m] = s5;
}

/* 6 row(s) of x = L^-T (x - a' x_next) from row r on, with products of L's rows from the last one up. */
static inline void backward_rows_6(const real* l, const real* a, const real* x_next, int height, real* x) {
    real s0 = x[0], s1 = x[m], s2 = x[2 * m], s3 = x[3 * m], s4 = x[4 * m], s5 = x[5 * m];
    if (height > 0) {
        const real x0 = x_next[0];
        s0 -= a[0] * x0;
        s1 -= a[1] * x0;
        s2 -= a[2] * x0;
        s3 -= a[3] * x0;
        s4 -= a[4] * x0;
        s5 -= a[5] * x0;
        const real x1 = x_next[m];
        s0 -= a[n] * x1;
        s1 -= a[n + 1] * x1;
        s2 -= a[n + 2] * x1;
        s3 -= a[n + 3] * x1;
        s4 -= a[n + 4] * x1;
        s5 -= a[n + 5] * x1;
        const real x2 = x_next[2 * m];
        s0 -= a[2 * n] * x2;
        s1 -= a[2 * n + 1] * x2;
        s2 -= a[2 * n + 2] * x2;
        s3 -= a[2 * n + 3] * x2;
        s4 -= a[2 * n + 4] * x2;
        s5 -= a[2 * n + 5] * x2;
        const real x3 = x_next[3 * m];
        s0 -= a[3 * n] * x3;
        s1 -= a[3 * n + 1] * x3;
        s2 -= a[3 * n + 2] * x3;
        s3 -= a[3 * n + 3] * x3;
        s4 -= a[3 * n + 4] * x3;
        s5 -= a[3 * n + 5] * x3;
        const real x4 = x_next[4 * m];
        s0 -= a[4 * n] * x4;
        s1 -= a[4 * n + 1] * x4;
        s2 -= a[4 * n + 2] * x4;
        s3 -= a[4 * n + 3] * x4;
        s4 -= a[4 * n + 4] * x4;
        s5 -= a[4 * n + 5] * x4;
        const real x5 = x_next[5 * m];
        s0 -= a[5 * n] * x5;
        s1 -= a[5 * n + 1] * x5;
        s2 -= a[5 * n + 2] * x5;
        s3 -= a[5 * n + 3] * x5;
        s4 -= a[5 * n + 4] * x5;
        s5 -= a[5 * n + 5] * x5;
    }
    s5 *= l[5 * n + 5];
    s4 -= l[5 * n + 4] * s5;
    s3 -= l[5 * n + 3] * s5;
    s2 -= l[5 * n + 2] * s5;
    s1 -= l[5 * n + 1] * s5;
    s0 -= l[5 * n] * s5;
    s4 *= l[4 * n + 4];
    s3 -= l[4 * n + 3] * s4;
    s2 -= l[4 * n + 2] * s4;
    s1 -= l[4 * n + 1] * s4;
    s0 -= l[4 * n] * s4;
    s3 *= l[3 * n + 3];
    s2 -= l[3 * n + 2] * s3;
    s1 -= l[3 * n + 1] * s3;
    s0 -= l[3 * n] * s3;
    s2 *= l[2 * n + 2];
    s1 -= l[2 * n + 1] * s2;
    s0 -= l[2 * n] * s2;
    s1 *= l[n + 1];
    s0 -= l[n] * s1;
    s0 *= l[0];
    x[0] = s0;
    x[m] = s1;
    x[2 * m] = s2;
    x[3 * m] = s3;
    x[4 * m] = s4;
    x[5 * m] = s5;
}

/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
KALMAN_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        forward_rows_6(l, a, y_before + c, width, b + c, y + c);
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
KALMAN_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        backward_rows_6(l, a, x_next + c, height, x + c);
    }
}

/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / KALMAN_LARGEST)
/* A pivot below this part of the diagonal entry that it began with is nearly zero: rounding may be all that is left of it. A power of two,
 * so that products with it are exact. */
#define NEARLY_ZERO (64 * KALMAN_EPSILON)

/* Whether a pivot is sound beyond doubt, by one comparison. No pivot is larger than the entry that it began with, so that this refuses
 * infinity, and NaN whatever the sign. */
static inline int is_sound(real pivot, real entry) { return pivot > NEARLY_ZERO * entry + TOO_SMALL; }

static inline int is_pivot(real pivot) { return pivot > TOO_SMALL && pivot <= KALMAN_LARGEST; }

/* ---- L L': L, with 1 / L(k, k) on the diagonal; multipliers are rows of the coupling to the block before, and of L ---- */

/* The rest of a block whose pivot `row` is not sound beyond doubt. Rare, and so in few instructions; the bits are those of the code below.
 * Returns the row that fails, or -1; the status becomes that of the first pivot that is nearly zero. */
KALMAN_CODE static int finish_block(const real* d, const real* before, int width, real* l, int block, int row, kalman_status* status) {
    for (int r = row; r < n; ++r) {
        for (int c = row; c <= r; ++c) {
            const real entry = d[r * n + r];
            real sum = d[r * n + c];
            for (int k = 0; k < width; ++k) {
                sum -= before[r * n + k] * before[c * n + k];
            }
            for (int k = 0; k < c; ++k) {
                sum -= l[r * n + k] * l[c * n + k];
            }
            if (c < r) {
                l[r * n + c] = sum * l[c * n + c];
            } else if (is_pivot(sum)) {
                l[r * n + r] = 1 / KALMAN_SQRT(sum);
                if (sum < NEARLY_ZERO * entry && status->code == KALMAN_OK) {
                    *status = outcome(KALMAN_NEARLY_SINGULAR, block, r);
                }
            } else {
                return r;
            }
        }
    }
    return -1;
}

/* Columns j to j + 5 of a panel, rows `first` to n - 1: what x and `before` have to do with the rows of the multipliers is subtracted
 * from the source. The products with `before` run over `width` columns: n, or 0 for none. x may be the source. The sums of a tile and what
 * they are made of are to stay in registers: a Cortex-M7 has 32 in single precision, 16 in double. */
KALMAN_CODE static void solve_columns_6(const real* source, const real* before, int width, const real* multipliers, const real* own, real* x,
                                     int j, int first) {
    for (int r = first; r < 6; r += 2) {
        const real* s = source + r * n + j;
        const real* a = before + r * n;
        const real* b = multipliers;
        real c00 = s[0], c01 = s[1], c02 = s[2], c03 = s[3], c04 = s[4], c05 = s[5];
        real c10 = s[n], c11 = s[n + 1], c12 = s[n + 2], c13 = s[n + 3], c14 = s[n + 4], c15 = s[n + 5];
        for (int k = 0; k < width; ++k) {
            const real a0 = a[0], a1 = a[n];
            const real b0 = b[0], b1 = b[n], b2 = b[2 * n], b3 = b[3 * n], b4 = b[4 * n], b5 = b[5 * n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c02 -= a0 * b2;
            c03 -= a0 * b3;
            c04 -= a0 * b4;
            c05 -= a0 * b5;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            c12 -= a1 * b2;
            c13 -= a1 * b3;
            c14 -= a1 * b4;
            c15 -= a1 * b5;
            ++a;
            ++b;
        }
        real* y = x + r * n;
        b = own;
        for (int k = 0; k < j; ++k) {
            const real a0 = y[0], a1 = y[n];
            const real b0 = b[0], b1 = b[n], b2 = b[2 * n], b3 = b[3 * n], b4 = b[4 * n], b5 = b[5 * n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c02 -= a0 * b2;
            c03 -= a0 * b3;
            c04 -= a0 * b4;
            c05 -= a0 * b5;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            c12 -= a1 * b2;
            c13 -= a1 * b3;
            c14 -= a1 * b4;
            c15 -= a1 * b5;
            ++y;
            ++b;
        }
        c00 *= b[0];
        c10 *= b[0];
        c01 -= c00 * b[n];
        c11 -= c10 * b[n];
        c01 *= b[n + 1];
        c11 *= b[n + 1];
        c02 -= c00 * b[2 * n];
        c12 -= c10 * b[2 * n];
        c02 -= c01 * b[2 * n + 1];
        c12 -= c11 * b[2 * n + 1];
        c02 *= b[2 * n + 2];
        c12 *= b[2 * n + 2];
        c03 -= c00 * b[3 * n];
        c13 -= c10 * b[3 * n];
        c03 -= c01 * b[3 * n + 1];
        c13 -= c11 * b[3 * n + 1];
        c03 -= c02 * b[3 * n + 2];
        c13 -= c12 * b[3 * n + 2];
        c03 *= b[3 * n + 3];
        c13 *= b[3 * n + 3];
        c04 -= c00 * b[4 * n];
        c14 -= c10 * b[4 * n];
        c04 -= c01 * b[4 * n + 1];
        c14 -= c11 * b[4 * n + 1];
        c04 -= c02 * b[4 * n + 2];
        c14 -= c12 * b[4 * n + 2];
        c04 -= c03 * b[4 * n + 3];
        c14 -= c13 * b[4 * n + 3];
        c04 *= b[4 * n + 4];
        c14 *= b[4 * n + 4];
        c05 -= c00 * b[5 * n];
        c15 -= c10 * b[5 * n];
        c05 -= c01 * b[5 * n + 1];
        c15 -= c11 * b[5 * n + 1];
        c05 -= c02 * b[5 * n + 2];
        c15 -= c12 * b[5 * n + 2];
        c05 -= c03 * b[5 * n + 3];
        c15 -= c13 * b[5 * n + 3];
        c05 -= c04 * b[5 * n + 4];
        c15 -= c14 * b[5 * n + 4];
        c05 *= b[5 * n + 5];
        c15 *= b[5 * n + 5];
        y[0] = c00;
        y[1] = c01;
        y[2] = c02;
        y[3] = c03;
        y[4] = c04;
        y[5] = c05;
        y[n] = c10;
        y[n + 1] = c11;
        y[n + 2] = c12;
        y[n + 3] = c13;
        y[n + 4] = c14;
        y[n + 5] = c15;
    }
}

/* Pivots j to j + 5 with the rows below them, from d less the products of `before` and of l. Returns the row of the
 * first one that is not sound beyond doubt, or -1. */
KALMAN_CODE static int factor_corner_6(const real* d, const real* before, int width, real* l, int j) {
    real c00 = d[0];
    real c10 = d[n], c11 = d[n + 1];
    real c20 = d[2 * n], c21 = d[2 * n + 1], c22 = d[2 * n + 2];
    real c30 = d[3 * n], c31 = d[3 * n + 1], c32 = d[3 * n + 2], c33 = d[3 * n + 3];
    real c40 = d[4 * n], c41 = d[4 * n + 1], c42 = d[4 * n + 2], c43 = d[4 * n + 3], c44 = d[4 * n + 4];
    real c50 = d[5 * n], c51 = d[5 * n + 1], c52 = d[5 * n + 2], c53 = d[5 * n + 3], c54 = d[5 * n + 4], c55 = d[5 * n + 5];
    for (int k = 0; k < width; ++k) {
        const real a0 = before[0], a1 = before[n], a2 = before[2 * n], a3 = before[3 * n], a4 = before[4 * n], a5 = before[5 * n];
        c00 -= a0 * a0;
        c10 -= a1 * a0;
        c11 -= a1 * a1;
        c20 -= a2 * a0;
        c21 -= a2 * a1;
        c22 -= a2 * a2;
        c30 -= a3 * a0;
        c31 -= a3 * a1;
        c32 -= a3 * a2;
        c33 -= a3 * a3;
        c40 -= a4 * a0;
        c41 -= a4 * a1;
        c42 -= a4 * a2;
        c43 -= a4 * a3;
        c44 -= a4 * a4;
        c50 -= a5 * a0;
        c51 -= a5 * a1;
        c52 -= a5 * a2;
        c53 -= a5 * a3;
        c54 -= a5 * a4;
        c55 -= a5 * a5;
        ++before;
    }
    for (int k = 0; k < j; ++k) {
        const real a0 = l[0], a1 = l[n], a2 = l[2 * n], a3 = l[3 * n], a4 = l[4 * n], a5 = l[5 * n];
        c00 -= a0 * a0;
        c10 -= a1 * a0;
        c11 -= a1 * a1;
        c20 -= a2 * a0;
        c21 -= a2 * a1;
        c22 -= a2 * a2;
        c30 -= a3 * a0;
        c31 -= a3 * a1;
        c32 -= a3 * a2;
        c33 -= a3 * a3;
        c40 -= a4 * a0;
        c41 -= a4 * a1;
        c42 -= a4 * a2;
        c43 -= a4 * a3;
        c44 -= a4 * a4;
        c50 -= a5 * a0;
        c51 -= a5 * a1;
        c52 -= a5 * a2;
        c53 -= a5 * a3;
        c54 -= a5 * a4;
        c55 -= a5 * a5;
        ++l;
    }
    if (!is_sound(c00, d[0])) {
        return j;
    }
    const real reciprocal0 = 1 / KALMAN_SQRT(c00);
    l[0] = reciprocal0;
    c10 *= reciprocal0;
    l[n] = c10;
    c20 *= reciprocal0;
    l[2 * n] = c20;
    c30 *= reciprocal0;
    l[3 * n] = c30;
    c40 *= reciprocal0;
    l[4 * n] = c40;
    c50 *= reciprocal0;
    l[5 * n] = c50;
    c11 -= c10 * c10;
    c21 -= c20 * c10;
    c22 -= c20 * c20;
    c31 -= c30 * c10;
    c32 -= c30 * c20;
    c33 -= c30 * c30;
    c41 -= c40 * c10;
    c42 -= c40 * c20;
    c43 -= c40 * c30;
    c44 -= c40 * c40;
    c51 -= c50 * c10;
    c52 -= c50 * c20;
    c53 -= c50 * c30;
    c54 -= c50 * c40;
    c55 -= c50 * c50;
    if (!is_sound(c11, d[n + 1])) {
        return j + 1;
    }
    const real reciprocal1 = 1 / KALMAN_SQRT(c11);
    l[n + 1] = reciprocal1;
    c21 *= reciprocal1;
    l[2 * n + 1] = c21;
    c31 *= reciprocal1;
    l[3 * n + 1] = c31;
    c41 *= reciprocal1;
    l[4 * n + 1] = c41;
    c51 *= reciprocal1;
    l[5 * n + 1] = c51;
    c22 -= c21 * c21;
    c32 -= c31 * c21;
    c33 -= c31 * c31;
    c42 -= c41 * c21;
    c43 -= c41 * c31;
    c44 -= c41 * c41;
    c52 -= c51 * c21;
    c53 -= c51 * c31;
    c54 -= c51 * c41;
    c55 -= c51 * c51;
    if (!is_sound(c22, d[2 * n + 2])) {
        return j + 2;
    }
    const real reciprocal2 = 1 / KALMAN_SQRT(c22);
    l[2 * n + 2] = reciprocal2;
    c32 *= reciprocal2;
    l[3 * n + 2] = c32;
    c42 *= reciprocal2;
    l[4 * n + 2] = c42;
    c52 *= reciprocal2;
    l[5 * n + 2] = c52;
    c33 -= c32 * c32;
    c43 -= c42 * c32;
    c44 -= c42 * c42;
    c53 -= c52 * c32;
    c54 -= c52 * c42;
    c55 -= c52 * c52;
    if (!is_sound(c33, d[3 * n + 3])) {
        return j + 3;
    }
    const real reciprocal3 = 1 / KALMAN_SQRT(c33);
    l[3 * n + 3] = reciprocal3;
    c43 *= reciprocal3;
    l[4 * n + 3] = c43;
    c53 *= reciprocal3;
    l[5 * n + 3] = c53;
    c44 -= c43 * c43;
    c54 -= c53 * c43;
    c55 -= c53 * c53;
    if (!is_sound(c44, d[4 * n + 4])) {
        return j + 4;
    }
    const real reciprocal4 = 1 / KALMAN_SQRT(c44);
    l[4 * n + 4] = reciprocal4;
    c54 *= reciprocal4;
    l[5 * n + 4] = c54;
    c55 -= c54 * c54;
    if (!is_sound(c55, d[5 * n + 5])) {
        return j + 5;
    }
    const real reciprocal5 = 1 / KALMAN_SQRT(c55);
    l[5 * n + 5] = reciprocal5;
    return -1;
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row
 * of the first pivot that is not sound beyond doubt, or -1: finish_block has the rest. */
KALMAN_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
    int failed = -1;
    for (int j = 0; j < 6 && failed < 0; j += 6) {
        failed = factor_corner_6(d + j * n + j, before + j * n, width, l + j * n, j);
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
KALMAN_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < 6; j += 6) {
        solve_columns_6(source, before, width, multipliers + j * n, l + j * n, x, j, 0);
    }
}

/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. The blocks are so small that the ends are
 * apart, and that x is tested while it is in registers. */
KALMAN_CODE static kalman_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
    forward_block(l, l, x, 0, b, x);
    for (int i = 1; i < N; ++i) {
        forward_block(l + i * BLOCK, r + (i - 1) * BLOCK, x + (i - 1) * VECTOR, n, b + i * VECTOR, x + i * VECTOR);
    }
    real* y = x + (N - 1) * VECTOR;
    backward_block(l + (N - 1) * BLOCK, l, x, 0, y);
    zero0 -= y[0] * 0;
    zero1 -= y[1] * 0;
    zero2 -= y[2] * 0;
    zero3 -= y[3] * 0;
    zero0 -= y[4] * 0;
    zero1 -= y[5] * 0;
    for (int i = N - 2; i >= 0; --i) {
        y = x + i * VECTOR;
        backward_block(l + i * BLOCK, r + i * BLOCK, y + VECTOR, n, y);
        zero0 -= y[0] * 0;
        zero1 -= y[1] * 0;
        zero2 -= y[2] * 0;
        zero3 -= y[3] * 0;
        zero0 -= y[4] * 0;
        zero1 -= y[5] * 0;
    }
    return judge((zero0 + zero1) + (zero2 + zero3), x);
}

/* ---- the whole system, one block after another ---- */

/* L over `l`, R over `r`. These may be d and e. */
KALMAN_CODE static kalman_status factor_blocks(const real* d, const real* e, real* l, real* r) {
    kalman_status status = outcome(KALMAN_OK, -1, -1);
    int row = factor_block(d, d, 0, l);
    int block = 0;
    if (row >= 0) {
        row = finish_block(d, d, 0, l, block, row, &status);
    }
    while (row < 0 && block + 1 < N) {
        solve_panel(e + block * BLOCK, e, e, 0, l + block * BLOCK, r + block * BLOCK);
        row = factor_block(d + (block + 1) * BLOCK, r + block * BLOCK, n, l + (block + 1) * BLOCK);
        ++block;
        if (row >= 0) {
            row = finish_block(d + block * BLOCK, r + (block - 1) * BLOCK, n, l + block * BLOCK, block, row, &status);
        }
    }
    return row < 0 ? status : outcome(KALMAN_NOT_POSITIVE_DEFINITE, block, row);
}

static void reset_workspace(kalman_workspace* workspace) {
    workspace->diagonal = NULL;
    workspace->coupling = NULL;
    workspace->factored = outcome(KALMAN_NOT_FACTORED, -1, -1);
}

/* The workspace refers to a factor that is whole. */
static kalman_status keep(kalman_workspace* workspace, kalman_status status, const real* l, const real* r) {
    const int good = is_computed(status);
    workspace->diagonal = good ? l : NULL;
    workspace->coupling = good ? r : NULL;
    workspace->factored = status;
    return status;
}

KALMAN_CODE kalman_status kalman_solve(const kalman_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(KALMAN_NOT_FACTORED, -1, -1);
    }
    return solved(solve_blocks(workspace->diagonal, workspace->coupling, b, x), workspace->factored);
}

KALMAN_CODE kalman_status kalman_factor(kalman_workspace* KALMAN_RESTRICT workspace, const real* KALMAN_RESTRICT d, const real* KALMAN_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    return keep(workspace, factor_blocks(d, e, l, r), l, r);
}

KALMAN_CODE kalman_status kalman_refactor(kalman_workspace* KALMAN_RESTRICT workspace, real* KALMAN_RESTRICT d, real* KALMAN_RESTRICT e) {
    return keep(workspace, factor_blocks(d, e, d, e), d, e);
}

KALMAN_CODE kalman_status kalman_factor_solve(kalman_workspace* workspace, const kalman_real* d, const kalman_real* e, const kalman_real* b, kalman_real* x) {
    const kalman_status status = kalman_factor(workspace, d, e);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    return kalman_solve(workspace, b, x);
}

/* ---- memory ---- */

size_t kalman_workspace_size(void) { return sizeof(kalman_workspace); }

kalman_workspace* kalman_init(void* memory) {
    kalman_workspace* workspace = NULL;
    if (memory != NULL && (uintptr_t)memory % KALMAN_ALIGNMENT == 0) {
        workspace = (kalman_workspace*)memory;
        reset_workspace(workspace);
    }
    return workspace;
}

KALMAN_CODE kalman_real kalman_least_pivot(const kalman_workspace* workspace, const kalman_real* d) {
    real most = 1;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            const real reciprocal = workspace->diagonal[i * BLOCK + r * n + r];
            const real ratio = d[KALMAN_D(i, r, r)] * reciprocal * reciprocal;
            most = ratio > most ? ratio : most;
        }
    }
    return 1 / most;
}

#undef TOO_SMALL
#undef NEARLY_ZERO
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
#undef is_computed
#undef solved
#undef poison_solution
#undef forward_rows_6
#undef backward_rows_6
#undef forward_block
#undef backward_block
#undef is_sound
#undef is_pivot
#undef finish_block
#undef solve_columns_6
#undef factor_corner_6
#undef factor_block
#undef solve_panel
#undef solve_blocks
#undef factor_blocks
#undef reset_workspace
#undef keep
