/* Columns j to j + @LAST@ of a panel, rows `first` to n - 1: what x and `before` have to do with the rows of the multipliers is subtracted
 * from the source. The products with `before` run over `width` columns: n, or 0 for none. x may be the source. The sums of a tile and what
 * they are made of are to stay in registers: a Cortex-M7 has 32 in single precision, 16 in double. */
BTD_CODE static void solve_columns_@COLUMNS@(const real* source, const real* before, int width, const real* multipliers, const real* own, real* x,
                                     int j, int first) {
@TILES@}
