/* Variant "lanes": forward and backward sweeps with the stored factor. */
#include "cpu/tridiagonal/lanes/factor.c"

KERNEL_PART void forward_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_scratch* s = (factor_scratch*)scratch;
    const int updated = level->index > 0;
    const vec *r = 0, *y = 0;
    for (integer k = 0; k < c.length; ++k) {
        const integer block = block_at(level, c.first + k * c.step);
        vec* out = s->y[k % 2];
        assemble_rhs(s->b, args, g, block, updated);
        solve_rhs(out, s->b, y, r, (const vec*)factor_of(args, g->group, block), width_of(args));
        if (c.behind >= 0)
            multiply_rhs((vec*)rhs_update_of(args, side_behind(&c), g->group, block_at(level, c.behind)), k > 0 || updated,
                         (const vec*)behind_of(args, g->group, block), out, width_of(args));
        finish_rhs(args, g, block, out);
        y = out;
        r = (const vec*)next_of(args, g->group, block);
    }
    if (c.ahead >= 0)
        multiply_rhs((vec*)rhs_update_of(args, side_ahead(&c), g->group, block_at(level, c.ahead)), updated, r, y, width_of(args));
}

/* One tile of solve_back(): rows are right-hand sides, columns j .. j + cols - 1 of L' x = y - R' x_next - G' x_behind. */
INLINE void back_tile(view x, view y, view next, const vec* r, view behind, const vec* fill, const vec* l, int j, int rows, int cols) {
    tile t;
    tile_load(t, from_vectors(part(y, 0, j)), rows, cols);
    const integer past = j + cols;
    tile_subtract(t, next, (view){r ? r + j : l, 1, n}, r ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, behind, (view){fill ? fill + j : l, 1, n}, fill ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, part(x, 0, past), (view){l + past * n + j, 1, n}, n - past, rows, cols, 0, 0);
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

NOINLINE void solve_back(vec* x, const vec* y, const vec* next, const vec* r, const vec* behind, const vec* fill, const vec* l,
                         int columns) {
    const int width = m == 1 ? 1 : columns;
    const view out = {x, 1, width}, in = {y, 1, width}, after = {r ? next : y, 1, width}, back = {fill ? behind : y, 1, width};
    int j = n - n % TILE;
    if (n % TILE) back_strip(out, in, after, r, back, fill, l, width, j, n % TILE);
    for (j -= TILE; j >= 0; j -= TILE) back_strip(out, in, after, r, back, fill, l, width, j, TILE);
}

typedef struct {
    vec y[n * m], x[2][n * m], ahead[n * m], behind[n * m];
} backward_scratch;
_Static_assert(sizeof(backward_scratch) <= SCRATCH_BYTES, "scratch");

COLD void clear_solution_range(const trifold_args* args, const lanes* g) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane]) set_range(&range_of(args, g->member[lane])->solution, 0);
}
COLD void mark_solution_range(const trifold_args* args, const lanes* g, vec trouble) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane] && trouble[lane] != 0) set_range(&range_of(args, g->member[lane])->solution, 1);
}

KERNEL_PART void backward_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    backward_scratch* s = (backward_scratch*)scratch;
    const vec* next = 0;
    vec trouble = {};
    if (begins_descent(args, level)) clear_solution_range(args, g);
    if (c.behind >= 0) gather_rhs(s->behind, (const real*)args->x, args->x_strides, columns_of(args), g, block_at(level, c.behind));
    if (c.ahead >= 0) {
        gather_rhs(s->ahead, (const real*)args->x, args->x_strides, columns_of(args), g, block_at(level, c.ahead));
        next = s->ahead;
    }
    for (integer k = c.length; k-- > 0;) {
        const integer block = block_at(level, c.first + k * c.step);
        vec* x = s->x[k % 2];
        gather_rhs(s->y, (const real*)args->b, args->b_strides, columns_of(args), g, block);
        solve_back(x, s->y, next, next ? (const vec*)next_of(args, g->group, block) : 0, s->behind,
                   c.behind >= 0 ? (const vec*)behind_of(args, g->group, block) : 0, (const vec*)factor_of(args, g->group, block),
                   width_of(args));
        scatter_rhs((real*)args->x, args->x_strides, columns_of(args), x, g, block);
        for (integer i = 0; i < n * width_of(args); ++i) trouble += x[i] * 0; /* not zero from the first infinity or NaN on */
        next = x;
    }
    mark_solution_range(args, g, trouble);
}
