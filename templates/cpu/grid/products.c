/* Products and triangles: where nearly all the time goes. A register tile is up to TILE_STRIPS strips by TILE_COLUMNS columns: the rows in
 * vector lanes, the multipliers broadcast from memory. */
#include "cpu/grid/common.c"

/* c[w H + h] -= sum over k < count of a(rows h, k) b(w, k), where b is a row of another strip. */
INLINE void multiply_subtract(const int H, vec* c, const real* a, integer strip, const real* b, integer count) {
    for (integer k = 0; k < count; ++k) {
        vec rows[TILE_STRIPS];
        UNROLL for (int h = 0; h < H; ++h) {
            rows[h] = load(a + h * strip + k * LANES);
            HOLD(rows[h]);
        }
        UNROLL for (int w = 0; w < TILE_COLUMNS; ++w) {
            const vec multiplier = spread(b[k * LANES + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= rows[h] * multiplier;
        }
    }
}

/* Tiles of c = c - a b': `target` has strips `strip` apart and columns `column` apart. */
INLINE void product_tile(const int H, real* target, integer strip, integer column, const real* a, integer a_strip, const real* b,
                         integer count) {
    vec c[TILE_STRIPS * TILE_COLUMNS];
    UNROLL for (int w = 0; w < TILE_COLUMNS; ++w) {
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(target + w * column + h * strip);
    }
    multiply_subtract(H, c, a, a_strip, b, count);
    UNROLL for (int w = 0; w < TILE_COLUMNS; ++w) {
        UNROLL for (int h = 0; h < H; ++h) store(target + w * column + h * strip, c[w * H + h]);
    }
}

/* A tile of T = (T - its columns before j times m') m(tile)^-T, where m is lower triangular. `inverses` of its diagonal; null where that
 * is 1. */
INLINE void triangle_tile(const int H, real* t, integer strip, const real* m, const real* inverses, integer j) {
    vec c[TILE_STRIPS * TILE_COLUMNS];
    UNROLL for (int w = 0; w < TILE_COLUMNS; ++w) {
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(t + h * strip + (j + w) * LANES);
    }
    multiply_subtract(H, c, t, strip, m, j);
    UNROLL for (int k = 0; k < TILE_COLUMNS; ++k) {
        if (inverses) {
            const vec scale = spread(inverses[j + k]);
            UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
        }
        UNROLL for (int w = k + 1; w < TILE_COLUMNS; ++w) {
            const vec multiplier = spread(m[(j + k) * LANES + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
    UNROLL for (int w = 0; w < TILE_COLUMNS; ++w) {
        UNROLL for (int h = 0; h < H; ++h) store(t + h * strip + (j + w) * LANES, c[w * H + h]);
    }
}

#define TILES(H)                                                                                                                           \
    NOINLINE void product_##H(real* target, integer strip, integer column, const real* a, integer a_strip, const real* b, integer count) { \
        product_tile(H, target, strip, column, a, a_strip, b, count);                                                                      \
    }                                                                                                                                      \
    NOINLINE void triangle_##H(real* t, integer strip, const real* m, const real* inverses, integer j) {                                   \
        triangle_tile(H, t, strip, m, inverses, j);                                                                                        \
    }
TILES(1)
#if TILE_STRIPS >= 2
TILES(2)
#endif
#if TILE_STRIPS >= 3
TILES(3)
#endif

/* Strips of the next tile if `strips` are left. */
INLINE integer tile_height(integer strips) {
    if (TILE_STRIPS >= 3 && (strips > 4 || strips == 3)) return 3;
    return TILE_STRIPS >= 2 && strips >= 2 ? 2 : 1;
}

INLINE void product_of_height(integer height, real* target, integer strip, integer column, const real* a, integer a_strip, const real* b,
                              integer count) {
    (void)height;
#if TILE_STRIPS >= 3
    if (height == 3) {
        product_3(target, strip, column, a, a_strip, b, count);
        return;
    }
#endif
#if TILE_STRIPS >= 2
    if (height == 2) {
        product_2(target, strip, column, a, a_strip, b, count);
        return;
    }
#endif
    product_1(target, strip, column, a, a_strip, b, count);
}

INLINE void triangle_of_height(integer height, real* t, integer strip, const real* m, const real* inverses, integer j) {
    (void)height;
#if TILE_STRIPS >= 3
    if (height == 3) {
        triangle_3(t, strip, m, inverses, j);
        return;
    }
#endif
#if TILE_STRIPS >= 2
    if (height == 2) {
        triangle_2(t, strip, m, inverses, j);
        return;
    }
#endif
    triangle_1(t, strip, m, inverses, j);
}

/* Columns left .. right - 1 of rows first .. end - 1 of T = T m^-T, those before them being done; whole strips of S columns. */
NOINLINE void solve_rows(real* t, integer first, integer end, integer S, const real* m, const real* inverses, integer left, integer right) {
    const integer strip = S * LANES;
    for (integer j = left; j < right; j += TILE_COLUMNS)
        for (integer v = first / LANES, height; v < end / LANES; v += height) {
            height = tile_height(end / LANES - v);
            triangle_of_height(height, t + v * strip, strip, m + row_of(j, S), inverses, j);
        }
}

/* D -= y z' in rows [first, end) and columns [left, right), whole strips, S terms. Where `lower` only tiles on and below the diagonal. */
NOINLINE void subtract_product(real* d, integer R, const real* y, const real* z, integer S, integer first, integer end, integer left,
                               integer right, int lower) {
    const integer strip = S * LANES;
    for (integer k = 0; k < S; k += SLICE) {
        const integer count = smaller(SLICE, S - k);
        for (integer j = left; j < right; j += TILE_COLUMNS) {
            const integer top = lower ? larger(first, j / LANES * LANES) : first;
            for (integer v = top / LANES, height; v < end / LANES; v += height) {
                height = tile_height(end / LANES - v);
                product_of_height(height, d + j * R + v * LANES, LANES, R, y + v * strip + k * LANES, strip, z + row_of(j, S) + k * LANES,
                                  count);
            }
        }
    }
}
