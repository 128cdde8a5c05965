/* ---- the interface ---- */

BTD_CODE btd_status btd_solve(int shift, const btd_real* b, btd_real* x) {
    if (shift < 0 || shift >= BTD_SHIFTS) {
        poison_solution(x);
        return outcome(BTD_NO_SUCH_SHIFT, -1, -1);
    }
    return solve_blocks(btd_factor_diagonal[shift], btd_factor_coupling[shift], b, x);
}
