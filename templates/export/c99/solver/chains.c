/* Separator s is updated from below, by chain s, and from above. */
static real* update_of(btd_workspace* workspace, int s, int c) { return workspace->update + (2 * s + (c > s)) * BLOCK; }
static real* rhs_update_of(btd_workspace* workspace, int s, int c) { return workspace->rhs_update + (2 * s + (c > s)) * VECTOR; }

static void set_zero(real* a, int count) {
    for (int k = 0; k < count; ++k) {
        a[k] = 0;
    }
}

/* target = A(i + step, i), from the coupling above or below block i. */
BTD_CODE static void load_coupling(const real* e, int i, int step, real* target) {
    const real* a = e + (step > 0 ? i : i - 1) * BLOCK;
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) {
            target[r * n + k] = step > 0 ? a[r * n + k] : a[k * n + r];
        }
    }
}

/* c -= a b' */
BTD_CODE static void subtract_product(real* c, const real* a, const real* b) {
    for (int r = 0; r < n; r += 2) {
        const int r1 = partner(r);
        for (int j = 0; j < n; j += 2) {
            const int j1 = partner(j);
            tile t = {c[r * n + j], c[r * n + j1], c[r1 * n + j], c[r1 * n + j1]};
            t = subtract_products(t, a + r * n, a + r1 * n, b + j * n, b + j1 * n, n);
            c[r * n + j] = t.c00;
            c[r * n + j1] = t.c01;
            c[r1 * n + j] = t.c10;
            c[r1 * n + j1] = t.c11;
        }
    }
}

/* y -= a x, or a' x, for every column of a right-hand side. */
BTD_CODE static void subtract_panel(const real* a, int transposed, const real* x, real* y) {
    for (int c = 0; c < m; ++c) {
        for (int r = 0; r < n; r += 2) {
            const int r1 = partner(r);
            pair s = {y[r * m + c], y[r1 * m + c]};
            s = transposed ? subtract_columns(s, a, r, r1, x + c, n) : subtract_rows(s, a, r, r1, x + c, n);
            y[r * m + c] = s.s0;
            y[r1 * m + c] = s.s1;
        }
    }
}
