BTD_CODE btd_status btd_factor_solve(btd_workspace* workspace, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    const btd_status status = btd_factor(workspace, d, e);
    if (!is_computed(status)) {
        poison_solution(x);
        return status;
    }
    return btd_solve(workspace, b, x);
}
