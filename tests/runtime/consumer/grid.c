#include "expect.h"

/* Two images of 5 by 3 pixels, two right-hand sides. */
enum { W = 5, H = 3, P = W * H, B = 2, M = 2 };
static double stencil[B * P * 9], b[B * P * M], by_x[B * P * M];

/* The pixel that entry k of pixel p goes to, or -1. */
static int neighbour(int p, int k) {
    const int x = p % W + k % 3 - 1, y = p / W + k / 3 - 1;
    return x < 0 || x >= W || y < 0 || y >= H ? -1 : y * W + x;
}

static void make(void) {
    int q, k;
    for (q = 0; q < B * P * M; ++q) b[q] = next(), by_x[q] = next();
    for (q = 0; q < B * P; ++q)
        for (k = 0; k < 9; ++k) stencil[q * 9 + k] = k == 4 ? -9 - next() : neighbour(q % P, k) < 0 ? 0 : next();
}

/* The largest entry of b - A x, or with A'. */
static double residual(const double* right, const double* x, int transposed) {
    double r[B * P * M], largest = 0;
    int image, p, k, column;
    memcpy(r, right, sizeof r);
    for (image = 0; image < B; ++image)
        for (p = 0; p < P; ++p)
            for (k = 0; k < 9; ++k)
                for (column = 0; neighbour(p, k) >= 0 && column < M; ++column) {
                    const int i = (image * P + p) * M + column, j = (image * P + neighbour(p, k)) * M + column;
                    r[transposed ? j : i] -= stencil[(image * P + p) * 9 + k] * x[transposed ? i : j];
                }
    for (k = 0; k < B * P * M; ++k) largest = fmax(largest, fabs(r[k]));
    return largest;
}

/* log |det A| and its sign, by elimination without exchanges: A is dominant. */
static double determinant(int image, int* sign) {
    double a[P][P], log_of_all = 0;
    int i, j, k;
    memset(a, 0, sizeof a);
    for (i = 0; i < P; ++i)
        for (k = 0; k < 9; ++k)
            if (neighbour(i, k) >= 0) a[i][neighbour(i, k)] = stencil[(image * P + i) * 9 + k];
    for (*sign = 1, k = 0; k < P; ++k) {
        log_of_all += log(fabs(a[k][k]));
        if (a[k][k] < 0) *sign = -*sign;
        for (i = k + 1; i < P; ++i)
            for (j = P - 1; j >= k; --j) a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return log_of_all;
}

static int solves(trifold_grid_solver* solver) {
    double x[B * P * M], again[B * P * M];
    EXPECT(trifold_grid_factor_solve_host_f64(solver, stencil, b, x, NULL) == TRIFOLD_OK && residual(b, x, 0) < 1e-14);
    EXPECT(trifold_grid_check(solver) == TRIFOLD_OK);
    EXPECT(trifold_grid_factor_f64(solver, stencil, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_grid_solve_f64(solver, b, again, NULL, NULL) == TRIFOLD_OK && memcmp(x, again, sizeof x) == 0);
    EXPECT(trifold_grid_solve_host_f64(solver, b, again, NULL) == TRIFOLD_OK && memcmp(x, again, sizeof x) == 0);
    memcpy(again, b, sizeof b);
    EXPECT(trifold_grid_solve_transposed_f64(solver, again, again, NULL, NULL) == TRIFOLD_OK && residual(b, again, 1) < 1e-14);
    again[7] += 0.5;
    EXPECT(trifold_grid_refine_f64(solver, stencil, b, again, 1, NULL, NULL) == TRIFOLD_OK && residual(b, again, 1) < 1e-14);
    x[7] += 0.5;
    EXPECT(trifold_grid_refine_host_f64(solver, stencil, b, x, 0, NULL) == TRIFOLD_OK && residual(b, x, 0) < 1e-14);
    EXPECT(trifold_grid_factor_solve_f64(solver, stencil, b, again, NULL, NULL) == TRIFOLD_OK && residual(b, again, 0) < 1e-14);
    EXPECT(trifold_grid_factor_host_f64(solver, stencil, NULL) == TRIFOLD_OK);
    EXPECT(trifold_grid_solve_transposed_host_f64(solver, b, again, NULL) == TRIFOLD_OK && residual(b, again, 1) < 1e-14);
    return 0;
}

static int results(trifold_grid_solver* solver) {
    double x[B * P * M], by_b[B * P * M], by_stencil[B * P * 9], same[B * P * 9];
    trifold_grid_outcome outcomes[B];
    trifold_grid_determinant determinants[B];
    trifold_grid_options options;
    int64_t count = 0;
    int q, k, column, sign = 0;
    EXPECT(trifold_grid_solve_f64(solver, b, x, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_grid_gradients_f64(solver, x, by_x, by_b, by_stencil, NULL, NULL) == TRIFOLD_OK && residual(by_x, by_b, 1) < 1e-14);
    EXPECT(trifold_grid_gradients_host_f64(solver, x, by_x, by_b, same, NULL) == TRIFOLD_OK);
    EXPECT(memcmp(same, by_stencil, sizeof same) == 0);
    for (q = 0; q < B * P; ++q)
        for (k = 0; k < 9; ++k) {
            double expected = 0;
            for (column = 0; neighbour(q % P, k) >= 0 && column < M; ++column)
                expected -= by_b[q * M + column] * x[(q / P * P + neighbour(q % P, k)) * M + column];
            EXPECT(fabs(by_stencil[q * 9 + k] - expected) < 1e-15);
        }
    EXPECT(trifold_grid_log_determinant(solver, NULL, 0, &count) == TRIFOLD_OK && count == B);
    EXPECT(trifold_grid_log_determinant(solver, determinants, 1, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_log_determinant(solver, determinants, B, NULL) == TRIFOLD_OK);
    EXPECT(trifold_grid_outcomes(solver, outcomes, B, &count) == TRIFOLD_OK && count == B);
    for (q = 0; q < B; ++q) {
        EXPECT(fabs(determinants[q].log - determinant(q, &sign)) < 1e-13 && determinants[q].sign == sign);
        EXPECT(outcomes[q].problem == TRIFOLD_GRID_SOUND && outcomes[q].level == -1 && outcomes[q].growth > 0);
    }
    /* One image, one right-hand side. */
    trifold_grid_options_init(&options);
    options.members = options.columns = 1;
    for (q = 0; q < P; ++q) by_b[q] = b[q * M];
    EXPECT(trifold_grid_solve_host_f64(solver, by_b, by_stencil, &options) == TRIFOLD_OK);
    for (q = 0; q < P; ++q) EXPECT(fabs(by_stencil[q] - x[q * M]) < 1e-15);
    return 0;
}

static int errors(trifold_grid_solver* solver, const trifold_grid_plan* plan) {
    double x[B * P * M], bad[B * P * 9];
    float narrow[B * P * 9];
    trifold_grid_options options;
    trifold_grid_outcome outcomes[B];
    trifold_grid_spec spec;
    trifold_grid_tuning tuning;
    trifold_grid_plan* none = NULL;
    trifold_grid_solver* fresh = NULL;
    trifold_call call;
    memset(narrow, 0, sizeof narrow);
    memcpy(bad, stencil, sizeof bad);
    bad[(P + 2 * W + 3) * 9 + 4] = NAN;
    EXPECT(trifold_grid_factor_solve_host_f64(solver, bad, b, x, NULL) == TRIFOLD_OK && x[0] == x[0] && x[P * M] != x[P * M]);
    EXPECT(trifold_grid_check(solver) == TRIFOLD_GRID_FAILED);
    EXPECT(strstr(trifold_last_error(), "image 1: the stencil of pixel (3, 2) holds an infinity or NaN") != NULL);
    EXPECT(trifold_grid_outcomes(solver, outcomes, B, NULL) == TRIFOLD_OK && outcomes[0].problem == TRIFOLD_GRID_SOUND);
    EXPECT(outcomes[1].problem == TRIFOLD_GRID_NOT_FINITE && outcomes[1].pixel_x == 3 && outcomes[1].pixel_y == 2);
    bad[(P + 2 * W + 3) * 9 + 4] = -9;
    bad[0] = 1;
    EXPECT(trifold_grid_factor_host_f64(solver, bad, NULL) == TRIFOLD_OK && trifold_grid_check(solver) == TRIFOLD_GRID_FAILED);
    EXPECT(strstr(trifold_last_error(), "reaches beyond the image") != NULL);
    EXPECT(trifold_grid_factor_f64(solver, NULL, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    REFUSED(trifold_grid_factor_host_f64(solver, NULL, NULL), "null");
    EXPECT(trifold_grid_factor_f32(solver, narrow, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_factor_host_f32(solver, narrow, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solve_f64(NULL, b, x, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solve_host_f64(NULL, b, x, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_check(NULL) == TRIFOLD_BAD_ARGUMENT);
    trifold_call_init(&call);
    call.operation = 1 << 6;
    REFUSED(trifold_grid_run(solver, &call), "TRIFOLD_GRID_FACTOR");
    EXPECT(trifold_grid_run(NULL, &call) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_refine_f64(solver, stencil, x, x, 0, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    memset(&options, 0, sizeof options);
    REFUSED(trifold_grid_solve_host_f64(solver, b, x, &options), "_init");
    trifold_grid_options_init(&options);
    options.members = B + 1;
    EXPECT(trifold_grid_solve_host_f64(solver, b, x, &options) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solver_create(NULL, &fresh) == TRIFOLD_BAD_ARGUMENT && fresh == NULL);
    EXPECT(trifold_grid_solver_create(plan, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solver_create(plan, &fresh) == TRIFOLD_OK);
    EXPECT(trifold_grid_solve_f64(fresh, b, x, NULL, NULL) == TRIFOLD_BAD_ARGUMENT); /* nothing is factored */
    EXPECT(trifold_grid_check(fresh) == TRIFOLD_BAD_ARGUMENT);
    trifold_grid_solver_destroy(fresh);
    trifold_grid_spec_init(&spec, 1, 7);
    EXPECT(trifold_grid_plan_create(&spec, "cpu", NULL, &none) == TRIFOLD_BAD_ARGUMENT && none == NULL);
    spec.width = 7;
    spec.matrix = (trifold_grid_matrix)2;
    REFUSED(trifold_grid_plan_create(&spec, "cpu", NULL, &none), "matrix");
    spec.matrix = TRIFOLD_GRID_GENERAL;
    spec.precision = TRIFOLD_MIXED;
    EXPECT(trifold_grid_plan_create(&spec, "cpu", NULL, &none) == TRIFOLD_BAD_ARGUMENT);
    spec.precision = TRIFOLD_F64;
    spec.operations = TRIFOLD_GRID_FACTOR | 1 << 20;
    REFUSED(trifold_grid_plan_create(&spec, "cpu", NULL, &none), "0x100000");
    spec.operations = TRIFOLD_GRID_ALL;
    EXPECT(trifold_grid_plan_create(&spec, NULL, NULL, &none) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_plan_create(&spec, "cuda:4096", NULL, &none) == TRIFOLD_NO_DEVICE);
    EXPECT(trifold_grid_plan_create(NULL, "cpu", NULL, &none) == TRIFOLD_BAD_ARGUMENT);
    memset(&tuning, 0, sizeof tuning);
    EXPECT(trifold_grid_plan_create(&spec, "cpu", &tuning, &none) == TRIFOLD_BAD_ARGUMENT);
    trifold_grid_plan_destroy(NULL);
    trifold_grid_solver_destroy(NULL);
    return 0;
}

/* Diffusion without a sink in the second image, and then a NaN in b. */
static int singular(trifold_grid_solver* solver) {
    double flow[B * P * 9], x[B * P * M], bad[B * P * M], condition[B];
    trifold_grid_outcome outcomes[B];
    trifold_grid_options options;
    int64_t count = 0;
    int p, k;
    for (p = 0; p < B * P; ++p) {
        for (k = 0; k < 9; ++k) flow[p * 9 + k] = k % 2 == 1 && neighbour(p % P, k) >= 0 ? -1 - p % 3 : 0;
        flow[p * 9 + 4] = 0;
    }
    for (p = 0; p < B * P; ++p) /* columns sum to zero, but for the first image's sinks */
        for (k = 0; k < 9; ++k)
            if (k != 4 && neighbour(p % P, k) >= 0) flow[(p / P * P + neighbour(p % P, k)) * 9 + 4] -= flow[p * 9 + k];
    for (p = 0; p < P; ++p) flow[p * 9 + 4] += 0.01;
    EXPECT(trifold_grid_factor_solve_host_f64(solver, flow, b, x, NULL) == TRIFOLD_OK);
    EXPECT(trifold_grid_check(solver) == TRIFOLD_GRID_FAILED && strstr(trifold_last_error(), "image 1: A is singular") != NULL);
    EXPECT(trifold_grid_outcomes(solver, outcomes, B, NULL) == TRIFOLD_OK && outcomes[0].problem == TRIFOLD_GRID_SOUND);
    EXPECT(outcomes[1].problem == TRIFOLD_GRID_NEARLY_SINGULAR && outcomes[1].pixel_x == -1 && outcomes[1].least_pivot < 1e-13);
    EXPECT(isnan(x[B * P * M - 1]) && !isnan(x[0]));
    EXPECT(trifold_grid_reciprocal_condition_f64(solver, flow, NULL, condition, B, &count) == TRIFOLD_OK && count == B);
    EXPECT(condition[0] > 1e-6 && condition[1] < 2.3e-16);
    trifold_grid_options_init(&options);
    options.accept_nearly_singular = 1;
    EXPECT(trifold_grid_factor_solve_host_f64(solver, flow, b, x, &options) == TRIFOLD_OK && trifold_grid_check(solver) == TRIFOLD_OK);
    EXPECT(!isnan(x[B * P * M - 1]));
    memcpy(bad, b, sizeof bad);
    bad[3] = NAN;
    EXPECT(trifold_grid_solve_host_f64(solver, bad, x, NULL) == TRIFOLD_OK && trifold_grid_check(solver) == TRIFOLD_OUT_OF_RANGE);
    EXPECT(strstr(trifold_last_error(), "X is out of range in 1 of 2 images") != NULL);
    EXPECT(trifold_grid_outcomes(solver, outcomes, B, NULL) == TRIFOLD_OK && outcomes[0].range == TRIFOLD_RANGE_SOLUTION &&
           outcomes[1].range == 0);
    EXPECT(trifold_grid_solve_host_f64(solver, b, x, NULL) == TRIFOLD_OK && trifold_grid_check(solver) == TRIFOLD_OK);
    return 0;
}

/* x = 1 + x0 + 2 y is solved from its ring, in f32. */
static int fixed_ring(void) {
    float laplace[P * 9], data[P], x[P];
    trifold_grid_spec spec;
    trifold_grid_plan* plan = NULL;
    trifold_grid_solver* solver = NULL;
    int p, k;
    for (p = 0; p < P; ++p) {
        const int ring = p % W == 0 || p % W == W - 1 || p / W == 0 || p / W == H - 1;
        for (k = 0; k < 9; ++k) laplace[p * 9 + k] = k == 4 ? 4 : k % 2 == 1 ? -1 : 0;
        data[p] = ring ? (float)(1 + p % W + 2 * (p / W)) : 0;
    }
    trifold_grid_spec_init(&spec, W, H);
    spec.precision = TRIFOLD_F32;
    spec.matrix = TRIFOLD_GRID_SYMMETRIC;
    spec.boundary = TRIFOLD_GRID_FIXED;
    spec.operations = TRIFOLD_GRID_FACTOR_SOLVE;
    EXPECT(trifold_grid_plan_create(&spec, "cpu", NULL, &plan) == TRIFOLD_OK);
    EXPECT(trifold_grid_solver_create(plan, &solver) == TRIFOLD_OK);
    EXPECT(trifold_grid_factor_solve_host_f32(solver, laplace, data, x, NULL) == TRIFOLD_OK && trifold_grid_check(solver) == TRIFOLD_OK);
    for (p = 0; p < P; ++p) EXPECT(fabsf(x[p] - (float)(1 + p % W + 2 * (p / W))) < 1e-5f);
    REFUSED(trifold_grid_solve_host_f32(solver, data, x, NULL), "add it");
    trifold_grid_solver_destroy(solver);
    trifold_grid_plan_destroy(plan);
    return 0;
}

/* A solver in memory of the caller's. */
static int given_memory(const trifold_grid_plan* plan) {
    const int64_t bytes = trifold_grid_plan_workspace_bytes(plan);
    char* memory = malloc((size_t)bytes + 64);
    char* aligned = memory + (64 - (uintptr_t)memory % 64) % 64;
    trifold_grid_solver* solver = NULL;
    EXPECT(memory != NULL);
    EXPECT(trifold_grid_solver_create_in(plan, NULL, bytes, &solver) == TRIFOLD_BAD_ARGUMENT && solver == NULL);
    EXPECT(trifold_grid_solver_create_in(plan, aligned, bytes - 1, &solver) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solver_create_in(plan, aligned + 8, bytes, &solver) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solver_create_in(plan, aligned, bytes, &solver) == TRIFOLD_OK);
    if (solves(solver) != 0) return 1;
    EXPECT(trifold_grid_prepare(solver) == TRIFOLD_OK && trifold_grid_prepare(NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_synchronize(solver) == TRIFOLD_OK && trifold_grid_synchronize(NULL) == TRIFOLD_BAD_ARGUMENT);
    trifold_grid_solver_destroy(solver);
    free(memory);
    return 0;
}

int main(void) {
    trifold_grid_spec spec;
    trifold_grid_tuning tuning;
    trifold_grid_plan* plan = NULL;
    trifold_grid_solver* solver = NULL;
    int calls = 0;
    make();
    trifold_grid_spec_init(&spec, W, H);
    EXPECT(spec.operations == TRIFOLD_GRID_ALL);
    spec.batch = B;
    spec.rhs = M;
    trifold_grid_tuning_init(&tuning);
    tuning.workers = 2;
    EXPECT(trifold_grid_plan_create(&spec, "cpu", &tuning, &plan) == TRIFOLD_OK);
    EXPECT(trifold_grid_plan_workspace_bytes(plan) > 0 && trifold_grid_plan_workspace_bytes(NULL) == 0);
    EXPECT(trifold_grid_solver_create(plan, &solver) == TRIFOLD_OK);
    if (solves(solver) != 0 || results(solver) != 0 || singular(solver) != 0) return 1;
    EXPECT(trifold_grid_solver_set_executor(solver, NULL, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_grid_solver_set_executor(solver, run_in_turn, &calls) == TRIFOLD_OK);
    if (solves(solver) != 0) return 1;
    EXPECT(calls > 0);
    if (errors(solver, plan) != 0 || given_memory(plan) != 0) return 1;
    trifold_grid_plan_destroy(plan); /* before its solver */
    if (solves(solver) != 0) return 1;
    trifold_grid_solver_destroy(solver);
    if (fixed_ring() != 0) return 1;
    printf("done\n");
    return 0;
}
