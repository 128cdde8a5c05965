/* Variant "lanes": the backward sweep over one front. */
#include "cpu/tridiagonal/lanes/lanes.c"

/* One tile of solve_back(): rows are right-hand sides, columns j .. j + cols - 1 of L' x = y - R' x_next - G' x_behind. */
INLINE void back_tile(view x, view y, view next, const vec* r, view behind, const vec* fill, const vec* l, int j, int rows, int cols) {
    tile t;
    tile_load(t, from_vectors(part(y, 0, j)), rows, cols);
    const integer past = j + cols;
    tile_subtract(t, next, strided(r ? r + j : l, 1, n), r ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, behind, strided(fill ? fill + j : l, 1, n), fill ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, part(x, 0, past), strided(l + past * n + j, 1, n), n - past, rows, cols, 0, 0);
    UNROLL for (int c = cols - 1; c >= 0; --c) UNROLL for (int i = 0; i < rows; ++i) {
        vec sum = t[i][c];
        UNROLL for (int k = c + 1; k < cols; ++k) sum -= t[i][k] * l[(j + k) * n + j + c];
        t[i][c] = sum * l[(j + c) * n + j + c];
    }
    tile_store(t, (vec*)x.p + j * x.column, x.row, x.column, rows, cols);
}

INLINE void back_strip(view x, view y, view next, const vec* r, view behind, const vec* fill, const vec* l, int width, int j, int cols) {
    int i = 0;
    for (; i + RHS_TILE <= width; i += RHS_TILE)
        back_tile(part(x, i, 0), part(y, i, 0), part(next, i, 0), r, part(behind, i, 0), fill, l, j, RHS_TILE, cols);
    for (; RHS_TILE > 1 && i < width; ++i)
        back_tile(part(x, i, 0), part(y, i, 0), part(next, i, 0), r, part(behind, i, 0), fill, l, j, 1, cols);
}

FRONT_PART void solve_back(vec* x, const vec* y, const vec* next, const vec* r, const vec* behind, const vec* fill, const vec* l,
                           int columns) {
    const int width = m == 1 ? 1 : columns;
    const view out = strided(x, 1, width), in = strided(y, 1, width), after = strided(r ? next : y, 1, width),
               back = strided(fill ? behind : y, 1, width);
    int j = n - n % TILE;
    if (n % TILE) back_strip(out, in, after, r, back, fill, l, width, j, n % TILE);
    for (j -= TILE; j >= 0; j -= TILE) back_strip(out, in, after, r, back, fill, l, width, j, TILE);
}
