/* Row-major copies of the caller's blocks. */
BTD_CODE static void load_blocks(const real* d, const real* e, real* diagonal, real* coupling) {
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c <= r; ++c) {
                diagonal[i * BLOCK + r * n + c] = d[BTD_D(i, r, c)];
            }
        }
    }
    for (int i = 0; i + 1 < N; ++i) {
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c < n; ++c) {
                coupling[i * BLOCK + r * n + c] = e[BTD_E(i, r, c)];
            }
        }
    }
}

BTD_CODE btd_status btd_factor(btd_workspace* BTD_RESTRICT workspace, const real* BTD_RESTRICT d, const real* BTD_RESTRICT e) {
    real* l = workspace->own_diagonal;
    real* r = workspace->own_coupling;
    load_blocks(d, e, l, r);
    return keep(workspace, factor_blocks(l, r, l, r), l, r);
}
