/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static btd_real d[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
static btd_real e[BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];
static btd_real b[SIZE];

static btd_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (btd_real)((int)(state >> 27) - 16) / 16;
}

static void make_problem(void) {
    int i, r, c;
    for (i = 0; i < BTD_HORIZON; ++i) {
        for (r = 0; r < BTD_BLOCK; ++r) {
            for (c = 0; c < r; ++c) {
                d[(i * BTD_BLOCK + r) * BTD_BLOCK + c] = random_number();
                d[(i * BTD_BLOCK + c) * BTD_BLOCK + r] = d[(i * BTD_BLOCK + r) * BTD_BLOCK + c];
            }
            d[(i * BTD_BLOCK + r) * BTD_BLOCK + r] = 3 * BTD_BLOCK + 1;
        }
    }
    for (i = 0; i < (BTD_HORIZON - 1) * BTD_BLOCK * BTD_BLOCK; ++i) {
        e[i] = random_number();
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}
