/* Variant "lanes": the pivot block of a front. */
#include "cpu/tridiagonal/lanes/lanes.c"

/* Outcome of the pivots of a front and of its chain. */
typedef struct {
    vec floor;   /* smaller pivots are raised to it */
    mask sound;  /* lanes whose pivots have all passed so far; the others' reciprocals are NaN from the first that failed on */
    mask floors; /* pivots raised */
#if HAS_VIEWS
    mask rows; /* rows whose pivots may be raised */
#endif
    mask failed;   /* lanes whose chain has failed or was fed by a failed front */
    vec product;   /* mantissas of the reciprocals 1 / l(j,j) of the chain, multiplied */
    mask exponent; /* sum of their exponents */
    vec reduction; /* the chain's largest diagonal entry over its pivot */
    vec entry[n];  /* diagonal entries of the front as the caller gave them */
#if HAS_SIGNS
    const vec* before_l; /* factor of the front before */
    mask negatives;      /* pivots below zero, of the front */
    vec sums[n];         /* sizes of these entries, and squares of the rows of L that stand before the pivots */
    vec grown, largest;  /* the chain's largest sum and entry */
#endif
} pivots;

#if HAS_SIGNS
#define NEGATIVES(p, lane) ((int)(p)->negatives[lane])
#define BEFORE_L(p) (p)->before_l
#define SIZE_OF(kind, x) size_of_##kind(x)
#else
#define SIZE_OF(kind, x) (x)
#define BEFORE_L(p) ((const vec*)0)
#define NEGATIVES(p, lane) 0
#endif

#if REAL_BYTES == 8
enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
#else
enum { MANTISSA_BITS = 23, EXPONENT_BIAS = 127 };
#endif

/* Splits the mantissa, in [1, 2), off a positive normal number and adds its exponent. */
INLINE vec take_exponent(vec x, mask* exponent) {
    const bits one = (bits)EXPONENT_BIAS << MANTISSA_BITS, low = ((bits)1 << MANTISSA_BITS) - 1;
    *exponent += ((mask)x >> MANTISSA_BITS) - EXPONENT_BIAS;
    return (vec)(((mask)x & low) | one);
}

#if HAS_SIGNS
/* Adds the squares of `count` columns of a matrix to the sums of its rows. */
INLINE void add_squares(vec* sums, view a, integer count, int rows) {
    for (integer k = 0; k < count; ++k)
        UNROLL for (int i = 0; i < rows; ++i) sums[i] += a.p[i * a.row + k * a.column] * a.p[i * a.row + k * a.column];
}
INLINE vec larger_of(vec a, vec b) { return choose(a > b, a, b); }
#endif

/* A front waits for the chain of pivots. So the next pivot is a division and a multiply-add away, and the square roots and the test are not
 * part of the chain. A pivot whose reciprocal overflows fails like one that is zero. */
INLINE void pivot_tile(vec* l, source d, const vec* before_r, integer count, int j, int cols, const int floored, ahead* f, pivots* p) {
    mask sound = p->sound;
    tile t;
    tile_load(t, source_part(d, j, j), cols, cols);
    if (!floored) UNROLL for (int c = 0; c < cols; ++c) p->entry[j + c] = t[c][c]; /* otherwise assemble_pivot() has kept them */
    const view r = panel_of(before_r + j * n, BEFORE_L(p)), done = panel_of(l + j * n, l);
#if HAS_SIGNS
    if (!floored) UNROLL for (int c = 0; c < cols; ++c) p->sums[j + c] = size_of_all(t[c][c]);
    vec* const sums = p->sums + j;
    add_squares(sums, r, count, cols);
    add_squares(sums, done, j, cols);
#endif
    tile_subtract(t, r, r, count, cols, cols, 1, f);
    tile_subtract(t, done, done, j, cols, cols, 1, f);
    UNROLL for (int c = 0; c < cols; ++c) {
        vec pivot = t[c][c];
        if (floored) {
            mask low = (p->floor > pivot) & (pivot >= -LARGEST);
#if HAS_VIEWS
            low &= j + c < p->rows;
#endif
            pivot = choose(low, p->floor, pivot);
            p->floors -= low;
        }
        const vec reciprocal = 1 / pivot;
        vec root = pivot;
        UNROLL for (int lane = 0; lane < LANES; ++lane) root[lane] = square_root(SIZE_OF(real, pivot[lane]));
        sound &= (SIZE_OF(all, reciprocal) > 0) & (SIZE_OF(all, reciprocal) <= LARGEST);
        const vec scale = choose(sound, root * SIZE_OF(all, reciprocal), spread(NOT_A_NUMBER));
        p->product *= take_exponent(scale, &p->exponent);
#if HAS_SIGNS
        const vec reduction = sums[c] * SIZE_OF(all, reciprocal);
        p->negatives -= pivot < 0;
        p->grown = larger_of(sums[c], p->grown);
        p->largest = larger_of(size_of_all(p->entry[j + c]), p->largest);
#else
        const vec reduction = p->entry[j + c] * reciprocal;
#endif
        p->reduction = choose(reduction > p->reduction, reduction, p->reduction);
        UNROLL for (int i = c + 1; i < cols; ++i) {
            const vec scaled = t[i][c] * reciprocal;
            UNROLL for (int k = c + 1; k <= i; ++k) t[i][k] -= scaled * t[k][c]; /* not the square, which could leave the range */
        }
        UNROLL for (int i = c + 1; i < cols; ++i) t[i][c] *= scale;
#if HAS_SIGNS
        t[c][c] = with_sign_of(scale, pivot);
        UNROLL for (int i = c + 1; i < cols; ++i) sums[i] += t[i][c] * t[i][c];
#else
        t[c][c] = scale;
#endif
    }
    p->sound = sound;
    UNROLL for (int i = 0; i < cols; ++i) UNROLL for (int c = 0; c <= i; ++c) l[(j + i) * n + j + c] = t[i][c];
}

/* The column of tiles below a pivot tile. */
INLINE void strip_below(vec* l, source d, const vec* before_r, integer count, int j, int cols, ahead* f, const pivots* p) {
    const view right = stored(before_r + j * n);
    int i = j + cols;
    for (; i + TILE <= n; i += TILE)
        solve_tile(panel_of(l + i * n, l), source_part(d, i, j), panel_of(before_r + i * n, BEFORE_L(p)), right, count, l + j * n, j, TILE,
                   cols, f);
    if (n % TILE && i < n)
        solve_tile(panel_of(l + i * n, l), source_part(d, i, j), panel_of(before_r + i * n, BEFORE_L(p)), right, count, l + j * n, j,
                   n % TILE, cols, f);
    (void)p;
}

/* l l' = d - before_r before_r' */
INLINE void factor_pivot_any(vec* l, source d, const vec* before_r, const int floored, ahead* f, pivots* p) {
    const integer count = before_r ? n : 0;
    if (!before_r) before_r = l; /* not read */
    p->floors = (mask){};
#if HAS_SIGNS
    p->negatives = (mask){};
#endif
    p->sound = ~p->floors;
    int j = 0;
    for (; j + TILE <= n; j += TILE) {
        pivot_tile(l, d, before_r, count, j, TILE, floored, f, p);
        strip_below(l, d, before_r, count, j, TILE, f, p);
    }
    if (n % TILE) pivot_tile(l, d, before_r, count, j, n % TILE, floored, f, p);
    p->product = take_exponent(p->product, &p->exponent);
}
FRONT_PART void factor_pivot(vec* l, view d, const vec* before_r, pivots* p) { factor_pivot_any(l, from_vectors(d), before_r, 1, 0, p); }
