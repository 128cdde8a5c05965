/* The outcome of a call; the first ones are numbered as in Trifold's C99 exports. */
typedef enum {
    BTD_OK = 0,
    /* A is not positive definite: a pivot or its reciprocal is not in (0, largest finite]. So end NaN and infinity in D or E too. */
    BTD_NOT_POSITIVE_DEFINITE = 1,
    /* X or the inverse of a system has left the range of the precision: it holds infinities or NaN. So end NaN and infinity in B too. */
    BTD_OUT_OF_RANGE = 2,
    /* There is no factor of all these systems: no call has factored them. */
    BTD_NOT_FACTORED = 3,
    /* A null pointer, one that is not aligned to its elements (the workspace: to BTD_ALIGNMENT), an option out of range, or a solver
     * that was not created. */
    BTD_BAD_ARGUMENT = 4,
    /* The kernels are for other devices than the current one: export for its architecture too. */
    BTD_NO_KERNELS = 5,
    /* The solver was exported without this operation: add it to --operations. */
    BTD_NOT_EXPORTED = 6,
    /* A call of the driver failed; the solver's driver_task and driver_result say what it could not do and why. */
    BTD_DRIVER_FAILED = 7,
    /* A is singular to the precision: rounding decides the least of its pivots, and so X, which may have no right digit. All is
     * computed. */
    BTD_NEARLY_SINGULAR = 8
} btd_code;

/* Text of a code: a constant string, whatever the code. */
const char* btd_message(btd_code code);

/* What btd_check finds. `member`, `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef struct {
    btd_code code;
    int member;
    int block;
    int row;
} btd_status;

/* The device's record of one system. */
typedef struct {
    long long block; /* where the factorization failed, from 0; -1: it did not */
    long long row;
    long long floors;          /* pivots raised to the floor; -1: never factored */
    double least_pivot;        /* the least pivot, each over the diagonal entry that it began with; 0 where the factorization failed */
    long long nearly_singular; /* 1: it is below 64 epsilon of the precision, and the call did not accept that */
} btd_outcome;

/* The device's record of a system's last X and inverse: 1 where one holds infinities or NaN, 0 where not; -1: there was none. */
typedef struct {
    int solution;
    int inverse;
} btd_range;

/* Of one call. All zero, and so a null pointer in place of them: every system, nothing added. Calls that do not factor use `members` and
 * `active` only. Arrays are in device memory. */
typedef struct {
    long long members;        /* systems of this call, the first ones; 0: BTD_BATCH */
    const btd_real* diagonal; /* [batch][N][n], added to the diagonal of A; null: nothing */
    const btd_real* shift;    /* [batch], added to every entry of the system's diagonal; null: nothing */
    const int* active;        /* [batch], 0 leaves the system and its X alone; null: all are active */
    double pivot_floor;       /* raises finite pivots below it, negative ones too, to this part of their block's largest diagonal entry,
                               * below 1; 0: none. Infinity and NaN fail always. A floor accepts what is nearly singular */
    long long accept_nearly_singular; /* 1: a system that is singular to the precision is no failure; 0: btd_check finds it */
} btd_options;

/* What a graph was launched with. */
typedef struct {
    const btd_real* d;
    const btd_real* e;
    const btd_real* b;
    btd_real* x;
    btd_real* inverse_diagonal;
    btd_real* inverse_coupling;
    btd_options options;
} btd_arguments;

/* One operation, ready to be launched. */
typedef struct {
    btd_graph_nodes nodes;
    btd_executable executable;
    btd_node node[BTD_LAUNCHES];
    btd_arguments held; /* what the executable has */
    int holds;          /* 0 while that is not known */
} btd_graph;

/* A solver. The caller supplies its memory and need not look inside, but where a call says BTD_DRIVER_FAILED. One call at a time; several
 * solvers may work side by side. */
typedef struct {
    const struct btd_program* program; /* for the device's architecture; null: not created */
    char* workspace;
    long long factored;   /* systems that have been factored */
    int solved, inverted; /* whether there are X and the inverse of the last factor */
    btd_module module;
    btd_function function[BTD_KERNELS];
    btd_graph graph[BTD_OPERATIONS];
    btd_result driver_result; /* of the last call of the driver that failed, */
    const char* driver_task;  /* and what it was for */
} btd_solver;

/* Bytes of device memory that a solver works in: BTD_WORKSPACE_BYTES. */
size_t btd_workspace_size(void);

/* Loads the kernels for the current device and makes a graph of launches of each operation. The workspace is device memory of that size,
 * aligned to BTD_ALIGNMENT (what the driver allocates is), and must stay until btd_destroy. The device's context must be current, here
 * and in every other call. Returns when the device is done; no later call allocates. A call that fails leaves nothing to destroy. */
btd_code btd_create(btd_solver* solver, void* workspace);

/* Waits for the device and frees what btd_create made. The workspace stays the caller's. */
void btd_destroy(btd_solver* solver);

/* Arrays of all calls are in device memory: D [batch][N][n][n], of which the lower triangles are read; E [batch][N-1][n][n], block i
 * couples block i (columns) to block i + 1 (rows), and may be null if N = 1; B, X and Y [batch][N][n][m]. Row-major, without gaps. They
 * do not overlap, but X may be B. The calls put work on the stream and return; a stream under capture records the kernels. Where
 * A is not positive definite, X is NaN. `options` may be null. */

/* Factors A into the workspace. */
btd_code btd_factor(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_options* options, btd_stream stream);

/* Solves A X = B with the last factor. */
btd_code btd_solve(btd_solver* solver, const btd_real* b, btd_real* x, const btd_options* options, btd_stream stream);

/* Factors A into the workspace and solves A X = B. */
btd_code btd_factor_solve(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x,
                          const btd_options* options, btd_stream stream);

/* The halves of a solve: Y = L^-1 P B, in the order in which blocks are eliminated, and X from it. */
btd_code btd_forward(btd_solver* solver, const btd_real* b, btd_real* y, const btd_options* options, btd_stream stream);
btd_code btd_backward(btd_solver* solver, const btd_real* y, btd_real* x, const btd_options* options, btd_stream stream);
btd_code btd_factor_forward(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* y,
                            const btd_options* options, btd_stream stream);

/* The blocks of A^-1 on the diagonal [batch][N][n][n], and below it [batch][N-1][n][n], from the last factor. */
btd_code btd_inverse(btd_solver* solver, btd_real* diagonal, btd_real* coupling, const btd_options* options, btd_stream stream);

/* Waits for the stream of the last calls and tells of the first system that has no factor, or else of the first whose X or inverse, by that
 * factor, has left the range. */
btd_status btd_check(btd_solver* solver, btd_stream stream);

/* In device memory, inside the workspace, written by every factorization: the outcome [batch] and log det A [batch]; by every forward
 * sweep and solve: b' A^-1 b [batch][m], NaN where it is too large or too small for a double; by every backward sweep, solve and inverse:
 * its range [batch]. Null if the solver was not created. */
const btd_outcome* btd_outcomes(const btd_solver* solver);
const btd_range* btd_ranges(const btd_solver* solver);
const double* btd_log_determinant(const btd_solver* solver);
const double* btd_quadratic(const btd_solver* solver);
