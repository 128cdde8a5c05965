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
#define partner kalman_solver_partner
#define is_pivot kalman_solver_is_pivot
#define tile kalman_solver_tile
#define subtract_products kalman_solver_subtract_products
#define subtract_corner kalman_solver_subtract_corner
#define rows kalman_solver_rows
#define take_rows kalman_solver_take_rows
#define take_pivots kalman_solver_take_pivots
#define finish_columns kalman_solver_finish_columns
#define solve_columns kalman_solver_solve_columns
#define factor_pivots kalman_solver_factor_pivots
#define factor_block kalman_solver_factor_block
#define solve_panel kalman_solver_solve_panel
#define VECTOR kalman_solver_VECTOR
#define SIZE kalman_solver_SIZE
#define outcome kalman_solver_outcome
#define is_finite kalman_solver_is_finite
#define check_finite kalman_solver_check_finite
#define poison_solution kalman_solver_poison_solution
#define start_row kalman_solver_start_row
#define end_row kalman_solver_end_row
#define pair kalman_solver_pair
#define subtract_rows kalman_solver_subtract_rows
#define subtract_columns kalman_solver_subtract_columns
#define forward_block kalman_solver_forward_block
#define backward_block kalman_solver_backward_block
#define solve_blocks kalman_solver_solve_blocks
#define factor_blocks kalman_solver_factor_blocks
#define reset_workspace kalman_solver_reset_workspace
#define keep kalman_solver_keep

/* Operations on one block. A block is row-major, n by n. Two rows and two columns at a time: four sums in registers take four
 * products from four numbers. An odd last row or column is its own partner, and computed twice with the same outcome. */

typedef kalman_real real;

enum { n = KALMAN_BLOCK, N = KALMAN_HORIZON, m = KALMAN_RHS, BLOCK = n * n };

/* The row or column after k, or k itself where there is none. */
static inline int partner(int k) { return k + 1 < n ? k + 1 : k; }

/* ---- factorization of a block ---- */

/* The only test of a pivot, whose reciprocal has to be finite. It refuses NaN, whatever the sign. */
static inline int is_pivot(real d) { return d > 1 / KALMAN_LARGEST && d <= KALMAN_LARGEST; }

typedef struct {
    real c00, c01, c10, c11;
} tile;

/* c - (a0, a1) (b0, b1)' for rows of `count` columns. */
static inline tile subtract_products(tile c, const real* a0, const real* a1, const real* b0, const real* b1, int count) {
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * b0[k];
        c.c01 -= a0[k] * b1[k];
        c.c10 -= a1[k] * b0[k];
        c.c11 -= a1[k] * b1[k];
    }
    return c;
}

/* The same for a tile on the diagonal, whose c01 nobody needs. */
static inline tile subtract_corner(tile c, const real* a0, const real* a1, const real* b0, const real* b1, int count) {
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * b0[k];
        c.c10 -= a1[k] * b0[k];
        c.c11 -= a1[k] * b1[k];
    }
    return c;
}

/* ---- L L': L, with 1 / L(k, k) on the diagonal ---- */

/* Rows that columns j and j1 are multiplied with: of the coupling to the block before, and of L. */
typedef struct {
    const real *before0, *before1, *own0, *own1;
} rows;

static inline void take_rows(rows* t, const real* before, int width, const real* l, int j) {
    (void)width;
    t->before0 = before + j * n;
    t->before1 = before + partner(j) * n;
    t->own0 = l + j * n;
    t->own1 = l + partner(j) * n;
}

/* Pivots j and j1. Returns the row that fails, or -1. */
static inline int take_pivots(tile c, real* l, int j, int j1) {
    if (!is_pivot(c.c00)) {
        return j;
    }
    l[j * n + j] = 1 / KALMAN_SQRT(c.c00);
    if (j1 > j) {
        c.c10 *= l[j * n + j];
        c.c11 -= c.c10 * c.c10;
        if (!is_pivot(c.c11)) {
            return j1;
        }
        l[j1 * n + j] = c.c10;
        l[j1 * n + j1] = 1 / KALMAN_SQRT(c.c11);
    }
    return -1;
}

/* Rows of columns j and j1 from what their products leave. */
static inline tile finish_columns(tile c, const real* l, int j, int j1) {
    c.c00 *= l[j * n + j];
    c.c10 *= l[j * n + j];
    if (j1 > j) {
        c.c01 = (c.c01 - c.c00 * l[j1 * n + j]) * l[j1 * n + j1];
        c.c11 = (c.c11 - c.c10 * l[j1 * n + j]) * l[j1 * n + j1];
    }
    return c;
}

/* Rows `first` to n - 1 of a panel at columns j and j1 (potrf below the pivots, trsm): what x and `before` have to do with the rows t is
 * subtracted from the source; the products with `before` run over `width` columns: n, or 0 for none. x may be the source. */
KALMAN_CODE static void solve_columns(const real* source, const real* before, int width, const rows* t, const real* l, real* x, int j,
                                   int first) {
    const int j1 = partner(j);
    for (int r = first; r < n; r += 2) {
        const int r1 = partner(r);
        tile c = {source[r * n + j], source[r * n + j1], source[r1 * n + j], source[r1 * n + j1]};
        c = subtract_products(c, before + r * n, before + r1 * n, t->before0, t->before1, width);
        c = subtract_products(c, x + r * n, x + r1 * n, t->own0, t->own1, j);
        c = finish_columns(c, l, j, j1);
        x[r * n + j] = c.c00;
        x[r1 * n + j] = c.c10;
        if (j1 > j) {
            x[r * n + j1] = c.c01;
            x[r1 * n + j1] = c.c11;
        }
    }
}

/* Pivots j and j1 of d less the products with the rows t. Returns the row that fails, or -1. */
KALMAN_CODE static int factor_pivots(const real* d, const real* before, int width, const rows* t, real* l, int j) {
    const int j1 = partner(j);
    tile c = {d[j * n + j], 0, d[j1 * n + j], d[j1 * n + j1]};
    c = subtract_corner(c, before + j * n, before + j1 * n, t->before0, t->before1, width);
    c = subtract_corner(c, l + j * n, l + j1 * n, t->own0, t->own1, j);
    return take_pivots(c, l, j, j1);
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row that fails,
 * or -1. */
KALMAN_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
    int failed = -1;
    for (int j = 0; j < n && failed < 0; j += 2) {
        rows t;
        take_rows(&t, before, width, l, j);
        failed = factor_pivots(d, before, width, &t, l, j);
        if (failed < 0) {
            solve_columns(d, before, width, &t, l, l, j, j + 2);
        }
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
KALMAN_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < n; j += 2) {
        rows t;
        take_rows(&t, multipliers, width, l, j);
        solve_columns(source, before, width, &t, l, x, j, 0);
    }
}

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

/* Names the first element of x that is NaN or infinite. */
KALMAN_CODE static kalman_status check_finite(const kalman_real* x) {
    int sound = 1;
    int i = 0;
    for (i = 0; i < SIZE; ++i) {
        sound &= is_finite(x[i]);
    }
    if (sound) {
        return outcome(KALMAN_OK, -1, -1);
    }
    i = 0;
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(KALMAN_OUT_OF_RANGE, block, (i - block * VECTOR) / KALMAN_RHS);
}

/* What becomes of X where there is no factor. */
KALMAN_CODE static void poison_solution(kalman_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (kalman_real)NAN;
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
KALMAN_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
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
KALMAN_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
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
KALMAN_CODE static kalman_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
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

/* ---- the whole system, one block after another ---- */

/* L over `l`, R over `r`. These may be d and e. */
KALMAN_CODE static kalman_status factor_blocks(const real* d, const real* e, real* l, real* r) {
    int row = factor_block(d, d, 0, l);
    int block = 0;
    while (row < 0 && block + 1 < N) {
        solve_panel(e + block * BLOCK, e, e, 0, l + block * BLOCK, r + block * BLOCK);
        row = factor_block(d + (block + 1) * BLOCK, r + block * BLOCK, n, l + (block + 1) * BLOCK);
        ++block;
    }
    return row < 0 ? outcome(KALMAN_OK, -1, -1) : outcome(KALMAN_NOT_POSITIVE_DEFINITE, block, row);
}

static void reset_workspace(kalman_workspace* workspace) {
    workspace->diagonal = NULL;
    workspace->coupling = NULL;
}

/* The workspace refers to a factor that is whole. */
static kalman_status keep(kalman_workspace* workspace, kalman_status status, const real* l, const real* r) {
    const int good = status.code == KALMAN_OK;
    workspace->diagonal = good ? l : NULL;
    workspace->coupling = good ? r : NULL;
    return status;
}

KALMAN_CODE kalman_status kalman_solve(const kalman_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(KALMAN_NOT_FACTORED, -1, -1);
    }
    return solve_blocks(workspace->diagonal, workspace->coupling, b, x);
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
    if (status.code != KALMAN_OK) {
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

#undef real
#undef n
#undef N
#undef m
#undef BLOCK
#undef partner
#undef is_pivot
#undef tile
#undef subtract_products
#undef subtract_corner
#undef rows
#undef take_rows
#undef take_pivots
#undef finish_columns
#undef solve_columns
#undef factor_pivots
#undef factor_block
#undef solve_panel
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
#undef factor_blocks
#undef reset_workspace
#undef keep
