static btd_real x[SIZE];

enum { CALLS = 1 };
static const char* const names[CALLS] = {"solve"};
static const unsigned long flops[CALLS] = {SOLVE_FLOPS};

static void prepare(void) { make_problem(); }

/* Returns whether the call fails. */
static int run_call(int call) { return btd_solve(call, b, x).code != BTD_OK; }
