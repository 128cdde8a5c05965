/* y -= a x for @ROWS@ row(s) of a; and y -= a' x for as many columns. */
static inline void subtract_rows_@ROWS@(const real* a, const real* x, real* y) {
@LOADS@@PRODUCTS@@STORES@}
static inline void subtract_columns_@ROWS@(const real* a, const real* x, real* y) {
@LOADS@@TRANSPOSED@@STORES@}
