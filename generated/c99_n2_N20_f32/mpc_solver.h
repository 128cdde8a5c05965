/* Factors and solves A X = B, A symmetric positive definite and block tridiagonal: 20 blocks of 2 by 2, 1 right-hand side(s), f32.
 * Made by Trifold for c99:cortex-m7; do not edit. To make it again:
 *   trifold export --block 2 --horizon 20 --precision f32 --rhs 1 --target c99:cortex-m7 --prefix mpc
 *
 * Memory: D 320 bytes, E 304, B and X 160 each; the workspace 644 with pointers of 32 bits, 656 with 64; stack at most 768.
 * Work: factor 600 flops (172 multiply-subtract, 136 multiply, 40 divide, 40 square root);
 *   solve 547 flops (232 multiply-subtract, 80 multiply, 3 add).
 *   It depends on no number but the sizes: every loop runs a fixed number of times, and only a call that fails ends sooner.
 * Rounding: each multiply, subtract, divide and square root rounds once, to nearest, in single precision. Compiled without contraction
 *   (-ffp-contract=off) results are the same to the bit on every machine with IEEE 754 arithmetic.
 */
#ifndef MPC_SOLVER_H
#define MPC_SOLVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define MPC_RESTRICT __restrict
#else
#define MPC_RESTRICT restrict
#endif

/* n, N and m. */
#define MPC_BLOCK 2
#define MPC_HORIZON 20
#define MPC_RHS 1
/* Blocks that hold couplings of factors: N - 1, but one where there is none, because arrays are not empty. */
#define MPC_COUPLINGS 19
/* In D, index of element (r, c) of block i; in E, of the block that couples block i (columns) to block i + 1 (rows); and their sizes. */
#define MPC_D(i, r, c) ((i) * 4 + (r) * 2 + (c) * 1)
#define MPC_D_SIZE 80
#define MPC_E(i, r, c) ((i) * 4 + (r) * 2 + (c) * 1)
#define MPC_E_SIZE 76

typedef float mpc_real;

/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    MPC_OK = 0,
    /* A is not positive definite: the pivot of this block and row is not in (1 / largest finite, largest finite].
     * So end NaN and infinity in D or E too. */
    MPC_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    MPC_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    MPC_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    MPC_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: this pivot is the first one below 64 FLT_EPSILON times the diagonal entry that it began with,
     * and may be all rounding. The factor and X are computed all the same, but X may have no digit that is right. */
    MPC_NEARLY_SINGULAR = 5
} mpc_code;

typedef struct {
    mpc_code code;
    int block;
    int row;
} mpc_status;

/* Memory of one solver. The caller supplies it and need not look inside. It refers to itself: do not move it. Calls on different
 * workspaces may run at the same time. */
typedef struct {
    /* The factors, in the arrays below or, after _refactor, in the caller's. Null: none. */
    const mpc_real* diagonal;
    const mpc_real* coupling;
    /* The outcome of the last factorization. */
    mpc_status factored;
    /* L, with 1 / L(k, k) on the diagonal, of which the lower triangles are used; and E L^-T. */
    mpc_real own_diagonal[MPC_HORIZON * MPC_BLOCK * MPC_BLOCK];
    mpc_real own_coupling[MPC_COUPLINGS * MPC_BLOCK * MPC_BLOCK];
} mpc_workspace;

/* Alignment of a workspace, in bytes. */
typedef struct {
    char before;
    mpc_workspace workspace;
} mpc_aligned;
#define MPC_ALIGNMENT offsetof(mpc_aligned, workspace)

/* Bytes of a workspace: sizeof(mpc_workspace). */
size_t mpc_workspace_size(void);

/* Makes a workspace of memory of that size and alignment. Call it once, before everything else. Returns null if the memory is null or not
 * aligned. */
mpc_workspace* mpc_init(void* memory);

/* Arrays of all calls: D, N blocks of n by n, of which the lower triangles are read; E, N - 1 blocks, block i couples block i (columns) to
 * block i + 1 (rows); both with the indices above. B and X [N][n][m], row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
mpc_status mpc_factor(mpc_workspace* MPC_RESTRICT workspace, const mpc_real* MPC_RESTRICT d, const mpc_real* MPC_RESTRICT e);

/* The least pivot of the last factorization, each over the diagonal entry that it began with; 0: there is no factor. Below 64
 * FLT_EPSILON A is nearly singular. It is the same whatever powers of two rows and columns are scaled by. D is that which was
 * factored: after _refactor, which overwrites it, a copy. */
mpc_real mpc_least_pivot(const mpc_workspace* workspace, const mpc_real* d);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
mpc_status mpc_solve(const mpc_workspace* workspace, const mpc_real* b, mpc_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
mpc_status mpc_factor_solve(mpc_workspace* workspace, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x);

/* Factors A in place: the lower triangles of D become L, with 1 / L(k, k) on the diagonal,
 * and E becomes E L^-T. The workspace refers to both until the next factorization. A failed call leaves them half done. */
mpc_status mpc_refactor(mpc_workspace* MPC_RESTRICT workspace, mpc_real* MPC_RESTRICT d, mpc_real* MPC_RESTRICT e);

#ifdef __cplusplus
}
#endif

#endif
