/* The rest of a block whose pivot `row` is not sound beyond doubt. Rare, and so in few instructions; the bits are those of the code below.
 * Returns the row that fails, or -1; the status becomes that of the first pivot that is nearly zero. */
BTD_CODE static int finish_block(const real* d, const real* before, int width, @PARAMETERS@real* l, int block, int row,@BREAK@btd_status* status) {
@CORNER@    for (int r = row; r < n; ++r) {
        for (int c = @START@; c <= r; ++c) {
            const real entry = @ENTRIES@[r * n + r];
            real sum = d[r * n + c];
            for (int k = 0; k < width; ++k) {
                sum -= before[r * n + k] * @BEFORE@;
            }
            for (int k = 0; k < c; ++k) {
                sum -= l[r * n + k] * @OWN@;
            }
            if (c < r) {
                l[r * n + c] = sum@SCALE@;
            } else if (is_pivot(sum)) {
                l[r * n + r] = 1 / @ROOT@;
                if (sum < NEARLY_ZERO * entry && status->code == BTD_OK) {
                    *status = outcome(BTD_NEARLY_SINGULAR, block, r);
                }
            } else {
                return r;
            }
        }
    }
    return -1;
}
