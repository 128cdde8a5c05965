/* One front: its column tiles, the pivot test and the log determinant. */

/* A front's blocks, all column-major; null where it has no such neighbour. `previous_*` are those of the front before
 * in the chain, whose Schur update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
} front;

/* Cholesky of the W by W tile at column j, after the updates from the front before and from columns < j. The pivots go
 * to `raw` as they come, for a test afterwards; those below the floor are raised to it.
 *
 * The chain of pivots is what a front waits for. So the next pivot is computed on its own, one division and one
 * multiply-add after this one, and the square roots stand beside the chain. */
INLINE int pivot_tile(const int W, const front* f, integer j, real floor, real* raw) {
    real *l = f->factor + j * LD + j, *reciprocal = f->factor + n * LD + j;
    vec c[WIDTH];
    load_tile(1, W, c, l);
    if (f->previous_next) multiply_add(1, W, -1, c, f->previous_next + j, f->previous_next + j, LD, 1, n);
    multiply_add(1, W, -1, c, f->factor + j, f->factor + j, LD, 1, j);
    int raised = 0;
    real d = c[0][0];
    UNROLL for (int k = 0; k < W; ++k) {
        raw[j + k] = d;
        if (__builtin_expect(floor > d, 0)) {
            d = floor;
            ++raised;
        }
        const real inverse = 1 / d, root = square_root(d), scale = root * inverse;
        reciprocal[k] = scale;
        if (k + 1 < W) {
            const real next = c[k][k + 1];
            d = c[k + 1][k + 1] - next * next * inverse;
        }
        const vec multiplier = c[k] * spread(inverse);
        UNROLL for (int w = k + 1; w < W; ++w) c[w] -= multiplier * spread(c[k][w]);
        c[k] *= spread(scale);
        c[k][k] = root;
    }
    store_tile(1, W, c, l);
    return raised;
}

NOINLINE int pivot_full(const front* f, integer j, real floor, real* raw) { return pivot_tile(WIDTH, f, j, floor, raw); }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
NOINLINE int pivot_tail(const front* f, integer j, real floor, real* raw) { return pivot_tile(TAIL, f, j, floor, raw); }
#endif

/* Factors the front and solves its panels, one column tile of all of them at a time: what does not wait for the tile's
 * pivots stands right behind them, so that an out-of-order core fills their chain with it. Returns how many pivots were
 * raised. */
NOINLINE int factor_front(const front* f, real floor, real* raw) {
    int raised = 0;
    for (integer j = 0; j < n; j += WIDTH) {
        int width = WIDTH;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
        if (j + WIDTH > n) {
            width = TAIL;
            raised += pivot_tail(f, j, floor, raw);
        } else
#endif
            raised += pivot_full(f, j, floor, raw);
        const panel_job below = {f->factor, f->previous_next, f->previous_next, f->factor, j};
        panel_rows(&below, width, (int)(j / LANES) + 1);
        if (f->next) {
            const panel_job job = {f->next, 0, 0, f->factor, j};
            panel_rows(&job, width, 0);
        }
        if (f->behind) {
            const panel_job job = {f->behind, f->previous_behind, f->previous_next, f->factor, j};
            panel_rows(&job, width, 0);
        }
    }
    return raised;
}

/* ---- the test of the pivots and their logarithms ---- */

#if TRIFOLD_REAL_BYTES == 4
typedef int real_bits;
enum { MANTISSA_BITS = 23, BIAS = 127 };
#else
typedef long long real_bits;
enum { MANTISSA_BITS = 52, BIAS = 1023 };
#endif
typedef real_bits bits __attribute__((vector_size(TRIFOLD_LANES * TRIFOLD_REAL_BYTES)));
#define MANTISSA (((real_bits)1 << MANTISSA_BITS) - 1)
#define ONE ((real_bits)BIAS << MANTISSA_BITS)

/* Fills lanes n .. LD - 1 of the pivots with ones, which change neither outcome. */
INLINE void pad_pivots(real* raw) {
    for (integer k = n; k < LD; ++k) raw[k] = 1;
}

/* Raised pivots as they were used. */
INLINE void raise_pivots(real* raw, real floor) {
    for (integer k = 0; k < n; ++k)
        if (floor > raw[k]) raw[k] = floor;
}

/* First row whose pivot fails 0 < d <= largest finite, or -1. As integers, those are what stands between 0 and infinity. */
INLINE integer test_pivots(const real* raw) {
    const bits infinity = (bits){} + ((real_bits)(2 * BIAS + 1) << MANTISSA_BITS);
    bits failed = {};
    for (int v = 0; v < VECTORS; ++v) {
        const bits d = (bits)load(raw + v * LANES);
        failed |= (d <= 0) | (d >= infinity);
    }
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= failed[lane];
    if (__builtin_expect(any == 0, 1)) return -1;
    for (integer k = 0; k < n; ++k)
        if (!(raw[k] > 0 && raw[k] <= LARGEST)) return k;
    return -1;
}

/* log x for a normal x: the exponent, and the series of atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). */
INLINE double natural_logarithm(double x, integer exponent) {
    union {
        double value;
        integer bits;
    } u = {x};
    integer e = (u.bits >> 52) - 1023;
    u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
    const int above = u.value > 1.41421356237309514547;
    u.value *= above ? 0.5 : 1;
    e += above;
    const double s = (u.value - 1) / (u.value + 1), q = s * s;
    double sum = 0;
    UNROLL for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * q;
    return (double)(exponent + e) * 0.693147180559945309417 + 2 * (s + s * sum);
}

/* Sum of the logarithms of the pivots, one logarithm a block: mantissas are multiplied, exponents added. */
INLINE double log_determinant(const real* raw) {
    vec product = spread(1);
    bits exponents = {};
    for (int v = 0; v < VECTORS; ++v) {
        vec d = load(raw + v * LANES);
        const bits tiny = d < spread((real)(sizeof(real) == 8 ? 0x1p-1000 : 0x1p-100));
        d = (vec)(((bits)d & ~tiny) | ((bits)(d * spread((real)0x1p60)) & tiny)); /* subnormals have no exponent of their own */
        exponents += ((bits)d >> MANTISSA_BITS) - BIAS - (tiny & 60);
        product *= (vec)(((bits)d & MANTISSA) | ONE);
        if (v % 64 == 63) { /* the product is below 2^64 */
            exponents += 64;
            product *= spread((real)0x1p-64);
        }
    }
    double total = 1;
    integer exponent = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        total *= (double)product[lane];
        exponent += exponents[lane];
    }
    return natural_logarithm(total, exponent);
}

NOINLINE void fill_not_a_number(real* target, integer count) {
    if (!target) return;
    for (integer i = 0; i < count; ++i) target[i] = NOT_A_NUMBER;
}

/* Whatever a failed front hands on is NaN, and so is all that follows from it. */
static void poison_front(const front* f) {
    fill_not_a_number(f->factor, TRIFOLD_STORAGE_FACTOR);
    fill_not_a_number(f->next, TRIFOLD_STORAGE_PANEL);
    fill_not_a_number(f->behind, TRIFOLD_STORAGE_PANEL);
}
