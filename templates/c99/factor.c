/* ---- factorization of a block ---- */

/* The only test of a pivot. It refuses NaN, whatever the sign. */
static inline int is_pivot(real d) { return d > 0 && d <= BTD_LARGEST; }

typedef struct {
    real c00, c01, c10, c11;
} tile;

/* c - a b' for rows r, r1 of a and j, j1 of b, over their first `count` columns. */
static inline tile subtract_products(tile c, const real* a, int r, int r1, const real* b, int j, int j1, int count) {
    const real* a0 = a + r * n;
    const real* a1 = a + r1 * n;
    const real* b0 = b + j * n;
    const real* b1 = b + j1 * n;
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * b0[k];
        c.c01 -= a0[k] * b1[k];
        c.c10 -= a1[k] * b0[k];
        c.c11 -= a1[k] * b1[k];
    }
    return c;
}

/* The same for a tile on the diagonal of a a', whose c01 nobody needs. */
static inline tile subtract_squares(tile c, const real* a, int r, int r1, int count) {
    const real* a0 = a + r * n;
    const real* a1 = a + r1 * n;
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * a0[k];
        c.c10 -= a1[k] * a0[k];
        c.c11 -= a1[k] * a1[k];
    }
    return c;
}

/* Rows `first` to n - 1 of a panel at columns j and j1 (potrf below the pivots, trsm): x = (source - before multipliers') L^-T,
 * where the products run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_columns(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x,
                                   int j, int first) {
    const int j1 = partner(j);
    for (int r = first; r < n; r += 2) {
        const int r1 = partner(r);
        tile c = {source[r * n + j], source[r * n + j1], source[r1 * n + j], source[r1 * n + j1]};
        c = subtract_products(c, before, r, r1, multipliers, j, j1, width);
        c = subtract_products(c, x, r, r1, l, j, j1, j);
        c.c00 *= l[j * n + j];
        c.c10 *= l[j * n + j];
        x[r * n + j] = c.c00;
        x[r1 * n + j] = c.c10;
        if (j1 > j) {
            x[r * n + j1] = (c.c01 - c.c00 * l[j1 * n + j]) * l[j1 * n + j1];
            x[r1 * n + j1] = (c.c11 - c.c10 * l[j1 * n + j]) * l[j1 * n + j1];
        }
    }
}

/* Pivots j and j1 of d - before before'. Returns the row that fails, or -1. */
BTD_CODE static int factor_pivots(const real* d, const real* before, int width, real* l, int j) {
    const int j1 = partner(j);
    tile c = {d[j * n + j], 0, d[j1 * n + j], d[j1 * n + j1]};
    c = subtract_squares(c, before, j, j1, width);
    c = subtract_squares(c, l, j, j1, j);
    if (!is_pivot(c.c00)) {
        return j;
    }
    l[j * n + j] = 1 / BTD_SQRT(c.c00);
    if (j1 > j) {
        c.c10 *= l[j * n + j];
        c.c11 -= c.c10 * c.c10;
        if (!is_pivot(c.c11)) {
            return j1;
        }
        l[j1 * n + j] = c.c10;
        l[j1 * n + j1] = 1 / BTD_SQRT(c.c11);
    }
    return -1;
}

/* L L' = d - before before', `before` being `width` columns wide: n, or 0 for the first block. Returns the row that fails, or -1. */
BTD_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
    int failed = -1;
    for (int j = 0; j < n && failed < 0; j += 2) {
        failed = factor_pivots(d, before, width, l, j);
        if (failed < 0) {
            solve_columns(d, before, before, width, l, l, j, j + 2);
        }
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < n; j += 2) {
        solve_columns(source, before, multipliers, width, l, x, j, 0);
    }
}
