/* Separator s is updated from below, by chain s, and from above. */
static real* update_of(btd_workspace* workspace, int s, int c) { return workspace->update + (2 * s + (c > s)) * BLOCK; }
static real* rhs_update_of(btd_workspace* workspace, int s, int c) { return workspace->rhs_update + (2 * s + (c > s)) * VECTOR; }

static void set_zero(real* a, int count) {
    for (int k = 0; k < count; ++k) {
        a[k] = 0;
    }
}

/* target = A(i + step, i), from the coupling above or below block i. */
BTD_CODE static void load_coupling(const real* e, int i, int step, real* target) {
    const real* a = e + (step > 0 ? i : i - 1) * BLOCK;
    for (int r = 0; r < n; ++r) {
        for (int k = 0; k < n; ++k) {
            target[r * n + k] = step > 0 ? a[r * n + k] : a[k * n + r];
        }
    }
}
