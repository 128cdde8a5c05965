/* ---- factorization of a block ---- */

/* The only test of a pivot, whose reciprocal has to be finite. It refuses NaN, whatever the sign. */
static inline int is_pivot(real d) { return d > 1 / BTD_LARGEST && d <= BTD_LARGEST; }

typedef struct {
    real c00, c01, c10, c11;
} tile;

/* c - (a0, a1) (b0, b1)' for rows of `count` columns. */
static inline tile subtract_products(tile c, const real* a0, const real* a1, const real* b0, const real* b1, int count) {
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * b0[k];
        c.c01 -= a0[k] * b1[k];
        c.c10 -= a1[k] * b0[k];
        c.c11 -= a1[k] * b1[k];
    }
    return c;
}

/* The same for a tile on the diagonal, whose c01 nobody needs. */
static inline tile subtract_corner(tile c, const real* a0, const real* a1, const real* b0, const real* b1, int count) {
    for (int k = 0; k < count; ++k) {
        c.c00 -= a0[k] * b0[k];
        c.c10 -= a1[k] * b0[k];
        c.c11 -= a1[k] * b1[k];
    }
    return c;
}
