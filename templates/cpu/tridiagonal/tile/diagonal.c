/* Variant "tile": the tiles that begin on the diagonal. Their later columns have the first half of their first strip above the diagonal,
 * where results are not used. A processor that carries out a vector in two halves can leave that half out. */
#include "cpu/tridiagonal/tile/tile.c"

#if HALF_VECTORS
enum { HALF = WIDTH / 2 };
typedef real half __attribute__((vector_size(sizeof(vec) / 2), may_alias));

/* multiply_column(); columns HALF .. of the first strip have their second halves in `below`. */
INLINE void multiply_diagonal_column(const int H, vec* c, half* below, const real* a, const real* b, const real* sign) {
    half last = *(const half*)(a + LANES / 2);
    if (HAS_SIGNS && *sign < 0) last = -last;
    multiply_column(H, HALF, c, a, b, sign);
    UNROLL for (int w = HALF; w < WIDTH; ++w) {
        if (H > 1) multiply_column(H - 1, 1, c + w * H + 1, a + STRIP, b + w, sign);
        below[w - HALF] -= last * (b[w] - (half){});
    }
}

INLINE void multiply_diagonal(const int H, vec* c, const real* a, const real* b, const real* signs, integer count, expected* next) {
    half below[HALF];
    UNROLL for (int w = 0; w < HALF; ++w) below[w] = ((const half*)&c[(w + HALF) * H])[1];
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        fetch(next, k);
        UNROLL for (int u = 0; u < 4; ++u)
            multiply_diagonal_column(H, c, below, a + (k + u) * LANES, b + (k + u) * LANES, sign_at(signs, k + u));
    }
    if (n % 4 != 0) ROLLED for (; k < count; ++k) multiply_diagonal_column(H, c, below, a + k * LANES, b + k * LANES, sign_at(signs, k));
    UNROLL for (int w = 0; w < HALF; ++w)((half*)&c[(w + HALF) * H])[1] = below[w];
}

/* A full tile of D, without the part that waits for its pivots. */
INLINE void diagonal_tile(const int H, const panel* p, integer strip) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer j = strip * LANES;
    start_tile(H, WIDTH, c, p, strip, j);
    fetch_start(p, strip + (H > 1), strip + H, j + WIDTH);
    if (p->before) multiply_diagonal(H, c, p->before + strip * STRIP, p->multipliers + across(j, 0), SIGNS_OF(p), n, p->next);
    multiply_diagonal(H, c, target, p->factor + across(j, 0), sign_at(reciprocals_of(p->factor), 0), j, p->next);
    store_tile(H, WIDTH, c, target + j * LANES);
}
NOINLINE void diagonal_1(const panel* p, integer strip) { diagonal_tile(1, p, strip); }
NOINLINE void diagonal_2(const panel* p, integer strip) { diagonal_tile(2, p, strip); }
NOINLINE void diagonal_3(const panel* p, integer strip) { diagonal_tile(3, p, strip); }
#endif

/* The pivot tile at strip v and the strips below it, `height` in all, left open. */
INLINE void open_diagonal(const panel* p, integer v, integer height) {
#if HALF_VECTORS
    if (n % LANES == 0 || (v + 1) * LANES <= n) {
        (VECTORS >= 3 && height == 3 ? diagonal_3 : VECTORS >= 2 && height == 2 ? diagonal_2 : diagonal_1)(p, v);
        return;
    }
#endif
    panel_tiles(p, v, height, v * LANES, OPENED);
}
