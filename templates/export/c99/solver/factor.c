/* ---- factorization of a block ---- */

/* The only test of a pivot, whose reciprocal has to be finite. It refuses NaN, whatever the sign. */
static inline int is_pivot(real d) { return d > 1 / BTD_LARGEST && d <= BTD_LARGEST; }
