/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. */
BTD_CODE static btd_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    forward_block(l, l, x, 0, b, x);
    for (int i = 1; i < N; ++i) {
        forward_block(l + i * BLOCK, r + (i - 1) * BLOCK, x + (i - 1) * VECTOR, n, b + i * VECTOR, x + i * VECTOR);
    }
    backward_block(l + (N - 1) * BLOCK, l, x, 0, x + (N - 1) * VECTOR);
    for (int i = N - 2; i >= 0; --i) {
        backward_block(l + i * BLOCK, r + i * BLOCK, x + (i + 1) * VECTOR, n, x + i * VECTOR);
    }
    return check_finite(x);
}
