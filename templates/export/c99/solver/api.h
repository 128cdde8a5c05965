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

/* Arrays of all calls: D, N blocks of n by n, of which the lower triangles are read; E, N - 1 blocks, block i couples block i (columns) to
 * block i + 1 (rows); both with the indices above. B and X [N][n][m], row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const btd_real* BTD_RESTRICT d, const btd_real* BTD_RESTRICT e);

/* The least pivot of the last factorization, each over the diagonal entry that it began with; 0: there is no factor. Below 64
 * @EPSILON@ A is nearly singular. It is the same whatever powers of two rows and columns are scaled by. D is that which was
 * factored: after _refactor, which overwrites it, a copy. */
btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
btd_status btd_solve(@SOLVED@* workspace, const btd_real* b, btd_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x);
