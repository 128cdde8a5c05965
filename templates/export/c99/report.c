/* The parts of report_main.c. Who counts the instructions depends on the target. */

@@ solver: a solver that factors
static btd_workspace workspace;
static btd_real x[SIZE];

enum { CALLS = 2 };
static const char* const names[CALLS] = {"factor", "solve"};
static const unsigned long flops[CALLS] = {FACTOR_FLOPS, SOLVE_FLOPS};

static void prepare(void) {
    make_problem();
    btd_init(&workspace);
}

/* Returns whether the call fails. */
static int run_call(int call) {
    const btd_status status = call == 0 ? btd_factor(&workspace, d, e@SHAPE_ARGUMENT@) : btd_solve(&workspace, b, x);
    return status.code != BTD_OK;
}

@@ prefactored: factors that are constants
static btd_real x[SIZE];

enum { CALLS = 1 };
static const char* const names[CALLS] = {"solve"};
static const unsigned long flops[CALLS] = {SOLVE_FLOPS};

static void prepare(void) { make_problem(); }

/* Returns whether the call fails. */
static int run_call(int call) { return btd_solve(call, b, x).code != BTD_OK; }

@@ print: always
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

@@ host: targets that run here, under Callgrind
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

@@ qemu: targets that run in QEMU's user mode
/* Runs as many calls as its argument says, while QEMU counts; or prints what it has counted for none, one and all of them. */
int main(int count, char** arguments) {
    unsigned long instructions[CALLS];
    int k, good = 1;
    if (count == CALLS + 2) {
        for (k = 0; k < CALLS; ++k) {
            instructions[k] = strtoul(arguments[k + 2], NULL, 10) - strtoul(arguments[k + 1], NULL, 10);
        }
        print_report("qemu -singlestep -d exec", instructions);
        return 0;
    }
    prepare();
    for (k = 0; k < CALLS && count == 2 && k < (int)strtol(arguments[1], NULL, 10); ++k) {
        good &= !run_call(k);
    }
    return good ? 0 : 1;
}

@@ cortex_m: Cortex-M, in QEMU
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
