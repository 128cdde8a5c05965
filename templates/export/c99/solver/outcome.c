/* ---- what a call returns ---- */

enum { VECTOR = BTD_BLOCK * BTD_RHS, SIZE = BTD_HORIZON * VECTOR };

static btd_status outcome(btd_code code, int block, int row) {
    btd_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

static inline int is_finite(btd_real x) { return x >= -BTD_LARGEST && x <= BTD_LARGEST; }

/* Names the first element of x that is NaN or infinite. */
BTD_CODE static btd_status check_finite(const btd_real* x) {
    int sound = 1;
    int i = 0;
    for (i = 0; i < SIZE; ++i) {
        sound &= is_finite(x[i]);
    }
    if (sound) {
        return outcome(BTD_OK, -1, -1);
    }
    i = 0;
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(BTD_OUT_OF_RANGE, block, (i - block * VECTOR) / BTD_RHS);
}
