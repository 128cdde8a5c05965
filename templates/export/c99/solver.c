/* The parts of btd_solver.c in plain C, in their order there. Each begins at a line @@ NAME: when it is taken.
 * "Factoring" are all projects but those whose factors are constants. Loops over the rows and columns of a tile are unrolled:
 * generator/export/c99/unrolled.cpp writes the lines. */

@@ blocks: always
/* Operations on one block. A block is row-major, n by n. */

typedef btd_real real;

enum { n = BTD_BLOCK, N = @CHAIN@, m = BTD_RHS, BLOCK = n * n };

@@ outcome: always; targets that have kernels too, and btd_refine.c
/* ---- what a call returns ---- */

enum { VECTOR = BTD_BLOCK * BTD_RHS, SIZE = BTD_HORIZON * VECTOR@TIP_SIZE@ };

static btd_status outcome(btd_code code, int block, int row) {
    btd_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(btd_real x) { return x >= -BTD_LARGEST && x <= BTD_LARGEST; }

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static btd_status judge(btd_real zero, const btd_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(BTD_OK, -1, -1);
    }
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(BTD_OUT_OF_RANGE, block, (i - block * VECTOR) / BTD_RHS);
}

@@ computed: factoring; targets that have kernels too, and btd_refine.c
/* Whether there is a factor, or an X. */
static inline int is_computed(btd_status status) { return status.code == BTD_OK || status.code == BTD_NEARLY_SINGULAR; }

/* The outcome of a solution is that of the factorization, unless X has left the range. */
static inline btd_status solved(btd_status range, btd_status factorization) { return range.code == BTD_OK ? factorization : range; }

@@ poison: always; targets that have kernels too
/* What becomes of X where there is no factor. */
BTD_CODE static void poison_solution(btd_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (btd_real)NAN;
    }
}

@@ forward_rows: for each number of rows that a sweep takes at a time
/* @ROWS@ row(s) of y = L^-1 (b - a y_before) from row r on; @ROWS@ sums take one load of the vector. */
static inline void forward_rows_@ROWS@(const real* l, const real* a, const real* y_before, int width, const real* b, real* y@ROW@) {
@LOADS@
@BEFORE@
@OWN@
@FINISH@
}

@@ backward_rows: for each number of rows that a sweep takes at a time
/* @ROWS@ row(s) of x = L^-T (x - a' x_next) from row r on, with products of L's rows from the last one up. */
static inline void backward_rows_@ROWS@(const real* l, const real* a, const real* x_next, int height, real* x@ROW@) {
@LOADS@
@BEFORE@
@OWN@
@FINISH@
}

@@ sweeps: always
/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
BTD_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
@FORWARD@
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
BTD_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
@BACKWARD@
    }
}

@@ pivots: factoring
/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / BTD_LARGEST)
/* A pivot below this part of the diagonal entry that it began with is nearly zero: rounding may be all that is left of it. A power of two,
 * so that products with it are exact. */
#define NEARLY_ZERO (64 * BTD_EPSILON)

/* Whether a pivot is sound beyond doubt, by one comparison. No pivot is larger than the entry that it began with, so that this refuses
 * infinity, and NaN whatever the sign. */
static inline int is_sound(real pivot, real entry) { return pivot > NEARLY_ZERO * entry + TOO_SMALL; }

static inline int is_pivot(real pivot) { return pivot > TOO_SMALL && pivot <= BTD_LARGEST; }

@@ pivots_of_both_signs: factoring, pivots of both signs, in place of the above
/* ---- factorization of a block ---- */

/* A pivot is larger, for its reciprocal to be finite. */
#define TOO_SMALL (1 / BTD_LARGEST)
/* A pivot below this part of the sum of its row is nearly zero: rounding may be all that is left of it. */
#define NEARLY_ZERO (64 * BTD_EPSILON)

static inline real size_of(real x) { return x < 0 ? -x : x; }

static inline int is_sound(real pivot, real entry) {
    (void)entry;
    return size_of(pivot) > TOO_SMALL && size_of(pivot) <= BTD_LARGEST;
}

@@ llt: factoring as L L'
/* ---- L L': L, with 1 / L(k, k) on the diagonal; multipliers are rows of the coupling to the block before, and of L ---- */

@@ ldlt: factoring as L P L'
/* ---- L P L', L with ones on its diagonal, P the pivots: L P, with 1 / P on the diagonal; couplings are E L^-T ---- */

/* Multipliers: a P^-1 for some rows of a, where row q has `count` + q `more` elements. */
BTD_CODE static void scale_rows(const real* a, const real* l, int rows, int count, int more, real* scaled) {
    for (int q = 0; q < rows; ++q) {
        for (int k = 0; k < count + q * more; ++k) {
            scaled[q * n + k] = a[q * n + k] * l[k * n + k];
        }
    }
}

@@ finish_block: factoring
/* The rest of a block whose pivot `row` is not sound beyond doubt. Rare, and so in few instructions; the bits are those of the code below.
 * Returns the row that fails, or -1; the status becomes that of the first pivot that is nearly zero. */
BTD_CODE static int finish_block(const real* d, const real* before, int width, @PARAMETERS@real* l, int block, int row,@BREAK@btd_status* status) {
@CORNER@
    for (int r = row; r < n; ++r) {
        for (int c = @START@; c <= r; ++c) {
            const real entry = @ENTRIES@[r * n + r];
            real sum = d[r * n + c];
            for (int k = 0; k < width; ++k) {
                sum -= before[r * n + k] * @BEFORE@;
            }
            for (int k = 0; k < c; ++k) {
                sum -= l[r * n + k] * @OWN@;
            }
            if (c < r) {
                l[r * n + c] = sum@SCALE@;
            } else if (is_pivot(sum)) {
                l[r * n + r] = 1 / @ROOT@;
                if (sum < NEARLY_ZERO * entry && status->code == BTD_OK) {
                    *status = outcome(BTD_NEARLY_SINGULAR, block, r);
                }
            } else {
                return r;
            }
        }
    }
    return -1;
}

@@ solve_columns: factoring, for each number of columns that a panel takes at a time
/* Columns j to j + @LAST@ of a panel, rows `first` to @ROWS@ - 1: what x and `before` have to do with the rows of the multipliers is subtracted
 * from the source. The products with `before` run over `width` columns: n, or 0 for none. x may be the source. The sums of a tile and what
 * they are made of are to stay in registers: a Cortex-M7 has 32 in single precision, 16 in double. */
BTD_CODE static void @NAME@_@COLUMNS@(const real* source, const real* before, int width, const real* multipliers, const real* own, real* x,
                                     int j, int first) {
@TILES@
}

@@ tile: in solve_columns, for each number of rows
    const real* s = source + r * n + j;
    const real* a = before + r * n;
    const real* b = multipliers;
@LOADS@
    for (int k = 0; k < width; ++k) {
@BEFORE@
        ++a;
        ++b;
    }
    real* y = x + r * n;
    b = own;
    for (int k = 0; k < j; ++k) {
@OWN@
        ++y;
        ++b;
    }
@FINISH@

@@ factor_corner: factoring, for each number of columns that a panel takes at a time
/* Pivots j to j + @LAST@ with the rows below them, from d less the products of `before` and of l. Returns the row of the
 * first one that is not sound beyond doubt, or -1. */
BTD_CODE static int factor_corner_@COLUMNS@(const real* d, const real* before, int width, @PARAMETERS@real* l, int j) {
@LOADS@
    for (int k = 0; k < width; ++k) {
@BEFORE@
        ++before;
@NEXT_BEFORE@
    }
    for (int k = 0; k < j; ++k) {
@OWN@
        ++l;
@NEXT_OWN@
    }
@FINISH@
    return -1;
}

@@ factor_block: factoring
/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row
 * of the first pivot that is not sound beyond doubt, or -1: finish_block has the rest. */
BTD_CODE static int factor_block(const real* d, const real* before, int width, @PARAMETERS@real* l) {
@FACTOR@
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
@SOLVE@
}

@@ check_finite: always, unless solve_small_blocks is taken; targets that have kernels too, and btd_refine.c
BTD_CODE static btd_status check_finite(const btd_real* x) {
    btd_real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
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

@@ solve_blocks: one chain
/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. */
BTD_CODE static btd_status solve_blocks(@WORKSPACE@const real* l, const real* r, const real* b, real* x) {
    const real* coupling = r;
    const real* solved = x;
    int width = 0;
    for (int i = 0; i < N; ++i) {
        forward_block(l + i * BLOCK, coupling, solved, width, b + i * VECTOR, x + i * VECTOR);
        coupling = r + i * BLOCK;
        solved = x + i * VECTOR;
        width = n;
    }
@SOLVE_TIP@
    width = 0;
    for (int i = N - 1; i >= 0; --i) {
        backward_block(l + i * BLOCK, r + i * BLOCK, solved, width, x + i * VECTOR);
        solved = x + i * VECTOR;
        width = n;
    }
    return check_finite(x@BACK@);
}

@@ solve_small_blocks: in place of the two above: one chain of several blocks of 4 to 6, one right-hand side
/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. The blocks are so small that the ends are
 * apart, and that x is tested while it is in registers. */
BTD_CODE static btd_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
    forward_block(l, l, x, 0, b, x);
    for (int i = 1; i < N; ++i) {
        forward_block(l + i * BLOCK, r + (i - 1) * BLOCK, x + (i - 1) * VECTOR, n, b + i * VECTOR, x + i * VECTOR);
    }
    real* y = x + (N - 1) * VECTOR;
    backward_block(l + (N - 1) * BLOCK, l, x, 0, y);
@TEST@
    for (int i = N - 2; i >= 0; --i) {
        y = x + i * VECTOR;
        backward_block(l + i * BLOCK, r + i * BLOCK, y + VECTOR, n, y);
@TEST_INSIDE@
    }
    return judge((zero0 + zero1) + (zero2 + zero3), x);
}

@@ sequential: factoring, one chain
/* ---- the whole system, one block after another ---- */

/* L over `l`, R over `r`. These may be d and e. */
BTD_CODE static btd_status factor_blocks(const real* d, const real* e, real* l, real* r) {
    btd_status status = outcome(BTD_OK, -1, -1);
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
    return row < 0 ? status : outcome(BTD_NOT_POSITIVE_DEFINITE, block, row);
}

@@ both_signs: factoring, pivots of both signs, in place of sequential
/* ---- the whole system, one block after another ---- */

/* Largest of the rows so far. A row's sum has the size of its entry on the diagonal, and the squares of its row of L over the pivots. */
typedef struct {
    real diagonal, entry;  /* entries of A: on the diagonal, and of all */
    real grown, reduction; /* sums, and these over their pivots */
    int negative;          /* pivots below zero */
} row_sums;

static inline real larger(real a, real b) { return a > b ? a : b; }

/* Before a block is factored, which may overwrite it. It couples to the next block unless it is the last one. */
BTD_CODE static void start_sums(const real* d, const real* e, int couples, real* sums, row_sums* g) {
    for (int r = 0; r < n; ++r) {
        sums[r] = size_of(d[r * n + r]);
        g->diagonal = larger(sums[r], g->diagonal);
        for (int c = 0; c <= r; ++c) {
            g->entry = larger(size_of(d[r * n + c]), g->entry);
        }
        for (int c = 0; c < n * couples; ++c) {
            g->entry = larger(size_of(e[r * n + c]), g->entry);
        }
    }
}

/* `before` is the coupling to the block before, whose factor is `l_before`; it is `width` columns wide. */
BTD_CODE static void finish_sums(const real* before, const real* l_before, int width, const real* l, const real* sums, row_sums* g) {
    for (int r = 0; r < n; ++r) {
        real sum = sums[r];
        for (int k = 0; k < width; ++k) {
            sum += size_of(before[r * n + k] * (before[r * n + k] * l_before[k * n + k]));
        }
        for (int k = 0; k < r; ++k) {
            sum += size_of(l[r * n + k] * (l[r * n + k] * l[k * n + k]));
        }
        g->grown = larger(sum, g->grown);
        g->reduction = larger(sum * size_of(l[r * n + r]), g->reduction);
        g->negative += l[r * n + r] < 0;
    }
}

/* Sums that have grown a lot mean that digits were lost. So do sums that have grown a little, if there is a very small pivot too. */
static btd_status settle(btd_workspace* workspace, const row_sums* g) {
    const real most = @MOST_GROWTH@, little = 1024, apart = 4096;
    const real grown = g->grown / (g->grown > little * g->diagonal ? g->entry : g->diagonal), least = 1 / g->reduction;
    const int doubtful = !(grown <= most) || least < NEARLY_ZERO || (grown > little && grown > most * apart * least);
    workspace->growth = grown;
    workspace->least = least;
    workspace->negative = g->negative;
    return outcome(doubtful ? BTD_NEARLY_SINGULAR : BTD_OK, -1, -1);
}

/* L over `l`, R over `r`. These may be d and e. */
BTD_CODE static btd_status factor_blocks(btd_workspace* workspace, const real* d, const real* e, real* l, real* r) {
    row_sums g = {0, 0, 0, 1, 0};
    real sums[n];
    for (int block = 0; block < N; ++block) {
        const int couples = block + 1 < N, width = block > 0 ? n : 0;
        const real* before = block > 0 ? r + (block - 1) * BLOCK : d;
        real* own = l + block * BLOCK;
        start_sums(d + block * BLOCK, e + couples * block * BLOCK, couples, sums, &g);
        const int row = factor_block(d + block * BLOCK, before, width, own);
        if (row >= 0) {
            return outcome(BTD_NOT_POSITIVE_DEFINITE, block, row);
        }
        finish_sums(before, block > 0 ? own - BLOCK : own, width, own, sums, &g);
        if (couples) {
            solve_panel(e + block * BLOCK, e, e, 0, own, r + block * BLOCK);
        }
    }
    return settle(workspace, &g);
}

@@ keep: factoring, one chain
static void reset_workspace(btd_workspace* workspace) {
    workspace->diagonal = NULL;
    workspace->coupling = NULL;
    workspace->factored = outcome(BTD_NOT_FACTORED, -1, -1);
}

/* The workspace refers to a factor that is whole. */
static btd_status keep(btd_workspace* workspace, btd_status status, const real* l, const real* r) {
    const int good = is_computed(status);
    workspace->diagonal = good ? l : NULL;
    workspace->coupling = good ? r : NULL;
    workspace->factored = status;
    return status;
}

@@ solve: factoring, one chain
BTD_CODE btd_status btd_solve(const btd_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    return solved(solve_blocks(workspace->diagonal, workspace->coupling, b, x), workspace->factored);
}

@@ factor_in_place: factoring, one chain, arrays that are row-major without gaps
BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const real* BTD_RESTRICT d, const real* BTD_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    return keep(workspace, factor_blocks(@KEEPS@d, e, l, r), l, r);
}

BTD_CODE btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, real* BTD_RESTRICT d, real* BTD_RESTRICT e) {
    return keep(workspace, factor_blocks(@KEEPS@d, e, d, e), d, e);
}

@@ factor_copies: factoring, one chain, arrays of any other layout
/* Row-major copies of the caller's blocks. */
BTD_CODE static void load_blocks(const real* d, const real* e, real* diagonal, real* coupling) {
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c <= r; ++c) {
                diagonal[i * BLOCK + r * n + c] = d[BTD_D(i, r, c)];
            }
        }
    }
    for (int i = 0; i + 1 < N; ++i) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < n; ++c) {
                coupling[i * BLOCK + r * n + c] = e[BTD_E(i, r, c)];
            }
        }
    }
}

BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const real* BTD_RESTRICT d, const real* BTD_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    load_blocks(d, e, l, r);
    return keep(workspace, factor_blocks(@KEEPS@l, r, l, r), l, r);
}

@@ factor_solve: factoring
BTD_CODE btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x@FACTOR_SOLVE_DEFINED@) {
    const btd_status status = btd_factor(workspace, d, e@GIVEN_SHAPE@);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    return btd_solve(workspace, b, x);
}

@@ init: factoring; targets that have kernels too
/* ---- memory ---- */

size_t btd_workspace_size(void) { return sizeof(btd_workspace); }

btd_workspace* btd_init(void* memory) {
    btd_workspace* workspace = NULL;
    if (memory != NULL && (uintptr_t)memory % BTD_ALIGNMENT == 0) {
        workspace = (btd_workspace*)memory;
        reset_workspace(workspace);
    }
    return workspace;
}

@@ least_pivot: factoring
BTD_CODE btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d) {
    real most = 1;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            const real reciprocal = workspace->diagonal[i * BLOCK + r * n + r];
            const real ratio = @ENTRY@ * reciprocal@SQUARE@;
            most = ratio > most ? ratio : most;
        }
    }
@TIP_PIVOTS@
    return 1 / most;
}

@@ inertia: factoring, pivots of both signs, in place of the above
BTD_CODE btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d) {
    (void)d;
    return is_computed(workspace->factored) ? workspace->least : 0;
}

int btd_negative_pivots(const btd_workspace* workspace) { return is_computed(workspace->factored) ? workspace->negative : -1; }

btd_real btd_growth(const btd_workspace* workspace) { return is_computed(workspace->factored) ? workspace->growth : 0; }

@@ prefactored: factors that are constants
/* ---- the interface ---- */

BTD_CODE btd_status btd_solve(int shift, const btd_real* b, btd_real* x) {
    if (shift < 0 || shift >= BTD_SHIFTS) {
        poison_solution(x);
        return outcome(BTD_NO_SUCH_SHIFT, -1, -1);
    }
    return solve_blocks(btd_factor_diagonal[shift], btd_factor_coupling[shift], b, x);
}
