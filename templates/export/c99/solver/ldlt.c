/* ---- L P L', L with ones on its diagonal, P the pivots: L P, with 1 / P on the diagonal; couplings are E L^-T ---- */

/* Rows that columns j and j1 are multiplied with: of the coupling to the block before, and of L. They are copies, scaled. */
typedef struct {
    const real *before0, *before1, *own0, *own1;
    real scaled[4][n];
} rows;

/* a P^-1 */
static inline void scale_row(real* scaled, const real* a, const real* l, int count) {
    for (int k = 0; k < count; ++k) {
        scaled[k] = a[k] * l[k * n + k];
    }
}

/* The factor of the block before stands before that of the block. */
BTD_CODE static void take_rows(rows* t, const real* before, int width, const real* l, int j) {
    t->before0 = t->scaled[0];
    t->before1 = t->scaled[1];
    t->own0 = t->scaled[2];
    t->own1 = t->scaled[3];
    if (width > 0) {
        scale_row(t->scaled[0], before + j * n, l - BLOCK, width);
        scale_row(t->scaled[1], before + partner(j) * n, l - BLOCK, width);
    }
    scale_row(t->scaled[2], l + j * n, l, j);
    scale_row(t->scaled[3], l + partner(j) * n, l, j);
}

/* Pivots j and j1. Returns the row that fails, or -1. */
static inline int take_pivots(tile c, real* l, int j, int j1) {
    if (!is_pivot(c.c00)) {
        return j;
    }
    l[j * n + j] = 1 / c.c00;
    if (j1 > j) {
        c.c11 -= c.c10 * (c.c10 * l[j * n + j]);
        if (!is_pivot(c.c11)) {
            return j1;
        }
        l[j1 * n + j] = c.c10;
        l[j1 * n + j1] = 1 / c.c11;
    }
    return -1;
}

/* Rows of columns j and j1 from what their products leave. */
static inline tile finish_columns(tile c, const real* l, int j, int j1) {
    if (j1 > j) {
        const real ratio = l[j1 * n + j] * l[j * n + j];
        c.c01 -= c.c00 * ratio;
        c.c11 -= c.c10 * ratio;
    }
    return c;
}
