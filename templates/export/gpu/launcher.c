/* ---- the solver ---- */

/* Kernels count bytes and take structures by value: both sides must agree on them. */
typedef char btd_arguments_have_24_words[sizeof(trifold_args) == 24 * 8 ? 1 : -1];
typedef char btd_constants_have_26_words[sizeof(trifold_constants) == 26 * 8 ? 1 : -1];
typedef char btd_outcomes_have_5_words[sizeof(btd_outcome) == sizeof(trifold_status) ? 1 : -1];
typedef char btd_ranges_have_2_ints[sizeof(btd_range) == sizeof(trifold_range) ? 1 : -1];
typedef char btd_held_has_no_padding[sizeof(btd_arguments) == 12 * 8 ? 1 : -1];

/* Keeps what the driver said of a call that failed. */
static btd_code checked(btd_solver* solver, btd_result result, const char* task) {
    if (result == (btd_result)0) return BTD_OK;
    solver->driver_result = result;
    solver->driver_task = task;
    return BTD_DRIVER_FAILED;
}

/* ---- arguments ---- */

static int is_valid(const void* memory, size_t alignment, int needed) {
    return memory == NULL ? !needed : (uintptr_t)memory % alignment == 0;
}

static int factors(int operation) { return operation == FACTOR || operation == FACTOR_FORWARD || operation == FACTOR_SOLVE; }

static btd_code check_arguments(int operation, const btd_arguments* given) {
    const btd_options* options = &given->options;
    const size_t real = sizeof(btd_real);
    const int sweeps = operation != FACTOR && operation != INVERSE, inverts = operation == INVERSE;
    const int valid = is_valid(given->d, real, factors(operation)) && is_valid(given->e, real, factors(operation) && BTD_HORIZON > 1) &&
                      is_valid(given->b, real, sweeps) && is_valid(given->x, real, sweeps) &&
                      is_valid(given->inverse_diagonal, real, inverts) &&
                      is_valid(given->inverse_coupling, real, inverts && BTD_HORIZON > 1) && is_valid(options->diagonal, real, 0) &&
                      is_valid(options->shift, real, 0) && is_valid(options->active, sizeof(int), 0) && options->members > 0 &&
                      options->members <= BTD_BATCH && options->pivot_floor >= 0 && options->pivot_floor < 1;
    return valid ? BTD_OK : BTD_BAD_ARGUMENT;
}

/* What a kernel takes. */
static trifold_args kernel_arguments(const btd_solver* solver, const btd_arguments* given, int reads_x) {
    const trifold_strides strides = {BTD_RHS, 1, (long long)BTD_BLOCK * BTD_RHS, (long long)BTD_HORIZON * BTD_BLOCK * BTD_RHS};
    trifold_args args;
    args.d = given->d;
    args.e = given->e;
    args.b = reads_x ? given->x : given->b;
    args.x = given->x;
    args.b_strides = strides;
    args.x_strides = strides;
    args.columns = BTD_RHS;
    args.members = given->options.members;
    args.diagonal = given->options.diagonal;
    args.shift = given->options.shift;
    args.active = given->options.active;
    args.pivot_floor = given->options.pivot_floor;
    args.inverse_diagonal = given->inverse_diagonal;
    args.inverse_coupling = given->inverse_coupling;
    args.workspace = solver->workspace;
    args.first_column = 0;
    args.sizes = 0; /* the kernels have them as literals */
    args.accept_nearly_singular = given->options.accept_nearly_singular != 0;
    return args;
}

/* ---- graphs ---- */

static int launches_of(const btd_solver* solver, int operation) {
    return solver->program->first[operation + 1] - solver->program->first[operation];
}

/* Launch k of an operation. `args` and `parameters` are where the grid's parameters are kept. */
static grid grid_of(const btd_solver* solver, int operation, int k, const btd_arguments* given, trifold_args* args, void** parameters) {
    const struct btd_program* program = solver->program;
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
static btd_code build_graph(btd_solver* solver, int operation) {
    btd_graph* graph = &solver->graph[operation];
    const launch* l = &solver->program->launches[solver->program->first[operation]];
    const int count = launches_of(solver, operation);
    btd_arguments none;
    trifold_args args;
    void* parameters[2];
    int k;
    btd_code code = checked(solver, make_graph(&graph->nodes), "create a graph");
    memset(&none, 0, sizeof none);
    none.options.members = BTD_BATCH;
    for (k = 0; k < count && code == BTD_OK; ++k) {
        const grid g = grid_of(solver, operation, k, &none, &args, parameters);
        const btd_node* after = l[k].after < 0 ? NULL : &graph->node[l[k].after];
        code = checked(solver, add_kernel(&graph->node[k], graph->nodes, after, &g), "add a kernel to a graph");
    }
    if (code == BTD_OK) code = checked(solver, make_executable(&graph->executable, graph->nodes), "instantiate a graph");
    return code;
}

/* Puts other arguments into the graph, without making it again. */
static btd_code update(btd_solver* solver, int operation, const btd_arguments* given) {
    btd_graph* graph = &solver->graph[operation];
    trifold_args args;
    void* parameters[2];
    int k;
    btd_code code = BTD_OK;
    graph->holds = 0;
    for (k = 0; k < launches_of(solver, operation) && code == BTD_OK; ++k) {
        const grid g = grid_of(solver, operation, k, given, &args, parameters);
        code = checked(solver, set_kernel(graph->executable, graph->node[k], &g), "set a kernel's arguments");
    }
    graph->held = *given;
    graph->holds = code == BTD_OK;
    return code;
}

static btd_code launch_as_graph(btd_solver* solver, int operation, const btd_arguments* given, btd_stream stream) {
    const btd_graph* graph = &solver->graph[operation];
    btd_code code = BTD_OK;
    if (!graph->holds || memcmp(&graph->held, given, sizeof *given) != 0) code = update(solver, operation, given);
    if (code == BTD_OK) code = checked(solver, launch_graph(graph->executable, stream), "launch a graph");
    return code;
}

/* The kernels one by one, as a capture wants them. */
static btd_code launch_kernels(btd_solver* solver, int operation, const btd_arguments* given, btd_stream stream) {
    trifold_args args;
    void* parameters[2];
    int k;
    btd_code code = BTD_OK;
    for (k = 0; k < launches_of(solver, operation) && code == BTD_OK; ++k) {
        const grid g = grid_of(solver, operation, k, given, &args, parameters);
        code = checked(solver, launch_kernel(&g, stream), "launch a kernel");
    }
    return code;
}

/* What there is after a call. */
static void note_results(btd_solver* solver, int operation, long long members) {
    if (factors(operation)) {
        if (members > solver->factored) solver->factored = members;
        solver->solved = solver->inverted = 0;
    }
    if (operation == SOLVE || operation == FACTOR_SOLVE || operation == BACKWARD) solver->solved = 1;
    if (operation == INVERSE) solver->inverted = 1;
}

static btd_code run(btd_solver* solver, int operation, btd_arguments* given, const btd_options* options, btd_stream stream) {
    int capturing = 0;
    btd_code code = BTD_OK;
    if (solver == NULL || solver->program == NULL) return BTD_BAD_ARGUMENT;
    if (launches_of(solver, operation) == 0) return BTD_NOT_EXPORTED;
    if (options != NULL) given->options = *options;
    if (given->options.members == 0) given->options.members = BTD_BATCH;
    code = check_arguments(operation, given);
    if (code == BTD_OK && !factors(operation) && given->options.members > solver->factored) code = BTD_NOT_FACTORED;
    if (code == BTD_OK) code = checked(solver, is_capturing(stream, &capturing), "ask whether a stream captures");
    if (code == BTD_OK && capturing) code = launch_kernels(solver, operation, given, stream);
    if (code == BTD_OK && !capturing) code = launch_as_graph(solver, operation, given, stream);
    if (code == BTD_OK) note_results(solver, operation, given->options.members);
    return code;
}

/* ---- creation ---- */

static btd_code choose_program(btd_solver* solver) {
    const int count = (int)(sizeof programs / sizeof programs[0]);
    int k, is = 0;
    btd_code code = BTD_OK;
    for (k = 0; k < count && code == BTD_OK && !is; ++k) {
        code = checked(solver, is_device(programs[k].arch, &is), "ask for the device's architecture");
        if (code == BTD_OK && is) solver->program = &programs[k];
    }
    return code == BTD_OK && !is ? BTD_NO_KERNELS : code;
}

static btd_code load_kernels(btd_solver* solver) {
    const struct btd_program* program = solver->program;
    int k;
    btd_code code = checked(solver, load_module(&solver->module, program->image), "load the kernels");
    for (k = 0; k < program->kernel_count && code == BTD_OK; ++k) {
        const kernel* found = &program->kernels[k];
        code = checked(solver, find_function(&solver->function[k], solver->module, found->name, found->shared_bytes), "find a kernel");
    }
    return code;
}

/* NaN, so that nothing passes for a factor; what the kernels count with is zero. */
static btd_code clear_workspace(btd_solver* solver) {
    const struct btd_program* program = solver->program;
    int k;
    btd_code code = checked(solver, fill(solver->workspace, 0xff, BTD_WORKSPACE_BYTES), "fill the workspace");
    for (k = 0; k < program->zeroed_count && code == BTD_OK; ++k) {
        const region* zeroed = &program->zeroed[k];
        code = checked(solver, fill(solver->workspace + zeroed->offset, 0, zeroed->bytes), "fill the workspace");
    }
    if (code == BTD_OK) code = checked(solver, synchronize(), "wait for the device");
    return code;
}

size_t btd_workspace_size(void) { return BTD_WORKSPACE_BYTES; }

btd_code btd_create(btd_solver* solver, void* workspace) {
    int operation;
    btd_code code = BTD_OK;
    if (solver == NULL) return BTD_BAD_ARGUMENT;
    memset(solver, 0, sizeof *solver);
    if (!is_valid(workspace, BTD_ALIGNMENT, 1)) return BTD_BAD_ARGUMENT;
    solver->workspace = (char*)workspace;
    code = choose_program(solver);
    if (code == BTD_OK) code = load_kernels(solver);
    if (code == BTD_OK) code = clear_workspace(solver);
    for (operation = 0; operation < BTD_OPERATIONS && code == BTD_OK; ++operation) {
        if (launches_of(solver, operation) > 0) code = build_graph(solver, operation);
    }
    if (code != BTD_OK) btd_destroy(solver);
    return code;
}

void btd_destroy(btd_solver* solver) {
    int k;
    if (solver == NULL || solver->program == NULL) return;
    (void)synchronize(); /* what it frees may be in use */
    for (k = 0; k < BTD_OPERATIONS; ++k) {
        btd_graph* graph = &solver->graph[k];
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

static btd_arguments arguments(const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    btd_arguments given;
    memset(&given, 0, sizeof given);
    given.d = d;
    given.e = e;
    given.b = b;
    given.x = x;
    return given;
}

btd_code btd_factor(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(d, e, NULL, NULL);
    return run(solver, FACTOR, &given, options, stream);
}

btd_code btd_solve(btd_solver* solver, const btd_real* b, btd_real* x, const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(NULL, NULL, b, x);
    return run(solver, SOLVE, &given, options, stream);
}

btd_code btd_factor_solve(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x,
                          const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(d, e, b, x);
    return run(solver, FACTOR_SOLVE, &given, options, stream);
}

btd_code btd_forward(btd_solver* solver, const btd_real* b, btd_real* y, const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(NULL, NULL, b, y);
    return run(solver, FORWARD, &given, options, stream);
}

btd_code btd_backward(btd_solver* solver, const btd_real* y, btd_real* x, const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(NULL, NULL, y, x);
    return run(solver, BACKWARD, &given, options, stream);
}

btd_code btd_factor_forward(btd_solver* solver, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* y,
                            const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(d, e, b, y);
    return run(solver, FACTOR_FORWARD, &given, options, stream);
}

btd_code btd_inverse(btd_solver* solver, btd_real* diagonal, btd_real* coupling, const btd_options* options, btd_stream stream) {
    btd_arguments given = arguments(NULL, NULL, NULL, NULL);
    given.inverse_diagonal = diagonal;
    given.inverse_coupling = coupling;
    return run(solver, INVERSE, &given, options, stream);
}

/* ---- outcomes ---- */

enum { PIECE = 16 }; /* systems whose records are read at once */

static long long piece_from(const btd_solver* solver, long long first) {
    const long long left = solver->factored - first;
    return left < PIECE ? left : (long long)PIECE;
}

/* A failed factorization is what a status names first, of those the first; then the first system that is nearly singular. */
static void judge(btd_status* status, const btd_outcome* one, long long member) {
    if (one->block >= 0) {
        status->code = BTD_NOT_POSITIVE_DEFINITE;
        status->member = (int)member;
        status->block = (int)one->block;
        status->row = (int)one->row;
    } else if (one->nearly_singular == 1 && status->code == BTD_OK) {
        status->code = BTD_NEARLY_SINGULAR;
        status->member = (int)member;
    }
}

static int has_factors(btd_code code) { return code == BTD_OK || code == BTD_NEARLY_SINGULAR; }

static void check_factors(btd_solver* solver, btd_status* status, btd_stream stream) {
    btd_outcome outcomes[PIECE];
    long long first, k;
    for (first = 0; first < solver->factored && has_factors(status->code); first += PIECE) {
        const long long count = piece_from(solver, first);
        const size_t bytes = (size_t)count * sizeof *outcomes;
        const btd_code copied = checked(solver, read_back(outcomes, btd_outcomes(solver) + first, bytes, stream), "copy the outcomes");
        if (copied != BTD_OK) status->code = copied;
        for (k = 0; k < count && has_factors(status->code); ++k) judge(status, &outcomes[k], first + k);
    }
}

static void check_ranges(btd_solver* solver, btd_status* status, btd_stream stream) {
    btd_range ranges[PIECE];
    long long first, k;
    for (first = 0; first < solver->factored && status->code == BTD_OK; first += PIECE) {
        const long long count = piece_from(solver, first);
        status->code =
            checked(solver, read_back(ranges, btd_ranges(solver) + first, (size_t)count * sizeof *ranges, stream), "copy the ranges");
        for (k = 0; k < count && status->code == BTD_OK; ++k) {
            if ((solver->solved && ranges[k].solution == 1) || (solver->inverted && ranges[k].inverse == 1)) {
                status->code = BTD_OUT_OF_RANGE;
                status->member = (int)(first + k);
            }
        }
    }
}

btd_status btd_check(btd_solver* solver, btd_stream stream) {
    btd_status status = {BTD_BAD_ARGUMENT, -1, -1, -1};
    if (solver == NULL || solver->program == NULL) return status;
    status.code = solver->factored > 0 ? BTD_OK : BTD_NOT_FACTORED;
    check_factors(solver, &status, stream);
    if (solver->solved || solver->inverted) check_ranges(solver, &status, stream);
    return status;
}

static const void* result_at(const btd_solver* solver, size_t offset) { return solver->workspace + offset; }

const btd_outcome* btd_outcomes(const btd_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const btd_outcome*)result_at(solver, solver->program->outcomes);
}

const btd_range* btd_ranges(const btd_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const btd_range*)result_at(solver, solver->program->ranges);
}

const double* btd_log_determinant(const btd_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const double*)result_at(solver, solver->program->log_determinant);
}

const double* btd_quadratic(const btd_solver* solver) {
    if (solver == NULL || solver->program == NULL) return NULL;
    return (const double*)result_at(solver, solver->program->quadratic);
}

const char* btd_message(btd_code code) {
    switch (code) {
        case BTD_OK:
            return "done";
        case BTD_NOT_POSITIVE_DEFINITE:
            return "A is not positive definite";
        case BTD_OUT_OF_RANGE:
            return "a result has left the range of the precision; scale A or B";
        case BTD_NOT_FACTORED:
            return "there is no factor of so many systems; call btd_factor or btd_factor_solve first";
        case BTD_BAD_ARGUMENT:
            return "a pointer is null or not aligned, an option is out of range, or the solver was not created";
        case BTD_NO_KERNELS:
            return "the kernels are for other devices than the current one; export for its architecture too";
        case BTD_NOT_EXPORTED:
            return "the solver was exported without this operation; add it to --operations";
        case BTD_NEARLY_SINGULAR:
            return "A is singular to the precision; anchor it, or set accept_nearly_singular";
        case BTD_DRIVER_FAILED:
            return "a call of the driver failed; see driver_task and driver_result in the solver";
    }
    return "an unknown code";
}
