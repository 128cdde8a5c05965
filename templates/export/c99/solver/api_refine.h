/* Of btd_solve_refined, each with a residual in twice the working precision. */
#define BTD_CORRECTIONS @CORRECTIONS@

/* Solves A X = B with the last factor, then corrects X. D and E are those that were factored, with their values (_refactor overwrites
 * them); `residual`, as large as B, is for its own use. No array overlaps another, X and B neither. Where a residual is not finite, X is
 * left without that correction, and the status says so. In btd_refine.c, which needs -ffp-contract=off. */
btd_status btd_solve_refined(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x,
                             btd_real* residual);
