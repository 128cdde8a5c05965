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

/* Names the first element of x that is NaN or infinite. Where there is none, a sum of x * 0 is 0: one test for all. */
static btd_status judge(btd_real zero, const btd_real* x) {
    int i = 0;
    if (is_finite(zero)) {
        return outcome(BTD_OK, -1, -1);
    }
    while (is_finite(x[i])) {
        ++i;
    }
    const int block = i / VECTOR;
    return outcome(BTD_OUT_OF_RANGE, block, (i - block * VECTOR) / BTD_RHS);
}
