/* Operations on one block. A block is row-major, n by n. */

typedef btd_real real;

enum { n = BTD_BLOCK, N = BTD_HORIZON, m = BTD_RHS, BLOCK = n * n };
