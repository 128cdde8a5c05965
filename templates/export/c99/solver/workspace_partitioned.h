/* Calls task(argument, 0), ..., task(argument, count - 1), in any order or side by side, and returns when all have ended. */
typedef void (*btd_parallel_for)(void* user, int count, void (*task)(void* argument, int index), void* argument);

/* Memory of one solver. The caller supplies it and need not look inside. Calls on different workspaces may run at the same time. */
typedef struct {
    btd_parallel_for parallel_for;
    void* user;
    /* L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and A L^-T for the next block and for the one behind. */
    btd_real diagonal[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
    btd_real next[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
    btd_real behind[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
    /* What the chains on both sides add to the separators between them. */
    btd_real update[2 * (BTD_CHAINS - 1) * BTD_BLOCK * BTD_BLOCK];
    btd_real rhs_update[2 * (BTD_CHAINS - 1) * BTD_BLOCK * BTD_RHS];
    btd_status outcomes[BTD_CHAINS];
    /* The outcome of the last factorization. */
    btd_status factored;
} btd_workspace;
