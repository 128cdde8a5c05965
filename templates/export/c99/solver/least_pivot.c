BTD_CODE btd_real btd_least_pivot(const btd_workspace* workspace, const btd_real* d) {
    real most = 1;
    if (!is_computed(workspace->factored)) {
        return 0;
    }
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < n; ++r) {
            const real reciprocal = workspace->diagonal[i * BLOCK + r * n + r];
            const real ratio = d[BTD_D(i, r, r)] * reciprocal@SQUARE@;
            most = ratio > most ? ratio : most;
        }
    }
    return 1 / most;
}
