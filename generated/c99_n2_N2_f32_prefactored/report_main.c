/* Counts the instructions of each call, and prints them as JSON beside its flops: see `make report`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "admm_solver.h"

#define TARGET "c99:cortex-m4"
#define SOLVE_FLOPS 43
#ifndef FLAGS
#define FLAGS ""
#endif

enum { SIZE = ADMM_HORIZON * ADMM_BLOCK * ADMM_RHS };

/* A made-up right-hand side of multiples of 1/16, the same on every machine. */
static admm_real b[SIZE];

static void make_problem(void) {
    uint32_t state = 1;
    int i;
    for (i = 0; i < SIZE; ++i) {
        state = state * 1664525U + 1013904223U;
        b[i] = (admm_real)((int)(state >> 27) - 16) / 16;
    }
}

static admm_real x[SIZE];

enum { CALLS = 1 };
static const char* const names[CALLS] = {"solve"};
static const unsigned long flops[CALLS] = {SOLVE_FLOPS};

static void prepare(void) { make_problem(); }

/* Returns whether the call fails. */
static int run_call(int call) { return admm_solve(call, b, x).code != ADMM_OK; }

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
