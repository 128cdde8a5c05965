/* See mpc_solver.h. C99, and C++ as well: no recursion, no heap, nothing global that is written. */
#include "mpc_solver.h"

#include <stdint.h>
#include <string.h>

/* clang-format off */
/* ---- integer.h ---- */
/* The integer of all that host and kernels share. */
#ifndef TRIFOLD_INTEGER_H
#define TRIFOLD_INTEGER_H

typedef long long trifold_int;

#endif

/* ---- tridiagonal_args.h ---- */
/* Block tridiagonal systems: what a launch passes to a kernel. One text for the host library, generated C and device code, so both sides
 * agree; every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_TRIDIAGONAL_ARGS_H
#define TRIFOLD_TRIDIAGONAL_ARGS_H


/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* The constants of a launch that treats one level. The blocks that remain when a level starts are base + scale * p for positions p = 0 ..
 * size - 1. A chain's neighbours are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;                            /* level number, from 0 */
    trifold_int base, scale, size;                /* remaining blocks */
    trifold_int next_base, next_scale, next_size; /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;          /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                     /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* When a launch that treats all levels may begin: after the launch before it has ended; or early, when all fronts of a factorization or of
 * a forward sweep have been claimed but need not be done. */
typedef enum { trifold_after, trifold_during_factor, trifold_during_forward } trifold_start;

/* The constants of a launch that treats all levels, or that gathers what they leave. Its kernels find levels by arithmetic. */
typedef struct {
    trifold_int start; /* a trifold_start */
    trifold_int unused[25];
} trifold_all_levels;

/* Mixed precision: the constants of a launch of refinement. */
typedef struct {
    trifold_int round; /* 0: the first solution */
    trifold_int unused[25];
} trifold_refinement;

/* The constants of a launch. Each kernel takes one of these, so a kernel that reads another's does not compile. All have the size of the
 * largest, so that those who launch need not know which. */
typedef union {
    trifold_level level;
    trifold_all_levels all_levels;
    trifold_refinement refinement;
} trifold_constants;

/* Strides in elements: element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column. */
typedef struct {
    trifold_int row, column, stage, member;
} trifold_strides;

/* Outcome of a member's factorization. block is -1 when it succeeded. */
typedef struct {
    trifold_int block;           /* first failing block, original order, from 0; -1: none */
    trifold_int row;             /* failing row within it, from 0 */
    trifold_int floors;          /* pivots raised to the floor */
    double least_pivot;          /* the least pivot, each over the diagonal entry that it began with; 0 where the factorization failed */
    trifold_int nearly_singular; /* 1: it is below trifold_nearly_singular times the precision's epsilon, which the call did not accept */
} trifold_status;

/* The least pivot of a sound system is larger than that many epsilons. Rounding leaves at most a few of them of a pivot that should be
 * zero. */
enum { trifold_nearly_singular = 64 };

/* Results of a member that have left the range of the precision: they hold infinities or NaN. 0: none, 1: some. A sweep's or inverse's
 * first chain, which is that of the last level, sets it to 0, and whoever finds such an element after it to 1. */
typedef struct {
    int solution; /* X of the last backward sweep */
    int inverse;  /* of the last selected inverse */
} trifold_range;

/* Mixed precision: outcome of the refinement of a member's solution, for the worst of a call's columns. */
typedef struct {
    trifold_int iterations; /* corrections of the first solution; -1: never solved */
    trifold_int converged;  /* 1, or 0: the solution is NaN */
    double backward_error;  /* the largest |b - A x| / (|A| |x| + |b|) of a row */
} trifold_refined;

typedef struct {
    const void* d; /* D; strides are constants of the unit, or open sizes */
    const void* e; /* E */
    const void* b; /* input of a sweep */
    void* x;       /* output of a sweep; may be b */
    trifold_strides b_strides, x_strides;
    trifold_int columns;                /* right-hand sides of this call, 1 .. TRIFOLD_RHS */
    trifold_int members;                /* active capacity of this call, 1 .. TRIFOLD_BATCH */
    const void* diagonal;               /* added to the diagonal, [batch][N][n]; may be null */
    const void* shift;                  /* added to every diagonal entry, [batch]; may be null */
    const int* active;                  /* [batch], 0 skips the member; may be null */
    double pivot_floor;                 /* relative to the largest magnitude on the block's diagonal as loaded; 0: none */
    void* inverse_diagonal;             /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks */
    void* inverse_coupling;             /* [batch][N-1][n][n], row-major: block (i+1, i) of the inverse */
    void* workspace;                    /* factor, slots and results; offsets are constants of the unit, or open sizes */
    trifold_int first_column;           /* of the caller's right-hand sides: those before it had calls of their own */
    trifold_int accept_nearly_singular; /* 1: a least pivot below the bound is no failure; nor is it with a pivot floor */
    /* The Program's sizes, which a unit's text may leave open, so that it serves every number of blocks, systems and right-hand sides:
     * generator/tridiagonal/open_sizes.hpp. Kernels of GPUs have them by value, in the constant memory of a launch. */
#ifdef TRIFOLD_SIZES_BY_VALUE
    trifold_int sizes[TRIFOLD_SIZES_BY_VALUE];
#else
    const trifold_int* sizes;
#endif
} trifold_args;

#endif

/* clang-format on */

/* ---- the driver ---- */

/* A kernel and its grid: x by y thread blocks. */
typedef struct {
    mpc_function function;
    unsigned x, y, threads, shared_bytes;
    void** parameters;
} grid;

static mpc_node_parameters node_of(const grid* g);

static mpc_result load_module(mpc_module* module, const void* image) { return cuModuleLoadData(module, image); }
static mpc_result unload_module(mpc_module module) { return cuModuleUnload(module); }

static mpc_result make_graph(mpc_graph_nodes* graph) { return cuGraphCreate(graph, 0); }
static mpc_result destroy_graph(mpc_graph_nodes graph) { return cuGraphDestroy(graph); }

/* After one node, or after none. */
static mpc_result add_kernel(mpc_node* node, mpc_graph_nodes graph, const mpc_node* after, const grid* g) {
    const mpc_node_parameters parameters = node_of(g);
    return cuGraphAddKernelNode(node, graph, after, after != NULL, &parameters);
}

static mpc_result set_kernel(mpc_executable executable, mpc_node node, const grid* g) {
    const mpc_node_parameters parameters = node_of(g);
    return cuGraphExecKernelNodeSetParams(executable, node, &parameters);
}

static mpc_result destroy_executable(mpc_executable executable) { return cuGraphExecDestroy(executable); }
static mpc_result launch_graph(mpc_executable executable, mpc_stream stream) { return cuGraphLaunch(executable, stream); }

static CUdeviceptr address(const void* memory) { return (CUdeviceptr)(uintptr_t)memory; }

/* Whether the current device is of an architecture, such as sm_87. Binaries of a relative of it would not do on Tegra. */
static mpc_result is_device(const char* arch, int* is) {
    CUdevice device = 0;
    int major = 0, minor = 0, wanted = 0;
    const char* digit = arch + 3;
    CUresult result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS) result = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS) result = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    for (; *digit != '\0'; ++digit) wanted = 10 * wanted + (*digit - '0');
    *is = 10 * major + minor == wanted;
    return result;
}

static mpc_result find_function(mpc_function* function, mpc_module module, const char* name, unsigned shared_bytes) {
    CUresult result = cuModuleGetFunction(function, module, name);
    if (result == CUDA_SUCCESS) result = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes);
    return result;
}

static mpc_result fill(void* memory, unsigned char byte, size_t bytes) { return cuMemsetD8Async(address(memory), byte, bytes, NULL); }

static mpc_result read_back(void* host, const void* memory, size_t bytes, mpc_stream stream) {
    const CUresult result = cuMemcpyDtoHAsync(host, address(memory), bytes, stream);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(stream) : result;
}

static mpc_result synchronize(void) { return cuCtxSynchronize(); }

static mpc_result is_capturing(mpc_stream stream, int* is) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = cuStreamIsCapturing(stream, &status);
    *is = status != CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
}

static mpc_result launch_kernel(const grid* g, mpc_stream stream) {
    return cuLaunchKernel(g->function, g->x, g->y, 1, g->threads, 1, 1, g->shared_bytes, stream, g->parameters, NULL);
}

static mpc_node_parameters node_of(const grid* g) {
    mpc_node_parameters node;
    memset(&node, 0, sizeof node);
    node.func = g->function;
    node.gridDimX = g->x;
    node.gridDimY = g->y;
    node.gridDimZ = 1;
    node.blockDimX = g->threads;
    node.blockDimY = 1;
    node.blockDimZ = 1;
    node.sharedMemBytes = g->shared_bytes;
    node.kernelParams = g->parameters;
    return node;
}

static mpc_result make_executable(mpc_executable* executable, mpc_graph_nodes graph) {
    CUresult result = cuGraphInstantiateWithFlags(executable, graph, 0);
    if (result == CUDA_SUCCESS) result = cuGraphUpload(*executable, NULL);
    return result;
}

/* ---- what is launched ---- */

enum { FACTOR, FORWARD, BACKWARD, SOLVE, FACTOR_FORWARD, FACTOR_SOLVE, INVERSE };

/* A thread block treats `members` systems of the batch. */
typedef struct {
    const char* name;
    unsigned threads, shared_bytes;
    long long members;
} kernel;

/* A kernel over one level of the elimination, or over all, in `groups` thread blocks a system. */
typedef struct {
    int kernel, constants, groups;
    int after;   /* launch of the same operation that must have ended; -1: none */
    int reads_x; /* the right-hand sides are what an earlier launch left in X */
} launch;

/* Bytes of the workspace that are zero before the first launch. */
typedef struct {
    size_t offset, bytes;
} region;

struct mpc_program {
    const char* arch;
    const void* image; /* the compiled kernels */
    int kernel_count, zeroed_count;
    const kernel* kernels;
    const trifold_constants* constants;
    const launch* launches; /* operation after operation */
    const region* zeroed;
    int first[MPC_OPERATIONS + 1];                       /* launch of each operation; where the next begins there, it was not exported */
    size_t outcomes, log_determinant, quadratic, ranges; /* offsets in the workspace */
};

/* clang-format off */

/* sm_87: schedule sequential, variant team:bake=1. */
static const kernel kernels_sm_87[] = {
    {"btd_factor_n6_f32_sm87_e26734b0", 64, 14592, 8},
    {"btd_factor_forward_n6_f32_sm87_e26734b0", 64, 14592, 8},
    {"btd_forward_n6_f32_sm87_e26734b0", 64, 14592, 8},
    {"btd_backward_n6_f32_sm87_e26734b0", 64, 14592, 8},
};
static const trifold_constants constants_sm_87[] = {
    {{0, 0, 1, 10, 0, 0, 0, 0, 0, 1, 1, {{0, 10, 1, 10, 1}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}}},
};
static const launch launches_sm_87[] = {
    {0, 0, 1, -1, 0}, /* factor: factor */
    {2, 0, 1, -1, 0}, /* solve: forward */
    {3, 0, 1, 0, 1}, /* solve: backward */
    {1, 0, 1, -1, 0}, /* factor_solve: factor_forward */
    {3, 0, 1, 0, 1}, /* factor_solve: backward */
};
static const region zeroed_sm_87[] = {
    {1378304, 20480}, /* reduction */
};

static const struct mpc_program programs[] = {
    {"sm_87", mpc_image_sm_87, 4, 1, kernels_sm_87, constants_sm_87, launches_sm_87, zeroed_sm_87, {0, 1, 1, 1, 3, 3, 5, 5}, 0, 10240, 12288, 14336},
};
/* clang-format on */

/* ---- the solver ---- */

/* Kernels count bytes and take structures by value: both sides must agree on them. */
typedef char mpc_arguments_have_23_words[sizeof(trifold_args) == 23 * 8 ? 1 : -1];
typedef char mpc_constants_have_26_words[sizeof(trifold_constants) == 26 * 8 ? 1 : -1];
typedef char mpc_outcomes_have_5_words[sizeof(mpc_outcome) == sizeof(trifold_status) ? 1 : -1];
typedef char mpc_ranges_have_2_ints[sizeof(mpc_range) == sizeof(trifold_range) ? 1 : -1];
typedef char mpc_held_has_no_padding[sizeof(mpc_arguments) == 12 * 8 ? 1 : -1];

/* Keeps what the driver said of a call that failed. */
static mpc_code checked(mpc_solver* solver, mpc_result result, const char* task) {
    if (result == (mpc_result)0) return MPC_OK;
    solver->driver_result = result;
    solver->driver_task = task;
    return MPC_DRIVER_FAILED;
}

/* ---- arguments ---- */

static int is_valid(const void* memory, size_t alignment, int needed) {
    return memory == NULL ? !needed : (uintptr_t)memory % alignment == 0;
}

static int factors(int operation) { return operation == FACTOR || operation == FACTOR_FORWARD || operation == FACTOR_SOLVE; }

static mpc_code check_arguments(int operation, const mpc_arguments* given) {
    const mpc_options* options = &given->options;
    const size_t real = sizeof(mpc_real);
    const int sweeps = operation != FACTOR && operation != INVERSE, inverts = operation == INVERSE;
    const int valid = is_valid(given->d, real, factors(operation)) && is_valid(given->e, real, factors(operation) && MPC_HORIZON > 1) &&
                      is_valid(given->b, real, sweeps) && is_valid(given->x, real, sweeps) &&
                      is_valid(given->inverse_diagonal, real, inverts) &&
                      is_valid(given->inverse_coupling, real, inverts && MPC_HORIZON > 1) && is_valid(options->diagonal, real, 0) &&
                      is_valid(options->shift, real, 0) && is_valid(options->active, sizeof(int), 0) && options->members > 0 &&
                      options->members <= MPC_BATCH && options->pivot_floor >= 0 && options->pivot_floor < 1;
    return valid ? MPC_OK : MPC_BAD_ARGUMENT;
}

/* What a kernel takes. */
static trifold_args kernel_arguments(const mpc_solver* solver, const mpc_arguments* given, int reads_x) {
    const trifold_strides strides = {MPC_RHS, 1, (long long)MPC_BLOCK * MPC_RHS, (long long)MPC_HORIZON * MPC_BLOCK * MPC_RHS};
    trifold_args args;
    args.d = given->d;
    args.e = given->e;
    args.b = reads_x ? given->x : given->b;
    args.x = given->x;
    args.b_strides = strides;
    args.x_strides = strides;
    args.columns = MPC_RHS;
    args.members = given->options.members;
    args.diagonal = given->options.diagonal;
    args.shift = given->options.shift;
    args.active = given->options.active;
    args.pivot_floor = given->options.pivot_floor;
    args.inverse_diagonal = given->inverse_diagonal;
    args.inverse_coupling = given->inverse_coupling;
    args.workspace = solver->workspace;
    args.first_column = 0;
    args.accept_nearly_singular = given->options.accept_nearly_singular != 0;
    return args;
}

/* ---- graphs ---- */

static int launches_of(const mpc_solver* solver, int operation) {
    return solver->program->first[operation + 1] - solver->program->first[operation];
}

/* Launch k of an operation. `args` and `parameters` are where the grid's parameters are kept. */
static grid grid_of(const mpc_solver* solver, int operation, int k, const mpc_arguments* given, trifold_args* args, void** parameters) {
    const struct mpc_program* program = solver->program;
    const launch* l = &program->launches[program->first[operation] + k];
    const kernel* launched = &program->kernels[l->kernel];
    grid g;
    *args = kernel_arguments(solver, given, l->reads_x);
    parameters[0] = args;
    parameters[1] = (void*)(uintptr_t)&program->constants[l->constants];
    g.function = solver->function[l->kernel];
    g.x = (unsigned)l->groups;
    g.y = (unsigned)((given->options.members + launched->members - 1) / launched->members);
    g.threads = launched->threads;
    g.shared_bytes = launched->shared_bytes;
    g.parameters = parameters;
    return g;
}

/* The first launch brings the arguments. */
static mpc_code build_graph(mpc_solver* solver, int operation) {
    mpc_graph* graph = &solver->graph[operation];
    const launch* l = &solver->program->launches[solver->program->first[operation]];
    const int count = launches_of(solver, operation);
    mpc_arguments none;
    trifold_args args;
    void* parameters[2];
    int k;
    mpc_code code = checked(solver, make_graph(&graph->nodes), "create a graph");
    memset(&none, 0, sizeof none);
    none.options.members = MPC_BATCH;
    for (k = 0; k < count && code == MPC_OK; ++k) {
        const grid g = grid_of(solver, operation, k, &none, &args, parameters);
        const mpc_node* after = l[k].after < 0 ? NULL : &graph->node[l[k].after];
        code = checked(solver, add_kernel(&graph->node[k], graph->nodes, after, &g), "add a kernel to a graph");
    }
    if (code == MPC_OK) code = checked(solver, make_executable(&graph->executable, graph->nodes), "instantiate a graph");
    return code;
}

/* Puts other arguments into the graph, without making it anew. */
static mpc_code update(mpc_solver* solver, int operation, const mpc_arguments* given) {
    mpc_graph* graph = &solver->graph[operation];
    trifold_args args;
    void* parameters[2];
    int k;
    mpc_code code = MPC_OK;
    graph->holds = 0;
    for (k = 0; k < launches_of(solver, operation) && code == MPC_OK; ++k) {
        const grid g = grid_of(solver, operation, k, given, &args, parameters);
        code = checked(solver, set_kernel(graph->executable, graph->node[k], &g), "set a kernel's arguments");
    }
    graph->held = *given;
    graph->holds = code == MPC_OK;
    return code;
}

static mpc_code launch_as_graph(mpc_solver* solver, int operation, const mpc_arguments* given, mpc_stream stream) {
    const mpc_graph* graph = &solver->graph[operation];
    mpc_code code = MPC_OK;
    if (!graph->holds || memcmp(&graph->held, given, sizeof *given) != 0) code = update(solver, operation, given);
    if (code == MPC_OK) code = checked(solver, launch_graph(graph->executable, stream), "launch a graph");
    return code;
}

/* The kernels one by one, as a capture wants them. */
static mpc_code launch_kernels(mpc_solver* solver, int operation, const mpc_arguments* given, mpc_stream stream) {
    trifold_args args;
    void* parameters[2];
    int k;
    mpc_code code = MPC_OK;
    for (k = 0; k < launches_of(solver, operation) && code == MPC_OK; ++k) {
        const grid g = grid_of(solver, operation, k, given, &args, parameters);
        code = checked(solver, launch_kernel(&g, stream), "launch a kernel");
    }
    return code;
}

/* What there is after a call. */
static void note_results(mpc_solver* solver, int operation, long long members) {
    if (factors(operation)) {
        if (members > solver->factored) solver->factored = members;
        solver->solved = solver->inverted = 0;
    }
    if (operation == SOLVE || operation == FACTOR_SOLVE || operation == BACKWARD) solver->solved = 1;
    if (operation == INVERSE) solver->inverted = 1;
}

static mpc_code run(mpc_solver* solver, int operation, mpc_arguments* given, const mpc_options* options, mpc_stream stream) {
    int capturing = 0;
    mpc_code code = MPC_OK;
    if (solver == NULL || solver->program == NULL) return MPC_BAD_ARGUMENT;
    if (launches_of(solver, operation) == 0) return MPC_NOT_EXPORTED;
    if (options != NULL) given->options = *options;
    if (given->options.members == 0) given->options.members = MPC_BATCH;
    code = check_arguments(operation, given);
    if (code == MPC_OK && !factors(operation) && given->options.members > solver->factored) code = MPC_NOT_FACTORED;
    if (code == MPC_OK) code = checked(solver, is_capturing(stream, &capturing), "ask whether a stream captures");
    if (code == MPC_OK && capturing) code = launch_kernels(solver, operation, given, stream);
    if (code == MPC_OK && !capturing) code = launch_as_graph(solver, operation, given, stream);
    if (code == MPC_OK) note_results(solver, operation, given->options.members);
    return code;
}

/* ---- creation ---- */

static mpc_code choose_program(mpc_solver* solver) {
    const int count = (int)(sizeof programs / sizeof programs[0]);
    int k, is = 0;
    mpc_code code = MPC_OK;
    for (k = 0; k < count && code == MPC_OK && !is; ++k) {
        code = checked(solver, is_device(programs[k].arch, &is), "ask for the device's architecture");
        if (code == MPC_OK && is) solver->program = &programs[k];
    }
    return code == MPC_OK && !is ? MPC_NO_KERNELS : code;
}

static mpc_code load_kernels(mpc_solver* solver) {
    const struct mpc_program* program = solver->program;
    int k;
    mpc_code code = checked(solver, load_module(&solver->module, program->image), "load the kernels");
    for (k = 0; k < program->kernel_count && code == MPC_OK; ++k) {
        const kernel* found = &program->kernels[k];
        code = checked(solver, find_function(&solver->function[k], solver->module, found->name, found->shared_bytes), "find a kernel");
    }
    return code;
}

/* NaN, so that nothing passes for a factor; what the kernels count with is zero. */
static mpc_code clear_workspace(mpc_solver* solver) {
    const struct mpc_program* program = solver->program;
    int k;
    mpc_code code = checked(solver, fill(solver->workspace, 0xff, MPC_WORKSPACE_BYTES), "fill the workspace");
    for (k = 0; k < program->zeroed_count && code == MPC_OK; ++k) {
        const region* zeroed = &program->zeroed[k];
        code = checked(solver, fill(solver->workspace + zeroed->offset, 0, zeroed->bytes), "fill the workspace");
    }
    if (code == MPC_OK) code = checked(solver, synchronize(), "wait for the device");
    return code;
}

size_t mpc_workspace_size(void) { return MPC_WORKSPACE_BYTES; }

mpc_code mpc_create(mpc_solver* solver, void* workspace) {
    int operation;
    mpc_code code = MPC_OK;
    if (solver == NULL) return MPC_BAD_ARGUMENT;
    memset(solver, 0, sizeof *solver);
    if (!is_valid(workspace, MPC_ALIGNMENT, 1)) return MPC_BAD_ARGUMENT;
    solver->workspace = (char*)workspace;
    code = choose_program(solver);
    if (code == MPC_OK) code = load_kernels(solver);
    if (code == MPC_OK) code = clear_workspace(solver);
    for (operation = 0; operation < MPC_OPERATIONS && code == MPC_OK; ++operation) {
        if (launches_of(solver, operation) > 0) code = build_graph(solver, operation);
    }
    if (code != MPC_OK) mpc_destroy(solver);
    return code;
}

void mpc_destroy(mpc_solver* solver) {
    int k;
    if (solver == NULL || solver->program == NULL) return;
    (void)synchronize(); /* what it frees may be in use */
    for (k = 0; k < MPC_OPERATIONS; ++k) {
        mpc_graph* graph = &solver->graph[k];
        if (graph->executable != NULL) (void)destroy_executable(graph->executable);
        if (graph->nodes != NULL) (void)destroy_graph(graph->nodes);
        graph->executable = NULL;
        graph->nodes = NULL;
    }
    if (solver->module != NULL) (void)unload_module(solver->module);
    solver->module = NULL;
    solver->program = NULL;
    solver->factored = 0;
}

/* ---- the calls ---- */

static mpc_arguments arguments(const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x) {
    mpc_arguments given;
    memset(&given, 0, sizeof given);
    given.d = d;
    given.e = e;
    given.b = b;
    given.x = x;
    return given;
}

mpc_code mpc_factor(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(d, e, NULL, NULL);
    return run(solver, FACTOR, &given, options, stream);
}

mpc_code mpc_solve(mpc_solver* solver, const mpc_real* b, mpc_real* x, const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(NULL, NULL, b, x);
    return run(solver, SOLVE, &given, options, stream);
}

mpc_code mpc_factor_solve(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x,
                          const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(d, e, b, x);
    return run(solver, FACTOR_SOLVE, &given, options, stream);
}

mpc_code mpc_forward(mpc_solver* solver, const mpc_real* b, mpc_real* y, const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(NULL, NULL, b, y);
    return run(solver, FORWARD, &given, options, stream);
}

mpc_code mpc_backward(mpc_solver* solver, const mpc_real* y, mpc_real* x, const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(NULL, NULL, y, x);
    return run(solver, BACKWARD, &given, options, stream);
}

mpc_code mpc_factor_forward(mpc_solver* solver, const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* y,
                            const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(d, e, b, y);
    return run(solver, FACTOR_FORWARD, &given, options, stream);
}

mpc_code mpc_inverse(mpc_solver* solver, mpc_real* diagonal, mpc_real* coupling, const mpc_options* options, mpc_stream stream) {
    mpc_arguments given = arguments(NULL, NULL, NULL, NULL);
    given.inverse_diagonal = diagonal;
    given.inverse_coupling = coupling;
    return run(solver, INVERSE, &given, options, stream);
}

/* ---- outcomes ---- */

enum { PIECE = 16 }; /* systems whose records are read at once */

static long long piece_from(const mpc_solver* solver, long long first) {
    const long long left = solver->factored - first;
    return left < PIECE ? left : (long long)PIECE;
}

/* A failed factorization is what a status names first, of those the first; then the first system that is nearly singular. */
static void judge(mpc_status* status, const mpc_outcome* one, long long member) {
    if (one->block >= 0) {
        status->code = MPC_NOT_POSITIVE_DEFINITE;
        status->member = (int)member;
        status->block = (int)one->block;
        status->row = (int)one->row;
    } else if (one->nearly_singular == 1 && status->code == MPC_OK) {
        status->code = MPC_NEARLY_SINGULAR;
        status->member = (int)member;
    }
}

static int has_factors(mpc_code code) { return code == MPC_OK || code == MPC_NEARLY_SINGULAR; }

static void check_factors(mpc_solver* solver, mpc_status* status, mpc_stream stream) {
    mpc_outcome outcomes[PIECE];
    long long first, k;
    for (first = 0; first < solver->factored && has_factors(status->code); first += PIECE) {
        const long long count = piece_from(solver, first);
        const size_t bytes = (size_t)count * sizeof *outcomes;
        const mpc_code copied = checked(solver, read_back(outcomes, mpc_outcomes(solver) + first, bytes, stream), "copy the outcomes");
        if (copied != MPC_OK) status->code = copied;
        for (k = 0; k < count && has_factors(status->code); ++k) judge(status, &outcomes[k], first + k);
    }
}

static void check_ranges(mpc_solver* solver, mpc_status* status, mpc_stream stream) {
    mpc_range ranges[PIECE];
    long long first, k;
    for (first = 0; first < solver->factored && status->code == MPC_OK; first += PIECE) {
        const long long count = piece_from(solver, first);
        status->code =
            checked(solver, read_back(ranges, mpc_ranges(solver) + first, (size_t)count * sizeof *ranges, stream), "copy the ranges");
        for (k = 0; k < count && status->code == MPC_OK; ++k) {
            if ((solver->solved && ranges[k].solution == 1) || (solver->inverted && ranges[k].inverse == 1)) {
                status->code = MPC_OUT_OF_RANGE;
                status->member = (int)(first + k);
            }
        }
    }
}

mpc_status mpc_check(mpc_solver* solver, mpc_stream stream) {
    mpc_status status = {MPC_BAD_ARGUMENT, -1, -1, -1};
    if (solver == NULL || solver->program == NULL) return status;
    status.code = solver->factored > 0 ? MPC_OK : MPC_NOT_FACTORED;
    check_factors(solver, &status, stream);
    if (solver->solved || solver->inverted) check_ranges(solver, &status, stream);
    return status;
}

static const void* result_at(const mpc_solver* solver, size_t offset) { return solver->workspace + offset; }

const mpc_outcome* mpc_outcomes(const mpc_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const mpc_outcome*)result_at(solver, solver->program->outcomes);
}

const mpc_range* mpc_ranges(const mpc_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const mpc_range*)result_at(solver, solver->program->ranges);
}

const double* mpc_log_determinant(const mpc_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const double*)result_at(solver, solver->program->log_determinant);
}

const double* mpc_quadratic(const mpc_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const double*)result_at(solver, solver->program->quadratic);
}

const char* mpc_message(mpc_code code) {
    switch (code) {
        case MPC_OK:
            return "done";
        case MPC_NOT_POSITIVE_DEFINITE:
            return "A is not positive definite";
        case MPC_OUT_OF_RANGE:
            return "a result has left the range of the precision; scale A or B";
        case MPC_NOT_FACTORED:
            return "there is no factor of so many systems; call mpc_factor or mpc_factor_solve first";
        case MPC_BAD_ARGUMENT:
            return "a pointer is null or not aligned, an option is out of range, or the solver was not created";
        case MPC_NO_KERNELS:
            return "the kernels are for other devices than the current one; export for its architecture too";
        case MPC_NOT_EXPORTED:
            return "the solver was exported without this operation; add it to --operations";
        case MPC_NEARLY_SINGULAR:
            return "A is singular to the precision; anchor it, or set accept_nearly_singular";
        case MPC_DRIVER_FAILED:
            return "a call of the driver failed; see driver_task and driver_result in the solver";
    }
    return "an unknown code";
}
