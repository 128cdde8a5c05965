BTD_CODE static btd_status check_finite(const btd_real* x) {
    btd_real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
    int i = 0;
    for (i = 0; i < SIZE / 4 * 4; i += 4) {
        zero0 -= x[i] * 0;
        zero1 -= x[i + 1] * 0;
        zero2 -= x[i + 2] * 0;
        zero3 -= x[i + 3] * 0;
    }
    for (i = SIZE / 4 * 4; i < SIZE; ++i) {
        zero0 -= x[i] * 0;
    }
    return judge((zero0 + zero1) + (zero2 + zero3), x);
}
