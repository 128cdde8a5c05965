/* Over all blocks, one after another: x = A^-1 b, A = L L' with L in `l` and `r`. x may be b. The blocks are so small that the ends are
 * apart, and that x is tested while it is in registers. */
BTD_CODE static btd_status solve_blocks(const real* l, const real* r, const real* b, real* x) {
    real zero0 = 0, zero1 = 0, zero2 = 0, zero3 = 0;
    forward_block(l, l, x, 0, b, x);
    for (int i = 1; i < N; ++i) {
        forward_block(l + i * BLOCK, r + (i - 1) * BLOCK, x + (i - 1) * VECTOR, n, b + i * VECTOR, x + i * VECTOR);
    }
    real* y = x + (N - 1) * VECTOR;
    backward_block(l + (N - 1) * BLOCK, l, x, 0, y);
@TEST@    for (int i = N - 2; i >= 0; --i) {
        y = x + i * VECTOR;
        backward_block(l + i * BLOCK, r + i * BLOCK, y + VECTOR, n, y);
@TEST_INSIDE@    }
    return judge((zero0 + zero1) + (zero2 + zero3), x);
}
