/* Factors and solves A X = B, A symmetric positive definite and block tridiagonal: 10 blocks of 6 by 6, 1 right-hand side(s),
 * f32, up to 256 system(s) at once. Made by Trifold for cuda:sm_87; do not edit. To make it again:
 *   trifold export --block 6 --horizon 10 --precision f32 --batch 256 --target cuda:sm_87 --prefix mpc --no-binaries
 *
 * Device memory: D 368640 bytes, E 331776, B and X 61440 each; the workspace 1419264.
 *   sm_87: schedule sequential, variant team:bake=1, 4 kernels; flops of a system: factor 4608, solve 2016
 * Work and launches depend on no number but the sizes; manifest.json has them.
 */
#ifndef MPC_SOLVER_H
#define MPC_SOLVER_H

#include <cuda.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* n, N, m, and the most systems of one call. */
#define MPC_BLOCK 6
#define MPC_HORIZON 10
#define MPC_RHS 1
#define MPC_BATCH 256
#define MPC_WORKSPACE_BYTES ((size_t)1419264)
#define MPC_ALIGNMENT 256
/* Of the graphs: operations there may be, the most launches of one, and kernels. */
#define MPC_OPERATIONS 7
#define MPC_LAUNCHES 2
#define MPC_KERNELS 4

typedef float mpc_real;

/* The driver's own types. A CUstream is the runtime library's cudaStream_t. */
typedef CUresult mpc_result;
typedef CUstream mpc_stream;
typedef CUmodule mpc_module;
typedef CUfunction mpc_function;
typedef CUgraph mpc_graph_nodes;
typedef CUgraphNode mpc_node;
typedef CUgraphExec mpc_executable;
typedef CUDA_KERNEL_NODE_PARAMS mpc_node_parameters;

/* The outcome of a call; the first ones are numbered as in Trifold's C99 exports. */
typedef enum {
    MPC_OK = 0,
    /* A is not positive definite: a pivot or its reciprocal is not in (0, largest finite]. So end NaN and infinity in D or E too. */
    MPC_NOT_POSITIVE_DEFINITE = 1,
    /* X or the inverse of a system has left the range of the precision: it holds infinities or NaN. So end NaN and infinity in B too. */
    MPC_OUT_OF_RANGE = 2,
    /* There is no factor of so many systems: no call has factored them. */
    MPC_NOT_FACTORED = 3,
    /* A null pointer, one that is not aligned to its elements (the workspace: to MPC_ALIGNMENT), an option out of range, or a solver
     * that was not created. */
    MPC_BAD_ARGUMENT = 4,
    /* The kernels are for other devices than the current one: export for its architecture too. */
    MPC_NO_KERNELS = 5,
    /* The solver was exported without this operation: add it to --operations. */
    MPC_NOT_EXPORTED = 6,
    /* A call of the driver failed; the solver's driver_task and driver_result say what it could not do and why. */
    MPC_DRIVER_FAILED = 7,
    /* A is singular to the precision: rounding decides the least of its pivots, and so X, which may have no right digit. All is
     * computed. */
    MPC_NEARLY_SINGULAR = 8
} mpc_code;

/* The same in words; a constant text, whatever the code. */
const char* mpc_message(mpc_code code);

/* What mpc_check finds. `member`, `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef struct {
    mpc_code code;
    int member;
    int block;
    int row;
} mpc_status;

/* The device's record of one system. */
typedef struct {
    long long block; /* where the factorization failed, from 0; -1: it did not */
    long long row;
    long long floors;          /* pivots raised to the floor; -1: never factored */
    double least_pivot;        /* the least pivot, each over the diagonal entry that it began with; 0 where the factorization failed */
    long long nearly_singular; /* 1: it is below 64 epsilon of the precision, and the call did not accept that */
} mpc_outcome;

/* The device's record of a system's last X and inverse: 1 where one holds infinities or NaN, 0 where not; -1: there was none. */
typedef struct {
    int solution;
    int inverse;
} mpc_range;

/* Of one call. All zero, and so a null pointer in place of them: every system, nothing added. Calls that do not factor use `members` and
 * `active` only. Arrays are in device memory. */
typedef struct {
    long long members;        /* systems of this call, the first ones; 0: MPC_BATCH */
    const mpc_real* diagonal; /* [batch][N][n], added to the diagonal of A; null: nothing */
    const mpc_real* shift;    /* [batch], added to every entry of the system's diagonal; null: nothing */
    const int* active;        /* [batch], 0 leaves the system and its X alone; null: all are active */
    double pivot_floor;       /* raises finite pivots below it, negative ones too, to this part of their block's largest diagonal entry,
                               * below 1; 0: none. Infinity and NaN fail always. A floor accepts what is nearly singular */
    long long accept_nearly_singular; /* 1: a system that is singular to the precision is no failure; 0: mpc_check finds it */
} mpc_options;

/* What a graph was launched with. */
typedef struct {
    const mpc_real* d;
    const mpc_real* e;
    const mpc_real* b;
    mpc_real* x;
    mpc_real* inverse_diagonal;
    mpc_real* inverse_coupling;
    mpc_options options;
} mpc_arguments;

/* One operation, ready to be launched. */
typedef struct {
    mpc_graph_nodes nodes;
    mpc_executable executable;
    mpc_node node[MPC_LAUNCHES];
    mpc_arguments held; /* what the executable has */
    int holds;          /* 0 while that is not known */
} mpc_graph;

/* A solver. The caller supplies its memory and need not look inside, but where a call says MPC_DRIVER_FAILED. One call at a time; several
 * solvers may work side by side. */
typedef struct {
    const struct mpc_program* program; /* for the device's architecture; null: not created */
    char* workspace;
    long long factored;   /* systems that have been factored */
    int solved, inverted; /* whether there are X and the inverse of the last factor */
    mpc_module module;
    mpc_function function[MPC_KERNELS];
    mpc_graph graph[MPC_OPERATIONS];
    mpc_result driver_result; /* of the last call of the driver that failed, */
    const char* driver_task;  /* and what it was for */
} mpc_solver;

/* Bytes of device memory that a solver works in: MPC_WORKSPACE_BYTES. */
size_t mpc_workspace_size(void);

/* Loads the kernels for the current device and makes a graph of launches of each operation. The workspace is device memory of that size,
 * aligned to MPC_ALIGNMENT (what the driver allocates is), and must stay until mpc_destroy. The device's context must be current, here
 * and in every other call. Returns when the device is done; no later call allocates. A call that fails leaves nothing to destroy. */
mpc_code mpc_create(mpc_solver* solver, void* workspace);

/* Waits for the device and frees what mpc_create made. The workspace stays the caller's. */
void mpc_destroy(mpc_solver* solver);

/* Arrays of all calls are in device memory: D [batch][N][n][n], of which the lower triangles are read; E [batch][N-1][n][n], block i
 * couples block i (columns) to block i + 1 (rows), and may be null if N = 1; B, X and Y [batch][N][n][m]. Row-major, without gaps. They
 * do not overlap, but X may be B. The calls put work on the stream and return; a stream under capture records the kernels. Where
 * A is not positive definite, X is NaN. `options` may be null. */

/* Factors A into the workspace. */
mpc_code mpc_factor(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_options* options, mpc_stream stream);

/* Solves A X = B with the last factor. */
mpc_code mpc_solve(mpc_solver* solver, const mpc_real* b, mpc_real* x, const mpc_options* options, mpc_stream stream);

/* Factors A into the workspace and solves A X = B. */
mpc_code mpc_factor_solve(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x,
                          const mpc_options* options, mpc_stream stream);

/* The halves of a solve: Y = L^-1 P B, in the order in which blocks are eliminated, and X from it. */
mpc_code mpc_forward(mpc_solver* solver, const mpc_real* b, mpc_real* y, const mpc_options* options, mpc_stream stream);
mpc_code mpc_backward(mpc_solver* solver, const mpc_real* y, mpc_real* x, const mpc_options* options, mpc_stream stream);
mpc_code mpc_factor_forward(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* y,
                            const mpc_options* options, mpc_stream stream);

/* The blocks of A^-1 on the diagonal [batch][N][n][n], and below it [batch][N-1][n][n], from the last factor. */
mpc_code mpc_inverse(mpc_solver* solver, mpc_real* diagonal, mpc_real* coupling, const mpc_options* options, mpc_stream stream);

/* Waits for the stream of the last calls and tells of the first system that has no factor, or else of the first whose X or inverse, by that
 * factor, has left the range. */
mpc_status mpc_check(mpc_solver* solver, mpc_stream stream);

/* In device memory, inside the workspace, written by every factorization: the outcome [batch] and log det A [batch]; by every forward
 * sweep and solve: b' A^-1 b [batch][m], NaN where it is too large or too small for a double; by every backward sweep, solve and inverse:
 * its range [batch]. Null if the solver was not created. */
const mpc_outcome* mpc_outcomes(const mpc_solver* solver);
const mpc_range* mpc_ranges(const mpc_solver* solver);
const double* mpc_log_determinant(const mpc_solver* solver);
const double* mpc_quadratic(const mpc_solver* solver);

/* The compiled kernels, in mpc_kernels_*.c. */
extern const unsigned long long mpc_image_sm_87[];

#ifdef __cplusplus
}
#endif

#endif
