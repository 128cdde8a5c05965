#if FLT_EVAL_METHOD != 0
#error "compile for a machine that evaluates in the type of the operands: what a sum loses is computed from its rounding"
#endif

typedef btd_real real;

enum { n = BTD_BLOCK, N = BTD_HORIZON, m = BTD_RHS };

/* A sum, and what its roundings have lost of it: algorithm Dot2 of Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM Journal on
 * Scientific Computing 26 (2005). The dot product is as accurate as if computed in twice the precision and then rounded. */
typedef struct {
    real sum, lost;
} exact_sum;

/* a + b - fl(a + b), by Knuth's TwoSum. */
static inline real sum_error(real a, real b, real sum) {
    const real part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* With one rounding in place of two, where the processor does that. */
#if defined(@HAS_FMA@) || defined(__@HAS_FMA@)
static inline real product_error(real a, real b, real product) { return @FMA@(a, b, -product); }
#else
typedef union {
    real value;
    @BITS@ bits;
} word;

/* A number without the lower half of its digits, which are cut off: to round them away, by Veltkamp, would overflow where a is large. */
static inline real upper_half(real a) {
    word w;
    w.value = a;
    w.bits &= ~(@BITS@)@LOWER@;
    return w.value;
}

/* a b - fl(a b), by Dekker: products of halves are exact. */
static inline real product_error(real a, real b, real product) {
    const real a1 = upper_half(a), a0 = a - a1, b1 = upper_half(b), b0 = b - b1;
    return a0 * b0 - (((product - a1 * b1) - a0 * b1) - a1 * b0);
}
#endif

static inline exact_sum subtract_exactly(exact_sum s, real a, real b) {
    const real product = -a * b, sum = s.sum + product;
    s.lost += product_error(-a, b, product) + sum_error(s.sum, product, sum);
    s.sum = sum;
    return s;
}

/* Column c of b - A x at row r of block i. */
BTD_CODE static real residual_of(const real* d, const real* e, const real* b, const real* x, int i, int r, int c) {
    exact_sum s = {b[(i * n + r) * m + c], 0};
    for (int k = 0; k < n; ++k) {
        const int row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */
        s = subtract_exactly(s, d[BTD_D(i, row, column)], x[(i * n + k) * m + c]);
        if (i > 0) {
            s = subtract_exactly(s, e[BTD_E(i - 1, r, k)], x[((i - 1) * n + k) * m + c]);
        }
        if (i + 1 < N) {
            s = subtract_exactly(s, e[BTD_E(i, k, r)], x[((i + 1) * n + k) * m + c]);
        }
    }
    return s.sum + s.lost;
}

BTD_CODE btd_status btd_solve_refined(btd_workspace* workspace, const real* d, const real* e, const real* b, real* x, real* residual) {
    const btd_status first = btd_solve(workspace, b, x);
    btd_status status = first;
    for (int k = 0; k < BTD_CORRECTIONS && is_computed(status); ++k) {
        for (int i = 0; i < N; ++i) {
            for (int r = 0; r < n; ++r) {
                for (int c = 0; c < m; ++c) {
                    residual[(i * n + r) * m + c] = residual_of(d, e, b, x, i, r, c);
                }
            }
        }
        status = btd_solve(workspace, residual, residual);
        for (int i = 0; i < SIZE && is_computed(status); ++i) {
            x[i] += residual[i];
        }
    }
    return is_computed(status) ? solved(check_finite(x), first) : status;
}
