BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const real* BTD_RESTRICT d, const real* BTD_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    return keep(workspace, factor_blocks(d, e, l, r), l, r);
}

BTD_CODE btd_status btd_refactor(btd_workspace* BTD_RESTRICT workspace, real* BTD_RESTRICT d, real* BTD_RESTRICT e) {
    return keep(workspace, factor_blocks(d, e, d, e), d, e);
}
