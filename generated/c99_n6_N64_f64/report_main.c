/* Counts the instructions of each call, and prints them as JSON beside its flops: see `make report`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kalman_solver.h"

#define TARGET "c99:generic"
#define FACTOR_FLOPS 36460
#define SOLVE_FLOPS 14451
#ifndef FLAGS
#define FLAGS ""
#endif

enum { SIZE = KALMAN_HORIZON * KALMAN_BLOCK * KALMAN_RHS };

/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static kalman_real d[KALMAN_D_SIZE];
static kalman_real e[KALMAN_E_SIZE];
static kalman_real b[SIZE];

static kalman_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (kalman_real)((int)(state >> 27) - 16) / 16;
}

static void make_problem(void) {
    int i, r, c;
    for (i = 0; i < KALMAN_HORIZON; ++i) {
        for (r = 0; r < KALMAN_BLOCK; ++r) {
            for (c = 0; c < r; ++c) {
                d[KALMAN_D(i, r, c)] = random_number();
                d[KALMAN_D(i, c, r)] = d[KALMAN_D(i, r, c)];
            }
            d[KALMAN_D(i, r, r)] = 3 * KALMAN_BLOCK + 1;
        }
    }
    for (i = 0; i + 1 < KALMAN_HORIZON; ++i) {
        for (r = 0; r < KALMAN_BLOCK; ++r) {
            for (c = 0; c < KALMAN_BLOCK; ++c) {
                e[KALMAN_E(i, r, c)] = random_number();
            }
        }
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}

static kalman_workspace workspace;
static kalman_real x[SIZE];

enum { CALLS = 2 };
static const char* const names[CALLS] = {"factor", "solve"};
static const unsigned long flops[CALLS] = {FACTOR_FLOPS, SOLVE_FLOPS};

static void prepare(void) {
    make_problem();
    kalman_init(&workspace);
}

/* Returns whether the call fails. */
static int run_call(int call) {
    const kalman_status status = call == 0 ? kalman_factor(&workspace, d, e) : kalman_solve(&workspace, b, x);
    return status.code != KALMAN_OK;
}

/* Prints what has been counted, as JSON. */
static void print_report(const char* counted_by, const unsigned long* instructions) {
    int k;
    printf("{\n  \"target\": \"%s\",\n  \"compiler\": \"%s\",\n", TARGET, __VERSION__);
    printf("  \"flags\": \"%s\",\n  \"counted_by\": \"%s\"", FLAGS, counted_by);
    for (k = 0; k < CALLS; ++k) {
        printf(",\n  \"%s\": {\"instructions\": %lu, \"flops\": %lu, ", names[k], instructions[k], flops[k]);
        printf("\"instructions_per_flop\": %.3f}", (double)instructions[k] / (double)(flops[k] > 0 ? flops[k] : 1));
    }
    printf("\n}\n");
}

/* Callgrind counts while this runs without arguments; they then are what it has counted. */
int main(int count, char** arguments) {
    unsigned long instructions[CALLS];
    int k, good = 1;
    if (count == CALLS + 1) {
        for (k = 0; k < CALLS; ++k) {
            instructions[k] = strtoul(arguments[k + 1], NULL, 10);
            good &= instructions[k] > 0;
        }
        print_report("valgrind --tool=callgrind", instructions);
        return good ? 0 : 1;
    }
    prepare();
    for (k = 0; k < CALLS; ++k) {
        good &= !run_call(k);
    }
    return good ? 0 : 1;
}
