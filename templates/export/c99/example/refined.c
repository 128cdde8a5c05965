static btd_workspace workspace;
static btd_real x[SIZE], residual[SIZE];

enum { PROBLEMS = 1 };
static const double shifts[PROBLEMS] = {0};

static btd_status run_example(int problem) {
    (void)problem;
    btd_init(&workspace);
    const btd_status status = btd_factor(&workspace, d, e);
    return status.code == BTD_OK ? btd_solve_refined(&workspace, d, e, b, x, residual) : status;
}
