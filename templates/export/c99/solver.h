/* The parts of btd_solver.h. Each begins at a line @@ NAME: when it is taken. */

@@ comment: always
/* @PURPOSE@ A X = B, A @KIND@ and block tridiagonal: @N@ blocks of @BLOCK@ by @BLOCK@, @RHS@ right-hand side(s), @PRECISION@.@SHAPE_WORDS@
 * Made by Trifold for @TARGET@; do not edit. To make it again:
 *   @COMMAND@
 *
@MEMORY@
@WORK@
 */

@@ memory: in comment, but for factors that are constants
 * Memory: D @D_BYTES@ bytes, E @E_BYTES@, B and X @B_BYTES@ each; the workspace @WORKSPACE_32@ with pointers of 32 bits, @WORKSPACE_64@ with 64; stack at most @STACK@.@BORDER_MEMORY@

@@ memory_prefactored: in comment, for factors that are constants
 * Memory: constants @TABLES@ bytes, B and X @B_BYTES@ each; stack at most @STACK@; nothing else is written.

@@ work: in comment, for plain C that factors
 * Work: factor @FACTOR_FLOPS@ flops (@FACTOR_COUNTS@);
 *   solve @SOLVE_FLOPS@ flops (@SOLVE_COUNTS@).
@CORRECTION@
 *   It depends on no number but the sizes: every loop runs a fixed number of times, and only a call that fails ends sooner.
@ROUNDING@

@@ work_prefactored: in comment, for factors that are constants
 * Work: solve @SOLVE_FLOPS@ flops (@SOLVE_COUNTS@). It depends on no number but the sizes: every loop runs a
 *   fixed number of times.
@ROUNDING@

@@ work_kernels: in comment, for targets that have kernels
 * Work: factor @FACTOR_FLOPS@ flops, solve @SOLVE_FLOPS@, nominal: kernels pad blocks to whole vectors. It depends on no number but the sizes.
@CORRECTION@
 * Rounding: to nearest, in @WORDS@; sums run in vectors and fuse, so the last bits are this compiler's and this target's.

@@ correction: in work, with corrections
 *   A correction: a solve, and @FUSED_FLOPS@ flops with fused products, @SPLIT_FLOPS@ without.

@@ rounding: in work, for plain C
 * Rounding: each multiply, subtract, divide and square root rounds once, to nearest, in @WORDS@. Compiled without contraction
 *   (-ffp-contract=off) results are the same to the bit on every machine with IEEE 754 arithmetic.

@@ status: always
/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    BTD_OK = 0,
    /* @FAILED@ of this block and row is not in @PIVOTS@.
     * So end NaN and infinity in D or E too. */
    BTD_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    BTD_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    BTD_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    BTD_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: @SMALL@ below 64 @EPSILON@ times @RELATIVE_TO@,
     * and may be all rounding.@GROWN@ The factor and X are computed all the same, but X may have no digit that is right. */
    BTD_NEARLY_SINGULAR = 5@SIZE_STATUS@
} btd_code;

typedef struct {
    btd_code code;
    int block;
    int row;
} btd_status;

@@ workspace: plain C, one chain
/* Memory of one solver. The caller supplies it and need not look inside. It refers to itself: do not move it. Calls on different
 * workspaces may run at the same time. */
typedef struct {
    /* The factors, in the arrays below or, after _refactor, in the caller's. Null: none. */
    const btd_real* diagonal;
    const btd_real* coupling;
    /* The outcome of the last factorization. */
    btd_status factored;
    /* @FACTORS@, of which the lower triangles are used; and E L^-T. */
    btd_real own_diagonal[@CHAIN@ * BTD_BLOCK * BTD_BLOCK];
    btd_real own_coupling[BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];
@SHAPE_MEMORY@
} btd_workspace;

@@ workspace_partitioned: plain C, several chains
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

@@ workspace_kernels: targets that have kernels
/* Memory of one solver. The caller supplies it and need not look inside. Calls on different workspaces may run at the same time. */
typedef struct {
    unsigned char bytes[BTD_WORKSPACE_BYTES] __attribute__((aligned(64)));
    /* The outcome of the last factorization. */
    btd_status factored;
} btd_workspace;

@@ calls: all but factors that are constants
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

/* Arrays of all calls: D, N blocks of n by n, of which @READ@; E, @E_COUNT@ blocks, block i couples block i (columns) to
 * block i + 1 (rows); both with the indices above. B and X [N][n][m], row-major, without gaps. They do not overlap, but X may be B.@SHAPE_ARRAYS@ */
@SHAPE_TYPE@

/* Factors A into the workspace. */
btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const btd_real* BTD_RESTRICT d, const btd_real* BTD_RESTRICT e@FACTOR_DECLARED@);

/* The least pivot of the last factorization, each over @RELATIVE_TO@; 0: there is no factor. Below 64
 * @EPSILON@ A is nearly singular. It is the same whatever powers of two rows and columns are scaled by. @LEAST_OF@ */
btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d);

/* Solves A X = B with the last factor. Where there is none, X becomes NaN. */
btd_status btd_solve(@SOLVED@* workspace, const btd_real* b, btd_real* x);

/* Factors A into the workspace and solves A X = B. Where there is no factor, X becomes NaN. */
btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x@FACTOR_SOLVE_DECLARED@);

@@ inertia: pivots of both signs, and general matrices
/* @NEGATIVE@ -1: there is no factor. */
int btd_negative_pivots(const btd_workspace* workspace);

/* @GROWTH@
 * Above 2^@MOST@ few digits are left, and A is nearly singular. 0: there is no factor. */
btd_real btd_growth(const btd_workspace* workspace);

@@ transposed: general matrices
/* Solves A' X = B with the last factor of A. Where there is none, X becomes NaN. */
btd_status btd_solve_transposed(btd_workspace* workspace, const btd_real* b, btd_real* x);

@@ refactor: plain C, one chain, arrays that are row-major without gaps
/* Factors A in place: the lower triangles of D become @FACTORS@,
 * and E becomes E L^-T. The workspace refers to both until the next factorization. A failed call leaves them half done. */
btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, btd_real* BTD_RESTRICT d, btd_real* BTD_RESTRICT e);

@@ set_parallel_for: several chains
/* From now on chains run through `parallel_for`, which is called with `user`: BTD_CHAINS tasks, once in a factorization and twice in a
 * solve. Null: one after another, as after btd_init. The bits of X are the same. */
void btd_set_parallel_for(btd_workspace* workspace, btd_parallel_for parallel_for, void* user);

@@ solve_refined: with corrections
/* Of btd_solve_refined, each with a residual in twice the working precision. */
#define BTD_CORRECTIONS @CORRECTIONS@

/* Solves A X = B with the last factor, then corrects X. D and E are those that were factored, with their values (_refactor overwrites
 * them); `residual`, as large as B, is for its own use. No array overlaps another, X and B neither. Where a residual is not finite, X is
 * left without that correction, and the status says so. In btd_refine.c, which needs -ffp-contract=off. */
btd_status btd_solve_refined(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x,
                             btd_real* residual);

@@ prefactored: factors that are constants; then nothing above but the status
/* Factors of A + shift I for each shift, in btd_factors.c: L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and
 * R = E L^-T. */
extern const btd_real btd_factor_diagonal[BTD_SHIFTS][BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
extern const btd_real btd_factor_coupling[BTD_SHIFTS][BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];

/* Solves (A + shift I) X = B, where `shift` counts from 0 in the list above; where there is no such shift, X becomes NaN. B and X are
 * [N][n][m], row-major, without gaps. They do not overlap, but X may be B. Needs no memory; calls may run at the same time. */
btd_status btd_solve(int shift, const btd_real* b, btd_real* x);

@@ signs: in workspace, pivots of both signs
    /* Of the last factorization. */
    btd_real growth, least;
    int negative;

@@ shape_diagonal: in workspace, rings, borders and sizes
    /* The diagonal of A: of the chain, then of the tip, which is block 0 of a ring and the border. */
    btd_real entries[BTD_HORIZON * BTD_BLOCK + BTD_BORDER];

@@ shape_tip: in workspace, rings and borders
    /* G = F L^-T, where F couples the chain to the tip; and the factor of the tip. */
    btd_real border[@CHAIN@ * BTD_TIP * BTD_BLOCK];
    btd_real tip[BTD_TIP * BTD_TIP];

@@ shape_scaled: in workspace, rings and borders without square roots
    /* G P^-1 of one block. */
    btd_real scaled[BTD_TIP * BTD_BLOCK];

@@ shape_sizes: in workspace, sizes
    int sizes[BTD_HORIZON];

@@ shape_border_input: in btd_shape, borders
    /* A = [T F'; F C], where D and E make T. F is [N][a][n], and C [a][a], of which the lower triangle is read; both row-major. */
    const btd_real* f;
    const btd_real* c;

@@ shape_sizes_input: in btd_shape, sizes
    /* Rows that each of the N blocks has, 0 to n. What the arrays hold beyond them is not read, and X is 0 there. Null: n for all. */
    const int* sizes;
