/* Counts the instructions of a factorization and of a solve, and prints them as JSON beside their flops: see `make report`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kalman_solver.h"

#define TARGET "c99:generic"
#define FACTOR_FLOPS 35692
#define SOLVE_FLOPS 13680
#ifndef FLAGS
#define FLAGS ""
#endif

enum { SIZE = KALMAN_HORIZON * KALMAN_BLOCK * KALMAN_RHS };

/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static kalman_real d[KALMAN_HORIZON * KALMAN_BLOCK * KALMAN_BLOCK];
static kalman_real e[KALMAN_COUPLINGS * KALMAN_BLOCK * KALMAN_BLOCK];
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
                d[(i * KALMAN_BLOCK + r) * KALMAN_BLOCK + c] = random_number();
                d[(i * KALMAN_BLOCK + c) * KALMAN_BLOCK + r] = d[(i * KALMAN_BLOCK + r) * KALMAN_BLOCK + c];
            }
            d[(i * KALMAN_BLOCK + r) * KALMAN_BLOCK + r] = 3 * KALMAN_BLOCK + 1;
        }
    }
    for (i = 0; i < (KALMAN_HORIZON - 1) * KALMAN_BLOCK * KALMAN_BLOCK; ++i) {
        e[i] = random_number();
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}

/* Instructions of a factorization and of a solve, as JSON: see `make report`. */
static kalman_workspace workspace;
static kalman_real x[SIZE];

static void print_call(const char* call, unsigned long instructions, unsigned long flops, const char* after) {
    printf("  \"%s\": {\"instructions\": %lu, \"flops\": %lu, \"instructions_per_flop\": %.3f}%s\n", call, instructions, flops,
           (double)instructions / (double)(flops > 0 ? flops : 1), after);
}

static void print_report(const char* counted_by, unsigned long factor, unsigned long solve) {
    printf("{\n  \"target\": \"%s\",\n  \"compiler\": \"%s\",\n", TARGET, __VERSION__);
    printf("  \"flags\": \"%s\",\n  \"counted_by\": \"%s\",\n", FLAGS, counted_by);
    print_call("factor", factor, FACTOR_FLOPS, ",");
    print_call("solve", solve, SOLVE_FLOPS, "");
    printf("}\n");
}

static int run_factor(void) { return kalman_factor(&workspace, d, e).code != KALMAN_OK; }
static int run_solve(void) { return kalman_solve(&workspace, b, x).code != KALMAN_OK; }

/* Callgrind counts while this runs without arguments; they then are what it has counted. */
int main(int count, char** arguments) {
    if (count == 3) {
        const unsigned long factor = strtoul(arguments[1], NULL, 10), solve = strtoul(arguments[2], NULL, 10);
        print_report("valgrind --tool=callgrind", factor, solve);
        return factor == 0 || solve == 0;
    }
    make_problem();
    kalman_init(&workspace);
    return run_factor() || run_solve();
}
