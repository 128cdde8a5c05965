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

BTD_CODE btd_status btd_solve(const btd_workspace* workspace, const real* b, real* x) {
    if (workspace->diagonal == NULL) {
        poison_solution(x);
        return outcome(BTD_NOT_FACTORED, -1, -1);
    }
    return solved(solve_blocks(workspace->diagonal, workspace->coupling, b, x), workspace->factored);
}
