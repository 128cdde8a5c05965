/* See mpc_solver.h. Plain C99, and C++ as well: no recursion, no heap, no library but the square root. */
#include "mpc_solver.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math and -ffinite-math-only: the tests of the pivots and of X rely on NaN and infinity"
#endif

/* What stands before the functions; it may be set on the compiler's command line, to an attribute that puts them into fast memory. */
#ifndef MPC_CODE
#define MPC_CODE
#endif

#define MPC_LARGEST FLT_MAX
#define MPC_EPSILON FLT_EPSILON

/* May be set likewise: another square root, which must round correctly for the same bits everywhere. */
#ifndef MPC_SQRT
#define MPC_SQRT(x) sqrtf(x)
#endif

/* Indices are ints. */
typedef char mpc_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];

/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers can
 * be included in one translation unit. */
#define real mpc_solver_real
#define n mpc_solver_n
#define N mpc_solver_N
#define m mpc_solver_m
#define BLOCK mpc_solver_BLOCK
#define VECTOR mpc_solver_VECTOR
#define SIZE mpc_solver_SIZE
#define outcome mpc_solver_outcome
#define is_finite mpc_solver_is_finite
#define judge mpc_solver_judge
#define is_computed mpc_solver_is_computed
#define solved mpc_solver_solved
#define poison_solution mpc_solver_poison_solution
#define forward_rows_2 mpc_solver_forward_rows_2
#define backward_rows_2 mpc_solver_backward_rows_2
#define forward_block mpc_solver_forward_block
#define backward_block mpc_solver_backward_block
#define is_sound mpc_solver_is_sound
#define is_pivot mpc_solver_is_pivot
#define finish_block mpc_solver_finish_block
#define solve_columns_2 mpc_solver_solve_columns_2
#define factor_corner_2 mpc_solver_factor_corner_2
#define factor_block mpc_solver_factor_block
#define solve_panel mpc_solver_solve_panel
#define check_finite mpc_solver_check_finite
#define solve_blocks mpc_solver_solve_blocks
#define factor_blocks mpc_solver_factor_blocks
#define reset_workspace mpc_solver_reset_workspace
#define keep mpc_solver_keep

/* Operations on one block. A block is row-major, n by n. */

typedef mpc_real real;

enum { n = MPC_BLOCK, N = MPC_HORIZON, m = MPC_RHS, BLOCK = n * n };

/* ---- what a call returns ---- */

enum { VECTOR = MPC_BLOCK * MPC_RHS, SIZE = MPC_HORIZON * VECTOR };

static mpc_status outcome(mpc_code code, int block, int row) {
    mpc_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(mpc_real x) { return x >= -MPC_LARGEST && x <= MPC_LARGEST; }

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static mpc_status judge(mpc_real zero, const mpc_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(MPC_OK, -1, -1);
    }
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(MPC_OUT_OF_RANGE, block, (i - block * VECTOR) / MPC_RHS);
}

/* Whether there is a factor, or an X. */
static inline int is_computed(mpc_status status) { return status.code == MPC_OK || status.code == MPC_NEARLY_SINGULAR; }

/* The outcome of a solution is that of the factorization, unless X has left the range. */
static inline mpc_status solved(mpc_status range, mpc_status factorization) { return range.code == MPC_OK ? factorization : range; }

/* What becomes of X where there is no factor. */
MPC_CODE static void poison_solution(mpc_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (mpc_real)NAN;
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
MPC_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        forward_rows_2(l, a, y_before + c, width, b + c, y + c);
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
MPC_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        backward_rows_2(l, a, x_next + c, height, x + c);
    }
}

/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / MPC_LARGEST)
/* A pivot below this part of the diagonal entry that it began with is nearly zero: rounding may be all that is left of it. A power of two,
 * so that products with it are exact. */
#define NEARLY_ZERO (64 * MPC_EPSILON)

/* Whether a pivot is sound beyond doubt, by one comparison. No pivot is larger than the entry that it began with, so that this refuses
 * infinity, and NaN whatever the sign. */
static inline int is_sound(real pivot, real entry) { return pivot > NEARLY_ZERO * entry + TOO_SMALL; }

static inline int is_pivot(real pivot) { return pivot > TOO_SMALL && pivot <= MPC_LARGEST; }

/* ---- L L': L, with 1 / L(k, k) on the diagonal; multipliers are rows of the coupling to the block before, and of L ---- */

/* The rest of a block whose pivot `row` is not sound beyond doubt. Rare, and so in few instructions; the bits are those of the code below.
 * Returns the row that fails, or -1; the status becomes that of the first pivot that is nearly zero. */
MPC_CODE static int finish_block(const real* d, const real* before, int width, real* l, int block, int row, mpc_status* status) {
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
                l[r * n + r] = 1 / MPC_SQRT(sum);
                if (sum < NEARLY_ZERO * entry && status->code == MPC_OK) {
                    *status = outcome(MPC_NEARLY_SINGULAR, block, r);
                }
            } else {
                return r;
            }
        }
    }
    return -1;
}

/* Columns j to j + 1 of a panel, rows `first` to n - 1: what x and `before` have to do with the rows of the multipliers is subtracted
 * from the source. The products with `before` run over `width` columns: n, or 0 for none. x may be the source. The sums of a tile and what
 * they are made of are to stay in registers: a Cortex-M7 has 32 in single precision, 16 in double. */
MPC_CODE static void solve_columns_2(const real* source, const real* before, int width, const real* multipliers, const real* own, real* x,
                                     int j, int first) {
    for (int r = first; r < 2; r += 2) {
        const real* s = source + r * n + j;
        const real* a = before + r * n;
        const real* b = multipliers;
        real c00 = s[0], c01 = s[1];
        real c10 = s[n], c11 = s[n + 1];
        for (int k = 0; k < width; ++k) {
            const real a0 = a[0], a1 = a[n];
            const real b0 = b[0], b1 = b[n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            ++a;
            ++b;
        }
        real* y = x + r * n;
        b = own;
        for (int k = 0; k < j; ++k) {
            const real a0 = y[0], a1 = y[n];
            const real b0 = b[0], b1 = b[n];
            c00 -= a0 * b0;
            c01 -= a0 * b1;
            c10 -= a1 * b0;
            c11 -= a1 * b1;
            ++y;
            ++b;
        }
        c00 *= b[0];
        c10 *= b[0];
        c01 -= c00 * b[n];
        c11 -= c10 * b[n];
        c01 *= b[n + 1];
        c11 *= b[n + 1];
        y[0] = c00;
        y[1] = c01;
        y[n] = c10;
        y[n + 1] = c11;
    }
}

/* Pivots j to j + 1 with the rows below them, from d less the products of `before` and of l. Returns the row of the
 * first one that is not sound beyond doubt, or -1. */
MPC_CODE static int factor_corner_2(const real* d, const real* before, int width, real* l, int j) {
    real c00 = d[0];
    real c10 = d[n], c11 = d[n + 1];
    for (int k = 0; k < width; ++k) {
        const real a0 = before[0], a1 = before[n];
        c00 -= a0 * a0;
        c10 -= a1 * a0;
        c11 -= a1 * a1;
        ++before;
    }
    for (int k = 0; k < j; ++k) {
        const real a0 = l[0], a1 = l[n];
        c00 -= a0 * a0;
        c10 -= a1 * a0;
        c11 -= a1 * a1;
        ++l;
    }
    if (!is_sound(c00, d[0])) {
        return j;
    }
    const real reciprocal0 = 1 / MPC_SQRT(c00);
    l[0] = reciprocal0;
    c10 *= reciprocal0;
    l[n] = c10;
    c11 -= c10 * c10;
    if (!is_sound(c11, d[n + 1])) {
        return j + 1;
    }
    const real reciprocal1 = 1 / MPC_SQRT(c11);
    l[n + 1] = reciprocal1;
    return -1;
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row
 * of the first pivot that is not sound beyond doubt, or -1: finish_block has the rest. */
MPC_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
    int failed = -1;
    for (int j = 0; j < 2 && failed < 0; j += 2) {
        failed = factor_corner_2(d + j * n + j, before + j * n, width, l + j * n, j);
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
MPC_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < 2; j += 2) {
        solve_columns_2(source, before, width, multipliers + j * n, l + j * n, x, j, 0);
    }
}

MPC_CODE static mpc_status check_finite(const mpc_real* x) {
    mpc_real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
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
MPC_CODE static mpc_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
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

/* ---- the whole system, one block after another ---- */

/* L over `l`, R over `r`. These may be d and e. */
MPC_CODE static mpc_status factor_blocks(const real* d, const real* e, real* l, real* r) {
    mpc_status status = outcome(MPC_OK, -1, -1);
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
    return row < 0 ? status : outcome(MPC_NOT_POSITIVE_DEFINITE, block, row);
}

static void reset_workspace(mpc_workspace* workspace) {
    workspace->diagonal = NULL;
    workspace->coupling = NULL;
    workspace->factored = outcome(MPC_NOT_FACTORED, -1, -1);
}

/* The workspace refers to a factor that is whole. */
static mpc_status keep(mpc_workspace* workspace, mpc_status status, const real* l, const real* r) {
    const int good = is_computed(status);
    workspace->diagonal = good ? l : NULL;
    workspace->coupling = good ? r : NULL;
    workspace->factored = status;
    return status;
}

MPC_CODE mpc_status mpc_solve(const mpc_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(MPC_NOT_FACTORED, -1, -1);
    }
    return solved(solve_blocks(workspace->diagonal, workspace->coupling, b, x), workspace->factored);
}

MPC_CODE mpc_status mpc_factor(mpc_workspace* MPC_RESTRICT workspace, const real* MPC_RESTRICT d, const real* MPC_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    return keep(workspace, factor_blocks(d, e, l, r), l, r);
}

MPC_CODE mpc_status mpc_refactor(mpc_workspace* MPC_RESTRICT workspace, real* MPC_RESTRICT d, real* MPC_RESTRICT e) {
    return keep(workspace, factor_blocks(d, e, d, e), d, e);
}

MPC_CODE mpc_status mpc_factor_solve(mpc_workspace* workspace, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x) {
    const mpc_status status = mpc_factor(workspace, d, e);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    return mpc_solve(workspace, b, x);
}

/* ---- memory ---- */

size_t mpc_workspace_size(void) { return sizeof(mpc_workspace); }

mpc_workspace* mpc_init(void* memory) {
    mpc_workspace* workspace = NULL;
    if (memory != NULL && (uintptr_t)memory % MPC_ALIGNMENT == 0) {
        workspace = (mpc_workspace*)memory;
        reset_workspace(workspace);
    }
    return workspace;
}

MPC_CODE mpc_real mpc_least_pivot(const mpc_workspace* workspace, const mpc_real* d) {
    real most = 1;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            const real reciprocal = workspace->diagonal[i * BLOCK + r * n + r];
            const real ratio = d[MPC_D(i, r, r)] * reciprocal * reciprocal;
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
#undef forward_rows_2
#undef backward_rows_2
#undef forward_block
#undef backward_block
#undef is_sound
#undef is_pivot
#undef finish_block
#undef solve_columns_2
#undef factor_corner_2
#undef factor_block
#undef solve_panel
#undef check_finite
#undef solve_blocks
#undef factor_blocks
#undef reset_workspace
#undef keep
