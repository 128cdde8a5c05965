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
#define partner estimator_solver_partner
#define is_pivot estimator_solver_is_pivot
#define tile estimator_solver_tile
#define subtract_products estimator_solver_subtract_products
#define subtract_corner estimator_solver_subtract_corner
#define rows estimator_solver_rows
#define take_rows estimator_solver_take_rows
#define take_pivots estimator_solver_take_pivots
#define finish_columns estimator_solver_finish_columns
#define solve_columns estimator_solver_solve_columns
#define factor_pivots estimator_solver_factor_pivots
#define factor_block estimator_solver_factor_block
#define solve_panel estimator_solver_solve_panel
#define VECTOR estimator_solver_VECTOR
#define SIZE estimator_solver_SIZE
#define outcome estimator_solver_outcome
#define is_finite estimator_solver_is_finite
#define check_finite estimator_solver_check_finite
#define poison_solution estimator_solver_poison_solution
#define start_row estimator_solver_start_row
#define end_row estimator_solver_end_row
#define pair estimator_solver_pair
#define subtract_rows estimator_solver_subtract_rows
#define subtract_columns estimator_solver_subtract_columns
#define forward_block estimator_solver_forward_block
#define backward_block estimator_solver_backward_block
#define chain estimator_solver_chain
#define SEPARATORS estimator_solver_SEPARATORS
#define chains estimator_solver_chains
#define separators estimator_solver_separators
#define update_of estimator_solver_update_of
#define rhs_update_of estimator_solver_rhs_update_of
#define set_zero estimator_solver_set_zero
#define load_coupling estimator_solver_load_coupling
#define subtract_product estimator_solver_subtract_product
#define subtract_panel estimator_solver_subtract_panel
#define job estimator_solver_job
#define run_chains estimator_solver_run_chains
#define factor_front estimator_solver_factor_front
#define finish_chain estimator_solver_finish_chain
#define factor_chain estimator_solver_factor_chain
#define factor_separators estimator_solver_factor_separators
#define reset_workspace estimator_solver_reset_workspace
#define forward_chain estimator_solver_forward_chain
#define backward_chain estimator_solver_backward_chain
#define solve_separators estimator_solver_solve_separators

/* Operations on one block. A block is row-major, n by n. Two rows and two columns at a time: four sums in registers take four
 * products from four numbers. An odd last row or column is its own partner, and computed twice with the same outcome. */

typedef estimator_real real;

enum { n = ESTIMATOR_BLOCK, N = ESTIMATOR_HORIZON, m = ESTIMATOR_RHS, BLOCK = n * n };

/* The row or column after k, or k itself where there is none. */
static inline int partner(int k) { return k + 1 < n ? k + 1 : k; }

/* ---- factorization of a block ---- */

/* The only test of a pivot, whose reciprocal has to be finite. It refuses NaN, whatever the sign. */
static inline int is_pivot(real d) { return d > 1 / ESTIMATOR_LARGEST && d <= ESTIMATOR_LARGEST; }

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
    l[j * n + j] = 1 / ESTIMATOR_SQRT(c.c00);
    if (j1 > j) {
        c.c10 *= l[j * n + j];
        c.c11 -= c.c10 * c.c10;
        if (!is_pivot(c.c11)) {
            return j1;
        }
        l[j1 * n + j] = c.c10;
        l[j1 * n + j1] = 1 / ESTIMATOR_SQRT(c.c11);
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
ESTIMATOR_CODE static void solve_columns(const real* source, const real* before, int width, const rows* t, const real* l, real* x, int j,
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
ESTIMATOR_CODE static int factor_pivots(const real* d, const real* before, int width, const rows* t, real* l, int j) {
    const int j1 = partner(j);
    tile c = {d[j * n + j], 0, d[j1 * n + j], d[j1 * n + j1]};
    c = subtract_corner(c, before + j * n, before + j1 * n, t->before0, t->before1, width);
    c = subtract_corner(c, l + j * n, l + j1 * n, t->own0, t->own1, j);
    return take_pivots(c, l, j, j1);
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row that fails,
 * or -1. */
ESTIMATOR_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
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
ESTIMATOR_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < n; j += 2) {
        rows t;
        take_rows(&t, multipliers, width, l, j);
        solve_columns(source, before, width, &t, l, x, j, 0);
    }
}

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

/* Names the first element of x that is NaN or infinite. */
ESTIMATOR_CODE static estimator_status check_finite(const estimator_real* x) {
    int sound = 1;
    int i = 0;
    for (i = 0; i < SIZE; ++i) {
        sound &= is_finite(x[i]);
    }
    if (sound) {
        return outcome(ESTIMATOR_OK, -1, -1);
    }
    i = 0;
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(ESTIMATOR_OUT_OF_RANGE, block, (i - block * VECTOR) / ESTIMATOR_RHS);
}

/* What becomes of X where there is no factor. */
ESTIMATOR_CODE static void poison_solution(estimator_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (estimator_real)NAN;
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
ESTIMATOR_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
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
ESTIMATOR_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
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
    for (int r = 0; r < n; r += 2) {
        const int r1 = partner(r);
        for (int j = 0; j < n; j += 2) {
            const int j1 = partner(j);
            tile t = {c[r * n + j], c[r * n + j1], c[r1 * n + j], c[r1 * n + j1]};
            t = subtract_products(t, a + r * n, a + r1 * n, b + j * n, b + j1 * n, n);
            c[r * n + j] = t.c00;
            c[r * n + j1] = t.c01;
            c[r1 * n + j] = t.c10;
            c[r1 * n + j1] = t.c11;
        }
    }
}

/* y -= a x, or a' x, for every column of a right-hand side. */
ESTIMATOR_CODE static void subtract_panel(const real* a, int transposed, const real* x, real* y) {
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; r += 2) {
            const int r1 = partner(r);
            pair s = {y[r * m + c], y[r1 * m + c]};
            s = transposed ? subtract_columns(s, a, r, r1, x + c, n) : subtract_rows(s, a, r, r1, x + c, n);
            y[r * m + c] = s.s0;
            y[r1 * m + c] = s.s1;
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
ESTIMATOR_CODE static int factor_front(const job* j, int c, int k) {
    estimator_workspace* w = j->workspace;
    const int step = chains[c].step, i = chains[c].first + k * step, before = k > 0 ? i - step : i, behind = chains[c].behind;
    real* l = w->diagonal + i * BLOCK;
    real* g = w->behind + i * BLOCK;
    const int failed = factor_block(j->d + i * BLOCK, w->next + before * BLOCK, k > 0 ? n : 0, l);
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
    int failed = -1;
    int k = 0;
    while (failed < 0 && k < chains[c].length) {
        failed = factor_front(j, c, k);
        ++k;
    }
    if (failed < 0) {
        finish_chain(j->workspace, c);
        j->workspace->outcomes[c] = outcome(ESTIMATOR_OK, -1, -1);
    } else {
        j->workspace->outcomes[c] = outcome(ESTIMATOR_NOT_POSITIVE_DEFINITE, chains[c].first + (k - 1) * chains[c].step, failed);
    }
}

ESTIMATOR_CODE static estimator_status factor_separators(const job* j) {
    estimator_workspace* w = j->workspace;
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
        failed = factor_block(l, w->next + before * BLOCK, s > 0 ? n : 0, l);
        if (failed < 0 && s + 1 < SEPARATORS) {
            solve_panel(w->next + i * BLOCK, l, l, 0, l, w->next + i * BLOCK);
        }
        ++s;
    }
    return failed < 0 ? outcome(ESTIMATOR_OK, -1, -1) : outcome(ESTIMATOR_NOT_POSITIVE_DEFINITE, separators[s - 1], failed);
}

static void reset_workspace(estimator_workspace* workspace) {
    workspace->factored = 0;
    workspace->parallel_for = NULL;
    workspace->user = NULL;
}

void estimator_set_parallel_for(estimator_workspace* workspace, estimator_parallel_for parallel_for, void* user) {
    workspace->parallel_for = parallel_for;
    workspace->user = user;
}

ESTIMATOR_CODE estimator_status estimator_factor(estimator_workspace* workspace, const estimator_real* d, const estimator_real* e) {
    job j = {workspace, d, e, NULL, NULL};
    estimator_status status = outcome(ESTIMATOR_OK, -1, -1);
    run_chains(&j, factor_chain);
    for (int c = 0; c < ESTIMATOR_CHAINS; ++c) {
        const estimator_status* one = &workspace->outcomes[c];
        if (one->code != ESTIMATOR_OK && (status.code == ESTIMATOR_OK || one->block < status.block)) {
            status = *one;
        }
    }
    if (status.code == ESTIMATOR_OK) {
        status = factor_separators(&j);
    }
    workspace->factored = status.code == ESTIMATOR_OK;
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
    if (!workspace->factored) {
        poison_solution(x);
        return outcome(ESTIMATOR_NOT_FACTORED, -1, -1);
    }
    run_chains(&j, forward_chain);
    solve_separators(&j);
    run_chains(&j, backward_chain);
    return check_finite(x);
}

ESTIMATOR_CODE estimator_status estimator_factor_solve(estimator_workspace* workspace, const estimator_real* d, const estimator_real* e, const estimator_real* b, estimator_real* x) {
    const estimator_status status = estimator_factor(workspace, d, e);
    if (status.code != ESTIMATOR_OK) {
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
#undef chain
#undef SEPARATORS
#undef chains
#undef separators
#undef update_of
#undef rhs_update_of
#undef set_zero
#undef load_coupling
#undef subtract_product
#undef subtract_panel
#undef job
#undef run_chains
#undef factor_front
#undef finish_chain
#undef factor_chain
#undef factor_separators
#undef reset_workspace
#undef forward_chain
#undef backward_chain
#undef solve_separators
