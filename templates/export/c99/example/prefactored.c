/* The matrix of btd_data.c. */
static const btd_real* const d = btd_data_d;
static const btd_real* const e = btd_data_e;
static btd_real x[SIZE];

enum { PROBLEMS = BTD_SHIFTS };
static const double shifts[PROBLEMS] = BTD_SHIFT_LIST;

static btd_status run_example(int problem) { return btd_solve(problem, b, x); }
