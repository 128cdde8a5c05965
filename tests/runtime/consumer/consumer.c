#include "expect.h"

/* The matrix tridiag(-1, 4, -1) of order 6 as three blocks of two, and the vector of its row sums: x is all ones. */
static const double d[] = {4, 0, -1, 4, 4, 0, -1, 4, 4, 0, -1, 4}, e[] = {0, -1, 0, 0, 0, -1, 0, 0}, b[] = {3, 2, 2, 2, 2, 3};

static int solves(trifold_solver* solver) {
    double x[6];
    int k;
    EXPECT(trifold_factor_solve_host_f64(solver, d, e, b, x, NULL) == TRIFOLD_OK);
    for (k = 0; k < 6; ++k) EXPECT(fabs(x[k] - 1) < 1e-15);
    EXPECT(trifold_factor_f64(solver, d, e, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_solve_f64(solver, b, x, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_check(solver) == TRIFOLD_OK);
    for (k = 0; k < 6; ++k) EXPECT(fabs(x[k] - 1) < 1e-15);
    return 0;
}

/* What the typed functions are written with. */
static int runs(trifold_solver* solver) {
    double x[6];
    int k;
    trifold_call call;
    trifold_call_init(&call);
    call.operation = TRIFOLD_FACTOR_SOLVE;
    call.on_host = 1;
    call.in[0] = d, call.in[1] = e, call.in[2] = b;
    call.out[0] = x;
    EXPECT(trifold_run(solver, &call) == TRIFOLD_OK);
    for (k = 0; k < 6; ++k) EXPECT(fabs(x[k] - 1) < 1e-15);
    REFUSED(trifold_run(NULL, &call), "the solver is a null");
    REFUSED(trifold_run(solver, NULL), "trifold_call");
    call.operation = TRIFOLD_FACTOR | TRIFOLD_SOLVE;
    REFUSED(trifold_run(solver, &call), "operation = 0x9");
    call.operation = TRIFOLD_SOLVE;
    call.precision = TRIFOLD_MIXED;
    REFUSED(trifold_run(solver, &call), "precision");
    memset(&call, 0, sizeof call);
    REFUSED(trifold_run(solver, &call), "trifold_call_init");
    return 0;
}

static int results(trifold_solver* solver) {
    double value[2], inverse[12], coupling[8];
    trifold_outcome outcome;
    int64_t count = 0;
    EXPECT(trifold_log_determinant(solver, NULL, 0, &count) == TRIFOLD_OK && count == 1);
    EXPECT(trifold_log_determinant(solver, value, 0, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_log_determinant(solver, value, 2, NULL) == TRIFOLD_OK);
    EXPECT(fabs(value[0] - log(2911.0)) < 1e-14); /* det of order k: 4 det(k - 1) - det(k - 2) */
    EXPECT(trifold_quadratic(solver, value, 1, NULL) == TRIFOLD_OK && fabs(value[0] - 14) < 1e-13);
    EXPECT(trifold_outcomes(solver, &outcome, 1, NULL) == TRIFOLD_OK && outcome.block == -1 && outcome.floors == 0);
    EXPECT(trifold_selected_inverse_host_f64(solver, inverse, coupling, NULL) == TRIFOLD_OK);
    EXPECT(fabs(inverse[0] - 780.0 / 2911.0) < 1e-15);
    return 0;
}

static int errors(trifold_solver* solver, const trifold_plan* plan) {
    double x[6], bad[12];
    float narrow[12];
    trifold_options options;
    trifold_spec spec;
    trifold_plan* none = NULL;
    memset(narrow, 0, sizeof narrow);
    memcpy(bad, d, sizeof bad);
    bad[7] = -4;
    EXPECT(trifold_factor_host_f64(solver, bad, e, NULL) == TRIFOLD_OK);
    EXPECT(trifold_check(solver) == TRIFOLD_NOT_POSITIVE_DEFINITE && strstr(trifold_last_error(), "block 1, row 1") != NULL);
    REFUSED(trifold_factor_f64(solver, d, NULL, NULL, NULL), "E is a null");
    EXPECT(trifold_factor_host_f64(solver, NULL, e, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_factor_f32(solver, narrow, narrow, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_factor_host_f32(solver, narrow, narrow, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_solve_f64(NULL, b, x, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_solve_host_f64(NULL, b, x, NULL) == TRIFOLD_BAD_ARGUMENT);
    memset(&options, 0, sizeof options);
    REFUSED(trifold_solve_host_f64(solver, b, x, &options), "_init");
    trifold_options_init(&options);
    options.members = 2;
    EXPECT(trifold_solve_host_f64(solver, b, x, &options) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_solver_create(plan, x, 8, &(trifold_solver*){NULL}) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_solver_create(NULL, NULL, 0, &(trifold_solver*){NULL}) == TRIFOLD_BAD_ARGUMENT);
    trifold_spec_init(&spec, 0, 3);
    EXPECT(trifold_plan_create(&spec, "cpu", NULL, &none) == TRIFOLD_BAD_ARGUMENT && none == NULL);
    spec.block = 2;
    spec.order = (trifold_order)7;
    REFUSED(trifold_plan_create(&spec, "cpu", NULL, &none), "order");
    EXPECT(trifold_plan_create(NULL, "cpu", NULL, &none) == TRIFOLD_BAD_ARGUMENT);
    spec.order = TRIFOLD_ROW_MAJOR;
    spec.operations = TRIFOLD_SOLVE;
    REFUSED(trifold_plan_create(&spec, "cpu", NULL, &none), "factor_solve");
    spec.operations = TRIFOLD_FACTOR | 1 << 20;
    REFUSED(trifold_plan_create(&spec, "cpu", NULL, &none), "0x100000");
    spec.operations = TRIFOLD_USUAL;
    EXPECT(trifold_plan_create(&spec, "cuda:4096", NULL, &none) == TRIFOLD_NO_DEVICE);
    EXPECT(trifold_plan_create(&spec, NULL, NULL, &none) == TRIFOLD_BAD_ARGUMENT);
    trifold_plan_destroy(NULL);
    trifold_solver_destroy(NULL);
    return 0;
}

/* A factor of [4 1; 1 3] for one right-hand side, then for eight at a time. */
static int many(void) {
    const double d[] = {4, 0, 1, 3}, b[] = {4, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 3};
    double x[16];
    trifold_spec spec;
    trifold_options options;
    trifold_plan *plan = NULL, *wide = NULL;
    trifold_solver *solver = NULL, *taker = NULL;
    trifold_spec_init(&spec, 2, 1);
    trifold_options_init(&options);
    options.columns = 8;
    EXPECT(trifold_plan_create(&spec, "cpu", NULL, &plan) == TRIFOLD_OK);
    EXPECT(trifold_plan_widened(plan, 0, &wide) == TRIFOLD_BAD_ARGUMENT && wide == NULL);
    EXPECT(trifold_plan_widened(plan, 8, &wide) == TRIFOLD_OK);
    EXPECT(trifold_plan_workspace_bytes(wide) > trifold_plan_workspace_bytes(plan));
    EXPECT(trifold_solver_create(plan, NULL, 0, &solver) == TRIFOLD_OK);
    EXPECT(trifold_solver_create(wide, NULL, 0, &taker) == TRIFOLD_OK);
    REFUSED(trifold_solver_take_factor(taker, solver), "factorization");
    EXPECT(trifold_factor_host_f64(solver, d, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_solver_take_factor(taker, solver) == TRIFOLD_OK);
    EXPECT(trifold_solve_host_f64(taker, b, x, &options) == TRIFOLD_OK);
    for (int c = 0; c < 8; ++c) EXPECT(fabs(4 * x[c] + x[8 + c] - b[c]) < 1e-14 && fabs(x[c] + 3 * x[8 + c] - b[8 + c]) < 1e-14);
    trifold_solver_destroy(solver);
    trifold_solver_destroy(taker);
    trifold_plan_destroy(plan);
    trifold_plan_destroy(wide);
    return 0;
}

/* [4 1; 1 3] and its like three times over, which f32 does not hold to the bit. */
static int mixed(void) {
    const double d[] = {4.1, 0, 1.1, 3.1}, b[] = {1, 2};
    double x[2] = {0, 0}, none = 0;
    trifold_spec spec;
    trifold_plan* plan = NULL;
    trifold_solver* solver = NULL;
    trifold_refinement refinement = {0, 0, 0};
    int64_t count = 0;
    trifold_spec_init(&spec, 2, 1);
    spec.precision = TRIFOLD_MIXED;
    EXPECT(trifold_plan_create(&spec, "cpu", NULL, &plan) == TRIFOLD_OK);
    EXPECT(trifold_solver_create(plan, NULL, 0, &solver) == TRIFOLD_OK);
    EXPECT(trifold_factor_solve_host_f64(solver, d, NULL, b, x, NULL) == TRIFOLD_OK);
    EXPECT(fabs(4.1 * x[0] + 1.1 * x[1] - 1) < 1e-15 && fabs(1.1 * x[0] + 3.1 * x[1] - 2) < 1e-15);
    EXPECT(trifold_refinements(solver, &refinement, 1, &count) == TRIFOLD_OK && count == 1);
    EXPECT(refinement.converged == 1 && refinement.iterations >= 1 && refinement.backward_error < 1e-15);
    EXPECT(trifold_check(solver) == TRIFOLD_OK);
    EXPECT(trifold_quadratic(solver, &none, 1, &count) == TRIFOLD_BAD_ARGUMENT);
    const double far[] = {1e300, 1e300};
    EXPECT(trifold_solve_host_f64(solver, far, x, NULL) == TRIFOLD_OK);
    EXPECT(trifold_check(solver) == TRIFOLD_NOT_CONVERGED && strstr(trifold_last_error(), "f64") != NULL && x[0] != x[0]);
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
    return 0;
}

int main(void) {
    trifold_spec spec;
    trifold_tuning tuning;
    trifold_plan* plan = NULL;
    trifold_solver* solver = NULL;
    int calls = 0;
    EXPECT(trifold_last_error()[0] == '\0');
    EXPECT(trifold_version() == TRIFOLD_VERSION_NUMBER);
    trifold_spec_init(&spec, 2, 3);
    EXPECT(spec.operations == TRIFOLD_USUAL);
    spec.operations |= TRIFOLD_INVERSE;
    trifold_tuning_init(&tuning);
    tuning.schedule = "multi-stage";
    tuning.workers = 2;
    EXPECT(trifold_plan_create(&spec, "cpu", &tuning, &plan) == TRIFOLD_OK);
    EXPECT(trifold_plan_workspace_bytes(plan) > 0);
    EXPECT(strstr(trifold_plan_json(plan), "multi-stage") != NULL);
    EXPECT(strstr(trifold_plan_reason(plan), "pinned by the caller") != NULL);
    EXPECT(trifold_solver_create(plan, NULL, 0, &solver) == TRIFOLD_OK);
    if (solves(solver) != 0 || runs(solver) != 0 || results(solver) != 0) return 1;
    EXPECT(trifold_solver_set_executor(solver, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_solver_set_executor(solver, run_in_turn, &calls) == TRIFOLD_OK);
    if (solves(solver) != 0) return 1;
    EXPECT(calls > 0);
    if (errors(solver, plan) != 0) return 1;
    trifold_plan_destroy(plan); /* before its solver */
    if (solves(solver) != 0) return 1;
    trifold_solver_destroy(solver);
    if (many() != 0) return 1;
    if (mixed() != 0) return 1;
    printf("done\n");
    return 0;
}
