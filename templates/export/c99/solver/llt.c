/* ---- L L': L, with 1 / L(k, k) on the diagonal ---- */

/* Rows that columns j and j1 are multiplied with: of the coupling to the block before, and of L. */
typedef struct {
    const real *before0, *before1, *own0, *own1;
} rows;

static inline void take_rows(rows* t, const real* before, int width, const real* l, int j) {
    (void)width;
    t->before0 = before + j * n;
    t->before1 = before + partner(j) * n;
    t->own0 = l + j * n;
    t->own1 = l + partner(j) * n;
}

/* Pivots j and j1. Returns the row that fails, or -1. */
static inline int take_pivots(tile c, real* l, int j, int j1) {
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

/* Rows of columns j and j1 from what their products leave. */
static inline tile finish_columns(tile c, const real* l, int j, int j1) {
    c.c00 *= l[j * n + j];
    c.c10 *= l[j * n + j];
    if (j1 > j) {
        c.c01 = (c.c01 - c.c00 * l[j1 * n + j]) * l[j1 * n + j1];
        c.c11 = (c.c11 - c.c10 * l[j1 * n + j]) * l[j1 * n + j1];
    }
    return c;
}
