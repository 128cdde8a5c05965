/* Register tiles: H vectors of rows by W columns, the rows in vector lanes, the multipliers broadcast from memory. */

/* Columns of a full tile; as many as lanes, so that a pivot tile is one vector high. */
enum { WIDTH = LANES, TAIL = n % WIDTH, VECTORS = (n + LANES - 1) / LANES };

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

/* The same where so few accumulators would wait for themselves: even and odd k apart, as long as both fit. */
INLINE void multiply_subtract(const int H, const int W, vec* c, const real* a, const real* b, integer count) {
    if (H * W >= 8 || H * W < 2) {
        multiply_add(H, W, -1, c, a, b, LD, 1, count);
        return;
    }
    vec odd[8];
    UNROLL for (int i = 0; i < H * W; ++i) odd[i] = (vec){};
    integer k = 0;
    for (; k + 2 <= count; k += 2) {
        multiply_add(H, W, -1, c, a + k * LD, b + k * LD, LD, 1, 1);
        multiply_add(H, W, -1, odd, a + (k + 1) * LD, b + (k + 1) * LD, LD, 1, 1);
    }
    if (k < count) multiply_add(H, W, -1, c, a + k * LD, b + k * LD, LD, 1, 1);
    UNROLL for (int i = 0; i < H * W; ++i) c[i] += odd[i];
}

INLINE void load_tile(const int H, const int W, vec* c, const real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(p + w * LD + h * LANES); }
}

INLINE void store_tile(const int H, const int W, const vec* c, real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) store(p + w * LD + h * LANES, c[w * H + h]); }
}

/* ---- tiles straight from the user's arrays ---- */

/* How D and E (upwards) are read: 1 where rows are contiguous along a stored column, 2 where they are across it and tiles
 * are transposed in registers, 0 where blocks are first copied to where their factors go. */
#if TRIFOLD_BLOCK > 56
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#elif TRIFOLD_BLOCK >= TRIFOLD_LANES && TRIFOLD_D_ROW == 1 && TRIFOLD_E_ROW == 1
enum { DIRECT = 1, D_LEADING = TRIFOLD_D_COLUMN, E_LEADING = TRIFOLD_E_COLUMN };
#elif TRIFOLD_BLOCK >= TRIFOLD_LANES && TRIFOLD_D_COLUMN == 1 && TRIFOLD_E_COLUMN == 1
enum { DIRECT = 2, D_LEADING = TRIFOLD_D_ROW, E_LEADING = TRIFOLD_E_ROW };
#else
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#endif

/* LANES reals of a column from `row` on, zeros below its last row, reading nothing beyond it. */
INLINE vec load_rows(const real* column, integer row) {
    if (n % LANES && row + LANES > n) return __builtin_shufflevector(*(const loose*)(column + n - LANES), (vec){}, TRIFOLD_SHIFT);
    return *(const loose*)(column + row);
}

INLINE void load_source(const int H, const int W, vec* c, const real* source, integer leading, integer row, integer j) {
    if (DIRECT == 1) {
        UNROLL for (int w = 0; w < W; ++w) {
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load_rows(source + (j + w) * leading, row + h * LANES);
        }
        return;
    }
    const int before = W < WIDTH ? WIDTH - W : 0; /* a tail tile is the end of a full one */
    UNROLL for (int h = 0; h < H; ++h) {
        vec v[LANES];
        UNROLL for (int k = 0; k < LANES; ++k) {
            const integer r = row + h * LANES + k;
            v[k] = (vec){};
            if (n % LANES == 0 || r < n) v[k] = *(const loose*)(source + r * leading + j - before);
        }
        transpose(v);
        UNROLL for (int w = 0; w < W; ++w) c[w * H + h] = v[w + before];
    }
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
    const real* source; /* where T starts from, in the user's array; null: in place */
    integer leading;    /* of source */
} panel_job;

INLINE void load_start(const int H, const int W, vec* c, const panel_job* job, integer row) {
    if (DIRECT && job->source)
        load_source(H, W, c, job->source, job->leading, row, job->j);
    else
        load_tile(H, W, c, job->target + job->j * LD + row);
}

/* c = c L(tile)^-T for a few rows; l is the tile, its columns LD apart. */
INLINE void solve_tile(const int H, const int W, vec* c, const real* l, const real* reciprocal) {
    UNROLL for (int k = 0; k < W; ++k) {
        const vec scale = spread(reciprocal[k]);
        UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
        UNROLL for (int w = k + 1; w < W; ++w) {
            const vec multiplier = spread(l[k * LD + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
}

/* Large blocks come from far away: the same rows of the next column tile are fetched while these are worked on. */
INLINE void fetch_next(const int H, const int W, const panel_job* job, integer row) {
    if (n < 40 || !DIRECT || W < WIDTH) return;
    const integer j = job->j + WIDTH;
    if (DIRECT && job->source) {
        UNROLL for (int w = 0; w < W; ++w) {
            UNROLL for (int h = 0; h < H; ++h) {
                if (DIRECT == 1)
                    __builtin_prefetch(job->source + (j + w) * job->leading + row + h * LANES, 0, 3);
                else
                    __builtin_prefetch(job->source + (row + h * LANES + w) * job->leading + j, 0, 3);
            }
        }
    }
    UNROLL for (int w = 0; w < W; ++w) {
        UNROLL for (int h = 0; h < H; ++h) __builtin_prefetch(job->target + (j + w) * LD + row + h * LANES, 0, 3);
    }
}

INLINE void panel_tile(const int H, const int W, const panel_job* job, integer row) {
    const integer j = job->j;
    const real* l = job->factor + j;
    real* target = job->target + row;
    vec c[4 * WIDTH];
    fetch_next(H, W, job, row);
    load_start(H, W, c, job, row);
    if (job->before) multiply_subtract(H, W, c, job->before + row, job->multipliers + j, n);
    multiply_subtract(H, W, c, target, l, j);
    solve_tile(H, W, c, l + j * LD, job->factor + n * LD + j);
    store_tile(H, W, c, target + j * LD);
}

#define PANEL_TILE(H, W, NAME) \
    NOINLINE void NAME(const panel_job* job, integer row) { panel_tile(H, W, job, row); }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
#define PANEL_TILES(H) PANEL_TILE(H, WIDTH, panel_##H) PANEL_TILE(H, TAIL, panel_tail_##H)
#else
#define PANEL_TILES(H) PANEL_TILE(H, WIDTH, panel_##H)
#endif
PANEL_TILES(1)
#if TRIFOLD_TILE_ROWS > 1
PANEL_TILES(2)
#endif
#if TRIFOLD_TILE_ROWS > 2
PANEL_TILES(3)
#endif

/* Rows from vector `first` on, in tiles of the height that fills the registers. */
#if TRIFOLD_TILE_ROWS == 1
#define ROWS_LOOP(NAME) \
    for (int v = first; v < VECTORS; ++v) NAME##1(job, v * LANES);
#elif TRIFOLD_TILE_ROWS == 2
#define ROWS_LOOP(NAME)                                       \
    int v = first;                                            \
    for (; VECTORS - v >= 2; v += 2) NAME##2(job, v * LANES); \
    if (v < VECTORS) NAME##1(job, v * LANES);
#else
#define ROWS_LOOP(NAME)                                                          \
    int v = first;                                                               \
    for (; VECTORS - v > 4 || VECTORS - v == 3; v += 3) NAME##3(job, v * LANES); \
    for (; VECTORS - v >= 2; v += 2) NAME##2(job, v * LANES);                    \
    if (v < VECTORS) NAME##1(job, v * LANES);
#endif
INLINE void panel_rows(const panel_job* job, int first) {
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    if (job->j + WIDTH > n) {
        ROWS_LOOP(panel_tail_)
        return;
    }
#endif
    ROWS_LOOP(panel_)
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
