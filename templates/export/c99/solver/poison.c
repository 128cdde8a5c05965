/* What becomes of X where there is no factor. */
BTD_CODE static void poison_solution(btd_real* x) {
    for (int i = 0; i < SIZE; ++i) {
        x[i] = (btd_real)NAN;
    }
}
