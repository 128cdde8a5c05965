/* A made-up right-hand side of multiples of 1/16, the same on every machine. */
static btd_real b[SIZE];

static void make_problem(void) {
    uint32_t state = 1;
    int i;
    for (i = 0; i < SIZE; ++i) {
        state = state * 1664525U + 1013904223U;
        b[i] = (btd_real)((int)(state >> 27) - 16) / 16;
    }
}
