/* ---- the problem ---- */

/* Elements of one block, and of the arrays of all systems. */
static const size_t square = (size_t)BTD_BLOCK * BTD_BLOCK;
static const size_t d_size = (size_t)BTD_BATCH * BTD_HORIZON * BTD_BLOCK * BTD_BLOCK;
static const size_t e_size = (size_t)BTD_BATCH * (BTD_HORIZON - 1) * BTD_BLOCK * BTD_BLOCK;
static const size_t b_size = (size_t)BTD_BATCH * BTD_HORIZON * BTD_BLOCK * BTD_RHS;

static btd_real* new_array(size_t size) {
    btd_real* array = (btd_real*)malloc((size + 1) * sizeof *array); /* never of no size */
    if (array == NULL) {
        printf("not enough memory\n");
        exit(EXIT_FAILURE);
    }
    return array;
}

/* Small multiples of 1/16, the same on every machine. */
static btd_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (btd_real)((int)(state >> 27) - 16) / 16;
}

static btd_real* random_array(size_t size) {
    btd_real* array = new_array(size);
    size_t k;
    for (k = 0; k < size; ++k) array[k] = random_number();
    return array;
}

/* Random blocks with a dominant diagonal, for A to be positive definite. */
static btd_real* random_diagonal_blocks(void) {
    btd_real* d = random_array(d_size);
    size_t block, r;
    for (block = 0; block < d_size; block += square) {
        for (r = 0; r < BTD_BLOCK; ++r) d[block + r * BTD_BLOCK + r] = 3 * BTD_BLOCK + 1;
    }
    return d;
}

/* The relative residual of the worst system. */
static double worst_residual(const btd_real* d, const btd_real* e, const btd_real* b, const btd_real* x) {
    const size_t vector = (size_t)BTD_HORIZON * BTD_BLOCK * BTD_RHS;
    double worst = 0;
    size_t member;
    for (member = 0; member < BTD_BATCH; ++member) {
        worst = larger(relative_residual(d + member * BTD_HORIZON * square, e + member * (BTD_HORIZON - 1) * square, b + member * vector,
                                         x + member * vector, 0),
                       worst);
    }
    return worst;
}

/* ---- the solver ---- */

static btd_solver solver;

/* In one call, or in two where it was exported without the one. */
static btd_code factor_and_solve(const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    btd_code code = btd_factor_solve(&solver, d, e, b, x, NULL, stream);
    if (code == BTD_NOT_EXPORTED) {
        code = btd_factor(&solver, d, e, NULL, stream);
        if (code == BTD_OK) code = btd_solve(&solver, b, x, NULL, stream);
    }
    return code;
}

static void expect_ok(btd_code code) {
    if (code == BTD_OK) return;
    printf("%s", btd_message(code));
    if (solver.driver_task != NULL) printf(": could not %s, error %d", solver.driver_task, (int)solver.driver_result);
    printf("\n");
    exit(EXIT_FAILURE);
}

int main(void) {
    const int replays = 20;
    btd_real *d = random_diagonal_blocks(), *e = random_array(e_size), *b = random_array(b_size), *x = new_array(b_size);
    btd_real *device_d, *device_e, *device_b, *device_x;
    btd_status status;
    double residual, milliseconds;
    int good, k;
    void* workspace;
    open_device();
    workspace = new_memory(btd_workspace_size());
    device_d = (btd_real*)new_memory((d_size + e_size + 2 * b_size) * sizeof *d);
    device_e = device_d + d_size;
    device_b = device_e + e_size;
    device_x = device_b + b_size;
    upload(device_d, d, d_size * sizeof *d);
    if (e_size > 0) upload(device_e, e, e_size * sizeof *e);
    upload(device_b, b, b_size * sizeof *b);

    expect_ok(btd_create(&solver, workspace));
    expect_ok(factor_and_solve(device_d, device_e, device_b, device_x));
    status = btd_check(&solver, stream);
    if (status.code == BTD_NOT_POSITIVE_DEFINITE) printf("system %d, block %d, row %d: ", status.member, status.block, status.row);
    if (status.code == BTD_OUT_OF_RANGE || status.code == BTD_NEARLY_SINGULAR) printf("system %d: ", status.member);
    expect_ok(status.code);
    download(x, device_x, b_size * sizeof *x);
    residual = worst_residual(d, e, b, x);
    good = residual <= tolerance;
    printf("n = %d, N = %d, m = %d, %d system(s): x[0] = %.9g\n", BTD_BLOCK, BTD_HORIZON, BTD_RHS, BTD_BATCH, (double)x[0]);
    printf("relative residual %.1e: %s\n", residual, good ? "good" : "too large");

    start_clock();
    for (k = 0; k < replays; ++k) expect_ok(factor_and_solve(device_d, device_e, device_b, device_x));
    milliseconds = stop_clock();
    printf("factor and solve: %.1f us, the mean of %d calls one after another\n", 1e3 * milliseconds / replays, replays);

    btd_destroy(&solver);
    free_memory(workspace);
    free_memory(device_d);
    close_device();
    free(d);
    free(e);
    free(b);
    free(x);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
