/* Register tiles: H vectors of rows by W columns, the rows in vector lanes, the multipliers broadcast from memory. */

/* Columns of a full tile; as many as lanes, so that a pivot tile is one vector high. */
enum { WIDTH = LANES, TAIL = n % WIDTH, VECTORS = LD / LANES };

INLINE vec load(const real* p) { return *(const vec*)p; }
INLINE void store(real* p, vec x) { *(vec*)p = x; }

/* c[w * H + h] += sign * sum over k < count of a(rows h, k) b(w, k), a(., k) at a + k LD, b(w, k) at b + k step + w apart. */
INLINE void multiply_add(const int H, const int W, const int sign, vec* c, const real* a, const real* b, integer step, integer apart,
                         integer count) {
    for (integer k = 0; k < count; ++k, a += LD, b += step) {
        vec rows[4];
        UNROLL for (int h = 0; h < H; ++h) rows[h] = load(a + h * LANES);
        UNROLL for (int w = 0; w < W; ++w) {
            const vec multiplier = spread(b[w * apart]);
            UNROLL for (int h = 0; h < H; ++h) {
                if (sign > 0)
                    c[w * H + h] += rows[h] * multiplier;
                else
                    c[w * H + h] -= rows[h] * multiplier;
            }
        }
    }
}

INLINE void load_tile(const int H, const int W, vec* c, const real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(p + w * LD + h * LANES); }
}

INLINE void store_tile(const int H, const int W, const vec* c, real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) store(p + w * LD + h * LANES, c[w * H + h]); }
}

/* ---- panels: rows below the pivots, solved against L from the right ---- */

/* One column tile of a panel T, at column j: T = (T - before before_rows' - T L(j.., <j)') L(tile)^-T for a few rows.
 * `before` and `multipliers` are these rows and rows j.. of the panel of the front before; null where there is none. */
typedef struct {
    real* target;
    const real* before;
    const real* multipliers;
    const real* factor;
    integer j;
} panel_job;

INLINE void panel_tile(const int H, const int W, const panel_job* job, integer row) {
    const integer j = job->j;
    const real* l = job->factor + j;
    real* target = job->target + row;
    vec c[4 * WIDTH];
    load_tile(H, W, c, target + j * LD);
    if (job->before) multiply_add(H, W, -1, c, job->before + row, job->multipliers + j, LD, 1, n);
    multiply_add(H, W, -1, c, target, l, LD, 1, j);
    l += j * LD;
    const real* reciprocal = job->factor + n * LD + j;
    UNROLL for (int k = 0; k < W; ++k) {
        const vec scale = spread(reciprocal[k]);
        UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
        UNROLL for (int w = k + 1; w < W; ++w) {
            const vec multiplier = spread(l[k * LD + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
    store_tile(H, W, c, target + j * LD);
}

#define PANEL_TILE(H, W, NAME) \
    NOINLINE void NAME(const panel_job* job, integer row) { panel_tile(H, W, job, row); }
PANEL_TILE(1, WIDTH, panel_1)
#if TRIFOLD_TILE_ROWS > 1
PANEL_TILE(2, WIDTH, panel_2)
#endif
#if TRIFOLD_TILE_ROWS > 2
PANEL_TILE(3, WIDTH, panel_3)
#endif
#if TRIFOLD_BLOCK % TRIFOLD_LANES
PANEL_TILE(1, TAIL, panel_tail)
#endif

/* Rows from vector `first` on, in tiles of the height that fills the registers. */
INLINE void panel_rows(const panel_job* job, int width, int first) {
    int v = first;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    if (width != WIDTH) {
        for (; v < VECTORS; ++v) panel_tail(job, v * LANES);
        return;
    }
#endif
    (void)width;
#if TRIFOLD_TILE_ROWS > 2
    for (; VECTORS - v > 4 || VECTORS - v == 3; v += 3) panel_3(job, v * LANES);
#endif
#if TRIFOLD_TILE_ROWS > 1
    for (; VECTORS - v >= 2; v += 2) panel_2(job, v * LANES);
#endif
    for (; v < VECTORS; ++v) panel_1(job, v * LANES);
}

/* ---- products of panels: target (+)= sign * a b' ---- */

INLINE void product_tile(const int H, const int W, const int sign, real* target, const real* a, const real* b, int add) {
    vec c[4 * WIDTH];
    if (add)
        load_tile(H, W, c, target);
    else {
        UNROLL for (int i = 0; i < H * W; ++i) c[i] = (vec){};
    }
    multiply_add(H, W, sign, c, a, b, LD, 1, n);
    store_tile(H, W, c, target);
}

#define PRODUCT_TILE(H, W, SIGN, NAME) \
    NOINLINE void NAME(real* target, const real* a, const real* b, int add) { product_tile(H, W, SIGN, target, a, b, add); }
#if TRIFOLD_TILE_ROWS > 1
enum { PRODUCT_ROWS = 2 };
PRODUCT_TILE(2, WIDTH, 1, plus_2)
PRODUCT_TILE(2, WIDTH, -1, minus_2)
#else
enum { PRODUCT_ROWS = 1 };
#endif
PRODUCT_TILE(1, WIDTH, 1, plus_1)
PRODUCT_TILE(1, WIDTH, -1, minus_1)
#if TRIFOLD_BLOCK % TRIFOLD_LANES
PRODUCT_TILE(1, TAIL, 1, plus_tail)
PRODUCT_TILE(1, TAIL, -1, minus_tail)
#endif

/* target (+)= sign a b'; with `lower` only what lies on or below the diagonal tiles. */
INLINE void product(const int sign, const int lower, real* target, const real* a, const real* b, int add) {
    for (integer j = 0; j < n; j += WIDTH) {
        int v = lower ? (int)(j / LANES) : 0;
        real* column = target + j * LD;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
        if (j + WIDTH > n) {
            for (; v < VECTORS; ++v) (sign > 0 ? plus_tail : minus_tail)(column + v * LANES, a + v * LANES, b + j, add);
            return;
        }
#endif
#if TRIFOLD_TILE_ROWS > 1
        for (; v + 1 < VECTORS; v += 2) (sign > 0 ? plus_2 : minus_2)(column + v * LANES, a + v * LANES, b + j, add);
#endif
        for (; v < VECTORS; ++v) (sign > 0 ? plus_1 : minus_1)(column + v * LANES, a + v * LANES, b + j, add);
    }
}
