/* One front: its column tiles, the pivot test and the log determinant. */

/* A front's blocks, all column-major; null where it has no such neighbour. `previous_*` are those of the front before
 * in the chain, whose Schur update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
    const real *d, *e; /* where D and the coupling to the next block stand if they have not been copied to factor and next */
} front;

/* Products of rows that wait for nothing, cut in pieces to be done between the pivots of a tile. */
typedef struct {
    const real *before, *multipliers, *rows, *factor;
    integer before_count, own_count;
} filler;

INLINE void fill_in(const int H, const int W, vec* c, filler* f, integer before, integer own) {
    multiply_add(H, W, -1, c, f->before, f->multipliers, LD, 1, before);
    multiply_add(H, W, -1, c, f->rows, f->factor, LD, 1, own);
    f->before += before * LD, f->multipliers += before * LD, f->before_count -= before;
    f->rows += own * LD, f->factor += own * LD, f->own_count -= own;
}

/* Cholesky of the W by W tile at column j, after the updates from the front before and from columns < j, and the same
 * column tile of H further rows of a panel. The pivots go to `raw` as they come, for a test afterwards; those below the
 * floor are raised to it. Returns how many were.
 *
 * The chain of pivots is what a front waits for. So the next pivot is computed on its own, one division and one
 * multiply-add after this one; the square roots stand beside the chain; and the products of the H rows stand between the
 * pivots: the core overlaps what is near in program order. */
INLINE int pivot_tile(const int W, const int H, const front* f, integer j, real floor, real* raw, const panel_job* job, integer row) {
    real *l = f->factor + j * LD + j, *reciprocal = f->factor + n * LD + j;
    vec c[WIDTH], r[2 * WIDTH];
    if (DIRECT && f->d)
        load_source(1, W, c, f->d, D_LEADING, j, j);
    else
        load_tile(1, W, c, l);
    if (f->previous_next) multiply_subtract(1, W, c, f->previous_next + j, f->previous_next + j, n);
    multiply_subtract(1, W, c, f->factor + j, f->factor + j, j);
    filler fill;
    if (H) {
        fetch_next(H, W, job, row);
        load_start(H, W, r, job, row);
        fill = (filler){job->before + row, job->multipliers + j, job->target + row, job->factor + j, job->before ? n : 0, j};
    }
    const integer before_piece = H && job->before ? 2 * n / W : 0, own_piece = 2 * j / W;
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
        if (H && k % 2 == 1 && k + 1 < W) fill_in(H, W, r, &fill, before_piece, own_piece);
    }
    store_tile(1, W, c, l);
    if (H) {
        fill_in(H, W, r, &fill, fill.before_count, fill.own_count);
        solve_tile(H, W, r, l, reciprocal);
        store_tile(H, W, r, job->target + j * LD + row);
    }
    return raised;
}

#define PIVOT_TILE(W, H, NAME)                                                                               \
    NOINLINE int NAME(const front* f, integer j, real floor, real* raw, const panel_job* job, integer row) { \
        return pivot_tile(W, H, f, j, floor, raw, job, row);                                                 \
    }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
#define PIVOT_TILES(H) PIVOT_TILE(WIDTH, H, pivot_##H) PIVOT_TILE(TAIL, H, pivot_tail_##H)
#else
#define PIVOT_TILES(H) PIVOT_TILE(WIDTH, H, pivot_##H)
#endif
PIVOT_TILES(0)
PIVOT_TILES(1)
#if TRIFOLD_TILE_ROWS > 1
PIVOT_TILES(2)
enum { FILLER_ROWS = 2 };
#else
enum { FILLER_ROWS = 1 };
#define pivot_2 pivot_1
#define pivot_tail_2 pivot_tail_1
#endif

/* Which heights occur: a full tile has VECTORS - 1 or fewer vectors of rows below it; the last tile has none there and takes
 * rows of the next panel, if there is one. What does not occur is not compiled. */
enum {
    HAS_TAIL = n % WIDTH != 0,
    HAS_FULL = TRIFOLD_BLOCK >= TRIFOLD_LANES,
    TALL = FILLER_ROWS > 1,
    USES_0 = !HAS_TAIL,
    USES_1 = HAS_FULL,
    USES_2 = TALL && HAS_FULL && (VECTORS > 2 || (!HAS_TAIL && VECTORS > 1)),
    USES_TAIL_1 = HAS_TAIL && (VECTORS == 1 || !TALL),
    USES_TAIL_2 = HAS_TAIL && VECTORS > 1 && TALL,
};

/* The pivot tile at column j, with as many of the rows first .. VECTORS - 1 of `job` as the registers hold beside it;
 * returns how many vectors of rows. */
INLINE int pivot_and_rows(const front* f, integer j, real floor, real* raw, const panel_job* job, int first, int* raised) {
    const int rows = job ? (int)smaller(VECTORS - first, FILLER_ROWS) : 0;
    const integer row = first * LANES;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    if (j + WIDTH > n) {
        if (USES_TAIL_2 && rows == 2)
            *raised += pivot_tail_2(f, j, floor, raw, job, row);
        else if (USES_TAIL_1 && rows == 1)
            *raised += pivot_tail_1(f, j, floor, raw, job, row);
        else
            *raised += pivot_tail_0(f, j, floor, raw, job, row);
        return rows;
    }
#endif
    if (USES_2 && rows == 2)
        *raised += pivot_2(f, j, floor, raw, job, row);
    else if (USES_1 && rows == 1)
        *raised += pivot_1(f, j, floor, raw, job, row);
    else if (USES_0)
        *raised += pivot_0(f, j, floor, raw, job, row);
    return rows;
}

/* Factors the front and solves its panels, one column tile of all of them at a time. Returns how many pivots were raised. */
NOINLINE int factor_front(const front* f, real floor, real* raw) {
    int raised = 0;
    for (integer j = 0; j < n; j += WIDTH) {
        const int below_first = (int)(j / LANES) + 1;
        const panel_job below = {f->factor, f->previous_next, f->previous_next, f->factor, j, f->d, D_LEADING};
        const panel_job next = {f->next, 0, 0, f->factor, j, f->e, E_LEADING};
        if (below_first < VECTORS) {
            const int done = pivot_and_rows(f, j, floor, raw, &below, below_first, &raised);
            panel_rows(&below, below_first + done);
            if (f->next) panel_rows(&next, 0);
        } else {
            const int done = pivot_and_rows(f, j, floor, raw, f->next ? &next : 0, 0, &raised);
            if (f->next) panel_rows(&next, done);
        }
        if (TRIFOLD_FILL && f->behind) {
            const panel_job job = {f->behind, f->previous_behind, f->previous_next, f->factor, j, 0, 0};
            panel_rows(&job, 0);
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
