/* @ROWS@ row(s) of y = L^-1 (b - a y_before) from row r on; @ROWS@ sums take one load of the vector. */
static inline void forward_rows_@ROWS@(const real* l, const real* a, const real* y_before, int width, const real* b, real* y@ROW@) {
@LOADS@@BEFORE@@OWN@@FINISH@}
