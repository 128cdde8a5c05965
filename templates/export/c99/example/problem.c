/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static btd_real d[BTD_D_SIZE];
static btd_real e[BTD_E_SIZE];
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
                d[BTD_D(i, r, c)] = random_number();
                d[BTD_D(i, c, r)] = d[BTD_D(i, r, c)];
            }
            d[BTD_D(i, r, r)] = 3 * BTD_BLOCK + 1;
        }
    }
    for (i = 0; i + 1 < BTD_HORIZON; ++i) {
        for (r = 0; r < BTD_BLOCK; ++r) {
            for (c = 0; c < BTD_BLOCK; ++c) {
                e[BTD_E(i, r, c)] = random_number();
            }
        }
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}
