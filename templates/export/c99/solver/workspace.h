/* Memory of one solver. The caller supplies it and need not look inside. It refers to itself: do not move it. Calls on different
 * workspaces may run at the same time. */
typedef struct {
    /* The factors, in the arrays below or, after _refactor, in the caller's. Null: none. */
    const btd_real* diagonal;
    const btd_real* coupling;
    /* The outcome of the last factorization. */
    btd_status factored;
    /* @FACTORS@, of which the lower triangles are used; and E L^-T. */
    btd_real own_diagonal[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
    btd_real own_coupling[BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];
} btd_workspace;
