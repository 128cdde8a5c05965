/* Operations on one block. A block is row-major, n by n. Two rows and two columns at a time: four sums in registers take four
 * products from four numbers. An odd last row or column is its own partner, and computed twice with the same outcome. */

typedef btd_real real;

enum { n = BTD_BLOCK, N = BTD_HORIZON, m = BTD_RHS, BLOCK = n * n };

/* The row or column after k, or k itself where there is none. */
static inline int partner(int k) { return k + 1 < n ? k + 1 : k; }
