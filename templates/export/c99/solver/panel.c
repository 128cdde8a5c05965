/* Rows `first` to n - 1 of a panel at columns j and j1 (potrf below the pivots, trsm): what x and `before` have to do with the rows t is
 * subtracted from the source; the products with `before` run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_columns(const real* source, const real* before, int width, const rows* t, const real* l, real* x, int j,
                                   int first) {
    const int j1 = partner(j);
    for (int r = first; r < n; r += 2) {
        const int r1 = partner(r);
        tile c = {source[r * n + j], source[r * n + j1], source[r1 * n + j], source[r1 * n + j1]};
        c = subtract_products(c, before + r * n, before + r1 * n, t->before0, t->before1, width);
        c = subtract_products(c, x + r * n, x + r1 * n, t->own0, t->own1, j);
        c = finish_columns(c, l, j, j1);
        x[r * n + j] = c.c00;
        x[r1 * n + j] = c.c10;
        if (j1 > j) {
            x[r * n + j1] = c.c01;
            x[r1 * n + j1] = c.c11;
        }
    }
}

/* Pivots j and j1 of d less the products with the rows t. Returns the row that fails, or -1. */
BTD_CODE static int factor_pivots(const real* d, const real* before, int width, const rows* t, real* l, int j) {
    const int j1 = partner(j);
    tile c = {d[j * n + j], 0, d[j1 * n + j], d[j1 * n + j1]};
    c = subtract_corner(c, before + j * n, before + j1 * n, t->before0, t->before1, width);
    c = subtract_corner(c, l + j * n, l + j1 * n, t->own0, t->own1, j);
    return take_pivots(c, l, j, j1);
}

/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row that fails,
 * or -1. */
BTD_CODE static int factor_block(const real* d, const real* before, int width, real* l) {
    int failed = -1;
    for (int j = 0; j < n && failed < 0; j += 2) {
        rows t;
        take_rows(&t, before, width, l, j);
        failed = factor_pivots(d, before, width, &t, l, j);
        if (failed < 0) {
            solve_columns(d, before, width, &t, l, l, j, j + 2);
        }
    }
    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
    for (int j = 0; j < n; j += 2) {
        rows t;
        take_rows(&t, multipliers, width, l, j);
        solve_columns(source, before, width, &t, l, x, j, 0);
    }
}
