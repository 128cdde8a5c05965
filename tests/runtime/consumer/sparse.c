#include "expect.h"

/* A ring of blocks, each coupled with both neighbours. */
enum { N = 24, K = 2, ENTRIES = 3 * N, SIZE = N * K };
static int64_t starts[N + 1];
static int32_t columns[ENTRIES], parts[N];
static double values[ENTRIES * K * K], b[SIZE], w[SIZE];

static void sort(int32_t* three) {
    int i, j;
    for (i = 0; i < 2; ++i)
        for (j = 0; j < 2 - i; ++j)
            if (three[j] > three[j + 1]) {
                const int32_t other = three[j];
                three[j] = three[j + 1];
                three[j + 1] = other;
            }
}

static void make(void) {
    int i, k;
    for (i = 0; i < N; ++i) {
        starts[i + 1] = 3 * (i + 1);
        columns[3 * i] = (i + N - 1) % N;
        columns[3 * i + 1] = i;
        columns[3 * i + 2] = (i + 1) % N;
        sort(columns + 3 * i);
        parts[i] = i / 8;
    }
    for (i = 0; i < ENTRIES; ++i)
        for (k = 0; k < K * K; ++k) values[i * K * K + k] = next() + (columns[i] == i / 3 && k % (K + 1) == 0 ? 6 : 0);
    for (i = 0; i < SIZE; ++i) b[i] = next(), w[i] = next();
}

/* y = A x, or A' x. */
static void multiply(const double* x, double* y, int transposed) {
    int e, r, c;
    memset(y, 0, SIZE * sizeof *y);
    for (e = 0; e < ENTRIES; ++e)
        for (r = 0; r < K; ++r)
            for (c = 0; c < K; ++c) {
                const int i = e / 3 * K + r, j = columns[e] * K + c;
                y[transposed ? j : i] += values[(e * K + r) * K + c] * x[transposed ? i : j];
            }
}

static double difference(const double* one, const double* other) {
    double largest = 0;
    int i;
    for (i = 0; i < SIZE; ++i) largest = fmax(largest, fabs(one[i] - other[i]));
    return largest;
}

static double product(const double* one, const double* other) {
    double sum = 0;
    int i;
    for (i = 0; i < SIZE; ++i) sum += one[i] * other[i];
    return sum;
}

static int solutions(trifold_sparse_solver* solver) {
    double x[SIZE], y[SIZE], by_b[SIZE], by_values[ENTRIES * K * K] = {0}, history[64];
    trifold_sparse_values status;
    trifold_sparse_outcome outcome;
    trifold_sparse_options options;
    int64_t count = 0;
    int e, k;
    REFUSED(trifold_sparse_solve_host_f64(solver, b, x, NULL), "update first");
    EXPECT(trifold_sparse_update_host_f64(solver, values, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_status(solver, &status, 1, &count) == TRIFOLD_OK && count == 1);
    EXPECT(status.zero_pivots == 0 && status.bad_row == -1 && status.largest > 5);

    trifold_sparse_options_init(&options);
    options.rtol = 1e-12;
    EXPECT(trifold_sparse_solve_host_f64(solver, b, x, &options) == TRIFOLD_OK);
    EXPECT(trifold_sparse_check(solver) == TRIFOLD_OK);
    multiply(x, y, 0);
    EXPECT(difference(y, b) < 1e-10);
    EXPECT(trifold_sparse_outcomes(solver, &outcome, 1, &count) == TRIFOLD_OK && count == 1);
    EXPECT(outcome.end == TRIFOLD_SPARSE_CONVERGED && outcome.iterations > 1 && outcome.residual <= 1e-12 * outcome.norm_b);
    EXPECT(trifold_sparse_history(solver, 0, 0, history, 64, &count) == TRIFOLD_OK && count == outcome.iterations + 1);
    EXPECT(history[count - 1] < 1e-8 * history[0]);

    EXPECT(trifold_sparse_solve_transposed_host_f64(solver, w, by_b, &options) == TRIFOLD_OK);
    multiply(by_b, y, 1);
    EXPECT(difference(y, w) < 1e-10);
    EXPECT(trifold_sparse_gradient_host_f64(solver, x, by_b, by_values, NULL) == TRIFOLD_OK);
    for (e = 0; e < ENTRIES; ++e)
        for (k = 0; k < K * K; ++k) EXPECT(fabs(by_values[e * K * K + k] + by_b[e / 3 * K + k / K] * x[columns[e] * K + k % K]) < 1e-12);

    options.maxiter = 1;
    EXPECT(trifold_sparse_solve_host_f64(solver, b, x, &options) == TRIFOLD_OK);
    EXPECT(trifold_sparse_check(solver) == TRIFOLD_SPARSE_FAILED && strstr(trifold_last_error(), "limit"));
    return 0;
}

static int products(trifold_sparse_solver* solver) {
    double x[SIZE], y[SIZE], z[SIZE];
    EXPECT(trifold_sparse_multiply_host_f64(solver, b, x, NULL) == TRIFOLD_OK);
    multiply(b, y, 0);
    EXPECT(difference(x, y) < 1e-13);
    EXPECT(trifold_sparse_multiply_transposed_host_f64(solver, b, x, NULL) == TRIFOLD_OK);
    multiply(b, y, 1);
    EXPECT(difference(x, y) < 1e-13);
    /* On the processor the device's pointers are ordinary ones. */
    EXPECT(trifold_sparse_apply_f64(solver, b, y, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_apply_transposed_f64(solver, w, z, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_synchronize(solver) == TRIFOLD_OK);
    EXPECT(fabs(product(w, y) - product(z, b)) < 1e-13);
    return 0;
}

static int errors(const trifold_sparse_spec* spec, const trifold_sparse_pattern* pattern) {
    trifold_sparse_spec bad_spec = *spec;
    trifold_sparse_pattern bad = *pattern;
    trifold_sparse_tuning tuning;
    trifold_sparse_plan* plan = NULL;
    int32_t unsorted[ENTRIES];
    EXPECT(trifold_sparse_plan_create(NULL, pattern, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    trifold_sparse_tuning_init(&tuning);
    tuning.variant = "sweeps:tile_scalars=3";
    REFUSED(trifold_sparse_plan_create(spec, pattern, "cpu", &tuning, &plan), "tile_scalars");
    bad_spec.operations = 1 << 9;
    REFUSED(trifold_sparse_plan_create(&bad_spec, pattern, "cpu", NULL, &plan), "TRIFOLD_SPARSE_SOLVE");
    bad.size = 0;
    REFUSED(trifold_sparse_plan_create(spec, &bad, "cpu", NULL, &plan), "trifold_sparse_pattern_init");
    bad = *pattern;
    bad.starts = NULL;
    EXPECT(trifold_sparse_plan_create(spec, &bad, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    bad = *pattern;
    memcpy(unsorted, columns, sizeof unsorted);
    unsorted[3] = columns[4], unsorted[4] = columns[3];
    bad.columns = unsorted;
    EXPECT(trifold_sparse_plan_create(spec, &bad, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(strstr(trifold_last_error(), "row 1 has the column 0 behind 1") && plan == NULL);
    return 0;
}

/* Row 2 of another matrix has another column. */
static int changed(const trifold_sparse_plan* plan) {
    int32_t others[ENTRIES];
    trifold_sparse_pattern now;
    memcpy(others, columns, sizeof others);
    others[8] = 4;
    trifold_sparse_pattern_init(&now, N, starts, others);
    REFUSED(trifold_sparse_plan_expect(plan, &now), "the pattern has changed in row 2");
    return 0;
}

/* Two rows of each matrix, of which the second is wrong. */
static int bad_rows(const trifold_sparse_spec* spec) {
    static const struct {
        int64_t starts[3];
        int32_t columns[3];
        const char* message;
    } wrong[] = {{{0, 2, 3}, {0, 1, 0}, "row 1 has no entry at column 1"}, {{0, 1, 1}, {0}, "row 1 is empty"},
                 {{0, 1, 3}, {0, 1, 1}, "row 1 has the column 1 twice"},   {{0, 1, 3}, {0, 1, 2}, "the matrix must be square"},
                 {{0, 1, 3}, {0, -1, 1}, "columns count from 0"},          {{0, 1, -1}, {0}, "a pattern's starts end with -1"}};
    trifold_sparse_pattern pattern;
    trifold_sparse_plan* plan = NULL;
    size_t k;
    for (k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        trifold_sparse_pattern_init(&pattern, 2, wrong[k].starts, wrong[k].columns);
        EXPECT(trifold_sparse_plan_create(spec, &pattern, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT && plan == NULL);
        EXPECT(strstr(trifold_last_error(), wrong[k].message));
    }
    return 0;
}

/* A mesh of cells, in boxes: a row sums to one, so that x is one where b is. */
static int mesh(void) {
    enum { W = 5, H = 4, D = 3, P = 7 };
    static double points[W * H * D * P], ones[W * H * D], x[W * H * D];
    trifold_sparse_spec spec;
    trifold_sparse_pattern pattern;
    trifold_sparse_plan* plan;
    trifold_sparse_solver* solver;
    int i, k;
    trifold_sparse_spec_init(&spec, 1);
    trifold_sparse_pattern_init(&pattern, 0, NULL, NULL);
    pattern.width = W, pattern.height = H, pattern.depth = D, pattern.points = P;
    pattern.partitioning = TRIFOLD_SPARSE_BOX;
    pattern.box[0] = 3, pattern.box[1] = 2, pattern.box[2] = 3;
    for (i = 0; i < W * H * D; ++i) {
        const int at[3] = {i / (W * H), i / W % H, i % W}, most[3] = {D - 1, H - 1, W - 1};
        double* row = points + i * P; /* below, before, left, itself, right, behind, above */
        ones[i] = row[3] = 1;
        for (k = 0; k < 3; ++k) {
            if (at[k] > 0) row[k] = -1, row[3] += 1;
            if (at[k] < most[k]) row[6 - k] = -1, row[3] += 1;
        }
    }
    EXPECT(trifold_sparse_plan_create(&spec, &pattern, "cpu", NULL, &plan) == TRIFOLD_OK);
    EXPECT(trifold_sparse_solver_create(plan, &solver) == TRIFOLD_OK);
    EXPECT(trifold_sparse_update_host_f64(solver, points, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_solve_host_f64(solver, ones, x, NULL) == TRIFOLD_OK && trifold_sparse_check(solver) == TRIFOLD_OK);
    for (i = 0; i < W * H * D; ++i) EXPECT(fabs(x[i] - 1) < 1e-6);
    trifold_sparse_solver_destroy(solver);
    trifold_sparse_plan_destroy(plan);
    return 0;
}

/* A solver in memory of the caller's. */
static int given_memory(const trifold_sparse_plan* plan) {
    const int64_t bytes = trifold_sparse_plan_workspace_bytes(plan);
    char* memory = malloc((size_t)bytes + 64);
    char* aligned = memory + (64 - (uintptr_t)memory % 64) % 64;
    trifold_sparse_solver* solver = NULL;
    EXPECT(memory != NULL && bytes > 0 && trifold_sparse_plan_workspace_bytes(NULL) == 0);
    EXPECT(trifold_sparse_solver_create_in(plan, NULL, bytes, &solver) == TRIFOLD_BAD_ARGUMENT && solver == NULL);
    EXPECT(trifold_sparse_solver_create_in(plan, aligned, bytes - 1, &solver) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_sparse_solver_create_in(plan, aligned + 8, bytes, &solver) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(trifold_sparse_solver_create_in(plan, aligned, bytes, &solver) == TRIFOLD_OK);
    EXPECT(trifold_sparse_prepare(solver) == TRIFOLD_OK && trifold_sparse_prepare(NULL) == TRIFOLD_BAD_ARGUMENT);
    if (solutions(solver) != 0) return 1;
    trifold_sparse_solver_destroy(solver);
    free(memory);
    return 0;
}

int main(void) {
    trifold_sparse_spec spec;
    trifold_sparse_pattern pattern;
    trifold_sparse_tuning tuning;
    trifold_sparse_plan* plan = NULL;
    trifold_sparse_solver* solver = NULL;
    make();
    trifold_sparse_spec_init(&spec, K);
    trifold_sparse_pattern_init(&pattern, N, starts, columns);
    pattern.partitioning = TRIFOLD_SPARSE_GIVEN;
    pattern.parts = parts;
    trifold_sparse_tuning_init(&tuning);
    EXPECT(tuning.variant == NULL);
    tuning.workers = 2;
    tuning.variant = "sweeps:slice_scalars=2048";
    EXPECT(trifold_sparse_plan_create(&spec, &pattern, "cpu", &tuning, &plan) == TRIFOLD_OK);
    EXPECT(trifold_sparse_solver_create(plan, &solver) == TRIFOLD_OK);
    EXPECT(trifold_sparse_plan_expect(plan, &pattern) == TRIFOLD_OK);
    if (changed(plan) || bad_rows(&spec) || solutions(solver) || products(solver) || errors(&spec, &pattern) || mesh() ||
        given_memory(plan))
        return 1;
    /* Block row 5 without couplings, and singular. */
    memset(values + 15 * K * K, 0, 3 * K * K * sizeof *values);
    EXPECT(trifold_sparse_update_host_f64(solver, values, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_check(solver) == TRIFOLD_SPARSE_FAILED &&
           strstr(trifold_last_error(), "singular to the precision, the first in row 5"));
    values[3 * K * K] = NAN; /* in row 1 */
    EXPECT(trifold_sparse_update_host_f64(solver, values, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_check(solver) == TRIFOLD_SPARSE_FAILED && strstr(trifold_last_error(), "row 1"));
    trifold_sparse_solver_destroy(solver);
    trifold_sparse_plan_destroy(plan);
    printf("sparse systems from C\n");
    return 0;
}
