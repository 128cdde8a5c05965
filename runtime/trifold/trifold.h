/* The flat C interface: the calls of trifold/solver.hpp, rank_solver.hpp, grid.hpp and sparse.hpp behind opaque handles and status codes.
 *
 * Every function that can fail returns a trifold_code and leaves a text for trifold_last_error(). No exception leaves this
 * interface. Handles are destroyed by their own function, which takes NULL. Structs are set to their defaults by their
 * own _init function, which also records their size, so that later versions can add members. */
#ifndef TRIFOLD_H
#define TRIFOLD_H

#include <stddef.h>
#include <stdint.h>
#include <trifold/version.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* the shared library shows these */

/* The tens are the exit status of the trifold command: 1 the problem, 2 the arguments, 3 the environment. */
typedef enum {
    TRIFOLD_OK = 0,
    TRIFOLD_NOT_POSITIVE_DEFINITE = 10,
    TRIFOLD_NOT_CONVERGED = 11,   /* NotConverged: mixed precision */
    TRIFOLD_OUT_OF_RANGE = 12,    /* OutOfRange: a result holds infinities or NaN */
    TRIFOLD_GRID_FAILED = 13,     /* GridFailed: an image cannot be solved */
    TRIFOLD_NEARLY_SINGULAR = 14, /* NearlySingular: rounding decides the solution */
    TRIFOLD_SPARSE_FAILED = 15,   /* SparseFailed: values that cannot be factored, or an iteration that has not converged */
    TRIFOLD_UNSOLVABLE = 16,      /* Unsolvable: a member of a family without a code of its own */
    TRIFOLD_BAD_ARGUMENT = 20,    /* SpecError */
    TRIFOLD_NO_DEVICE = 30,       /* DeviceError: no device, driver, compiler library or device memory; a limit of the system */
    TRIFOLD_COMPILE_FAILED = 31,
    TRIFOLD_CACHE_FAILED = 32,
    TRIFOLD_LAUNCH_FAILED = 33,
    TRIFOLD_OUT_OF_MEMORY = 34, /* in the host's memory */
    TRIFOLD_RANK_FAILED = 35,   /* RankError: a rank has ended, does not answer, or does not fit the others */
    TRIFOLD_INTERNAL_ERROR = 40
} trifold_code;

/* Why the last failing call of this thread failed; "" before the first. Valid until the thread's next failing call. */
const char* trifold_last_error(void);
/* Version of the library at run time, as TRIFOLD_VERSION_NUMBER. */
int trifold_version(void);

/* Mixed: arrays in f64 (the calls that end in _f64), factored in f32, solutions refined to the accuracy of f64. */
typedef enum { TRIFOLD_F32 = 0, TRIFOLD_F64 = 1, TRIFOLD_MIXED = 2 } trifold_precision;
/* Symmetric: pivots have both signs. General: trifold_options has blocks U above the diagonal, and all of D is read. */
typedef enum { TRIFOLD_POSITIVE_DEFINITE = 0, TRIFOLD_SYMMETRIC = 1, TRIFOLD_GENERAL = 2 } trifold_matrix;
typedef enum { TRIFOLD_ROW_MAJOR = 0, TRIFOLD_COLUMN_MAJOR = 1 } trifold_order;
typedef enum { TRIFOLD_LOWER = 0, TRIFOLD_UPPER = 1 } trifold_coupling;
typedef enum { TRIFOLD_STAGED = 0, TRIFOLD_STACKED = 1 } trifold_rhs_layout; /* [batch][N][n][m], or (N n) by m column-major a member */

/* Operations that will be called, as bits; log determinant and outcomes come with every factorization, the quadratic form with every
 * forward sweep. TRIFOLD_USUAL is all but the selected inverse and refine. */
enum {
    TRIFOLD_FACTOR = 1 << 0,
    TRIFOLD_FORWARD = 1 << 1,
    TRIFOLD_BACKWARD = 1 << 2,
    TRIFOLD_SOLVE = 1 << 3,
    TRIFOLD_FACTOR_FORWARD = 1 << 4,
    TRIFOLD_FACTOR_SOLVE = 1 << 5,
    TRIFOLD_INVERSE = 1 << 6,
    TRIFOLD_REFINE = 1 << 7,
    TRIFOLD_SOLVE_TRANSPOSED = 1 << 8, /* general matrices alone have it, and it comes with TRIFOLD_SOLVE */
    TRIFOLD_LOAD = 1 << 9,             /* D and E are overwritten */
    TRIFOLD_USUAL = (1 << 6) - 1
};

/* Counterpart of trifold::Spec in trifold/spec.hpp. A leading dimension or stride of -1 follows from the shape, a stride of 0 shares
 * one block. */
typedef struct {
    size_t size;
    int64_t block, horizon, rhs, batch;
    trifold_precision precision;
    trifold_order order;
    trifold_coupling coupling;
    trifold_rhs_layout rhs_layout;
    int64_t d_leading, d_stage, d_member;
    int64_t e_leading, e_stage, e_member;
    uint64_t operations; /* TRIFOLD_USUAL; the plan has no kernels for others */
    int64_t border;      /* rows of F and C, where A = [T F'; F C] and T is the chain; 0: none */
    int ring;            /* nonzero: E has `horizon` blocks, of which the last couples the last block to the first */
    int lengths;         /* nonzero: members have lengths of their own, which trifold_options has */
    int sizes;           /* nonzero: blocks have numbers of rows of their own, which trifold_options has */
    int64_t bandwidth;   /* blocks w that E has below each diagonal block, [batch][N][w][n][n]; in a ring w divides N; 0 or 1: none */
    trifold_matrix matrix;
} trifold_spec;
void trifold_spec_init(trifold_spec* spec, int64_t block, int64_t horizon);

/* Counterpart of trifold::Tuning; NULL stands for "auto". */
typedef struct {
    size_t size;
    const char* schedule;
    const char* variant;
    int workers;
    int spin_microseconds; /* that idle threads of a CPU solver stay awake; -1: the switch TRIFOLD_SPIN, or 1000 */
    int any_size;          /* 1: one compilation for every horizon, batch and class of right-hand sides; 0: the fastest kernels */
} trifold_tuning;
void trifold_tuning_init(trifold_tuning* tuning);

/* Options of one call. Pointers are of the arrays' precision and live where D does, NULL for none; 0 members or columns: the
 * Spec's. Sweeps use members, columns and active only. */
typedef struct {
    size_t size;
    const void* diagonal; /* [batch][N][n], added to the diagonal */
    const void* shift;    /* [batch], added to every diagonal entry of the member */
    const int* active;    /* [batch], 0 leaves the member untouched */
    double pivot_floor;
    int64_t members, columns;
    int accept_nearly_singular; /* 1: a least pivot that rounding may have made is no failure; implied by a pivot floor */
    const void *f, *c;          /* those of a border: [batch][N][a][n] and [batch][a][a]; an inverse writes there */
    const void* tip_b;          /* its rows of b and x, [batch][a][columns] */
    void* tip_x;
    const int* lengths;          /* [batch], blocks of each member, 0 to `horizon`; NULL: all of them. A factorization takes them */
    const int* sizes;            /* [batch][N], rows of each block, 0 to `block`; NULL: all of them. A factorization takes them */
    const void* u;               /* blocks A(i, i + 1) of a general matrix, laid out as e. A factorization takes them */
    int64_t first_block, blocks; /* those that trifold_load takes; 0 blocks: all from the first one on */
} trifold_options;
void trifold_options_init(trifold_options* options);

typedef struct trifold_plan trifold_plan;
typedef struct trifold_solver trifold_solver;

/* Generates, compiles or takes from the cache, and loads. `device` as trifold::Device::parse: "auto", "cpu", "cuda:1", "hip:0";
 * `tuning` may be NULL. A plan may be shared between threads, and destroyed before its solvers. */
trifold_code trifold_plan_create(const trifold_spec* spec, const char* device, const trifold_tuning* tuning, trifold_plan** plan);
/* A plan whose solvers solve for `columns` right-hand sides at a time, from factors of this one's: trifold_solver_take_factor. Where more
 * at a time gain nothing, it is the same plan again. */
trifold_code trifold_plan_widened(const trifold_plan* plan, int64_t columns, trifold_plan** wide);
void trifold_plan_destroy(trifold_plan* plan);
int64_t trifold_plan_workspace_bytes(const trifold_plan* plan);
/* The Program as JSON; lives as long as the plan. */
const char* trifold_plan_json(const trifold_plan* plan);
/* Text that says who chose the schedule and the variant: the tuning, a row of wisdom ("wisdom: exact; line 14 of ..."), or the model; lives
 * as long as the plan. */
const char* trifold_plan_reason(const trifold_plan* plan);

/* `workspace`: device memory of at least trifold_plan_workspace_bytes, 64-byte aligned; NULL: the solver's own. One call
 * in flight at a time. */
trifold_code trifold_solver_create(const trifold_plan* plan, void* workspace, int64_t bytes, trifold_solver** solver);
void trifold_solver_destroy(trifold_solver* solver);
/* Copies what the other solver has factored, and goes on with it: between a plan and what trifold_plan_widened made of it. Waits for both,
 * and ends with the copy. */
trifold_code trifold_solver_take_factor(trifold_solver* solver, trifold_solver* other);

/* Calls run(context, task, worker) for every task below `tasks`, possibly in parallel, with worker numbers below the
 * tuning's workers, and returns when all have ended. */
typedef void (*trifold_executor)(void* user, int64_t tasks, void (*run)(void* context, int64_t task, int worker), void* context);
/* CPU only: replaces the built-in threads. */
trifold_code trifold_solver_set_executor(trifold_solver* solver, trifold_executor executor, void* user);

/* One call of a solver, on device memory (ordinary memory on the CPU) and a stream (CUstream, NULL for the default one), which does not
 * synchronize; or on host memory, which returns when done. The functions below it, one for each operation, are written with it: they have
 * its arrays by name and type. Other languages fill it themselves. */
typedef struct {
    size_t size;
    uint64_t operation;          /* a bit of the operations, such as TRIFOLD_FACTOR_SOLVE */
    trifold_precision precision; /* that of the arrays: TRIFOLD_F32 or TRIFOLD_F64 */
    int on_host;                 /* 1: host memory, options included; their stream is ignored */
    int transposed;              /* TRIFOLD_GRID_REFINE: 1 for A' */
    void* stream;
    const void* options; /* trifold_options, trifold_grid_options or trifold_sparse_options by its solver; NULL: the defaults */
    const void* in[3];   /* arrays that are read, in the order of the functions' parameters */
    void* out[2];        /* arrays that are written, likewise */
} trifold_call;
void trifold_call_init(trifold_call* call);
trifold_code trifold_run(trifold_solver* solver, const trifold_call* call);

/* Each name of a table makes two functions for each precision. Those of factor_solve in f64 are
 *     trifold_factor_solve_f64(solver, d, e, b, x, stream, options) and trifold_factor_solve_host_f64(solver, d, e, b, x, options). */
#define TRIFOLD_LIST(...) __VA_ARGS__
#define TRIFOLD_CALL(family, suffix, bits, name, operation, transposed, parameters, in, out)                              \
    static inline trifold_code family##_##name##_##suffix(family##_solver* solver, TRIFOLD_LIST parameters, void* stream, \
                                                          const family##_options* options) {                              \
        const trifold_call call = {sizeof(trifold_call), operation,         bits, 0, transposed, stream, options,         \
                                   {TRIFOLD_LIST in},    {TRIFOLD_LIST out}};                                             \
        return family##_run(solver, &call);                                                                               \
    }                                                                                                                     \
    static inline trifold_code family##_##name##_host_##suffix(family##_solver* solver, TRIFOLD_LIST parameters,          \
                                                               const family##_options* options) {                         \
        const trifold_call call = {sizeof(trifold_call), operation,         bits, 1, transposed, NULL, options,           \
                                   {TRIFOLD_LIST in},    {TRIFOLD_LIST out}};                                             \
        return family##_run(solver, &call);                                                                               \
    }

/* `options` may be NULL. The sizes of arrays follow from the spec; e may be NULL when the horizon is 1; x may be b. */
/* clang-format off */
#define TRIFOLD_CALLS(family, real, suffix, bits)                                                                                          \
    TRIFOLD_CALL(family, suffix, bits, factor, TRIFOLD_FACTOR, 0, (const real* d, const real* e), (d, e), (NULL))                          \
    TRIFOLD_CALL(family, suffix, bits, factor_forward, TRIFOLD_FACTOR_FORWARD, 0,                                                          \
                 (const real* d, const real* e, const real* b, real* y), (d, e, b), (y))                                                   \
    TRIFOLD_CALL(family, suffix, bits, factor_solve, TRIFOLD_FACTOR_SOLVE, 0,                                                              \
                 (const real* d, const real* e, const real* b, real* x), (d, e, b), (x))                                                   \
    TRIFOLD_CALL(family, suffix, bits, forward, TRIFOLD_FORWARD, 0, (const real* b, real* y), (b), (y))                                    \
    TRIFOLD_CALL(family, suffix, bits, backward, TRIFOLD_BACKWARD, 0, (const real* y, real* x), (y), (x))                                  \
    TRIFOLD_CALL(family, suffix, bits, solve, TRIFOLD_SOLVE, 0, (const real* b, real* x), (b), (x))                                        \
    TRIFOLD_CALL(family, suffix, bits, selected_inverse, TRIFOLD_INVERSE, 0,                                                               \
                 (real* diagonal, real* coupling), (NULL), (diagonal, coupling))
/* clang-format on */
TRIFOLD_CALLS(trifold, float, f32, TRIFOLD_F32)
TRIFOLD_CALLS(trifold, double, f64, TRIFOLD_F64)
/* X of A' X = B, of a general matrix. */
TRIFOLD_CALL(trifold, f32, TRIFOLD_F32, solve_transposed, TRIFOLD_SOLVE_TRANSPOSED, 0, (const float* b, float* x), (b), (x))
TRIFOLD_CALL(trifold, f64, TRIFOLD_F64, solve_transposed, TRIFOLD_SOLVE_TRANSPOSED, 0, (const double* b, double* x), (b), (x))
/* Blocks of D and E, which a factorization that is given NULL for both then overwrites: trifold::Solver::load says how. */
TRIFOLD_CALL(trifold, f32, TRIFOLD_F32, load, TRIFOLD_LOAD, 0, (const float* d, const float* e), (d, e), (NULL))
TRIFOLD_CALL(trifold, f64, TRIFOLD_F64, load, TRIFOLD_LOAD, 0, (const double* d, const double* e), (d, e), (NULL))
/* One step of refinement: x += A^-1 (b - A x). trifold::Solver::refine says how. */
TRIFOLD_CALL(trifold, f32, TRIFOLD_F32, refine, TRIFOLD_REFINE, 0, (const float* d, const float* e, const float* b, float* x), (d, e, b),
             (x))
TRIFOLD_CALL(trifold, f64, TRIFOLD_F64, refine, TRIFOLD_REFINE, 0, (const double* d, const double* e, const double* b, double* x),
             (d, e, b), (x))

/* Waits until every operation can run. Else the first call of one waits where its code is still being compiled. */
trifold_code trifold_prepare(trifold_solver* solver);
trifold_code trifold_synchronize(trifold_solver* solver);
/* Synchronizes; TRIFOLD_NOT_POSITIVE_DEFINITE when a member failed, all of them named in trifold_last_error(); where none has,
 * TRIFOLD_NEARLY_SINGULAR when the least pivot of one is below 64 epsilons; then TRIFOLD_OUT_OF_RANGE when X or the selected inverse of one
 * holds infinities or NaN, or, in mixed precision, TRIFOLD_NOT_CONVERGED when a solution could not be refined. Where all is well it
 * allocates nothing after its first call. */
trifold_code trifold_check(trifold_solver* solver);

typedef struct {
    int64_t block, row;      /* first failing pivot, from 0; block is -1 when there is none */
    int64_t floors;          /* pivots raised to the floor; -1: never factored */
    int64_t range;           /* 0, or the sum of those below whose results have left the range */
    double least_pivot;      /* the least pivot, each over the diagonal entry that it began with; 0: the factorization failed */
    int64_t nearly_singular; /* 1: it is below 64 epsilons, which the factorization was not told to accept */
} trifold_outcome;
enum {
    TRIFOLD_RANGE_SOLUTION = 1, /* X of the last solution holds infinities or NaN */
    TRIFOLD_RANGE_INVERSE = 2,  /* likewise the last selected inverse */
    TRIFOLD_RANGE_QUADRATIC = 4 /* b' A^-1 b of the last forward sweep is not in the range of double, and NaN */
};

/* Synchronize and copy one entry a member: outcome, log det A, and b' A^-1 b as [member][column]. `capacity` is the
 * number of entries that fit; `count` (may be NULL) becomes the number there is. With no room at all (NULL, 0) only the
 * count is set; with too little, TRIFOLD_BAD_ARGUMENT. After their first call they allocate nothing. */
trifold_code trifold_outcomes(trifold_solver* solver, trifold_outcome* outcomes, int64_t capacity, int64_t* count);
trifold_code trifold_log_determinant(trifold_solver* solver, double* values, int64_t capacity, int64_t* count);
trifold_code trifold_quadratic(trifold_solver* solver, double* values, int64_t capacity, int64_t* count);
/* Likewise the pivots below zero: of a symmetric matrix as many as it has eigenvalues below zero; of a general one interchanges are added,
 * so that its determinant has the sign of (-1)^value. */
trifold_code trifold_negative_pivots(trifold_solver* solver, int64_t* values, int64_t capacity, int64_t* count);

/* A member's status and, of a symmetric matrix, its inertia, as they lie in memory of the device. In a band blocks are those that it is
 * solved by. All bits are ones where a member was never factored. */
typedef struct {
    int64_t block, row; /* first failing pivot, from 0; block is -1 when there is none */
    int64_t floors;     /* pivots raised to the floor */
    double least_pivot; /* as that of a trifold_outcome */
    int64_t nearly_singular;
} trifold_status;
typedef struct {
    int64_t negative; /* pivots below zero */
    double growth;    /* the largest sum of a row's squares in the factor over the largest entry of A */
} trifold_inertia;
/* Enqueue copies for that many members to memory of the device (on the CPU ordinary memory), and do not synchronize: work on the device
 * decides by them, in a graph for one. */
trifold_code trifold_copy_status(trifold_solver* solver, trifold_status* to, int64_t members, void* stream);
trifold_code trifold_copy_inertia(trifold_solver* solver, trifold_inertia* to, int64_t members, void* stream);

/* Results of Solver::reciprocal_condition, from the host's D and E that were factored: an entry for each member of the options, or the
 * spec. The functions are trifold_reciprocal_condition_host_f32 and _f64; of the call below them, arrays, precision and options count. */
trifold_code trifold_reciprocal_condition(trifold_solver* solver, const trifold_call* call, double* values, int64_t capacity,
                                          int64_t* count);
#define TRIFOLD_CONDITION(family, suffix, bits, name, parameters, in)                                                        \
    static inline trifold_code family##_##name##_##suffix(family##_solver* solver, TRIFOLD_LIST parameters,                  \
                                                          const family##_options* options, double* values, int64_t capacity, \
                                                          int64_t* count) {                                                  \
        const trifold_call call = {sizeof(trifold_call), 0, bits, 1, 0, NULL, options, {TRIFOLD_LIST in}, {NULL}};           \
        return family##_reciprocal_condition(solver, &call, values, capacity, count);                                        \
    }
TRIFOLD_CONDITION(trifold, f32, TRIFOLD_F32, reciprocal_condition_host, (const float* d, const float* e), (d, e))
TRIFOLD_CONDITION(trifold, f64, TRIFOLD_F64, reciprocal_condition_host, (const double* d, const double* e), (d, e))

typedef struct {
    int64_t iterations; /* corrections of the first solution, 1 of refine; -1: never solved, or left out */
    int64_t converged;  /* 1, or 0: the error is above that of rounding, and in mixed precision X is NaN */
    double backward_error;
} trifold_refinement;
/* Refinements of the last solution in mixed precision, or of the last refine; TRIFOLD_BAD_ARGUMENT where the plan has neither. */
trifold_code trifold_refinements(trifold_solver* solver, trifold_refinement* refinements, int64_t capacity, int64_t* count);

/* ---- one chain over several ranks: trifold/rank_solver.hpp says what the calls do ---- */

/* Transport of this rank's messages: by the caller's MPI, for one. Both functions return 0, or another number where they have failed: also
 * where the other rank does not come in time. They return when the bytes have been taken or are there. Messages from one rank to another
 * arrive in order. `user` is passed on; `stream` is NULL. On GPUs NCCL carries the messages of a chain, and these functions what it needs
 * to begin, and results: all of it in the memory of the host. The last three are for NCCL alone. */
typedef struct {
    size_t size;
    int rank, ranks;
    void* user;
    int (*send)(void* user, int to, const void* data, int64_t bytes, void* stream);
    int (*receive)(void* user, int from, void* data, int64_t bytes, void* stream);
    void* nccl_communicator;   /* an ncclComm_t of these ranks in this order, which outlives the solvers; NULL: the plan makes one */
    const char* nccl_library;  /* the file of NCCL where the process has loaded none; NULL: TRIFOLD_NCCL, then libnccl.so.2 */
    int64_t nccl_milliseconds; /* that a call may take on the GPUs; 0: 30 000 */
} trifold_transport;
void trifold_transport_init(trifold_transport* transport, int rank, int ranks);

typedef trifold_options trifold_ranks_options; /* the diagonal is that of the rank's own blocks */
typedef struct trifold_ranks_plan trifold_ranks_plan;
typedef struct trifold_ranks_solver trifold_ranks_solver;

/* All ranks make their plans together. `spec` is the whole chain; `shards`: blocks of each rank, or NULL for even ones; `device`: "cpu",
 * or "cuda:1" and its like, which is this rank's own. Calls in device memory then enqueue on their stream, once all ranks have come. The
 * struct of the transport is copied; what `user` points to must outlive plan and solvers. */
trifold_code trifold_ranks_plan_create(const trifold_spec* spec, const trifold_transport* transport, const int64_t* shards,
                                       const char* device, const trifold_tuning* tuning, trifold_ranks_plan** plan);
void trifold_ranks_plan_destroy(trifold_ranks_plan* plan);
/* This rank's first block of the chain, and how many it holds of D, B and X. It holds as many of E, whose last one leads to the next rank;
 * the last rank holds one less. */
int64_t trifold_ranks_plan_first_block(const trifold_ranks_plan* plan);
int64_t trifold_ranks_plan_blocks(const trifold_ranks_plan* plan);

trifold_code trifold_ranks_solver_create(const trifold_ranks_plan* plan, trifold_ranks_solver** solver);
/* Waits until every operation can run. Else the first call of one waits where its code is still being compiled. */
trifold_code trifold_ranks_prepare(trifold_ranks_solver* solver);
void trifold_ranks_solver_destroy(trifold_ranks_solver* solver);

/* Every call is one of all ranks, in the same order, with as many members and columns; so are those that return results, which are the
 * whole chain's. The functions for each operation have the names and parameters of those of a trifold_solver:
 * trifold_ranks_factor_solve_f64 and its like. */
trifold_code trifold_ranks_run(trifold_ranks_solver* solver, const trifold_call* call);
TRIFOLD_CALLS(trifold_ranks, float, f32, TRIFOLD_F32)
TRIFOLD_CALLS(trifold_ranks, double, f64, TRIFOLD_F64)
#undef TRIFOLD_CALLS

/* Corrects x, a solution for b, with the factors at hand: trifold::RankSolver::refine says how. One entry for each member. Arrays in f64
 * may go with a plan in f32. The functions are trifold_ranks_refine_f64(solver, d, e, b, x, stream, options, refinements, capacity, count),
 * trifold_ranks_refine_host_f64 without the stream, and those in f32. */
trifold_code trifold_ranks_refine(trifold_ranks_solver* solver, const trifold_call* call, trifold_refinement* refinements, int64_t capacity,
                                  int64_t* count);
#define TRIFOLD_RANKS_REFINE(real, suffix, bits)                                                                                        \
    static inline trifold_code trifold_ranks_refine_##suffix(trifold_ranks_solver* solver, const real* d, const real* e, const real* b, \
                                                             real* x, void* stream, const trifold_ranks_options* options,               \
                                                             trifold_refinement* refinements, int64_t capacity, int64_t* count) {       \
        const trifold_call call = {sizeof(trifold_call), 0, bits, 0, 0, stream, options, {d, e, b}, {x, NULL}};                         \
        return trifold_ranks_refine(solver, &call, refinements, capacity, count);                                                       \
    }                                                                                                                                   \
    static inline trifold_code trifold_ranks_refine_host_##suffix(trifold_ranks_solver* solver, const real* d, const real* e,           \
                                                                  const real* b, real* x, const trifold_ranks_options* options,         \
                                                                  trifold_refinement* refinements, int64_t capacity, int64_t* count) {  \
        const trifold_call call = {sizeof(trifold_call), 0, bits, 1, 0, NULL, options, {d, e, b}, {x, NULL}};                           \
        return trifold_ranks_refine(solver, &call, refinements, capacity, count);                                                       \
    }
TRIFOLD_RANKS_REFINE(float, f32, TRIFOLD_F32)
TRIFOLD_RANKS_REFINE(double, f64, TRIFOLD_F64)
#undef TRIFOLD_RANKS_REFINE

/* Results as by trifold_check, trifold_outcomes and so on; blocks are counted from the chain's first one. */
trifold_code trifold_ranks_check(trifold_ranks_solver* solver);
trifold_code trifold_ranks_outcomes(trifold_ranks_solver* solver, trifold_outcome* outcomes, int64_t capacity, int64_t* count);
trifold_code trifold_ranks_log_determinant(trifold_ranks_solver* solver, double* values, int64_t capacity, int64_t* count);
trifold_code trifold_ranks_quadratic(trifold_ranks_solver* solver, double* values, int64_t capacity, int64_t* count);

/* ---- images: trifold/grid.hpp says what the calls do ---- */

/* Symmetric: positive definite too. Then only entries 0 to 4 of a stencil are read, and those that go to a fixed boundary. */
typedef enum { TRIFOLD_GRID_GENERAL = 0, TRIFOLD_GRID_SYMMETRIC = 1 } trifold_grid_matrix;
typedef enum { TRIFOLD_GRID_NO_PIVOTING = 0, TRIFOLD_GRID_PARTIAL = 1 } trifold_grid_pivoting;
/* Fixed: pixels of the outer ring are data, whose rows of A are x = b. */
typedef enum { TRIFOLD_GRID_NATURAL = 0, TRIFOLD_GRID_FIXED = 1 } trifold_grid_boundary;

/* Operations that will be called, as bits. */
enum {
    TRIFOLD_GRID_FACTOR = 1 << 0,
    TRIFOLD_GRID_SOLVE = 1 << 1,
    TRIFOLD_GRID_SOLVE_TRANSPOSED = 1 << 2,
    TRIFOLD_GRID_FACTOR_SOLVE = 1 << 3,
    TRIFOLD_GRID_GRADIENT = 1 << 4,
    TRIFOLD_GRID_REFINE = 1 << 5,
    TRIFOLD_GRID_ALL = (1 << 6) - 1
};

/* Counterpart of trifold::GridSpec in trifold/grid_spec.hpp. Stencils are [batch][height][width][9], where entry 3 (dy + 1) + dx + 1 of
 * pixel (x, y) is what its row of A has at (x + dx, y + dy), and zero beyond the image; B and X are [batch][height][width][rhs]. */
typedef struct {
    size_t size;
    int64_t width, height, rhs, batch;
    trifold_precision precision; /* not TRIFOLD_MIXED */
    trifold_grid_matrix matrix;
    trifold_grid_pivoting pivoting;
    trifold_grid_boundary boundary;
    uint64_t operations;
} trifold_grid_spec;
/* In f64, general, with partial pivoting, natural, one right-hand side and image, all operations. */
void trifold_grid_spec_init(trifold_grid_spec* spec, int64_t width, int64_t height);

/* Counterpart of trifold::GridTuning. */
typedef struct {
    size_t size;
    int workers;
    int spin_microseconds;
    const char* variant; /* NULL: auto */
} trifold_grid_tuning;
void trifold_grid_tuning_init(trifold_grid_tuning* tuning);

/* Options of one call; 0: the Spec's batch and rhs. accept_nearly_singular: not 0 takes images that are nearly singular or unstable as they
 * are. */
typedef struct {
    size_t size;
    int64_t members, columns;
    int accept_nearly_singular;
} trifold_grid_options;
void trifold_grid_options_init(trifold_grid_options* options);

typedef struct trifold_grid_plan trifold_grid_plan;
typedef struct trifold_grid_solver trifold_grid_solver;

/* Creates a plan as trifold_plan_create does. */
trifold_code trifold_grid_plan_create(const trifold_grid_spec* spec, const char* device, const trifold_grid_tuning* tuning,
                                      trifold_grid_plan** plan);
void trifold_grid_plan_destroy(trifold_grid_plan* plan);
/* Bytes of each solver's workspace. */
int64_t trifold_grid_plan_workspace_bytes(const trifold_grid_plan* plan);

/* It has a workspace of its own. One call in flight at a time. */
trifold_code trifold_grid_solver_create(const trifold_grid_plan* plan, trifold_grid_solver** solver);
/* `workspace`: device memory of at least trifold_grid_plan_workspace_bytes, 64-byte aligned, which outlives the solver. */
trifold_code trifold_grid_solver_create_in(const trifold_grid_plan* plan, void* workspace, int64_t bytes, trifold_grid_solver** solver);
/* Waits until every operation can run. Else the first call of one waits where its code is still being compiled. */
trifold_code trifold_grid_prepare(trifold_grid_solver* solver);
/* Waits for the last call; its stream must still exist. */
trifold_code trifold_grid_synchronize(trifold_grid_solver* solver);
void trifold_grid_solver_destroy(trifold_grid_solver* solver);
/* CPU only: replaces the built-in threads. */
trifold_code trifold_grid_solver_set_executor(trifold_grid_solver* solver, trifold_executor executor, void* user);

/* Calls as above; gradients have the operation TRIFOLD_GRID_GRADIENT. x may be b in solutions; other results overlap nothing. refine: one
 * step, with A' where transposed is not 0. gradients: of a number E from x = A^-1 b and dE/dx, dE/db and dE/dA on the stencils, summed over
 * right-hand sides. */
trifold_code trifold_grid_run(trifold_grid_solver* solver, const trifold_call* call);
/* clang-format off */
#define TRIFOLD_CALLS(real, suffix, bits)                                                                                                  \
    TRIFOLD_CALL(trifold_grid, suffix, bits, factor, TRIFOLD_GRID_FACTOR, 0, (const real* stencil), (stencil), (NULL))                     \
    TRIFOLD_CALL(trifold_grid, suffix, bits, factor_solve, TRIFOLD_GRID_FACTOR_SOLVE, 0,                                                   \
                 (const real* stencil, const real* b, real* x), (stencil, b), (x))                                                         \
    TRIFOLD_CALL(trifold_grid, suffix, bits, solve, TRIFOLD_GRID_SOLVE, 0, (const real* b, real* x), (b), (x))                             \
    TRIFOLD_CALL(trifold_grid, suffix, bits, solve_transposed, TRIFOLD_GRID_SOLVE_TRANSPOSED, 0, (const real* b, real* x), (b), (x))       \
    TRIFOLD_CALL(trifold_grid, suffix, bits, refine, TRIFOLD_GRID_REFINE, transposed,                                                      \
                 (const real* stencil, const real* b, real* x, int transposed), (stencil, b), (x))                                         \
    TRIFOLD_CALL(trifold_grid, suffix, bits, gradients, TRIFOLD_GRID_GRADIENT, 0,                                                          \
                 (const real* x, const real* by_x, real* by_b, real* by_stencil), (x, by_x), (by_b, by_stencil))
/* clang-format on */
TRIFOLD_CALLS(float, f32, TRIFOLD_F32)
TRIFOLD_CALLS(double, f64, TRIFOLD_F64)
#undef TRIFOLD_CALLS

/* Synchronizes; TRIFOLD_GRID_FAILED when an image's matrix failed, and TRIFOLD_OUT_OF_RANGE when x of the last solution holds infinities or
 * NaN, as it does where b does. trifold_last_error() names the image, and its pixels. */
trifold_code trifold_grid_check(trifold_grid_solver* solver);

typedef enum {
    TRIFOLD_GRID_SOUND = 0,
    TRIFOLD_GRID_BEYOND_IMAGE = 1,
    TRIFOLD_GRID_NOT_FINITE = 2,
    TRIFOLD_GRID_PIVOT = 3,
    TRIFOLD_GRID_NEARLY_SINGULAR = 4,
    TRIFOLD_GRID_UNSTABLE = 5 /* pivots grew so much that few digits are left */
} trifold_grid_problem;
/* Counterpart of trifold::GridOutcome. Pixels count in the caller's image, from 0, both ends included; -1 where none is to blame. */
typedef struct {
    trifold_grid_problem problem;
    int64_t level;                                  /* level of the failing front; -1: none failed */
    int64_t front_x0, front_x1, front_y0, front_y1; /* the pixels that it eliminates */
    int64_t pixel_x, pixel_y;                       /* where it failed */
    double least_pivot, growth;
    int64_t range; /* 0, or TRIFOLD_RANGE_SOLUTION where x of the last solution is out of range */
} trifold_grid_outcome;
/* det A = sign exp(log); log is NaN where the image failed. */
typedef struct {
    double log;
    int sign;
} trifold_grid_determinant;

/* Synchronize and copy one entry an image that a factorization has covered. Capacity and count are those of trifold_outcomes. */
trifold_code trifold_grid_outcomes(trifold_grid_solver* solver, trifold_grid_outcome* outcomes, int64_t capacity, int64_t* count);
/* An estimate of 1 / (||A|| ||A^-1||) for each of `members` images (0: the Spec's batch) of the last factorization, whose stencils are in
 * the host's memory, as GridSolver::reciprocal_condition says. The functions are trifold_grid_reciprocal_condition_f32 and _f64. */
trifold_code trifold_grid_reciprocal_condition(trifold_grid_solver* solver, const trifold_call* call, double* values, int64_t capacity,
                                               int64_t* count);
TRIFOLD_CONDITION(trifold_grid, f32, TRIFOLD_F32, reciprocal_condition, (const float* stencil), (stencil))
TRIFOLD_CONDITION(trifold_grid, f64, TRIFOLD_F64, reciprocal_condition, (const double* stencil), (stencil))
trifold_code trifold_grid_log_determinant(trifold_grid_solver* solver, trifold_grid_determinant* values, int64_t capacity, int64_t* count);

/* ---- sparse systems: trifold/sparse.hpp says what the calls do ---- */

typedef enum {
    TRIFOLD_SPARSE_NONE = 0,
    TRIFOLD_SPARSE_JACOBI = 1,
    TRIFOLD_SPARSE_DILU = 2,
    TRIFOLD_SPARSE_IC0 = 3,
    TRIFOLD_SPARSE_ILDU0 = 4,
    TRIFOLD_SPARSE_ILDU1 = 5,
    TRIFOLD_SPARSE_ILDU2 = 6
} trifold_sparse_preconditioner;
typedef enum { TRIFOLD_SPARSE_BICGSTAB = 0, TRIFOLD_SPARSE_CG = 1, TRIFOLD_SPARSE_GMRES = 2 } trifold_sparse_method;

/* Operations that will be called, as bits. TRIFOLD_SPARSE_UPDATE always can be, and is none of a spec's. */
enum {
    TRIFOLD_SPARSE_APPLY = 1 << 0,
    TRIFOLD_SPARSE_APPLY_TRANSPOSED = 1 << 1,
    TRIFOLD_SPARSE_MULTIPLY = 1 << 2,
    TRIFOLD_SPARSE_MULTIPLY_TRANSPOSED = 1 << 3,
    TRIFOLD_SPARSE_SOLVE = 1 << 4,
    TRIFOLD_SPARSE_SOLVE_TRANSPOSED = 1 << 5,
    TRIFOLD_SPARSE_GRADIENT = 1 << 6,
    TRIFOLD_SPARSE_ALL = (1 << 7) - 1,
    TRIFOLD_SPARSE_UPDATE = 1 << 7
};

/* Counterpart of trifold::SparseSpec in trifold/sparse_spec.hpp. Values are [batch][entries][block][block]; B and X are
 * [batch][rows][block][columns]. */
typedef struct {
    size_t size;
    int64_t block, rhs, batch;
    int64_t restart, maxiter;
    trifold_precision precision; /* TRIFOLD_MIXED: factors in f32, all else in f64 */
    trifold_sparse_preconditioner preconditioner;
    trifold_sparse_method method;
    uint64_t operations;
} trifold_sparse_spec;
/* In f64, ildu0, bicgstab, one right-hand side and set of values, all operations. */
void trifold_sparse_spec_init(trifold_sparse_spec* spec, int64_t block);

typedef enum {
    TRIFOLD_SPARSE_AUTOMATIC = 0,
    TRIFOLD_SPARSE_BOX = 1,
    TRIFOLD_SPARSE_METIS = 2,
    TRIFOLD_SPARSE_GREEDY = 3,
    TRIFOLD_SPARSE_GIVEN = 4,
    TRIFOLD_SPARSE_WHOLE = 5
} trifold_sparse_partitioning;

/* Places of the blocks of A, and the way its rows are put into subdomains. Arrays are copied.
 * Rows of blocks in compressed form: row i has columns[starts[i]] to before columns[starts[i + 1]], ascending, its own among them.
 * Or, where `points` is not 0, a mesh of width x height x depth cells as trifold::SparseMesh; then starts and columns are NULL. */
typedef struct {
    size_t size;
    int64_t rows; /* rows of blocks */
    const int64_t* starts;
    const int32_t* columns;
    int64_t width, height, depth;
    int points;
    trifold_sparse_partitioning partitioning;
    int64_t box[3];       /* TRIFOLD_SPARSE_BOX: cells in x, y, z */
    const int32_t* parts; /* TRIFOLD_SPARSE_GIVEN: the subdomain of each row */
    int64_t subdomain;    /* about how many rows one has; 0: by the device's model */
} trifold_sparse_pattern;
void trifold_sparse_pattern_init(trifold_sparse_pattern* pattern, int64_t rows, const int64_t* starts, const int32_t* columns);

/* Counterpart of trifold::SparseTuning. */
typedef struct {
    size_t size;
    int workers;
    int spin_microseconds;
    const char* variant; /* NULL: auto */
} trifold_sparse_tuning;
void trifold_sparse_tuning_init(trifold_sparse_tuning* tuning);

/* Counterpart of trifold::SparseOptions. `rtol` is TRIFOLD_SPARSE_USUAL_TOLERANCE at first: 1e-8, or 1e-5 in single precision. */
#define TRIFOLD_SPARSE_USUAL_TOLERANCE (-1.0)
typedef struct {
    size_t size;
    int64_t columns, members; /* 0: the Spec's rhs and batch */
    double rtol, atol;
    int64_t maxiter, renew;
    int guess; /* not 0: X holds a first guess */
    double shift;
} trifold_sparse_options;
void trifold_sparse_options_init(trifold_sparse_options* options);

typedef struct trifold_sparse_plan trifold_sparse_plan;
typedef struct trifold_sparse_solver trifold_sparse_solver;

/* Creates a plan as trifold_plan_create does. */
trifold_code trifold_sparse_plan_create(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern, const char* device,
                                        const trifold_sparse_tuning* tuning, trifold_sparse_plan** plan);
/* A plan of an iteration that ranks share, each with the same pattern, values, B and options; all get the whole X. All ranks make their
 * plans together, and every call of their solvers is one of all ranks. `spec` has bicgstab or cg, a batch of 1, and the operation
 * TRIFOLD_SPARSE_SOLVE alone. `device`: "cpu", or this rank's own GPU. The transport is taken as by trifold_ranks_plan_create. */
trifold_code trifold_sparse_ranks_plan_create(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern,
                                              const trifold_transport* transport, const char* device, const trifold_sparse_tuning* tuning,
                                              trifold_sparse_plan** plan);
/* Bad argument, with the first row that differs, unless values of this pattern can be given to solvers of the plan. */
trifold_code trifold_sparse_plan_expect(const trifold_sparse_plan* plan, const trifold_sparse_pattern* now);
void trifold_sparse_plan_destroy(trifold_sparse_plan* plan);
/* Bytes of each solver's workspace. */
int64_t trifold_sparse_plan_workspace_bytes(const trifold_sparse_plan* plan);

/* It has a workspace of its own. One call in flight at a time. */
trifold_code trifold_sparse_solver_create(const trifold_sparse_plan* plan, trifold_sparse_solver** solver);
/* `workspace`: device memory of at least trifold_sparse_plan_workspace_bytes, 64-byte aligned, which outlives the solver. */
trifold_code trifold_sparse_solver_create_in(const trifold_sparse_plan* plan, void* workspace, int64_t bytes,
                                             trifold_sparse_solver** solver);
/* Waits until every operation can run. Else the first call of one waits where its code is still being compiled. */
trifold_code trifold_sparse_prepare(trifold_sparse_solver* solver);
/* Waits for the last call; its stream must still exist. */
trifold_code trifold_sparse_synchronize(trifold_sparse_solver* solver);
void trifold_sparse_solver_destroy(trifold_sparse_solver* solver);
/* CPU only: replaces the built-in threads. */
trifold_code trifold_sparse_solver_set_executor(trifold_sparse_solver* solver, trifold_executor executor, void* user);

/* Calls as above. update: new values of A, from which the preconditioner is made. apply: with the preconditioner; x may be b. multiply:
 * with A; solve: the iteration. gradient: of a number E from x = A^-1 b and dE/db, dE/dA on the pattern. */
trifold_code trifold_sparse_run(trifold_sparse_solver* solver, const trifold_call* call);
/* clang-format off */
#define TRIFOLD_CALLS(real, suffix, bits)                                                                                                  \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, update, TRIFOLD_SPARSE_UPDATE, 0, (const real* values), (values), (NULL))                   \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, apply, TRIFOLD_SPARSE_APPLY, 0, (const real* b, real* x), (b), (x))                         \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, apply_transposed, TRIFOLD_SPARSE_APPLY_TRANSPOSED, 0, (const real* b, real* x), (b), (x))   \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, multiply, TRIFOLD_SPARSE_MULTIPLY, 0, (const real* b, real* x), (b), (x))                   \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, multiply_transposed, TRIFOLD_SPARSE_MULTIPLY_TRANSPOSED, 0,                                 \
                 (const real* b, real* x), (b), (x))                                                                                       \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, solve, TRIFOLD_SPARSE_SOLVE, 0, (const real* b, real* x), (b), (x))                         \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, solve_transposed, TRIFOLD_SPARSE_SOLVE_TRANSPOSED, 0, (const real* b, real* x), (b), (x))   \
    TRIFOLD_CALL(trifold_sparse, suffix, bits, gradient, TRIFOLD_SPARSE_GRADIENT, 0,                                                       \
                 (const real* x, const real* by_b, real* by_values), (x, by_b), (by_values))
/* clang-format on */
TRIFOLD_CALLS(float, f32, TRIFOLD_F32)
TRIFOLD_CALLS(double, f64, TRIFOLD_F64)
#undef TRIFOLD_CALLS

/* Synchronizes; TRIFOLD_SPARSE_FAILED when values cannot be factored, or else when an iteration of the last solution has not converged.
 * trifold_last_error() names what failed, how far it came and what to try. */
trifold_code trifold_sparse_check(trifold_sparse_solver* solver);

/* Counterpart of trifold::SparseValues. Rows and columns of blocks, from 0; -1: none. */
typedef struct {
    int64_t zero_pivots, zero_row;
    int64_t not_finite, bad_row, bad_column;
    int64_t unequal, unequal_row, unequal_column;
    double largest;
} trifold_sparse_values;
typedef enum {
    TRIFOLD_SPARSE_CONVERGED = 0,
    TRIFOLD_SPARSE_STAGNATED = 1,
    TRIFOLD_SPARSE_BREAKDOWN = 2,
    TRIFOLD_SPARSE_NOT_A_NUMBER = 3,
    TRIFOLD_SPARSE_LIMIT = 4,
    TRIFOLD_SPARSE_SINGULAR = 5,
    TRIFOLD_SPARSE_OUT_OF_RANGE = 6
} trifold_sparse_end;
/* Counterpart of trifold::SparseOutcome. */
typedef struct {
    trifold_sparse_end end;
    int64_t iterations;
    double residual, norm_b; /* |b - A x|, computed from x, and |b| */
} trifold_sparse_outcome;
/* Synchronize and copy one entry for each set of values, for each right-hand side of the last solution, those of a member one behind the
 * other, and for each iteration of one. Capacity and count are those of trifold_outcomes. */
trifold_code trifold_sparse_status(trifold_sparse_solver* solver, trifold_sparse_values* values, int64_t capacity, int64_t* count);
trifold_code trifold_sparse_outcomes(trifold_sparse_solver* solver, trifold_sparse_outcome* outcomes, int64_t capacity, int64_t* count);
trifold_code trifold_sparse_history(trifold_sparse_solver* solver, int64_t member, int64_t column, double* residuals, int64_t capacity,
                                    int64_t* count);

/* ---- any family, by the names in its tables: for other languages, which need no struct of a family's own ---- */

/* All families as JSON: their fields (name, about, usual, words), operations, and arrays (name, extents, access). */
const char* trifold_families(void);

typedef struct trifold_any_plan trifold_any_plan;
typedef struct trifold_any_solver trifold_any_solver;
/* `problem` and `tuning` are JSON objects of a family's fields, such as {"width": 129, "height": 65}; NULL: all as usual. A sparse system
 * has the field "mesh" too, or the lists "starts" and "columns". Plans and solvers are those of the family's own functions. */
trifold_code trifold_any_plan_create(const char* family, const char* problem, const char* device, const char* tuning,
                                     trifold_any_plan** plan);
void trifold_any_plan_destroy(trifold_any_plan* plan);
int64_t trifold_any_plan_workspace_bytes(const trifold_any_plan* plan);
/* `workspace` as in trifold_solver_create. */
trifold_code trifold_any_solver_create(const trifold_any_plan* plan, void* workspace, int64_t bytes, trifold_any_solver** solver);
void trifold_any_solver_destroy(trifold_any_solver* solver);
/* `call`: the precision, stream and place of the `count` arrays, which are those of the operation in the table's order. `options`: a JSON
 * object of fields of a call, or NULL. It allocates, unlike the family's own functions. */
trifold_code trifold_any_run(trifold_any_solver* solver, const char* operation, const trifold_call* call, const void* const* arrays,
                             int64_t count, const char* options);
trifold_code trifold_any_prepare(trifold_any_solver* solver);
trifold_code trifold_any_synchronize(trifold_any_solver* solver);
trifold_code trifold_any_check(trifold_any_solver* solver);
/* A JSON list with an object for each member; valid until the next call. */
trifold_code trifold_any_outcomes(trifold_any_solver* solver, const char** outcomes);

#undef TRIFOLD_CONDITION
#undef TRIFOLD_CALL
#undef TRIFOLD_LIST
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
