/* Memory of one solver. The caller supplies it and need not look inside. Calls on different workspaces may run at the same time. */
typedef struct {
    unsigned char bytes[BTD_WORKSPACE_BYTES] __attribute__((aligned(64)));
    /* The outcome of the last factorization. */
    btd_status factored;
} btd_workspace;
