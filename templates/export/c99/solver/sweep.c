/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */

typedef struct {
    real s0, s1;
} pair;

/* s - a x for rows r and r1 of a, over the first `count` columns. */
static inline pair subtract_rows(pair s, const real* a, int r, int r1, const real* x, int count) {
    for (int k = 0; k < count; ++k) {
        s.s0 -= a[r * n + k] * x[k * m];
        s.s1 -= a[r1 * n + k] * x[k * m];
    }
    return s;
}

/* s - a' x for columns r and r1 of a, over its last `count` rows. */
static inline pair subtract_columns(pair s, const real* a, int r, int r1, const real* x, int count) {
    const int first = n - count;
    for (int k = 0; k < count; ++k) {
        s.s0 -= a[(first + k) * n + r] * x[(first + k) * m];
        s.s1 -= a[(first + k) * n + r1] * x[(first + k) * m];
    }
    return s;
}

/* y = L^-1 (b - a y_before), a being `width` columns wide: n, or 0 for the first block. y may be b. */
BTD_CODE static void forward_block(const real* l, const real* a, const real* y_before, int width, const real* b, real* y) {
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; r += 2) {
            const int r1 = partner(r);
            pair s = {b[r * m + c], b[r1 * m + c]};
            s = subtract_rows(s, a, r, r1, y_before + c, width);
            s = subtract_rows(s, l, r, r1, y + c, r);
            s.s0 *= l[r * n + r];
            y[r * m + c] = s.s0;
            if (r1 > r) {
                y[r1 * m + c] = (s.s1 - s.s0 * l[r1 * n + r]) * l[r1 * n + r1];
            }
        }
    }
}

/* x = L^-T (x - a' x_next), a having `height` rows: n, or 0 for the last block, which has no next. */
BTD_CODE static void backward_block(const real* l, const real* a, const real* x_next, int height, real* x) {
    for (int c = 0; c < m; ++c) {
        for (int r = (n - 1) / 2 * 2; r >= 0; r -= 2) {
            const int r1 = partner(r);
            pair s = {start_row(x[r * m + c]), start_row(x[r1 * m + c])};
            s = subtract_columns(s, a, r, r1, x_next + c, height);
            s = subtract_columns(s, l, r, r1, x + c, n - r1 - 1);
            if (r1 > r) {
                s.s1 = end_row(x[r1 * m + c], s.s1, l[r1 * n + r1]);
                x[r1 * m + c] = s.s1;
                s.s0 -= l[r1 * n + r] * s.s1;
            }
            x[r * m + c] = end_row(x[r * m + c], s.s0, l[r * n + r]);
        }
    }
}
