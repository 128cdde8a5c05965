/* ---- where a row of the backward sweep starts, x = y - P^-1 (L P)' x, and how it ends ---- */

static inline real start_row(real y) {
    (void)y;
    return 0;
}
static inline real end_row(real y, real sum, real reciprocal) { return y + sum * reciprocal; }
