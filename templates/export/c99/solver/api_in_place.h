/* Factors A in place: the lower triangles of D become @FACTORS@,
 * and E becomes E L^-T. The workspace refers to both until the next factorization. A failed call leaves them half done. */
btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, btd_real* BTD_RESTRICT d, btd_real* BTD_RESTRICT e);
