static btd_workspace workspace;
static btd_real x[SIZE];

enum { CALLS = 2 };
static const char* const names[CALLS] = {"factor", "solve"};
static const unsigned long flops[CALLS] = {FACTOR_FLOPS, SOLVE_FLOPS};

static void prepare(void) {
    make_problem();
    btd_init(&workspace);
}

/* Returns whether the call fails. */
static int run_call(int call) {
    const btd_status status = call == 0 ? btd_factor(&workspace, d, e) : btd_solve(&workspace, b, x);
    return status.code != BTD_OK;
}
