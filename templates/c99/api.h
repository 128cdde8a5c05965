/* Memory of one solver. The caller supplies it and need not look inside. It refers to itself: do not move it. Calls on different
 * workspaces may run at the same time. */
typedef struct {
    /* The factors, in the arrays below or, after _refactor, in the caller's. Null: none. */
    const btd_real* diagonal;
    const btd_real* coupling;
    /* L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and R = E L^-T. */
    btd_real own_diagonal[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
    btd_real own_coupling[BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];
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

/* Arrays of all calls: D [N][n][n], of which the lower triangles are read; E [N-1][n][n], block i couples block i (columns) to
 * block i + 1 (rows); B and X [N][n][m]. Row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const btd_real* BTD_RESTRICT d, const btd_real* BTD_RESTRICT e);

/* Factors A in place: L replaces the lower triangles of D, with 1 / L(k, k) on the diagonal, and E L^-T replaces E. The workspace
 * refers to both until the next factorization. A failed call leaves them half done. */
btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, btd_real* BTD_RESTRICT d, btd_real* BTD_RESTRICT e);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
btd_status btd_solve(const btd_workspace* workspace, const btd_real* b, btd_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x);
