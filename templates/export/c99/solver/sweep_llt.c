/* ---- where a row of the backward sweep starts, x = L^-T y, and how it ends ---- */

static inline real start_row(real y) { return y; }
static inline real end_row(real y, real sum, real reciprocal) {
    (void)y;
    return sum * reciprocal;
}
