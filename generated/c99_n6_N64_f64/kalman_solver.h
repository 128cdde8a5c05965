/* Factors and solves A X = B, A symmetric positive definite and block tridiagonal: 64 blocks of 6 by 6, 1 right-hand side(s), f64.
 * Made by Trifold for c99:generic; do not edit. To make it again:
 *   trifold export --block 6 --horizon 64 --precision f64 --rhs 1 --target c99:generic --prefix kalman
 *
 * Memory: D 18432 bytes, E 18144, B and X 3072 each; the workspace 36600 with pointers of 32 bits, 36608 with 64; stack at most 1280.
 * Work: factor 36460 flops (15848 multiply-subtract, 3612 multiply, 384 divide, 384 square root);
 *   solve 14451 flops (6840 multiply-subtract, 768 multiply, 3 add).
 *   It depends on no number but the sizes: every loop runs a fixed number of times, and only a call that fails ends sooner.
 * Rounding: each multiply, subtract, divide and square root rounds once, to nearest, in double precision. Compiled without contraction
 *   (-ffp-contract=off) results are the same to the bit on every machine with IEEE 754 arithmetic.
 */
#ifndef KALMAN_SOLVER_H
#define KALMAN_SOLVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define KALMAN_RESTRICT __restrict
#else
#define KALMAN_RESTRICT restrict
#endif

/* n, N and m. */
#define KALMAN_BLOCK 6
#define KALMAN_HORIZON 64
#define KALMAN_RHS 1
/* Blocks that hold couplings of factors: N - 1, but one where there is none, because arrays are not empty. */
#define KALMAN_COUPLINGS 63
/* In D, index of element (r, c) of block i; in E, of the block that couples block i (columns) to block i + 1 (rows); and their sizes. */
#define KALMAN_D(i, r, c) ((i) * 36 + (r) * 6 + (c) * 1)
#define KALMAN_D_SIZE 2304
#define KALMAN_E(i, r, c) ((i) * 36 + (r) * 6 + (c) * 1)
#define KALMAN_E_SIZE 2268

typedef double kalman_real;

/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    KALMAN_OK = 0,
    /* A is not positive definite: the pivot of this block and row is not in (1 / largest finite, largest finite].
     * So end NaN and infinity in D or E too. */
    KALMAN_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    KALMAN_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    KALMAN_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    KALMAN_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: this pivot is the first one below 64 DBL_EPSILON times the diagonal entry that it began with,
     * and may be all rounding. The factor and X are computed all the same, but X may have no digit that is right. */
    KALMAN_NEARLY_SINGULAR = 5
} kalman_code;

typedef struct {
    kalman_code code;
    int block;
    int row;
} kalman_status;

/* Memory of one solver. The caller supplies it and need not look inside. It refers to itself: do not move it. Calls on different
 * workspaces may run at the same time. */
typedef struct {
    /* The factors, in the arrays below or, after _refactor, in the caller's. Null: none. */
    const kalman_real* diagonal;
    const kalman_real* coupling;
    /* The outcome of the last factorization. */
    kalman_status factored;
    /* L, with 1 / L(k, k) on the diagonal, of which the lower triangles are used; and E L^-T. */
    kalman_real own_diagonal[KALMAN_HORIZON * KALMAN_BLOCK * KALMAN_BLOCK];
    kalman_real own_coupling[KALMAN_COUPLINGS * KALMAN_BLOCK * KALMAN_BLOCK];
} kalman_workspace;

/* Alignment of a workspace, in bytes. */
typedef struct {
    char before;
    kalman_workspace workspace;
} kalman_aligned;
#define KALMAN_ALIGNMENT offsetof(kalman_aligned, workspace)

/* Bytes of a workspace: sizeof(kalman_workspace). */
size_t kalman_workspace_size(void);

/* Makes a workspace of memory of that size and alignment. Call it once, before everything else. Returns null if the memory is null or not
 * aligned. */
kalman_workspace* kalman_init(void* memory);

/* Arrays of all calls: D, N blocks of n by n, of which the lower triangles are read; E, N - 1 blocks, block i couples block i (columns) to
 * block i + 1 (rows); both with the indices above. B and X [N][n][m], row-major, without gaps. They do not overlap, but X may be B. */

/* Factors A into the workspace. */
kalman_status kalman_factor(kalman_workspace* KALMAN_RESTRICT workspace, const kalman_real* KALMAN_RESTRICT d, const kalman_real* KALMAN_RESTRICT e);

/* The least pivot of the last factorization, each over the diagonal entry that it began with; 0: there is no factor. Below 64
 * DBL_EPSILON A is nearly singular. It is the same whatever powers of two rows and columns are scaled by. D is that which was
 * factored: after _refactor, which overwrites it, a copy. */
kalman_real kalman_least_pivot(const kalman_workspace* workspace, const kalman_real* d);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
kalman_status kalman_solve(const kalman_workspace* workspace, const kalman_real* b, kalman_real* x);

/* Factors A into the workspace and solves A X = B. Where A is not positive definite, X becomes NaN. */
kalman_status kalman_factor_solve(kalman_workspace* workspace, const kalman_real* d, const kalman_real* e, const kalman_real* b, kalman_real* x);

/* Factors A in place: the lower triangles of D become L, with 1 / L(k, k) on the diagonal,
 * and E becomes E L^-T. The workspace refers to both until the next factorization. A failed call leaves them half done. */
kalman_status kalman_refactor(kalman_workspace* KALMAN_RESTRICT workspace, kalman_real* KALMAN_RESTRICT d, kalman_real* KALMAN_RESTRICT e);

#ifdef __cplusplus
}
#endif

#endif
