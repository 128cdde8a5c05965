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
