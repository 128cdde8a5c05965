/* @ROWS@ row(s) of x = L^-T (x - a' x_next) from row r on, with products of L's rows from the last one up. */
static inline void backward_rows_@ROWS@(const real* l, const real* a, const real* x_next, int height, real* x@ROW@) {
@LOADS@@BEFORE@@OWN@@FINISH@}
