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
    /* Whether there is a factor. */
    int factored;
} btd_workspace;

/* Alignment of a workspace, in bytes. */
typedef struct {
    char before;
    btd_workspace workspace;
} btd_aligned;
#define BTD_ALIGNMENT offsetof(btd_aligned, workspace)

/* Bytes of a workspace: sizeof(btd_workspace). */
size_t btd_workspace_size(void);

/* Makes a workspace of memory of that size and alignment. Call it once, before everything else. Returns null if the memory is null or not
 * aligned. */
btd_workspace* btd_init(void* memory);

/* From now on chains run through `parallel_for`, which is called with `user`: BTD_CHAINS tasks, once in a factorization and twice in a
 * solve. Null: one after another, as after btd_init. The bits of X are the same. */
void btd_set_parallel_for(btd_workspace* workspace, btd_parallel_for parallel_for, void* user);

/* Arrays of all calls: D [N][n][n], of which the lower triangles are read; E [N-1][n][n], block i couples block i (columns) to
 * block i + 1 (rows); B and X [N][n][m]. Row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
btd_status btd_factor(btd_workspace* workspace, const btd_real* d, const btd_real* e);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
btd_status btd_solve(btd_workspace* workspace, const btd_real* b, btd_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x);
