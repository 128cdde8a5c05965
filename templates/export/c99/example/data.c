/* The problem of btd_data.c. */
static const btd_real* const d = btd_data_d;
static const btd_real* const e = btd_data_e;
static const btd_real* const b = btd_data_b;

static void make_problem(void) {}
