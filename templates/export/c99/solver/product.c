/* c -= a b' */
BTD_CODE static void subtract_product(real* c, const real* a, const real* b) {
@TILES@}
