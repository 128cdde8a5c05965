/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
BTD_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
@FORWARD@    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
BTD_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
@BACKWARD@    }
}
