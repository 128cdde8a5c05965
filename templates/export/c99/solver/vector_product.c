/* y -= a x, or a' x, for every column of a right-hand side. */
BTD_CODE static void subtract_panel(const real* a, int transposed, const real* x, real* y) {
    for (int c = 0; c < m; ++c) {
@CALLS@    }
}
