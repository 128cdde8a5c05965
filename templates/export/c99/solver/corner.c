/* Pivots j to j + @LAST@ with the rows below them, from d less the products of `before` and of l. Returns the row of the
 * first one that is not sound beyond doubt, or -1. */
BTD_CODE static int factor_corner_@COLUMNS@(const real* d, const real* before, int width, @PARAMETERS@real* l, int j) {
@LOADS@    for (int k = 0; k < width; ++k) {
@BEFORE@        ++before;
@NEXT_BEFORE@    }
    for (int k = 0; k < j; ++k) {
@OWN@        ++l;
@NEXT_OWN@    }
@FINISH@    return -1;
}
