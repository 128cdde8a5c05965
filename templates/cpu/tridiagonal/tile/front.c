/* One front: its column tiles, the pivot test and the log determinant.
 *
 * Rows stand in strips of LANES, and columns go in tiles of as many; pivot tile v is where strip v meets column tile v. For six strips:
 *
 *                  v = 0   1   2   3   4   5
 *      D  strip 0      P                           P   the pivots of a tile, in registers
 *         strip 1      o   P                       o   opened with P before its pivots, closed after them
 *         strip 2      o   o   P                   b   opened between the pivots of P, closed after them
 *         strip 3      b   o   o   P               w   the whole tile at once, after the pivots of P
 *         strip 4      b   w   w   o   P           k   the whole tile at once, between the pivots of tile k
 *         strip 5      b   w   w   o   o   P       e   at the end
 *      R and G         1   2   3   4   5   e
 *
 * To open a tile is to subtract the products that wait for no pivot of its columns; to close it is to solve with these. A chain of pivots
 * is all latency, so the processor needs other work between them: that is the backlog.
 *
 * How the tiles are made follows from the processor, and from the size n of a block:
 *
 *      vectors                   LANES  WIDTH  SQUARE  HALF_VECTORS
 *      32 bytes, 16 registers    f64 4      4       1             0
 *                                f32 8      4       0             0
 *      64 bytes, 32 registers    f64 8      8       1   1 on Zen 4
 *                                f32 16     8       0             0
 *
 *      n > 5 LANES                                                  CLOSES_THREE   three strips can be closed at once
 *      HALF_VECTORS and n <= 5 LANES                                FEW_STRIPS     the backlog takes strips one by one
 *      and whole tiles, n <= 4 LANES, products end chains only      ONE_BY_ONE     so does everything but the diagonal
 *      n % LANES, n % WIDTH                                         PIVOT_TAIL, TAIL   columns of the last tiles of pivots and registers */
#include "cpu/tridiagonal/tile/tile.c"
#include "cpu/tridiagonal/tile/diagonal.c"

/* A front's blocks; null where it has no such neighbour. `previous_*` are those of the front before in the chain, whose Schur
 * update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
#if HAS_SIGNS
    const real* previous_signs; /* reciprocals of the front before */
#endif
    const real *d, *e;  /* places of D and of the coupling to the next block, if they have not been copied to `factor` and `next` */
    expected* expected; /* lines of the next front to fetch; may be null */
} front;

/* Tiles that wait for nothing, to be done between the pivots: the last `left` strips of panels laid end to end, from `strip` of
 * the first of these on. */
typedef struct {
    const panel* p;
    integer j, strip, left;
    int left_open;
} backlog;

/* Few strips are taken one by one: more pieces between the pivots. There they are in line, so that what the pivots have in registers stays
 * there; elsewhere only in small blocks, where a call would count, since each takes long to compile. */
enum { IN_LINE = FEW_STRIPS && VECTORS <= 2 };
INLINE void work_off(backlog* b, integer left, const int in_line) {
    while (b->left > left) {
        const integer height = FEW_STRIPS ? 1 : tile_height(VECTORS - b->strip);
        if (in_line)
            panel_tile(1, WIDTH, b->p, b->strip, b->j, b->left_open);
        else
            panel_tiles(b->p, b->strip, height, b->j, b->left_open ? OPENED : WHOLE);
        b->left -= height;
        if ((b->strip += height) < VECTORS) continue;
        b->strip = 0;
        ++b->p;
    }
}

enum { EARLY = FEW_STRIPS ? 2 : 0 }; /* pivots whose share of other work comes before the first, which waits for its sums */

#if REAL_BYTES == 4
typedef int real_bits;
enum { MANTISSA_BITS = 23, BIAS = 127 };
#else
typedef long long real_bits;
enum { MANTISSA_BITS = 52, BIAS = 1023 };
#endif
typedef real_bits bits __attribute__((vector_size(VECTOR_LANES * REAL_BYTES)));

/* Whether squares of a tile's elements could leave the range. An element's square is at most the product of two entries of the diagonal. It
 * is lost if it is too small next to that of a pivot, which is no smaller than a diagonal entry times the unit roundoff. */
#if HAS_SIGNS
/* Here nothing bounds an element by the diagonal, so all of the tile's lower part is looked at. */
INLINE int squares_leave(const int W, const vec* c) {
    const real_bits low = (real_bits)(BIAS - (MANTISSA_BITS == 52 ? 450 : 38)) << MANTISSA_BITS;
    const real_bits high = (real_bits)(BIAS + BIAS / 2 - 1) << MANTISSA_BITS;
    bits outside = {};
    UNROLL for (int w = 0; w < W; ++w) {
        vec lower = c[w];
        UNROLL for (int lane = 0; lane < w; ++lane) lower[lane] = 0;
        outside |= (bits)size_of_all(lower) > high;
        outside[w] |= -(real_bits)(((bits)size_of_all(lower))[w] < low);
    }
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= outside[lane];
    return any != 0;
}
#else
INLINE int squares_leave(const int W, const vec* c) {
    const real_bits low = (real_bits)(BIAS - (MANTISSA_BITS == 52 ? 450 : 38)) << MANTISSA_BITS;
    const real_bits high = (real_bits)(BIAS + BIAS / 2 - 1) << MANTISSA_BITS;
    vec entries = spread(1);
    UNROLL for (int w = 0; w < W; ++w) entries[w] = c[w][w];
    const bits diagonal = (bits)entries, outside = (diagonal < low) | (diagonal > high);
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= outside[lane];
    return any != 0;
}
#endif

/* pivot_tile() without squares, for tiles of any size. Every pivot waits for the products of the columns before it. */
COLD void pivot_tile_apart(const int W, real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
    real *l = factor + j * (n + LANES), *reciprocal = factor + n * LD + j;
    vec diagonal = spread(1);
    for (int k = 0; k < W; ++k) {
        vec column = load(l + k * LANES);
        real d = column[k];
        diagonal[k] = d;
        d = floor > d ? floor : d;
        const real inverse = 1 / d, root = square_root(HAS_SIGNS ? size_of_real(d) : d), scale = root * inverse;
        const vec multiplier = column * spread(inverse);
        reciprocal[k] = scale;
        store(unit + k * LANES, multiplier);
        for (int w = k + 1; w < W; ++w) store(l + w * LANES, load(l + w * LANES) - multiplier * spread(column[w]));
        column *= spread(HAS_SIGNS ? size_of_real(scale) : scale);
        column[k] = HAS_SIGNS && d < 0 ? -root : root;
        store(l + k * LANES, column);
    }
    store(raw + j, diagonal);
    work_off(others, 0, 0);
}

/* Pivot k of a tile; gives the next one. */
INLINE real pivot_step(const int W, const int k, real d, real floor, vec* c, vec* diagonal, real* reciprocal, real* unit, real* l) {
    (*diagonal)[k] = d;
    d = floor > d ? floor : d;
    const real inverse = 1 / d, root = square_root(HAS_SIGNS ? size_of_real(d) : d), scale = root * inverse;
    const int negative = HAS_SIGNS && d < 0;
    reciprocal[k] = scale;
    if (k + 1 < W) {
        const real next = c[k][k + 1];
        d = c[k + 1][k + 1] - next * next * inverse;
    }
    const vec multiplier = c[k] * spread(inverse);
    store(unit + k * LANES, multiplier);
    UNROLL for (int w = k + 1; w < W; ++w) c[w] -= multiplier * spread(c[k][w]);
    c[k] *= spread(negative ? -scale : scale);
    c[k][k] = negative ? -root : root;
    store(l + k * LANES, c[k]);
    return d;
}

/* Cholesky factorization of the W by W tile at column j. The pivots go to `raw`, for a test afterwards; those below the floor are raised to
 * it. The columns divided by their pivots go to `unit`, for the rows below.
 *
 * A front waits for the chain of pivots. So the next pivot is computed on its own, one division and one multiply-add after this one, and
 * the square roots are not part of the chain. Other work is placed between the pivots, because a core overlaps instructions that are near
 * each other in program order. */
INLINE void pivot_tile(const int W, real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
    real *l = factor + j * (n + LANES), *reciprocal = factor + n * LD + j;
    const unsigned count = (unsigned)others->left;
    vec c[LANES], diagonal = spread(1); /* ones change no outcome where a block ends */
    if (EARLY) work_off(others, count * (unsigned)(W - EARLY) / (unsigned)W, IN_LINE);
    load_tile(1, W, c, l);
    if (__builtin_expect(squares_leave(W, c), 0)) return pivot_tile_apart(W, factor, j, floor, raw, unit, others);
    real d = c[0][0];
    /* Not a loop: the compiler would copy the work in line to every turn of it before it finds most of them without any. LANES is in the
     * conditions because it is a constant when they are read, which W is not. */
#define TWO_PIVOTS(k)                                                                         \
    if (k < LANES && k < W) {                                                                 \
        d = pivot_step(W, k, d, floor, c, &diagonal, reciprocal, unit, l);                    \
        if (k + 1 < W) d = pivot_step(W, k + 1, d, floor, c, &diagonal, reciprocal, unit, l); \
        if (VECTORS > 1 && k + 2 + EARLY < LANES && k + 2 + EARLY < W)                        \
            work_off(others, count*(unsigned)(W - 2 - EARLY - k) / (unsigned)W, FEW_STRIPS);  \
    }
    TWO_PIVOTS(0)
    TWO_PIVOTS(2)
    TWO_PIVOTS(4)
    TWO_PIVOTS(6)
    TWO_PIVOTS(8)
    TWO_PIVOTS(10)
    TWO_PIVOTS(12)
    TWO_PIVOTS(14)
#undef TWO_PIVOTS
    store(raw + j, diagonal);
    work_off(others, 0, IN_LINE);
}

#define PIVOT_TILE(W, NAME)                                                                           \
    NOINLINE void NAME(real* factor, integer j, real floor, real* raw, real* unit, backlog* others) { \
        pivot_tile(W, factor, j, floor, raw, unit, others);                                           \
    }
#if BLOCK >= VECTOR_LANES
PIVOT_TILE(LANES, pivot_whole)
#endif
#if BLOCK % VECTOR_LANES
PIVOT_TILE(PIVOT_TAIL, pivot_tail)
#endif

INLINE void pivots(real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
#if BLOCK % VECTOR_LANES == 0
    pivot_whole(factor, j, floor, raw, unit, others);
#elif BLOCK < VECTOR_LANES
    pivot_tail(factor, j, floor, raw, unit, others);
#else
    (j + LANES > n ? pivot_tail : pivot_whole)(factor, j, floor, raw, unit, others);
#endif
}

/* Factors the front and solves its panels, one pivot tile's columns after another. Between the pivots of a tile stand the panels'
 * columns of the tile before; there are none for the first, which takes products of its own rows instead. */
NOINLINE void factor_front(const front* f, real floor, real* raw) {
    real unit[2 * LANES * LANES] __attribute__((aligned(64))); /* numbers of this pivot tile and of the one before */
    const panel rows = {.target = f->factor,
                        .start = f->d ? users(f->d, D_LEADING) : stored(f->factor),
                        .before = f->previous_next,
                        .multipliers = f->previous_next,
                        .factor = f->factor,
                        .unit = unit,
#if HAS_SIGNS
                        .signs = f->previous_signs,
#endif
                        .next = f->expected};
    panel borders[2];
    int border = 0;
    if (f->next)
        borders[border++] = (panel){.target = f->next,
                                    .start = f->e ? users(f->e, E_LEADING) : stored(f->next),
                                    .factor = f->factor,
                                    .unit = unit,
                                    .next = f->expected};
    if (HAS_FILL && f->behind)
        borders[border++] = (panel){.target = f->behind,
                                    .start = f->previous_behind ? zero() : stored(f->behind),
                                    .before = f->previous_behind,
                                    .multipliers = f->previous_next,
#if HAS_SIGNS
                                    .signs = f->previous_signs,
#endif
                                    .factor = f->factor,
                                    .unit = unit};
    const integer strips = border * VECTORS;
    for (integer v = 0; v < VECTORS; ++v) {
        const integer j = v * LANES, height = tile_height(VECTORS - v), top = v + height;
        backlog others = {&rows, j, top, VECTORS - top, 1};
        if (v > 0) others = (backlog){borders, j - LANES, 0, strips, 0};
        open_diagonal(&rows, v, height);
        pivots(f->factor, j, floor, raw, unit + v % 2 * LANES * LANES, &others);
        if (height > 1) panel_tiles(&rows, v + 1, height - 1, j, CLOSE);
        panel_strips(&rows, top, VECTORS, j, v > 0 ? WHOLE : CLOSE);
    }
    backlog last = {borders, (VECTORS - 1) * LANES, 0, strips, 0};
    work_off(&last, 0, IN_LINE && TAIL == 0);
}

/* ---- the test of the pivots and their logarithms ---- */

#define MANTISSA (((real_bits)1 << MANTISSA_BITS) - 1)
#define ONE ((real_bits)BIAS << MANTISSA_BITS)
#define TINY ((real)(sizeof(real) == 8 ? 0x1p-1000 : 0x1p-100))

/* Raised pivots as they were used; an infinite one stays, and fails. Returns how many there are. */
COLD int raise_pivots(real* raw, real floor) {
    int raised = 0;
    for (integer k = 0; k < n; ++k) {
        if (!(floor > raw[k]) || raw[k] < -LARGEST) continue;
        raw[k] = floor;
        ++raised;
    }
    return raised;
}
/* raise_pivots() where those beyond `rows` are ones, and stay. */
COLD int raise_first_pivots(real* raw, real floor, integer rows) {
    const int raised = raise_pivots(raw, floor);
    for (integer k = rows; k < n; ++k) raw[k] = 1;
    return raised - (floor > 1 ? (int)(n - rows) : 0);
}

/* First row whose pivot is not positive and finite with a finite reciprocal; else SMALL where a pivot is below TINY, or -1. As integers,
 * usual pivots are what stands between TINY and infinity. */
enum { SMALL = -2 };
INLINE integer test_pivots(const real* raw) {
    const real_bits least = (real_bits)(BIAS - (MANTISSA_BITS == 52 ? 1000 : 100)) << MANTISSA_BITS;
    const bits infinity = (bits){} + ((real_bits)(2 * BIAS + 1) << MANTISSA_BITS);
    bits failed = {};
    for (int v = 0; v < VECTORS; ++v) {
        const bits d = (bits)(HAS_SIGNS ? size_of_all(load(raw + v * LANES)) : load(raw + v * LANES));
        failed |= (d < least) | (d >= infinity);
    }
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= failed[lane];
    if (__builtin_expect(any == 0, 1)) return -1;
    for (integer k = 0; k < n; ++k) {
        const real d = HAS_SIGNS ? size_of_real(raw[k]) : raw[k];
        if (!(d > 0 && d <= LARGEST && 1 / d <= LARGEST)) return k;
    }
    return SMALL;
}

/* The greater of `most` and `count` diagonal entries over their pivots, lane by lane, from the reciprocals of the pivots' roots. */
INLINE vec larger_quotients(vec most, const real* d, const real* reciprocal, const int count) {
    vec entry = {}, scale = {};
    UNROLL for (int lane = 0; lane < count; ++lane) entry[lane] = d[lane * (D_ROW + D_COLUMN)];
    if (count == LANES)
        scale = load(reciprocal);
    else
        UNROLL for (int lane = 0; lane < count; ++lane) scale[lane] = reciprocal[lane];
    const bits quotient = (bits)(entry * scale * scale), greater = quotient > (bits)most; /* positive numbers are ordered as integers are */
    return (vec)((greater & quotient) | (~greater & (bits)most));
}
/* larger_quotients with the terms that options add. */
COLD vec larger_quotients_with_terms(vec most, const trifold_args* args, integer member, integer block, const real* reciprocal) {
    for (integer k = 0; k < n; ++k) {
        const real own = HAS_VIEWS ? given_entry(args, member, block, k) : d_of(args, member, block)[k * (D_ROW + D_COLUMN)];
        const real entry = own + diagonal_term(args, member, block, k);
        most = larger_quotients(most, &entry, reciprocal + k, 1);
    }
    return most;
}
/* larger_quotients for all entries of a factored front. The chain does this one front late. The entries are in the cache by then, and the
 * processor overlaps the work with the next front's pivots. */
INLINE vec larger_reductions(vec most, const trifold_args* args, integer member, integer block, const real* factor) {
    const real *d = d_of(args, member, block), *reciprocal = factor + n * LD;
    if (HAS_VIEWS || __builtin_expect(args->diagonal || args->shift, 0))
        return larger_quotients_with_terms(most, args, member, block, reciprocal);
    integer k = 0;
    for (; k + LANES <= n; k += LANES) most = larger_quotients(most, d + k * (D_ROW + D_COLUMN), reciprocal + k, LANES);
    return n % LANES ? larger_quotients(most, d + k * (D_ROW + D_COLUMN), reciprocal + k, n % LANES) : most;
}
INLINE real largest_lane(vec values) {
    real largest = values[0];
    for (int lane = 1; lane < LANES; ++lane) largest = values[lane] > largest ? values[lane] : largest;
    return largest;
}

#if HAS_SIGNS
/* The growth of a chain with pivots of both signs: its largest sum of a row over its pivot, its largest sum and entry. A row's sum has the
 * size of its entry on the diagonal, and the squares of its row of L. */
typedef struct {
    vec reduction, grown, largest;
} growth;

INLINE vec larger_of(vec a, vec b) {
    const bits greater = (bits)a > (bits)b; /* numbers that are not negative are ordered as integers are */
    return (vec)((greater & (bits)a) | (~greater & (bits)b));
}

/* Adds the squares of the rows of a block to their sums: of a factor those left of its diagonal. */
INLINE void add_squares(real* sums, const real* block, const int is_factor) {
    for (integer v = 0; v < VECTORS; ++v) {
        vec sum = load(sums + v * LANES);
        for (integer k = 0; k < (is_factor ? smaller((v + 1) * LANES, n) : n); ++k) {
            vec column = load(block + v * STRIP + k * LANES);
            for (integer lane = 0; is_factor && lane < LANES && v * LANES + lane <= k; ++lane) column[lane] = 0;
            sum += column * column;
        }
        store(sums + v * LANES, sum);
    }
}

/* Sums of a front's rows before it is factored: entries, what chains have left of squares, and the panel of the front before. */
COLD void start_sums(const trifold_args* args, integer member, integer block, int updated, const real* previous_next, real* sums,
                     growth* g) {
    for (integer k = 0; k < LD; ++k)
        sums[k] = k < rows_of(args, member, block)
                      ? size_of_real(given_entry(args, member, block, k) + diagonal_term(args, member, block, k))
                      : 0;
    for (integer k = 0; k < LD; k += LANES) g->largest = larger_of(load(sums + k), g->largest);
    for (int side = 0; updated && side < 2; ++side)
        for (integer k = 0; has_slot(args, member, block, side) && k < LD; ++k) sums[k] += update_of(args, side, member, block)[n * LD + k];
    if (previous_next) add_squares(sums, previous_next, 0);
}

/* Sums of a factored front, and how many of its pivots are negative. */
INLINE int finish_sums(const real* factor, const real* raw, real* sums, growth* g) {
    const real* reciprocal = reciprocals_of(factor);
    int negatives = 0;
    add_squares(sums, factor, 1);
    for (integer k = 0; k < n; ++k) {
        const real quotient = sums[k] * reciprocal[k] * reciprocal[k];
        negatives += raw[k] < 0;
        if (quotient > g->reduction[0]) g->reduction[0] = quotient;
    }
    for (integer k = 0; k < LD; k += LANES) g->grown = larger_of(load(sums + k), g->grown);
    return negatives;
}
#endif

/* A product of pivots, mantissa and exponent apart: one logarithm serves a chain. */
typedef struct {
    double mantissa;
    integer exponent;
} scaled;

INLINE scaled normalized(double mantissa, integer exponent) {
    union {
        double value;
        integer bits;
    } u = {mantissa};
    exponent += (u.bits >> 52) - 1023;
    u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
    return (scaled){u.value, exponent};
}

/* Subnormals have no exponent of their own. Those near them are multiplied by 2^60, one by one: large ones would overflow. */
COLD void lift_tiny(vec* d, bits* exponents) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*d)[lane] < TINY) {
            __asm__ volatile(""); /* so that compilers do not multiply first and choose afterwards */
            (*d)[lane] *= (real)0x1p60;
            (*exponents)[lane] -= 60;
        }
}

INLINE scaled times_pivots(scaled product, const real* raw, int has_tiny) {
    vec mantissas = spread(1);
    bits exponents = {};
    for (int v = 0; v < VECTORS; ++v) {
        vec d = HAS_SIGNS ? size_of_all(load(raw + v * LANES)) : load(raw + v * LANES);
        if (__builtin_expect(has_tiny, 0)) lift_tiny(&d, &exponents);
        exponents += ((bits)d >> MANTISSA_BITS) - BIAS;
        mantissas *= (vec)(((bits)d & MANTISSA) | ONE);
        if (v % 32 == 31) { /* they are below 2^32, so their product over the lanes is finite */
            exponents += 32;
            mantissas *= spread((real)0x1p-32);
        }
    }
    double mantissa = 1;
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        mantissa *= (double)mantissas[lane];
        product.exponent += exponents[lane];
    }
    return normalized(product.mantissa * mantissa, product.exponent);
}

/* log of the product: the exponent, and the series of atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). */
COLD double logarithm(scaled product) {
    const int above = product.mantissa > 1.41421356237309514547;
    const double m = product.mantissa * (above ? 0.5 : 1), s = (m - 1) / (m + 1), q = s * s;
    double sum = 0;
    UNROLL for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * q;
    return (double)(product.exponent + above) * 0.693147180559945309417 + 2 * (s + s * sum);
}

NOINLINE void fill_not_a_number(real* target, integer count) {
    if (!target) return;
    for (integer i = 0; i < count; ++i) target[i] = NOT_A_NUMBER;
}

/* Whatever a failed front hands on is NaN, and so is all that follows from it. */
static void poison_front(const front* f) {
    fill_not_a_number(f->factor, STORAGE_FACTOR);
    fill_not_a_number(f->next, STORAGE_PANEL);
    fill_not_a_number(f->behind, STORAGE_PANEL);
}
