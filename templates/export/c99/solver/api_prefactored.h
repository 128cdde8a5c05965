/* Factors of A + shift I for each shift, in btd_factors.c: L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and
 * R = E L^-T. */
extern const btd_real btd_factor_diagonal[BTD_SHIFTS][BTD_HORIZON * BTD_BLOCK * BTD_BLOCK];
extern const btd_real btd_factor_coupling[BTD_SHIFTS][BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK];

/* Solves (A + shift I) X = B, where `shift` counts from 0 in the list above; where there is no such shift, X becomes NaN. B and X are
 * [N][n][m], row-major, without gaps. They do not overlap, but X may be B. Needs no memory; calls may run at the same time. */
btd_status btd_solve(int shift, const btd_real* b, btd_real* x);
