/* Factors and solves A X = B, A symmetric positive definite and block tridiagonal: 11 blocks of 4 by 4, 1 right-hand side(s), f64.
 * Made by Trifold for c99:generic; do not edit. To make it again:
 *   trifold export --block 4 --horizon 11 --precision f64 --rhs 1 --target c99:generic --prefix estimator --schedule partitioned:3
 *
 * Memory: D 1408 bytes, E 1280, B and X 352 each; the workspace 4920 with pointers of 32 bits, 4928 with 64; stack at most 2560.
 * Work: factor 3046 flops (1278 multiply-subtract, 318 multiply, 44 divide, 44 square root);
 *   solve 1291 flops (592 multiply-subtract, 88 multiply, 19 add).
 *   It depends on no number but the sizes: every loop runs a fixed number of times, and only a call that fails ends sooner.
 * Rounding: each multiply, subtract, divide and square root rounds once, to nearest, in double precision. Compiled without contraction
 *   (-ffp-contract=off) results are the same to the bit on every machine with IEEE 754 arithmetic.
 */
#ifndef ESTIMATOR_SOLVER_H
#define ESTIMATOR_SOLVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define ESTIMATOR_RESTRICT __restrict
#else
#define ESTIMATOR_RESTRICT restrict
#endif

/* n, N and m. */
#define ESTIMATOR_BLOCK 4
#define ESTIMATOR_HORIZON 11
#define ESTIMATOR_RHS 1
/* Blocks that hold couplings of factors: N - 1, but one where there is none, because arrays are not empty. */
#define ESTIMATOR_COUPLINGS 10
/* In D, index of element (r, c) of block i; in E, of the block that couples block i (columns) to block i + 1 (rows); and their sizes. */
#define ESTIMATOR_D(i, r, c) ((i) * 16 + (r) * 4 + (c) * 1)
#define ESTIMATOR_D_SIZE 176
#define ESTIMATOR_E(i, r, c) ((i) * 16 + (r) * 4 + (c) * 1)
#define ESTIMATOR_E_SIZE 160

typedef double estimator_real;

/* Chains of blocks that do not depend on one another; one block between two. */
#define ESTIMATOR_CHAINS 3

/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    ESTIMATOR_OK = 0,
    /* A is not positive definite: the pivot of this block and row is not in (1 / largest finite, largest finite].
     * So end NaN and infinity in D or E too. */
    ESTIMATOR_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    ESTIMATOR_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    ESTIMATOR_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    ESTIMATOR_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: this pivot is the first one below 64 DBL_EPSILON times the diagonal entry that it began with,
     * and may be all rounding. The factor and X are computed all the same, but X may have no digit that is right. */
    ESTIMATOR_NEARLY_SINGULAR = 5
} estimator_code;

typedef struct {
    estimator_code code;
    int block;
    int row;
} estimator_status;

/* Calls task(argument, 0), ..., task(argument, count - 1), in any order or side by side, and returns when all have ended. */
typedef void (*estimator_parallel_for)(void* user, int count, void (*task)(void* argument, int index), void* argument);

/* Memory of one solver. The caller supplies it and need not look inside. Calls on different workspaces may run at the same time. */
typedef struct {
    estimator_parallel_for parallel_for;
    void* user;
    /* L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and A L^-T for the next block and for the one behind. */
    estimator_real diagonal[ESTIMATOR_HORIZON * ESTIMATOR_BLOCK * ESTIMATOR_BLOCK];
    estimator_real next[ESTIMATOR_HORIZON * ESTIMATOR_BLOCK * ESTIMATOR_BLOCK];
    estimator_real behind[ESTIMATOR_HORIZON * ESTIMATOR_BLOCK * ESTIMATOR_BLOCK];
    /* What the chains on both sides add to the separators between them. */
    estimator_real update[2 * (ESTIMATOR_CHAINS - 1) * ESTIMATOR_BLOCK * ESTIMATOR_BLOCK];
    estimator_real rhs_update[2 * (ESTIMATOR_CHAINS - 1) * ESTIMATOR_BLOCK * ESTIMATOR_RHS];
    estimator_status outcomes[ESTIMATOR_CHAINS];
    /* The outcome of the last factorization. */
    estimator_status factored;
} estimator_workspace;

/* Alignment of a workspace, in bytes. */
typedef struct {
    char before;
    estimator_workspace workspace;
} estimator_aligned;
#define ESTIMATOR_ALIGNMENT offsetof(estimator_aligned, workspace)

/* Bytes of a workspace: sizeof(estimator_workspace). */
size_t estimator_workspace_size(void);

/* Makes a workspace of memory of that size and alignment. Call it once, before everything else. Returns null if the memory is null or not
 * aligned. */
estimator_workspace* estimator_init(void* memory);

/* Arrays of all calls: D, N blocks of n by n, of which the lower triangles are read; E, N - 1 blocks, block i couples block i (columns) to
 * block i + 1 (rows); both with the indices above. B and X [N][n][m], row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
estimator_status estimator_factor(estimator_workspace* ESTIMATOR_RESTRICT workspace, const estimator_real* ESTIMATOR_RESTRICT d, const estimator_real* ESTIMATOR_RESTRICT e);

/* The least pivot of the last factorization, each over the diagonal entry that it began with; 0: there is no factor. Below 64
 * DBL_EPSILON A is nearly singular. It is the same whatever powers of two rows and columns are scaled by. D is that which was
 * factored: after _refactor, which overwrites it, a copy. */
estimator_real estimator_least_pivot(const estimator_workspace* workspace, const estimator_real* d);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
estimator_status estimator_solve(estimator_workspace* workspace, const estimator_real* b, estimator_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
estimator_status estimator_factor_solve(estimator_workspace* workspace, const estimator_real* d, const estimator_real* e, const estimator_real* b, estimator_real* x);

/* From now on chains run through `parallel_for`, which is called with `user`: ESTIMATOR_CHAINS tasks, once in a factorization and twice in a
 * solve. Null: one after another, as after estimator_init. The bits of X are the same. */
void estimator_set_parallel_for(estimator_workspace* workspace, estimator_parallel_for parallel_for, void* user);

#ifdef __cplusplus
}
#endif

#endif
