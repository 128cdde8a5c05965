/* The parts of btd_solver.c that several chains add. They stand behind factor_block of solver.c, in this order. */

@@ chains: several chains
/* Separator s is updated from below, by chain s, and from above. */
static real* update_of(btd_workspace* workspace, int s, int c) { return workspace->update + (2 * s + (c > s)) * BLOCK; }
static real* rhs_update_of(btd_workspace* workspace, int s, int c) { return workspace->rhs_update + (2 * s + (c > s)) * VECTOR; }

static void set_zero(real* a, int count) {
    for (int k = 0; k < count; ++k) {
        a[k] = 0;
    }
}

/* target = A(i + step, i), from the coupling above or below block i. */
BTD_CODE static void load_coupling(const real* e, int i, int step, real* target) {
    const real* a = e + (step > 0 ? i : i - 1) * BLOCK;
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) {
            target[r * n + k] = step > 0 ? a[r * n + k] : a[k * n + r];
        }
    }
}

@@ subtract_product: several chains
/* c -= a b' */
BTD_CODE static void subtract_product(real* c, const real* a, const real* b) {
@TILES@
}

@@ product_tile: in subtract_product, for each number of rows and columns
    real* s = c + r * @STRIDE@ + j;
    const real* u = a + r * n;
    const real* v = b + j * n;
@LOADS@
    for (int k = 0; k < n; ++k) {
@PRODUCTS@
        ++u;
        ++v;
    }
@STORES@

@@ vector_rows: for each number of rows that a product with a vector takes at a time
/* y -= a x for @ROWS@ row(s) of a; and y -= a' x for as many columns. */
static inline void subtract_rows_@ROWS@(const real* a, const real* x, real* y) {
@LOADS@
@PRODUCTS@
@STORES@
}
static inline void subtract_columns_@ROWS@(const real* a, const real* x, real* y) {
@LOADS@
@TRANSPOSED@
@STORES@
}

@@ vector_product: several chains
/* y -= a x, or a' x, for every column of a right-hand side. */
BTD_CODE static void subtract_panel(const real* a, int transposed, const real* x, real* y) {
    for (int c = 0; c < m; ++c) {
@CALLS@
    }
}

@@ partitioned: several chains
/* ---- the whole system: all chains, side by side or one after another, then the separators ---- */

/* What a task works on. */
typedef struct {
    btd_workspace* workspace;
    const real* d;
    const real* e;
    const real* b;
    real* x;
} job;

static void run_chains(job* j, void (*task)(void* argument, int c)) {
    const btd_workspace* workspace = j->workspace;
    if (workspace->parallel_for != NULL) {
        workspace->parallel_for(workspace->user, BTD_CHAINS, task, j);
    } else {
        for (int c = 0; c < BTD_CHAINS; ++c) {
            task(j, c);
        }
    }
}

/* Front k of chain c, block i: L, R = A(next, i) L^-T, and G = A(behind, i) L^-T with what it adds to the separator behind. Returns the
 * row that fails, or -1. */
BTD_CODE static int factor_front(const job* j, int c, int k, btd_status* status) {
    btd_workspace* w = j->workspace;
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
BTD_CODE static void finish_chain(btd_workspace* w, int c) {
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

BTD_CODE static void factor_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    btd_status status = outcome(BTD_OK, -1, -1);
    int failed = -1;
    int k = 0;
    while (failed < 0 && k < chains[c].length) {
        failed = factor_front(j, c, k, &status);
        ++k;
    }
    if (failed < 0) {
        finish_chain(j->workspace, c);
    } else {
        status = outcome(BTD_NOT_POSITIVE_DEFINITE, chains[c].first + (k - 1) * chains[c].step, failed);
    }
    j->workspace->outcomes[c] = status;
}

BTD_CODE static btd_status factor_separators(const job* j) {
    btd_workspace* w = j->workspace;
    btd_status status = outcome(BTD_OK, -1, -1);
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
    return failed < 0 ? status : outcome(BTD_NOT_POSITIVE_DEFINITE, separators[s - 1], failed);
}

static void reset_workspace(btd_workspace* workspace) {
    workspace->factored = outcome(BTD_NOT_FACTORED, -1, -1);
    workspace->parallel_for = NULL;
    workspace->user = NULL;
}

void btd_set_parallel_for(btd_workspace* workspace, btd_parallel_for parallel_for, void* user) {
    workspace->parallel_for = parallel_for;
    workspace->user = user;
}

/* A factorization that fails is worse than one that is nearly singular; of two alike the one of the smaller block. */
static btd_status worse(btd_status a, btd_status b) {
    const int a_computed = is_computed(a), b_computed = is_computed(b);
    const int b_first = a.code == BTD_OK || (b.code != BTD_OK && b.block < a.block);
    return a_computed != b_computed ? (a_computed ? b : a) : (b_first ? b : a);
}

BTD_CODE btd_status btd_factor(btd_workspace* workspace, const btd_real* d, const btd_real* e) {
    job j = {workspace, d, e, NULL, NULL};
    btd_status status = outcome(BTD_OK, -1, -1);
    run_chains(&j, factor_chain);
    for (int c = 0; c < BTD_CHAINS; ++c) {
        status = worse(status, workspace->outcomes[c]);
    }
    if (is_computed(status)) {
        status = worse(status, factor_separators(&j));
    }
    workspace->factored = status;
    return status;
}

BTD_CODE static void forward_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    btd_workspace* w = j->workspace;
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

BTD_CODE static void backward_chain(void* argument, int c) {
    const job* j = (const job*)argument;
    const btd_workspace* w = j->workspace;
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

BTD_CODE static void solve_separators(const job* j) {
    btd_workspace* w = j->workspace;
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

BTD_CODE btd_status btd_solve(btd_workspace* workspace, const btd_real* b, btd_real* x) {
    job j = {workspace, NULL, NULL, b, x};
    if (!is_computed(workspace->factored)) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    run_chains(&j, forward_chain);
    solve_separators(&j);
    run_chains(&j, backward_chain);
    return solved(check_finite(x), workspace->factored);
}
