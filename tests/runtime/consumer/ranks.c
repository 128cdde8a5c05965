/* Threads as ranks, whose messages go through pipes: a transport as any program may write it. A chain, and a sparse system. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <trifold/trifold.h>
#include <unistd.h>

#define EXPECT(condition)                                                                            \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            printf("line %d: not %s; last error: %s\n", __LINE__, #condition, trifold_last_error()); \
            ++failures[rank];                                                                        \
            return NULL;                                                                             \
        }                                                                                            \
    } while (0)

enum { RANKS = 3, N = 20, K = 4 };
static int pipes[RANKS][RANKS][2]; /* from, to */
static int failures[RANKS];
static double d[N * K * K], e[(N - 1) * K * K], b[N * K], x[N * K], one[N * K], logs[RANKS];

/* `user` points to the number of the rank. */
static int send_bytes(void* user, int to, const void* data, int64_t bytes, void* stream) {
    const char* from = data;
    (void)stream;
    while (bytes > 0) {
        const ssize_t written = write(pipes[*(int*)user][to][1], from, (size_t)bytes);
        if (written < 0) return 1;
        from += written;
        bytes -= written;
    }
    return 0;
}
static int receive_bytes(void* user, int from, void* data, int64_t bytes, void* stream) {
    char* to = data;
    (void)stream;
    while (bytes > 0) {
        const ssize_t count = read(pipes[from][*(int*)user][0], to, (size_t)bytes);
        if (count <= 0) return 1;
        to += count;
        bytes -= count;
    }
    return 0;
}
static int refuse(void* user, int to, const void* data, int64_t bytes, void* stream) {
    (void)user, (void)to, (void)data, (void)bytes, (void)stream;
    return 7;
}

static trifold_transport pipes_of(void* number) {
    trifold_transport transport;
    trifold_transport_init(&transport, *(int*)number, RANKS);
    transport.user = number;
    transport.send = send_bytes;
    transport.receive = receive_bytes;
    return transport;
}

static void* work(void* number) {
    const int rank = *(int*)number;
    const trifold_transport transport = pipes_of(number);
    trifold_spec spec;
    trifold_ranks_plan* plan;
    trifold_ranks_solver* solver;
    trifold_outcome outcome;
    trifold_refinement refinement;
    double square, inverse[N * K * K], coupling[N * K * K];
    int64_t first;
    int k;
    trifold_spec_init(&spec, K, N);
    spec.operations |= TRIFOLD_INVERSE;
    EXPECT(trifold_ranks_plan_create(&spec, &transport, NULL, "cpu", NULL, &plan) == TRIFOLD_OK);
    first = trifold_ranks_plan_first_block(plan);
    EXPECT(trifold_ranks_plan_blocks(plan) == (rank < N % RANKS ? N / RANKS + 1 : N / RANKS));
    EXPECT(trifold_ranks_solver_create(plan, &solver) == TRIFOLD_OK);
    EXPECT(trifold_ranks_factor_solve_f64(solver, d + first * K * K, e + first * K * K, b + first * K, x + first * K, NULL, NULL) ==
           TRIFOLD_OK);
    EXPECT(trifold_ranks_check(solver) == TRIFOLD_OK);
    EXPECT(trifold_ranks_log_determinant(solver, &logs[rank], 1, NULL) == TRIFOLD_OK);
    EXPECT(trifold_ranks_quadratic(solver, &square, 1, NULL) == TRIFOLD_OK);
    for (k = 0; k < N * K; ++k) square -= b[k]; /* b' A^-1 b is b' times ones */
    EXPECT(fabs(square) < 1e-10);
    EXPECT(trifold_ranks_outcomes(solver, &outcome, 1, NULL) == TRIFOLD_OK);
    EXPECT(outcome.block == -1);
    EXPECT(trifold_ranks_forward_f64(solver, b + first * K, x + first * K, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_ranks_backward_f64(solver, x + first * K, x + first * K, NULL, NULL) == TRIFOLD_OK);
    EXPECT(trifold_ranks_refine_f64(solver, d + first * K * K, e + first * K * K, b + first * K, x + first * K, NULL, NULL, &refinement, 1,
                                    NULL) == TRIFOLD_OK);
    EXPECT(refinement.converged == 1);
    EXPECT(trifold_ranks_selected_inverse_host_f64(solver, inverse, coupling, NULL) == TRIFOLD_OK);
    EXPECT(inverse[0] > 0);
    trifold_ranks_solver_destroy(solver);
    trifold_ranks_plan_destroy(plan);
    return NULL;
}

/* A ring of rows, in subdomains of eight. */
enum { ROWS = 61, PER_ROW = 3 };
static int64_t starts[ROWS + 1];
static int32_t columns[ROWS * PER_ROW], parts[ROWS];
static double values[ROWS * PER_ROW], right[ROWS], alone[ROWS];

static trifold_sparse_pattern ring(void) {
    trifold_sparse_pattern pattern;
    int i, k;
    for (i = 0; i < ROWS; ++i) {
        const int last = i == ROWS - 1, first = i == 0;
        int32_t* row = columns + i * PER_ROW;
        row[0] = first || last ? 0 : i - 1, row[1] = first ? 1 : last ? i - 1 : i, row[2] = first || last ? ROWS - 1 : i + 1;
        for (k = 0; k < PER_ROW; ++k) values[i * PER_ROW + k] = row[k] == i ? 4 : row[k] == (i + 1) % ROWS ? -1.5 : -1;
        starts[i + 1] = (i + 1) * PER_ROW;
        right[i] = i % 7 - 2;
        parts[i] = i / 8;
    }
    trifold_sparse_pattern_init(&pattern, ROWS, starts, columns);
    pattern.partitioning = TRIFOLD_SPARSE_GIVEN;
    pattern.parts = parts;
    return pattern;
}
static trifold_sparse_pattern pattern;
static trifold_sparse_outcome outcome_alone;

static int solve_alone(void) {
    trifold_sparse_spec spec;
    trifold_sparse_plan* plan;
    trifold_sparse_solver* solver;
    int bad;
    trifold_sparse_spec_init(&spec, 1);
    bad = trifold_sparse_plan_create(&spec, &pattern, "cpu", NULL, &plan) || trifold_sparse_solver_create(plan, &solver) ||
          trifold_sparse_update_host_f64(solver, values, NULL) || trifold_sparse_solve_host_f64(solver, right, alone, NULL) ||
          trifold_sparse_check(solver) || trifold_sparse_outcomes(solver, &outcome_alone, 1, NULL);
    if (bad) printf("alone: %s\n", trifold_last_error());
    trifold_sparse_solver_destroy(solver);
    trifold_sparse_plan_destroy(plan);
    return bad;
}

/* The bits of one process, and what ranks have not got. */
static void* share(void* number) {
    const int rank = *(int*)number;
    const trifold_transport transport = pipes_of(number);
    trifold_sparse_spec spec;
    trifold_sparse_plan* plan;
    trifold_sparse_solver* solver;
    trifold_sparse_outcome outcome;
    trifold_sparse_values status;
    double y[ROWS], history[64];
    int64_t count;
    trifold_sparse_spec_init(&spec, 1);
    EXPECT(trifold_sparse_ranks_plan_create(&spec, &pattern, NULL, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT && plan == NULL);
    EXPECT(strstr(trifold_last_error(), "the transport is a null pointer") != NULL);
    EXPECT(trifold_sparse_ranks_plan_create(&spec, &pattern, &transport, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(strstr(trifold_last_error(), "leave solve alone") != NULL);
    spec.operations = TRIFOLD_SPARSE_SOLVE;
    EXPECT(trifold_sparse_ranks_plan_create(&spec, &pattern, &transport, "cpu", NULL, &plan) == TRIFOLD_OK);
    EXPECT(trifold_sparse_plan_expect(plan, &pattern) == TRIFOLD_OK);
    EXPECT(trifold_sparse_solver_create(plan, &solver) == TRIFOLD_OK);
    EXPECT(trifold_sparse_update_host_f64(solver, values, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_solve_host_f64(solver, right, y, NULL) == TRIFOLD_OK);
    EXPECT(trifold_sparse_check(solver) == TRIFOLD_OK && trifold_sparse_synchronize(solver) == TRIFOLD_OK);
    EXPECT(memcmp(y, alone, sizeof y) == 0);
    EXPECT(trifold_sparse_outcomes(solver, &outcome, 1, NULL) == TRIFOLD_OK && outcome.iterations == outcome_alone.iterations);
    EXPECT(outcome.residual == outcome_alone.residual && outcome.iterations > 2);
    EXPECT(trifold_sparse_history(solver, 0, 0, history, 64, &count) == TRIFOLD_OK && count == outcome.iterations + 1);
    EXPECT(trifold_sparse_status(solver, &status, 1, NULL) == TRIFOLD_OK && status.largest == 4);
    EXPECT(trifold_sparse_multiply_host_f64(solver, right, y, NULL) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(strstr(trifold_last_error(), "ranks share solve alone; multiply is for a solver without ranks") != NULL);
    trifold_sparse_solver_destroy(solver);
    trifold_sparse_plan_destroy(plan);
    return NULL;
}

/* Bad input, and a transport that fails. */
static void* trouble(void* number) {
    const int rank = *(int*)number;
    trifold_spec spec;
    trifold_transport transport;
    trifold_ranks_plan* plan;
    trifold_spec_init(&spec, K, N);
    memset(&transport, 0, sizeof transport);
    EXPECT(trifold_ranks_plan_create(&spec, &transport, NULL, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(strstr(trifold_last_error(), "call trifold_transport_init first") != NULL);
    trifold_transport_init(&transport, 1, 2);
    EXPECT(trifold_ranks_plan_create(&spec, &transport, NULL, "cpu", NULL, &plan) == TRIFOLD_BAD_ARGUMENT);
    EXPECT(strstr(trifold_last_error(), "send or receive is a null pointer") != NULL);
    transport.user = number;
    transport.send = refuse;
    transport.receive = receive_bytes;
    EXPECT(trifold_ranks_plan_create(&spec, &transport, NULL, "cpu", NULL, &plan) == TRIFOLD_RANK_FAILED);
    EXPECT(strstr(trifold_last_error(), "rank 0 cannot be reached: send of rank 1 has returned 7") != NULL);
    EXPECT(plan == NULL);
    EXPECT(trifold_ranks_refine_f64(NULL, d, e, b, x, NULL, NULL, NULL, 0, NULL) == TRIFOLD_BAD_ARGUMENT);
    trifold_ranks_plan_destroy(NULL);
    trifold_ranks_solver_destroy(NULL);
    return NULL;
}

static int on_threads(void* (*function)(void*), int count) {
    static int numbers[RANKS];
    pthread_t threads[RANKS];
    int k, failed = 0;
    for (k = 0; k < count; ++k) {
        numbers[k] = k;
        if (pthread_create(&threads[k], NULL, function, &numbers[k]) != 0) return 1;
    }
    for (k = 0; k < count; ++k) {
        pthread_join(threads[k], NULL);
        failed += failures[k];
    }
    return failed;
}

int main(void) {
    int from, to, k;
    for (from = 0; from < RANKS; ++from)
        for (to = 0; to < RANKS; ++to)
            if (pipe(pipes[from][to]) != 0) return 1;
    /* A has 4 on the diagonal and -1 from block to block; b is A times ones. */
    for (k = 0; k < N * K; ++k) {
        d[(k / K * K + k % K) * K + k % K] = 4;
        if (k / K < N - 1) e[(k / K * K + k % K) * K + k % K] = -1;
        one[k] = 1;
        b[k] = 4 - (k / K > 0) - (k / K < N - 1);
    }
    if (on_threads(work, RANKS) != 0) return 1;
    for (k = 0; k < N * K; ++k)
        if (fabs(x[k] - one[k]) > 1e-12) {
            printf("x[%d] is %g\n", k, x[k]);
            return 1;
        }
    for (k = 0; k < RANKS; ++k)
        if (logs[k] != logs[0] || fabs(logs[k] - K * N * log(2 + sqrt(3)) - K * log((2 + sqrt(3)) / sqrt(12))) > 1e-9) {
            printf("log det A is %.12f\n", logs[k]);
            return 1;
        }
    pattern = ring();
    if (solve_alone() != 0 || on_threads(share, RANKS) != 0) return 1;
    return on_threads(trouble, 1);
}
