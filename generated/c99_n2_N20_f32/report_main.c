/* Counts the instructions of each call, and prints them as JSON beside its flops: see `make report`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpc_solver.h"

#define TARGET "c99:cortex-m7"
#define FACTOR_FLOPS 600
#define SOLVE_FLOPS 547
#ifndef FLAGS
#define FLAGS ""
#endif

enum { SIZE = MPC_HORIZON * MPC_BLOCK * MPC_RHS };

/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static mpc_real d[MPC_D_SIZE];
static mpc_real e[MPC_E_SIZE];
static mpc_real b[SIZE];

static mpc_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (mpc_real)((int)(state >> 27) - 16) / 16;
}

static void make_problem(void) {
    int i, r, c;
    for (i = 0; i < MPC_HORIZON; ++i) {
        for (r = 0; r < MPC_BLOCK; ++r) {
            for (c = 0; c < r; ++c) {
                d[MPC_D(i, r, c)] = random_number();
                d[MPC_D(i, c, r)] = d[MPC_D(i, r, c)];
            }
            d[MPC_D(i, r, r)] = 3 * MPC_BLOCK + 1;
        }
    }
    for (i = 0; i + 1 < MPC_HORIZON; ++i) {
        for (r = 0; r < MPC_BLOCK; ++r) {
            for (c = 0; c < MPC_BLOCK; ++c) {
                e[MPC_E(i, r, c)] = random_number();
            }
        }
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}

static mpc_workspace workspace;
static mpc_real x[SIZE];

enum { CALLS = 2 };
static const char* const names[CALLS] = {"factor", "solve"};
static const unsigned long flops[CALLS] = {FACTOR_FLOPS, SOLVE_FLOPS};

static void prepare(void) {
    make_problem();
    mpc_init(&workspace);
}

/* Returns whether the call fails. */
static int run_call(int call) {
    const mpc_status status = call == 0 ? mpc_factor(&workspace, d, e) : mpc_solve(&workspace, b, x);
    return status.code != MPC_OK;
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

/* QEMU runs an instruction in a nanosecond (-icount shift=0), and SysTick counts 25 MHz: a tick is 40 instructions. */
enum { PER_TICK = 40, ENOUGH = 10000, COUNTER = 0xFFFFFF };
static volatile uint32_t* const systick = (volatile uint32_t*)0xE000E010U; /* control, reload, current */

/* Of one call, as the mean of as many as make the ticks exact to 1 in 10000; 0 if it fails or overruns the counter. */
static unsigned long count_call(int call) {
    unsigned long calls = 0, ticks = 0;
    int failed = 0;
    systick[1] = COUNTER;
    systick[2] = 0;
    systick[0] = 5;
    while (ticks < ENOUGH && !failed) {
        failed = run_call(call);
        ++calls;
        ticks = (0 - systick[2]) & COUNTER;
        failed |= (systick[0] >> 16 & 1) != 0;
    }
    return failed ? 0 : (ticks * PER_TICK + calls / 2) / calls;
}

int main(void) {
    unsigned long instructions[CALLS];
    int k;
    prepare();
    for (k = 0; k < CALLS; ++k) {
        instructions[k] = count_call(k);
        if (instructions[k] == 0) {
            printf("%s fails, or takes more instructions than SysTick counts\n", names[k]);
            return 1;
        }
    }
    print_report("qemu-system-arm -icount shift=0, SysTick", instructions);
    return 0;
}
