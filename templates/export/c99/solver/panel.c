/* The factor of d less the products of `before`, which is `width` columns wide: n, or 0 for the first block. Returns the row
 * of the first pivot that is not sound beyond doubt, or -1: finish_block has the rest. */
BTD_CODE static int factor_block(const real* d, const real* before, int width, @PARAMETERS@real* l) {
@FACTOR@    return failed;
}

/* x = (source - before multipliers') L^-T, where the products run over `width` columns: n, or 0 for none. x may be the source. */
BTD_CODE static void solve_panel(const real* source, const real* before, const real* multipliers, int width, const real* l, real* x) {
@SOLVE@}
