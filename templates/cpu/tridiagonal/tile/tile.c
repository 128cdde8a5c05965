/* Variant "tile": stored blocks and the register tiles that work on them.
 *
 * A block is stored in strips of LANES rows, each strip column by column: element (r, c) is at (r / LANES) STRIP + c LANES + r % LANES. So
 * a product reads both its operands, and a sweep its block, from front to back. Rows n .. LD - 1 are zero. Elements above the diagonal of L
 * or of an update are undefined.
 *
 * A register tile is H strips by W columns. Rows are in vector lanes, and multipliers are broadcast from memory. */
#include "cpu/tridiagonal/tile/constants.c"
#include "cpu/tridiagonal/common.c"
#include "cpu/tridiagonal/tile/fetch.c"

enum { WIDTH = TILE_WIDTH, STRIP = n * LANES, VECTORS = LD / LANES, PIVOT_TAIL = n % LANES, TAIL = n % WIDTH };
enum { SQUARE = TILE_WIDTH == VECTOR_LANES }; /* a column tile is as wide as a pivot tile */

INLINE integer at(integer row, integer column) { return row / LANES * STRIP + column * LANES + row % LANES; }
INLINE integer reciprocal_at(integer row) { return n * LD + row; }
/* The place of element (row, column) if `row` starts a column tile, and the first column of the pivot tile that column j is in. */
INLINE integer across(integer row, integer column) { return SQUARE ? row * n + column * LANES : at(row, column); }
INLINE integer pivot_of(integer j) { return SQUARE ? j : j / LANES * LANES; }

/* GCC carries rows from one turn of a loop to the next, for which there are too few registers, unless FORGET hides where a pointer points.
 * Clang does not. */
#if defined(__clang__)
#define FORGET(pointer)
#else
#define FORGET(pointer) __asm__("" : "+r"(pointer))
#endif

#if HAS_SIGNS
#define SIGNS_OF(p) (p)->signs
#else
#define SIGNS_OF(p) ((const real*)0)
#endif
/* Reciprocals of the diagonal of L; those of a front have the signs of its pivots. */
INLINE const real* reciprocals_of(const real* factor) { return factor + n * LD; }
INLINE const real* sign_at(const real* signs, integer k) { return HAS_SIGNS && signs ? signs + k : 0; }

/* c[w * H + h] -= sum over k < count of a(rows h, k) b(w, k), with the sign of signs[k] where there are signs. */
INLINE void multiply_column(const int H, const int W, vec* c, const real* a, const real* b, const real* sign) {
    vec rows[3];
    UNROLL for (int h = 0; h < H; ++h) {
        rows[h] = load(a + h * STRIP);
        if (HAS_SIGNS && sign) rows[h] = with_sign_of(rows[h], spread(*sign));
        HOLD(rows[h]);
    }
    UNROLL for (int w = 0; w < W; ++w) {
        const vec multiplier = spread(b[w]);
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= rows[h] * multiplier;
    }
}

/* Four columns at a time, with fetches before them; where accumulators are so few that they would wait for themselves, odd columns have
 * their own. */
INLINE void multiply_subtract(const int H, const int W, vec* c, const real* a, const real* b, const real* signs, integer count,
                              expected* next) {
    const int few_sums = H * W < 8;
    vec odd[8];
    if (few_sums) {
        UNROLL for (int i = 0; i < H * W; ++i) odd[i] = (vec){};
    }
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        const real* rows = a + k * LANES;
        FORGET(rows);
        fetch(next, k);
        UNROLL for (int u = 0; u < 4; ++u)
            multiply_column(H, W, few_sums && u % 2 ? odd : c, rows + u * LANES, b + (k + u) * LANES, sign_at(signs, k + u));
    }
    if (n % 4 != 0 || LANES % 4 != 0)
        ROLLED for (; k < count; ++k) multiply_column(H, W, c, a + k * LANES, b + k * LANES, sign_at(signs, k));
    if (few_sums) {
        UNROLL for (int i = 0; i < H * W; ++i) c[i] += odd[i];
    }
}

INLINE void load_tile(const int H, const int W, vec* c, const real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(p + h * STRIP + w * LANES); }
}

INLINE void store_tile(const int H, const int W, const vec* c, real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) store(p + h * STRIP + w * LANES, c[w * H + h]); }
}

/* ---- tiles straight from the user's arrays ---- */

/* How D and E (upwards) are read: 1 where rows are contiguous along a stored column, 2 where they are across it and tiles
 * are transposed in registers, 0 where blocks are first copied to where their factors go. */
#if HAS_VIEWS
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#elif BLOCK >= VECTOR_LANES && D_ROW == 1 && E_ROW == 1
enum { DIRECT = 1, D_LEADING = D_COLUMN, E_LEADING = E_COLUMN };
#elif BLOCK >= VECTOR_LANES && D_COLUMN == 1 && E_COLUMN == 1 && TILE_WIDTH == VECTOR_LANES
enum { DIRECT = 2, D_LEADING = D_ROW, E_LEADING = E_ROW };
#else
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#endif

/* SPECIAL: strips cannot simply be read with another distance between columns. */
enum { SPECIAL = DIRECT == 2 || (DIRECT == 1 && n % LANES != 0) };

/* LANES reals of a column from `row` on, zeros below its last row, reading nothing beyond it. */
INLINE vec load_rows(const real* column, integer row) {
    if (n % LANES && row + LANES > n) return __builtin_shufflevector(*(const loose*)(column + n - LANES), (vec){}, LAST_LANES);
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

/* ---- tiles of a panel ---- */

/* The numbers that a panel starts from: columns of strips anywhere in memory, or the user's array. */
typedef struct {
    const real* p;
    integer strip, column; /* apart */
    const real* source;    /* null where strips are read */
    integer leading;
} origin;

static const real nothing[LANES] __attribute__((aligned(64)));
INLINE origin zero(void) { return (origin){.p = nothing}; }
INLINE origin stored(const real* block) { return (origin){.p = block, .strip = STRIP, .column = LANES}; }
INLINE origin users(const real* source, integer leading) { return (origin){source, LANES, leading, source, leading}; }

/* A panel T = (start - before multipliers') L^-T, or start - before multipliers' where `factor` is null. `before` may be null. */
typedef struct {
    real* target;
    origin start;
    const real *before, *multipliers;
    const real *factor, *unit; /* unit: see pivot_tile */
    expected* next;            /* fetched meanwhile; may be null */
#if HAS_SIGNS
    const real* signs; /* reciprocals of the front whose columns `before` has; null where no signs multiply them */
#endif
    integer upper; /* LANES where T and `before` are upper triangular, with zeros left of the diagonal, or 0 */
} panel;

INLINE void load_start(const int H, const int W, vec* c, const origin* start, integer strip, integer j) {
    const real* p = start->p + strip * start->strip + j * start->column;
    UNROLL for (int w = 0; w < W; ++w) {
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = *(const loose*)(p + w * start->column + h * start->strip);
    }
}

/* c = c L(tile)^-T for a few rows, by the columns of L divided by their diagonal, so that a step of the chain is one multiply-add. */
INLINE void solve_tile(const int H, const int W, vec* c, const real* unit, const real* reciprocal) {
    UNROLL for (int k = 0; k < W; ++k) {
        UNROLL for (int w = k + 1; w < W; ++w) {
            const vec multiplier = spread(unit[k * LANES + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
    UNROLL for (int k = 0; k < W; ++k) {
        const vec scale = HAS_SIGNS ? size_of_all(spread(reciprocal[k])) : spread(reciprocal[k]);
        UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
    }
}

INLINE void start_tile(const int H, const int W, vec* c, const panel* p, integer strip, integer j) {
    if (SPECIAL && p->start.source)
        load_source(H, W, c, p->start.source, p->start.leading, strip * LANES, j);
    else
        load_start(H, W, c, &p->start, strip, j);
}

/* Blocks of few strips, on a processor that carries out a vector in two halves. The columns of one strip keep its multipliers busy. A
 * tile's first numbers would come late, since other tiles take no longer than the second- and third-level caches do. */
enum { FEW_STRIPS = VECTORS <= MOST_FEW_STRIPS };

/* Prefetches the part of the user's array that the tiles of strips first .. end - 1 at column j start from. Past its block's end that is in
 * the next block. */
INLINE void fetch_start(const panel* p, integer first, integer end, integer j) {
    if (!FEW_STRIPS || DIRECT != 1 || !p->start.source) return;
    for (integer strip = first; strip < end; ++strip)
        UNROLL for (int k = 0; k < LANES; ++k) __builtin_prefetch(p->start.source + (j + k) * p->start.leading + strip * LANES);
}

/* A tile of a panel; or, where `left_open`, only the products that wait for nothing of its pivot tile. */
INLINE void panel_tile(const int H, const int W, const panel* p, integer strip, integer j, int left_open) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer pivot = pivot_of(j), zeros = p->upper * strip;
    start_tile(H, W, c, p, strip, j);
    if (H == 1) fetch_start(p, strip, strip + 1, j + W);
    if (p->before)
        multiply_subtract(H, W, c, p->before + strip * STRIP + zeros * LANES, p->multipliers + across(j, zeros),
                          sign_at(SIGNS_OF(p), zeros), n - zeros, p->next);
    if (p->factor) {
        multiply_subtract(H, W, c, target + zeros * LANES, p->factor + across(j, zeros), sign_at(reciprocals_of(p->factor), zeros),
                          (left_open ? pivot : j) - zeros, p->next);
        if (!left_open) solve_tile(H, W, c, p->unit + (pivot & LANES) * LANES + (j - pivot) * (LANES + 1), p->factor + n * LD + j);
    }
    store_tile(H, W, c, target + j * LANES);
}

/* Closes a tile: computes the part that was left open. */
INLINE void close_tile(const int H, const int W, const panel* p, integer strip, integer j) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer pivot = pivot_of(j);
    load_tile(H, W, c, target + j * LANES);
    if (!SQUARE)
        multiply_subtract(H, W, c, target + pivot * LANES, p->factor + across(j, pivot), sign_at(reciprocals_of(p->factor), pivot),
                          j - pivot, p->next);
    solve_tile(H, W, c, p->unit + (pivot & LANES) * LANES + (j - pivot) * (LANES + 1), p->factor + n * LD + j);
    store_tile(H, W, c, target + j * LANES);
}

typedef enum { WHOLE, OPENED, CLOSE } work;

#define PANEL_TILE(H, W, NAME)                                                                                                \
    NOINLINE void NAME(const panel* p, integer strip, integer j, int left_open) { panel_tile(H, W, p, strip, j, left_open); } \
    NOINLINE void close_##NAME(const panel* p, integer strip, integer j) { close_tile(H, W, p, strip, j); }
PANEL_TILE(1, WIDTH, tile_1)
PANEL_TILE(2, WIDTH, tile_2)
PANEL_TILE(3, WIDTH, tile_3)
#if BLOCK % TILE_WIDTH
PANEL_TILE(1, TAIL, tail_1)
PANEL_TILE(2, TAIL, tail_2)
PANEL_TILE(3, TAIL, tail_3)
#endif

/* Strips of the next tile if `strips` are left. Three fill the registers; avoids a last tile of one. */
INLINE integer tile_height(integer strips) {
    if (VECTORS >= 3 && (strips > 4 || strips == 3)) return 3;
    return VECTORS >= 2 && strips >= 2 ? 2 : 1;
}

/* A tile that no call reaches is not compiled. So these constants come first in conditions: compilers leave out what a constant rules out
 * there. Three strips are closed at once only where the first tile of six or more has left them. Up to four whole strips, taken one by one,
 * need taller tiles only on the diagonal, if products end a chain and not each front. */
enum { CLOSES_THREE = VECTORS >= 6, ONE_BY_ONE = FEW_STRIPS && !FRONTS_HAVE_PRODUCTS && VECTORS <= 4 && n % LANES == 0 };

#define TILE(NAME, OPENS, CLOSES)              \
    do {                                       \
        if (CLOSES && what == CLOSE)           \
            close_##NAME(p, strip, j);         \
        else if (OPENS && what != CLOSE)       \
            NAME(p, strip, j, what == OPENED); \
        else                                   \
            __builtin_trap();                  \
    } while (0)
#define TILE_OF_HEIGHT(NAME)                          \
    do {                                              \
        if (VECTORS >= 3 && height == 3)              \
            TILE(NAME##3, !ONE_BY_ONE, CLOSES_THREE); \
        else if (VECTORS >= 2 && height == 2)         \
            TILE(NAME##2, !ONE_BY_ONE, 1);            \
        else                                          \
            TILE(NAME##1, 1, 1);                      \
    } while (0)

/* The tiles of `height` strips at the pivot tile's columns j .. j + LANES - 1. */
INLINE void panel_tiles(const panel* p, integer strip, integer height, integer j, const work what) {
    if (SQUARE && TAIL == 0) {
        TILE_OF_HEIGHT(tile_);
        return;
    }
    const integer end = j + LANES;
    for (; j < end && j + WIDTH <= n; j += WIDTH) TILE_OF_HEIGHT(tile_);
#if BLOCK % TILE_WIDTH
    if (j < end && j < n) TILE_OF_HEIGHT(tail_);
#endif
}

INLINE void panel_strips(const panel* p, integer first, integer end, integer j, const work what) {
    for (integer v = first, height; v < end; v += height) {
        height = ONE_BY_ONE && what == WHOLE ? 1 : tile_height(end - v);
        panel_tiles(p, v, height, j, what);
    }
}

/* The parts of a product a b' that are left out: those above its diagonal tiles, or those where an upper triangular a has zeros. */
enum { FULL = 0, LOWER = 1, UPPER_LEFT = 2 };

/* target = (add ? target : 0) - a b'; the columns of panels have the signs of the pivots of their factor, which is null where there are
 * none. */
NOINLINE void subtract_product(real* target, int add, const real* a, const real* b, int shape WITH_SIGNS(const real* factor)) {
    const panel p = {.target = target,
                     .start = add ? stored(target) : zero(),
                     .before = a,
                     .multipliers = b,
#if HAS_SIGNS
                     .signs = factor ? reciprocals_of(factor) : 0,
#endif
                     .upper = shape & UPPER_LEFT ? LANES : 0};
    for (integer v = 0; v < VECTORS; ++v) panel_strips(&p, shape & LOWER ? v : 0, VECTORS, v * LANES, WHOLE);
}
