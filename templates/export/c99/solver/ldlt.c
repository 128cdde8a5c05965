/* ---- L P L', L with ones on its diagonal, P the pivots: L P, with 1 / P on the diagonal; couplings are E L^-T ---- */

/* Multipliers: a P^-1 for some rows of a, where row q has `count` + q `more` elements. */
BTD_CODE static void scale_rows(const real* a, const real* l, int rows, int count, int more, real* scaled) {
    for (int q = 0; q < rows; ++q) {
        for (int k = 0; k < count + q * more; ++k) {
            scaled[q * n + k] = a[q * n + k] * l[k * n + k];
        }
    }
}
