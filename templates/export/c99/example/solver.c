static btd_workspace workspace;
static btd_real x[SIZE];

enum { PROBLEMS = 1 };
static const double shifts[PROBLEMS] = {0};

static btd_status run_example(int problem) {
    (void)problem;
    btd_init(&workspace);
    return btd_factor_solve(&workspace, d, e, b, x);
}
