/* See estimator_solver.h. Plain C99, and C++ as well: no recursion, no heap, no library but the square root. */
#include "estimator_solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math and -ffinite-math-only: the tests of the pivots and of X rely on NaN and infinity"
#endif

/* What stands before the functions; it may be set on the compiler's command line, to an attribute that puts them into fast memory. */
#ifndef ESTIMATOR_CODE
#define ESTIMATOR_CODE
#endif

#define ESTIMATOR_LARGEST DBL_MAX
#define ESTIMATOR_EPSILON DBL_EPSILON

/* May be set likewise: another square root, which must round correctly for the same bits everywhere. */
#ifndef ESTIMATOR_SQRT
#define ESTIMATOR_SQRT(x) sqrt(x)
#endif

/* Indices are ints. */
typedef char estimator_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];

/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers can
 * be included in one translation unit. */
#define real estimator_solver_real
#define n estimator_solver_n
#define N estimator_solver_N
#define m estimator_solver_m
#define BLOCK estimator_solver_BLOCK
#define VECTOR estimator_solver_VECTOR
#define SIZE estimator_solver_SIZE
#define outcome estimator_solver_outcome
#define is_finite estimator_solver_is_finite
#define judge estimator_solver_judge
#define is_computed estimator_solver_is_computed
#define solved estimator_solver_solved
#define poison_solution estimator_solver_poison_solution
#define forward_rows_4 estimator_solver_forward_rows_4
#define backward_rows_4 estimator_solver_backward_rows_4
#define forward_block estimator_solver_forward_block
#define backward_block estimator_solver_backward_block
#define is_sound estimator_solver_is_sound
#define is_pivot estimator_solver_is_pivot
#define finish_block estimator_solver_finish_block
#define solve_columns_4 estimator_solver_solve_columns_4
#define factor_corner_4 estimator_solver_factor_corner_4
#define factor_block estimator_solver_factor_block
#define solve_panel estimator_solver_solve_panel
#define chain estimator_solver_chain
#define SEPARATORS estimator_solver_SEPARATORS
#define chains estimator_solver_chains
#define separators estimator_solver_separators
#define check_finite estimator_solver_check_finite
#define update_of estimator_solver_update_of
#define rhs_update_of estimator_solver_rhs_update_of
#define set_zero estimator_solver_set_zero
#define load_coupling estimator_solver_load_coupling
#define subtract_product estimator_solver_subtract_product
#define subtract_rows_4 estimator_solver_subtract_rows_4
#define subtract_columns_4 estimator_solver_subtract_columns_4
#define subtract_panel estimator_solver_subtract_panel
#define job estimator_solver_job
#define run_chains estimator_solver_run_chains
#define factor_front estimator_solver_factor_front
#define finish_chain estimator_solver_finish_chain
#define factor_chain estimator_solver_factor_chain
#define factor_separators estimator_solver_factor_separators
#define reset_workspace estimator_solver_reset_workspace
#define worse estimator_solver_worse
#define forward_chain estimator_solver_forward_chain
#define backward_chain estimator_solver_backward_chain
#define solve_separators estimator_solver_solve_separators

/* Operations on one block. A block is row-major, n by n. */

typedef estimator_real real;

enum { n = ESTIMATOR_BLOCK, N = ESTIMATOR_HORIZON, m = ESTIMATOR_RHS, BLOCK = n * n };

/* ---- what a call returns ---- */

enum { VECTOR = ESTIMATOR_BLOCK * ESTIMATOR_RHS, SIZE = ESTIMATOR_HORIZON * VECTOR };

static estimator_status outcome(estimator_code code, int block, int row) {
    estimator_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(estimator_real x) { return x >= -ESTIMATOR_LARGEST && x <= ESTIMATOR_LARGEST; }

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static estimator_status judge(estimator_real zero, const estimator_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(ESTIMATOR_OK, -1, -1);
    }
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(ESTIMATOR_OUT_OF_RANGE, block, (i - block * VECTOR) / ESTIMATOR_RHS);
}

/* Whether there is a factor, or an X. */
static inline int is_computed(estimator_status status) { return status.code == ESTIMATOR_OK || status.code == ESTIMATOR_NEARLY_SINGULAR; }

/* The outcome of a solution is that of the factorization, unless X has left the range. */
static inline estimator_status solved(estimator_status range, estimator_status factorization) { return range.code == ESTIMATOR_OK ? factorization : range; }

/* What becomes of X where there is no factor. */
ESTIMATOR_CODE static void poison_solution(estimator_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (estimator_real)NAN;
    }
}

/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */

/* 4 row(s) of y = L^-1 (b - a y_before) from row r on; 4 sums take one load of the vector. */
static inline void forward_rows_4(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    real s0 = b[0], s1 = b[m], s2 = b[2 * m], s3 = b[3 * m];
    if (width > 0) {
        const real x0 = y_before[0];
        s0 -= a[0] * x0;
        s1 -= a[n] * x0;
        s2 -= a[2 * n] * x0;
        s3 -= a[3 * n] * x0;
        const real x1 = y_before[m];
        s0 -= a[1] * x1;
        s1 -= a[n + 1] * x1;
        s2 -= a[2 * n + 1] * x1;
        s3 -= a[3 * n + 1] * x1;
        const real x2 = y_before[2 * m];
        s0 -= a[2] * x2;
        s1 -= a[n + 2] * x2;
        s2 -= a[2 * n + 2] * x2;
        s3 -= a[3 * n + 2] * x2;
        const real x3 = y_before[3 * m];
        s0 -= a[3] * x3;
        s1 -= a[n + 3] * x3;
        s2 -= a[2 * n + 3] * x3;
        s3 -= a[3 * n + 3] * x3;
    }
    s0 *= l[0];
    s1 -= l[n] * s0;
    s2 -= l[2 * n] * s0;
    s3 -= l[3 * n] * s0;
    s1 *= l[n + 1];
    s2 -= l[2 * n + 1] * s1;
    s3 -= l[3 * n + 1] * s1;
    s2 *= l[2 * n + 2];
    s3 -= l[3 * n + 2] * s2;
    s3 *= l[3 * n + 3];
    y[0] = s0;
    y[m] = s1;
    y[2 * m] = s2;
    y[3 * m] = s3;
}

/* 4 row(s) of x = L^-T (x - a' x_next) from row r on, with products of L's rows from the last one up. */
static inline void backward_rows_4(const real* l, const real* a, const real* x_next, int height, real* x) {
    real s0 = x[0], s1 = x[m], s2 = x[2 * m], s3 = x[3 * m];
    if (height > 0) {
        const real x0 = x_next[0];
        s0 -= a[0] * x0;
        s1 -= a[1] * x0;
        s2 -= a[2] * x0;
        s3 -= a[3] * x0;
        const real x1 = x_next[m];
        s0 -= a[n] * x1;
        s1 -= a[n + 1] * x1;
        s2 -= a[n + 2] * x1;
        s3 -= a[n + 3] * x1;
        const real x2 = x_next[2 * m];
        s0 -= a[2 * n] * x2;
        s1 -= a[2 * n + 1] * x2;
        s2 -= a[2 * n + 2] * x2;
        s3 -= a[2 * n + 3] * x2;
        const real x3 = x_next[3 * m];
        s0 -= a[3 * n] * x3;
        s1 -= a[3 * n + 1] * x3;
        s2 -= a[3 * n + 2] * x3;
        s3 -= a[3 * n + 3] * x3;
    }
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
}

/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
ESTIMATOR_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        forward_rows_4(l, a, y_before + c, width, b + c, y + c);
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
ESTIMATOR_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        backward_rows_4(l, a, x_next + c, height, x + c);
    }
}

/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / ESTIMATOR_LARGEST)
/* A pivot below this part of the diagonal entry that it began with is nearly zero: rounding may be all that is left of it. A power of two,
 * so that products with it are exact. */
#define NEARLY_ZERO (64 * ESTIMATOR_EPSILON)

/* Whether a pivot is sound beyond doubt, by one comparison. No pivot is larger than the entry that it began with, so that this refuses
 * infinity, and NaN whatever the sign. */
static inline int is_sound(real pivot, real entry) { return pivot > NEARLY_ZERO * entry + TOO_SMALL; }

static inline int is_pivot(real pivot) { return pivot > TOO_SMALL && pivot <= ESTIMATOR_LARGEST; }

/* ---- L L': L, with 1 / L(k, k) on the diagonal; multipliers are rows of the coupling to the block before, and of L ---- */

/* The rest of a block whose pivot `row` is not sound beyond doubt. Rare, and so in few instructions; the bits are those of the code below.
 * Returns the row that fails, or -1; the status becomes that of the first pivot that is nearly zero. */
ESTIMATOR_CODE static int finish_block(const real* d, const real* before, int width, const real* entries, real* l, int block, int row,
                                 estimator_status* status) {
    for (int r = row; r < n; ++r) {
        for (int c = row; c <= r; ++c) {
            const real entry = entries[r * n + r];
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
                l[r * n + r] = 1 / ESTIMATOR_SQRT(sum);
                if (sum < NEARLY_ZERO * entry && status->code == ESTIMATOR_OK) {
                    *status = outcome(ESTIMATOR_NEARLY_SINGULAR, block, r);
                }
            } else {
                return r;
            }
        }
    }
    return -1;
}

/* Columns j to j + 3 of a panel, rows `first` to n - 1: what x and `before` have to do with the rows of the multipliers is subtracted
 * from the source. The products with `before` run over `width` columns: n, or 0 for none. x may be the source. The sums of a tile and what
 * they are made of are to stay in registers: a Cortex-M7 has 32 in single precision, 16 in double. */
ESTIMATOR_CODE static void solve_columns_4(const real* source, const real* before, int width, const real* multipliers, const real* own, real* x,
                                     int j, int first) {
    for (int r = first; r < 4; r += 4) {
        const real* s = source + r * n + j;
        const real* a = before + r * n;
        const real* b = multipliers;
        real c00 = s[0], c01 = s[1], c02 = s[2], c03 = s[3];
        real c10 = s[n], c11 = s[n + 1], c12 = s[n + 2], c13 = s[n + 3];
        real c20 = s[2 * n], c21 = s[2 * n + 1], c22 = s[2 * n + 2], c23 = s[2 * n + 3];
        real c30 = s[3 * n], c31 = s[3 * n + 1], c32 = s[3 * n + 2], c33 = s[3 * n + 3];
        for (int k = 0; k < width; ++k) {
            const real a0 = a[0], a1 = a[n], a2 = a[2 * n], a3 = a[3 * n];
            const real b0 = b[0], b1 = b[n], b2 = b[2 * n], b3 = b[3 * n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c02 -= a0 * b2;
            c03 -= a0 * b3;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            c12 -= a1 * b2;
            c13 -= a1 * b3;
            c20 -= a2 * b0;
            c21 -= a2 * b1;
            c22 -= a2 * b2;
            c23 -= a2 * b3;
            c30 -= a3 * b0;
            c31 -= a3 * b1;
            c32 -= a3 * b2;
            c33 -= a3 * b3;
            ++a;
            ++b;
        }
        real* y = x + r * n;
        b = own;
        for (int k = 0; k < j; ++k) {
            const real a0 = y[0], a1 = y[n], a2 = y[2 * n], a3 = y[3 * n];
            const real b0 = b[0], b1 = b[n], b2 = b[2 * n], b3 = b[3 * n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c02 -= a0 * b2;
            c03 -= a0 * b3;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            c12 -= a1 * b2;
            c13 -= a1 * b3;
            c20 -= a2 * b0;
            c21 -= a2 * b1;
            c22 -= a2 * b2;
            c23 -= a2 * b3;
            c30 -= a3 * b0;
            c31 -= a3 * b1;
            c32 -= a3 * b2;
            c33 -= a3 * b3;
            ++y;
            ++b;
        }
        c00 *= b[0];
        c10 *= b[0];
        c20 *= b[0];
        c30 *= b[0];
        c01 -= c00 * b[n];
        c11 -= c10 * b[n];
        c21 -= c20 * b[n];
        c31 -= c30 * b[n];
        c01 *= b[n + 1];
        c11 *= b[n + 1];
        c21 *= b[n + 1];
        c31 *= b[n + 1];
        c02 -= c00 * b[2 * n];
        c12 -= c10 * b[2 * n];
        c22 -= c20 * b[2 * n];
        c32 -= c30 * b[2 * n];
        c02 -= c01 * b[2 * n + 1];
        c12 -= c11 * b[2 * n + 1];
        c22 -= c21 * b[2 * n + 1];
        c32 -= c31 * b[2 * n + 1];
        c02 *= b[2 * n + 2];
        c12 *= b[2 * n + 2];
        c22 *= b[2 * n + 2];
        c32 *= b[2 * n + 2];
        c03 -= c00 * b[3 * n];
        c13 -= c10 * b[3 * n];
        c23 -= c20 * b[3 * n];
        c33 -= c30 * b[3 * n];
        c03 -= c01 * b[3 * n + 1];
        c13 -= c11 * b[3 * n + 1];
        c23 -= c21 * b[3 * n + 1];
        c33 -= c31 * b[3 * n + 1];
        c03 -= c02 * b[3 * n + 2];
        c13 -= c12 * b[3 * n + 2];
        c23 -= c22 * b[3 * n + 2];
        c33 -= c32 * b[3 * n + 2];
        c03 *= b[3 * n + 3];
        c13 *= b[3 * n + 3];
        c23 *= b[3 * n + 3];
        c33 *= b[3 * n + 3];
        y[0] = c00;
        y[1] = c01;
        y[2] = c02;
        y[3] = c03;
        y[n] = c10;
        y[n + 1] = c11;
        y[n + 2] = c12;
        y[n + 3] = c13;
        y[2 * n] = c20;
        y[2 * n + 1] = c21;
        y[2 * n + 2] = c22;
        y[2 * n + 3] = c23;
        y[3 * n] = c30;
        y[3 * n + 1] = c31;
        y[3 * n + 2] = c32;
        y[3 * n + 3] = c33;
    }
}

/* Pivots j to j + 3 with the rows below them, from d less the products of `before` and of l. Returns the row of the
 * first one that is not sound beyond doubt, or -1. */
ESTIMATOR_CODE static int factor_corner_4(const real* d, const real* before, int width, const real* entries, real* l, int j) {
    real c00 = d[0];
    real c10 = d[n], c11 = d[n + 1];
    real c20 = d[2 * n], c21 = d[2 * n + 1], c22 = d[2 * n + 2];
    real c30 = d[3 * n], c31 = d[3 * n + 1], c32 = d[3 * n + 2], c33 = d[3 * n + 3];
    for (int k = 0; k < width; ++k) {
        const real a0 = before[0], a1 = before[n], a2 = before[2 * n], a3 = before[3 * n];
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
        ++before;
    }
    for (int k = 0; k < j; ++k) {
        const real a0 = l[0], a1 = l[n], a2 = l[2 * n], a3 = l[3 * n];
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
        ++l;
    }
    if (!is_sound(c00, entries[0])) {
        return j;
    }
    const real reciprocal0 = 1 / ESTIMATOR_SQRT(c00);
    l[0] = reciprocal0;
    c10 *= reciprocal0;
    l[n] = c10;
    c20 *= reciprocal0;
    l[2 * n] = c20;
    c30 *= reciprocal0;
    l[3 * n] = c30;
    c11 -= c10 * c10;
    c21 -= c20 * c10;
    c22 -= c20 * c20;
    c31 -= c30 * c10;
    c32 -= c30 * c20;
    c33 -= c30 * c30;
    if (!is_sound(c11, entries[n + 1])) {
        return j + 1;
    }
    const real reciprocal1 = 1 / ESTIMATOR_SQRT(c11);
    l[n + 1] = reciprocal1;
    c21 *= reciprocal1;
    l[2 * n + 1] = c21;
    c31 *= reciprocal1;
    l[3 * n + 1] = c31;
    c22 -= c21 * c21;
    c32 -= c31 * c21;
    c33 -= c31 * c31;
    if (!is_sound(c22, entries[2 * n + 2])) {
        return j + 2;
    }
    const real reciprocal2 = 1 / ESTIMATOR_SQRT(c22);
    l[2 * n + 2] = reciprocal2;
    c32 *= reciprocal2;
    l[3 * n + 2] = c32;
    c33 -= c32 * c32;
    if (!is_sound(c33, entries[3 * n + 3])) {
        return j + 3;
    }
    const real reciprocal3 = 1 / ESTIMATOR_SQRT(c33);
    l[3 * n + 3] = reciprocal3;
    return -1;
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row
 * of the first pivot that is not sound beyond doubt, or -1: finish_block has the rest. */
ESTIMATOR_CODE static int factor_block(const real* d, const real* before, int width, const real* entries, real* l) {
    int failed = -1;
    for (int j = 0; j < 4 && failed < 0; j += 4) {
        failed = factor_corner_4(d + j * n + j, before + j * n, width, entries + j * n + j, l + j * n, j);
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
ESTIMATOR_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < 4; j += 4) {
        solve_columns_4(source, before, width, multipliers + j * n, l + j * n, x, j, 0);
    }
}

/* ---- chains: blocks that one task eliminates, between separators ---- */

/* Blocks first, first + step, ..., and the separators that the chain starts beside and runs to; -1: none. Every front of a chain is
 * coupled to the separator behind. */
typedef struct {
    int first, length, step, behind, ahead;
} chain;

enum { SEPARATORS = ESTIMATOR_CHAINS - 1 };

static const chain chains[ESTIMATOR_CHAINS] = {
    {0, 5, 1, -1, 0},
    {6, 2, 1, 0, 1},
    {9, 2, 1, 1, -1},
};

/* Their blocks. */
static const int separators[SEPARATORS] = {
    5,
    8,
};

ESTIMATOR_CODE static estimator_status check_finite(const estimator_real* x) {
    estimator_real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
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

/* Separator s is updated from below, by chain s, and from above. */
static real* update_of(estimator_workspace* workspace, int s, int c) { return workspace->update + (2 * s + (c > s)) * BLOCK; }
static real* rhs_update_of(estimator_workspace* workspace, int s, int c) { return workspace->rhs_update + (2 * s + (c > s)) * VECTOR; }

static void set_zero(real* a, int count) {
    for (int k = 0; k < count; ++k) {
        a[k] = 0;
    }
}

/* target = A(i + step, i), from the coupling above or below block i. */
ESTIMATOR_CODE static void load_coupling(const real* e, int i, int step, real* target) {
    const real* a = e + (step > 0 ? i : i - 1) * BLOCK;
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) {
            target[r * n + k] = step > 0 ? a[r * n + k] : a[k * n + r];
        }
    }
}

/* c -= a b' */
ESTIMATOR_CODE static void subtract_product(real* c, const real* a, const real* b) {
    for (int r = 0; r < 4; r += 4) {
        for (int j = 0; j < 4; j += 4) {
            real* s = c + r * n + j;
            const real* u = a + r * n;
            const real* v = b + j * n;
            real c00 = s[0], c01 = s[1], c02 = s[2], c03 = s[3];
            real c10 = s[n], c11 = s[n + 1], c12 = s[n + 2], c13 = s[n + 3];
            real c20 = s[2 * n], c21 = s[2 * n + 1], c22 = s[2 * n + 2], c23 = s[2 * n + 3];
            real c30 = s[3 * n], c31 = s[3 * n + 1], c32 = s[3 * n + 2], c33 = s[3 * n + 3];
            for (int k = 0; k < n; ++k) {
                const real a0 = u[0], a1 = u[n], a2 = u[2 * n], a3 = u[3 * n];
                const real b0 = v[0], b1 = v[n], b2 = v[2 * n], b3 = v[3 * n];
                c00 -= a0 * b0;
                c01 -= a0 * b1;
                c02 -= a0 * b2;
                c03 -= a0 * b3;
                c10 -= a1 * b0;
                c11 -= a1 * b1;
                c12 -= a1 * b2;
                c13 -= a1 * b3;
                c20 -= a2 * b0;
                c21 -= a2 * b1;
                c22 -= a2 * b2;
                c23 -= a2 * b3;
                c30 -= a3 * b0;
                c31 -= a3 * b1;
                c32 -= a3 * b2;
                c33 -= a3 * b3;
                ++u;
                ++v;
            }
            s[0] = c00;
            s[1] = c01;
            s[2] = c02;
            s[3] = c03;
            s[n] = c10;
            s[n + 1] = c11;
            s[n + 2] = c12;
            s[n + 3] = c13;
            s[2 * n] = c20;
            s[2 * n + 1] = c21;
            s[2 * n + 2] = c22;
            s[2 * n + 3] = c23;
            s[3 * n] = c30;
            s[3 * n + 1] = c31;
            s[3 * n + 2] = c32;
            s[3 * n + 3] = c33;
        }
    }
}

/* y -= a x for 4 row(s) of a; and y -= a' x for as many columns. */
static inline void subtract_rows_4(const real* a, const real* x, real* y) {
    real s0 = y[0], s1 = y[m], s2 = y[2 * m], s3 = y[3 * m];
    const real x0 = x[0];
    s0 -= a[0] * x0;
    s1 -= a[n] * x0;
    s2 -= a[2 * n] * x0;
    s3 -= a[3 * n] * x0;
    const real x1 = x[m];
    s0 -= a[1] * x1;
    s1 -= a[n + 1] * x1;
    s2 -= a[2 * n + 1] * x1;
    s3 -= a[3 * n + 1] * x1;
    const real x2 = x[2 * m];
    s0 -= a[2] * x2;
    s1 -= a[n + 2] * x2;
    s2 -= a[2 * n + 2] * x2;
    s3 -= a[3 * n + 2] * x2;
    const real x3 = x[3 * m];
    s0 -= a[3] * x3;
    s1 -= a[n + 3] * x3;
    s2 -= a[2 * n + 3] * x3;
    s3 -= a[3 * n + 3] * x3;
    y[0] = s0;
    y[m] = s1;
    y[2 * m] = s2;
    y[3 * m] = s3;
}
static inline void subtract_columns_4(const real* a, const real* x, real* y) {
    real s0 = y[0], s1 = y[m], s2 = y[2 * m], s3 = y[3 * m];
    const real x0 = x[0];
    s0 -= a[0] * x0;
    s1 -= a[1] * x0;
    s2 -= a[2] * x0;
    s3 -= a[3] * x0;
    const real x1 = x[m];
    s0 -= a[n] * x1;
    s1 -= a[n + 1] * x1;
    s2 -= a[n + 2] * x1;
    s3 -= a[n + 3] * x1;
    const real x2 = x[2 * m];
    s0 -= a[2 * n] * x2;
    s1 -= a[2 * n + 1] * x2;
    s2 -= a[2 * n + 2] * x2;
    s3 -= a[2 * n + 3] * x2;
    const real x3 = x[3 * m];
    s0 -= a[3 * n] * x3;
    s1 -= a[3 * n + 1] * x3;
    s2 -= a[3 * n + 2] * x3;
    s3 -= a[3 * n + 3] * x3;
    y[0] = s0;
    y[m] = s1;
    y[2 * m] = s2;
    y[3 * m] = s3;
}

/* y -= a x, or a' x, for every column of a right-hand side. */
ESTIMATOR_CODE static void subtract_panel(const real* a, int transposed, const real* x, real* y) {
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < 4; r += 4) {
            if (transposed) {
                subtract_columns_4(a + r, x + c, y + r * m + c);
            } else {
                subtract_rows_4(a + r * n, x + c, y + r * m + c);
            }
        }
    }
}

/* ---- the whole system: all chains, side by side or one after another, then the separators ---- */

/* What a task works on. */
typedef struct {
    estimator_workspace* workspace;
    const real* d;
    const real* e;
    const real* b;
    real* x;
} job;

static void run_chains(job* j, void (*task)(void* argument, int c)) {
    const estimator_workspace* workspace = j->workspace;
    if (workspace->parallel_for != NULL) {
        workspace->parallel_for(workspace->user, ESTIMATOR_CHAINS, task, j);
    } else {
        for (int c = 0; c < ESTIMATOR_CHAINS; ++c) {
            task(j, c);
        }
    }
}

/* Front k of chain c, block i: L, R = A(next, i) L^-T, and G = A(behind, i) L^-T with what it adds to the separator behind. Returns the
 * row that fails, or -1. */
ESTIMATOR_CODE static int factor_front(const job* j, int c, int k, estimator_status* status) {
    estimator_workspace* w = j->workspace;
    const int step = chains[c].step, i = chains[c].first + k * step, before = k > 0 ? i - step : i, behind = chains[c].behind;
    real* l = w->diagonal + i * BLOCK;
    real* g = w->behind + i * BLOCK;
    const real* d = j->d + i * BLOCK;
    int failed = factor_block(d, w->next + before * BLOCK, k > 0 ? n : 0, d, l);
    if (failed >= 0) {
        failed = finish_block(d, w->next + before * BLOCK, k > 0 ? n : 0, d, l, i, failed, status);
    }
    if (failed < 0 && (k + 1 < chains[c].length || chains[c].ahead >= 0)) {
        load_coupling(j->e, i, step, w->next + i * BLOCK);
        solve_panel(w->next + i * BLOCK, l, l, 0, l, w->next + i * BLOCK);
    }
    if (failed < 0 && behind >= 0) {
        if (k == 0) {
            set_zero(update_of(w, behind, c), BLOCK);
            load_coupling(j->e, i, -1, g);
        } else {
            set_zero(g, BLOCK);
        }
        solve_panel(g, w->behind + before * BLOCK, w->next + before * BLOCK, k > 0 ? n : 0, l, g);
        subtract_product(update_of(w, behind, c), g, g);
    }
    return failed;
}

/* What a chain leaves for the separator ahead, and for its coupling to the one behind. */
ESTIMATOR_CODE static void finish_chain(estimator_workspace* w, int c) {
    const int last = chains[c].first + (chains[c].length - 1) * chains[c].step, ahead = chains[c].ahead, behind = chains[c].behind;
    const real* r = w->next + last * BLOCK;
    if (ahead >= 0) {
        set_zero(update_of(w, ahead, c), BLOCK);
        subtract_product(update_of(w, ahead, c), r, r);
    }
    if (ahead >= 0 && behind >= 0) {
        real* coupling = w->next + separators[behind] * BLOCK;
        set_zero(coupling, BLOCK);
        subtract_product(coupling, r, w->behind + last * BLOCK);
    }
}

ESTIMATOR_CODE static void factor_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    estimator_status status = outcome(ESTIMATOR_OK, -1, -1);
    int failed = -1;
    int k = 0;
    while (failed < 0 && k < chains[c].length) {
        failed = factor_front(j, c, k, &status);
        ++k;
    }
    if (failed < 0) {
        finish_chain(j->workspace, c);
    } else {
        status = outcome(ESTIMATOR_NOT_POSITIVE_DEFINITE, chains[c].first + (k - 1) * chains[c].step, failed);
    }
    j->workspace->outcomes[c] = status;
}

ESTIMATOR_CODE static estimator_status factor_separators(const job* j) {
    estimator_workspace* w = j->workspace;
    estimator_status status = outcome(ESTIMATOR_OK, -1, -1);
    int failed = -1;
    int s = 0;
    while (failed < 0 && s < SEPARATORS) {
        const int i = separators[s], before = s > 0 ? separators[s - 1] : i;
        real* l = w->diagonal + i * BLOCK;
        const real* d = j->d + i * BLOCK;
        const real* below = update_of(w, s, s);
        const real* above = update_of(w, s, s + 1);
        for (int r = 0; r < n; ++r) {
            for (int k = 0; k <= r; ++k) {
                l[r * n + k] = d[r * n + k] + below[r * n + k] + above[r * n + k];
            }
        }
        failed = factor_block(l, w->next + before * BLOCK, s > 0 ? n : 0, d, l);
        if (failed >= 0) {
            failed = finish_block(l, w->next + before * BLOCK, s > 0 ? n : 0, d, l, i, failed, &status);
        }
        if (failed < 0 && s + 1 < SEPARATORS) {
            solve_panel(w->next + i * BLOCK, l, l, 0, l, w->next + i * BLOCK);
        }
        ++s;
    }
    return failed < 0 ? status : outcome(ESTIMATOR_NOT_POSITIVE_DEFINITE, separators[s - 1], failed);
}

static void reset_workspace(estimator_workspace* workspace) {
    workspace->factored = outcome(ESTIMATOR_NOT_FACTORED, -1, -1);
    workspace->parallel_for = NULL;
    workspace->user = NULL;
}

void estimator_set_parallel_for(estimator_workspace* workspace, estimator_parallel_for parallel_for, void* user) {
    workspace->parallel_for = parallel_for;
    workspace->user = user;
}

/* A factorization that fails is worse than one that is nearly singular; of two alike the one of the smaller block. */
static estimator_status worse(estimator_status a, estimator_status b) {
    const int a_computed = is_computed(a), b_computed = is_computed(b);
    const int b_first = a.code == ESTIMATOR_OK || (b.code != ESTIMATOR_OK && b.block < a.block);
    return a_computed != b_computed ? (a_computed ? b : a) : (b_first ? b : a);
}

ESTIMATOR_CODE estimator_status estimator_factor(estimator_workspace* workspace, const estimator_real* d, const estimator_real* e) {
    job j = {workspace, d, e, NULL, NULL};
    estimator_status status = outcome(ESTIMATOR_OK, -1, -1);
    run_chains(&j, factor_chain);
    for (int c = 0; c < ESTIMATOR_CHAINS; ++c) {
        status = worse(status, workspace->outcomes[c]);
    }
    if (is_computed(status)) {
        status = worse(status, factor_separators(&j));
    }
    workspace->factored = status;
    return status;
}

ESTIMATOR_CODE static void forward_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    estimator_workspace* w = j->workspace;
    const int step = chains[c].step, behind = chains[c].behind, ahead = chains[c].ahead;
    int i = chains[c].first;
    if (behind >= 0) {
        set_zero(rhs_update_of(w, behind, c), VECTOR);
    }
    for (int k = 0; k < chains[c].length; ++k) {
        const int before = k > 0 ? i - step : i;
        forward_block(w->diagonal + i * BLOCK, w->next + before * BLOCK, j->x + before * VECTOR, k > 0 ? n : 0, j->b + i * VECTOR,
                      j->x + i * VECTOR);
        if (behind >= 0) {
            subtract_panel(w->behind + i * BLOCK, 0, j->x + i * VECTOR, rhs_update_of(w, behind, c));
        }
        i += step;
    }
    if (ahead >= 0) {
        set_zero(rhs_update_of(w, ahead, c), VECTOR);
        subtract_panel(w->next + (i - step) * BLOCK, 0, j->x + (i - step) * VECTOR, rhs_update_of(w, ahead, c));
    }
}

ESTIMATOR_CODE static void backward_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    const estimator_workspace* w = j->workspace;
    const int step = chains[c].step, behind = chains[c].behind;
    int has_next = chains[c].ahead >= 0;
    int i = chains[c].first + (chains[c].length - 1) * step;
    for (int k = 0; k < chains[c].length; ++k) {
        real* x = j->x + i * VECTOR;
        if (behind >= 0) {
            subtract_panel(w->behind + i * BLOCK, 1, j->x + separators[behind] * VECTOR, x);
        }
        backward_block(w->diagonal + i * BLOCK, w->next + i * BLOCK, has_next ? x + step * VECTOR : x, has_next ? n : 0, x);
        has_next = 1;
        i -= step;
    }
}

ESTIMATOR_CODE static void solve_separators(const job* j) {
    estimator_workspace* w = j->workspace;
    for (int s = 0; s < SEPARATORS; ++s) {
        const int i = separators[s], before = s > 0 ? separators[s - 1] : i;
        const real* below = rhs_update_of(w, s, s);
        const real* above = rhs_update_of(w, s, s + 1);
        real* x = j->x + i * VECTOR;
        for (int k = 0; k < VECTOR; ++k) {
            x[k] = j->b[i * VECTOR + k] + below[k] + above[k];
        }
        forward_block(w->diagonal + i * BLOCK, w->next + before * BLOCK, j->x + before * VECTOR, s > 0 ? n : 0, x, x);
    }
    for (int s = SEPARATORS - 1; s >= 0; --s) {
        const int i = separators[s], has_next = s + 1 < SEPARATORS;
        real* x = j->x + i * VECTOR;
        backward_block(w->diagonal + i * BLOCK, w->next + i * BLOCK, has_next ? j->x + separators[s + 1] * VECTOR : x, has_next ? n : 0, x);
    }
}

ESTIMATOR_CODE estimator_status estimator_solve(estimator_workspace* workspace, const estimator_real* b, estimator_real* x) {
    job j = {workspace, NULL, NULL, b, x};
    if (!is_computed(workspace->factored)) {
        poison_solution(x);
        return outcome(ESTIMATOR_NOT_FACTORED, -1, -1);
    }
    run_chains(&j, forward_chain);
    solve_separators(&j);
    run_chains(&j, backward_chain);
    return solved(check_finite(x), workspace->factored);
}

ESTIMATOR_CODE estimator_status estimator_factor_solve(estimator_workspace* workspace, const estimator_real* d, const estimator_real* e, const estimator_real* b, estimator_real* x) {
    const estimator_status status = estimator_factor(workspace, d, e);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    return estimator_solve(workspace, b, x);
}

/* ---- memory ---- */

size_t estimator_workspace_size(void) { return sizeof(estimator_workspace); }

estimator_workspace* estimator_init(void* memory) {
    estimator_workspace* workspace = NULL;
    if (memory != NULL && (uintptr_t)memory % ESTIMATOR_ALIGNMENT == 0) {
        workspace = (estimator_workspace*)memory;
        reset_workspace(workspace);
    }
    return workspace;
}

ESTIMATOR_CODE estimator_real estimator_least_pivot(const estimator_workspace* workspace, const estimator_real* d) {
    real most = 1;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            const real reciprocal = workspace->diagonal[i * BLOCK + r * n + r];
            const real ratio = d[ESTIMATOR_D(i, r, r)] * reciprocal * reciprocal;
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
#undef forward_rows_4
#undef backward_rows_4
#undef forward_block
#undef backward_block
#undef is_sound
#undef is_pivot
#undef finish_block
#undef solve_columns_4
#undef factor_corner_4
#undef factor_block
#undef solve_panel
#undef chain
#undef SEPARATORS
#undef chains
#undef separators
#undef check_finite
#undef update_of
#undef rhs_update_of
#undef set_zero
#undef load_coupling
#undef subtract_product
#undef subtract_rows_4
#undef subtract_columns_4
#undef subtract_panel
#undef job
#undef run_chains
#undef factor_front
#undef finish_chain
#undef factor_chain
#undef factor_separators
#undef reset_workspace
#undef worse
#undef forward_chain
#undef backward_chain
#undef solve_separators
