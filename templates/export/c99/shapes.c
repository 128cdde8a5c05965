/* The parts of btd_solver.c for rings, borders and blocks of several sizes. They stand behind the factorization of solver.c, in this order. */

@@ shape: rings, borders, sizes
/* ---- what is not a chain ---- */

/* The chain is N blocks of A from block FIRST on. The tip is what all of them may be coupled to, TIP rows: first the CLOSED rows of block 0
 * of a ring, then the border. AHEAD elements of X are those of blocks before the chain. */
enum { FIRST = BTD_HORIZON - N, AHEAD = FIRST * BTD_BLOCK * BTD_RHS, TIP = BTD_TIP, CLOSED = TIP - BTD_BORDER };

@@ rows_of: rings, borders; without sizes
/* Rows that a block of A has. */
static inline int rows_of(const btd_workspace* workspace, int block) {
    (void)workspace;
    (void)block;
    return n;
}

@@ rows_of_sizes: sizes
/* Rows that a block of A has. */
static inline int rows_of(const btd_workspace* workspace, int block) { return workspace->sizes[block]; }

@@ load_blocks: sizes, and layouts other than row-major without gaps
/* A block of the chain: a copy with the identity beyond its rows, unless the caller's will do. */
BTD_CODE static const real* load_diagonal(btd_workspace* workspace, const real* d, int i) {
    const int rows = rows_of(workspace, FIRST + i);
    real* copy = workspace->own_diagonal + i * BLOCK;
@WHOLE_DIAGONAL@
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c <= r; ++c) {
            copy[r * n + c] = r < rows ? d[BTD_D(FIRST + i, r, c)] : (real)(r == c);
        }
    }
    return copy;
}

/* Likewise the coupling of two blocks. */
BTD_CODE static const real* load_coupling(btd_workspace* workspace, const real* e, int i) {
    const int rows = rows_of(workspace, FIRST + i + 1), columns = rows_of(workspace, FIRST + i);
    real* copy = workspace->own_coupling + i * BLOCK;
@WHOLE_COUPLING@
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) {
            copy[r * n + c] = r < rows && c < columns ? e[BTD_E(FIRST + i, r, c)] : 0;
        }
    }
    return copy;
}

@@ close_ring: rings of one block
/* D + E + E' */
BTD_CODE static const real* close_ring(btd_workspace* workspace, const real* d, const real* e) {
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c <= r; ++c) {
            workspace->own_diagonal[r * n + c] = d[BTD_D(0, r, c)] + e[BTD_E(0, r, c)] + e[BTD_E(0, c, r)];
        }
    }
    return workspace->own_diagonal;
}

@@ factor_chain: rings, borders, sizes
/* Block i of the chain, and the diagonal that it began with. Returns the row that fails, or -1. */
BTD_CODE static int factor_front(btd_workspace* workspace, const real* block, const real* before, int width, int i, btd_status* status) {
    real* l = workspace->own_diagonal + i * BLOCK;
    for (int k = 0; k < n; ++k) {
        workspace->entries[i * n + k] = block[k * n + k];
    }
    const int row = factor_block(block, before, width, l);
    return row < 0 ? row : finish_block(block, before, width, l, FIRST + i, row, status);
}

BTD_CODE static btd_status factor_chain(btd_workspace* workspace, const real* d, const real* e) {
    btd_status status = outcome(BTD_OK, -1, -1);
    const real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    int i = 0;
    int row = factor_front(workspace, @DIAGONAL@, r, 0, i, &status);
    while (row < 0 && i + 1 < N) {
        solve_panel(@COUPLING@, r, r, 0, l, r);
        ++i;
        row = factor_front(workspace, @DIAGONAL@, r, n, i, &status);
        l += BLOCK;
        r += BLOCK;
    }
    return row < 0 ? status : outcome(BTD_NOT_POSITIVE_DEFINITE, FIRST + i, row);
}

@@ load_ring: rings of several blocks
/* Block 0 as the tip, coupled to the first and the last block of the chain, which may be the same. */
BTD_CODE static void load_ring(btd_workspace* workspace, const real* d, const real* e) {
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) {
            for (int i = 0; i < N; ++i) {
                workspace->border[(i * TIP + r) * n + c] = 0;
            }
            workspace->border[r * n + c] = e[BTD_E(0, c, r)];
            workspace->border[((N - 1) * TIP + r) * n + c] += e[BTD_E(N, r, c)];
        }
        for (int c = 0; c < TIP; ++c) {
            workspace->tip[r * TIP + c] = c <= r ? d[BTD_D(0, r, c)] : 0;
        }
    }
}

@@ load_border: borders
/* F of the chain; and F of block 0 of a ring, which is in the tip, with C. */
BTD_CODE static void load_border(btd_workspace* workspace, const real* f, const real* corner) {
    for (int r = 0; r < BTD_BORDER; ++r) {
        real* tip = workspace->tip + (CLOSED + r) * TIP;
        for (int i = 0; i < BTD_HORIZON; ++i) {
            const real* row = f + (i * BTD_BORDER + r) * n;
            real* target = i < FIRST ? tip : workspace->border + ((i - FIRST) * TIP + CLOSED + r) * n;
            for (int c = 0; c < n; ++c) {
                target[c] = c < rows_of(workspace, i) ? row[c] : 0;
            }
        }
        for (int c = 0; c < BTD_BORDER; ++c) {
            tip[CLOSED + c] = c <= r ? corner[r * BTD_BORDER + c] : 0;
        }
    }
}

@@ load_sizes: sizes
/* Returns the block whose size is not 0 to n, or -1. */
BTD_CODE static int load_sizes(btd_workspace* workspace, const int* sizes) {
    for (int i = 0; i < BTD_HORIZON; ++i) {
        workspace->sizes[i] = sizes == NULL ? n : sizes[i];
        if (workspace->sizes[i] < 0 || workspace->sizes[i] > n) {
            return i;
        }
    }
    return -1;
}

@@ load_right: rings, borders, sizes
/* x = b, and 0 beyond the rows of a block. */
BTD_CODE static void load_right(const btd_workspace* workspace, const real* b, real* x) {
    for (int i = 0; i < BTD_HORIZON; ++i) {
        const int size = rows_of(workspace, i) * m;
        for (int k = 0; k < VECTOR; ++k) {
            x[i * VECTOR + k] = k < size ? b[i * VECTOR + k] : 0;
        }
    }
    for (int k = BTD_HORIZON * VECTOR; k < SIZE; ++k) {
        x[k] = b[k];
    }
}

@@ reduce_border: a tip
/* G = F L^-T over the rows F of the border, for one block: what G has to do with the block before is subtracted. */
BTD_CODE static void reduce_border(const real* coupling, const real* before, int width, const real* l, real* g) {
@REDUCE@
}

@@ factor_tip: a tip
/* An outcome at a row of the tip, as A has it. */
static btd_status tip_outcome(btd_code code, int row) {
    return row < CLOSED ? outcome(code, 0, row) : outcome(code, BTD_HORIZON, row - CLOSED);
}

/* G over F, and the factor of S = C - @GG@ over C: L P with 1 / P on the diagonal, S = L P L'. The status, which is that of the chain,
 * becomes that of the first pivot of S which fails, or which is nearly zero where none was before. */
BTD_CODE static btd_status factor_tip(btd_workspace* workspace, btd_status status) {
    real* s = workspace->tip;
    if (!is_computed(status)) {
        return status;
    }
    for (int r = 0; r < TIP; ++r) {
        workspace->entries[N * n + r] = s[r * TIP + r];
    }
    const real* coupling = workspace->own_coupling;
    const real* before = workspace->border;
    int width = 0;
    for (int i = 0; i < N; ++i) {
        const real* l = workspace->own_diagonal + i * BLOCK;
        real* g = workspace->border + i * TIP * n;
        reduce_border(coupling, before, width, l, g);
@PRODUCT@
        coupling = workspace->own_coupling + i * BLOCK;
        before = g;
        width = n;
    }
    for (int r = 0; r < TIP; ++r) {
        for (int c = 0; c <= r; ++c) {
            real sum = s[r * TIP + c];
            for (int k = 0; k < c; ++k) {
                sum -= s[r * TIP + k] * (s[c * TIP + k] * s[k * TIP + k]);
            }
            s[r * TIP + c] = sum;
        }
        const real pivot = s[r * TIP + r];
        if (!is_pivot(pivot)) {
            return tip_outcome(BTD_NOT_POSITIVE_DEFINITE, r);
        }
        if (pivot < NEARLY_ZERO * workspace->entries[N * n + r] && status.code == BTD_OK) {
            status = tip_outcome(BTD_NEARLY_SINGULAR, r);
        }
        s[r * TIP + r] = 1 / pivot;
    }
    return status;
}

@@ solve_tip: a tip
/* The row of X that a row of the tip is. */
static inline int tip_row(int r) { return r < CLOSED ? r : BTD_HORIZON * n + r - CLOSED; }

/* Between the two sweeps of x over the chain: the tip of x, and what the chain then loses by it. */
BTD_CODE static void solve_tip(const btd_workspace* workspace, real* x) {
    const real* s = workspace->tip;
    real* y = x + AHEAD;
    for (int c = 0; c < m; ++c) {
        real tip[TIP] = {0};
        for (int r = 0; r < TIP; ++r) {
            real sum = x[tip_row(r) * m + c];
            for (int i = 0; i < N; ++i) {
                const real* g = workspace->border + (i * TIP + r) * n;
                for (int k = 0; k < n; ++k) {
                    sum -= g[k] * y[(i * n + k) * m + c];
                }
            }
            for (int k = 0; k < r; ++k) {
                sum -= s[r * TIP + k] * tip[k];
            }
            tip[r] = sum * s[r * TIP + r];
        }
        for (int r = TIP - 1; r >= 0; --r) {
            real sum = 0;
            for (int k = r + 1; k < TIP; ++k) {
                sum -= s[k * TIP + r] * tip[k];
            }
            tip[r] += sum * s[r * TIP + r];
            x[tip_row(r) * m + c] = tip[r];
        }
        for (int i = 0; i < N; ++i) {
            for (int k = 0; k < n; ++k) {
                const real* g = workspace->border + i * TIP * n + k;
                real sum = @START@;
                for (int r = 0; r < TIP; ++r) {
                    sum -= g[r * n] * tip[r];
                }
                y[(i * n + k) * m + c] = @FINISH@;
            }
        }
    }
}

@@ shaped: rings, borders, sizes
BTD_CODE btd_status btd_solve(const btd_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    load_right(workspace, b, x);
    return solved(@SOLVE@, workspace->factored);
}

BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const real* BTD_RESTRICT d, const real* BTD_RESTRICT e@FACTOR_DEFINED@) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
@LOAD@
    return keep(workspace, @FACTOR@, l, r);
}

@@ tip_pivots: in least_pivot, a tip
    for (int r = 0; r < TIP; ++r) {
        const real ratio = workspace->entries[N * n + r] * workspace->tip[r * (TIP + 1)];
        most = ratio > most ? ratio : most;
    }
