/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. */
BTD_CODE static btd_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    const real* coupling = r;
    const real* solved = x;
    int width = 0;
    for (int i = 0; i < N; ++i) {
        forward_block(l + i * BLOCK, coupling, solved, width, b + i * VECTOR, x + i * VECTOR);
        coupling = r + i * BLOCK;
        solved = x + i * VECTOR;
        width = n;
    }
    width = 0;
    for (int i = N - 1; i >= 0; --i) {
        backward_block(l + i * BLOCK, r + i * BLOCK, solved, width, x + i * VECTOR);
        solved = x + i * VECTOR;
        width = n;
    }
    return check_finite(x);
}
