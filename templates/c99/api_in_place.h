/* Factors A in place: L replaces the lower triangles of D, with 1 / L(k, k) on the diagonal, and E L^-T replaces E. The workspace
 * refers to both until the next factorization. A failed call leaves them half done. */
btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, btd_real* BTD_RESTRICT d, btd_real* BTD_RESTRICT e);
