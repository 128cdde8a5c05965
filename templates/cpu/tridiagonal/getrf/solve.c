/* Variant "getrf": the solves of a front. `turned`: with A', by the same factors. */
#include "cpu/tridiagonal/getrf/front.c"

INLINE integer width_of_rhs(const trifold_args* args) { return m == 1 ? 1 : cells_of(columns_of(args)); }

INLINE void subtract_rhs(vec* to, each multiplier, const vec* from, integer width) {
    for (integer c = 0; c < width; ++c) to[c] -= multiplier * from[c];
}
/* A row by its number, which means nothing where a member was never factored. */
INLINE integer row_in(real_word row) { return row >= 0 && row < n ? row : 0; }
/* y, with rows in the order of pivots, from b, in that of A; or the reverse (`back`). */
INLINE void reorder(vec* y, const vec* b, const mask* order, integer width, int back) {
    mask moves = number(0);
    for (integer j = 0; j < n; ++j) moves |= TRUTH(order[j] != number(j));
    if (!any(moves)) {
        for (integer k = 0; k < n * width; ++k) y[k] = b[k];
        return;
    }
    for (integer j = 0; j < n; ++j)
        for (integer c = 0; c < width; ++c) {
#if IN_LANES
            UNROLL for (int lane = 0; lane < LANES; ++lane) {
                const integer at = row_in(order[j][lane]);
                if (back)
                    y[at * width + c][lane] = b[j * width + c][lane];
                else
                    y[j * width + c][lane] = b[at * width + c][lane];
            }
#else
            const integer at = row_in(order[j]);
            y[(back ? at : j) * width + c] = b[(back ? j : at) * width + c];
#endif
        }
}
/* y = L^-1 P b; `turned`: U^-T b. `b` is used up. */
NOINLINE void solve_lower(vec* y, vec* b, const front* f, int turned, integer width) {
    if (!turned) reorder(y, b, f->order, width, 0);
    for (integer j = 0; j < n; ++j) {
        if (turned)
            for (integer c = 0; c < width; ++c) y[j * width + c] = b[j * width + c] * EACH(f->u, j, j);
        for (integer r = j + 1; r < n; ++r)
            subtract_rhs((turned ? b : y) + r * width, turned ? EACH(f->u, j, r) : EACH(f->l, r, j), y + j * width, width);
    }
}
/* x = U^-1 y; `turned`: P' L^-T y. `y` is used up. */
NOINLINE void solve_upper(vec* x, vec* y, const front* f, int turned, integer width) {
    for (integer j = n; j-- > 0;) {
        for (integer c = 0; !turned && c < width; ++c) y[j * width + c] = y[j * width + c] * EACH(f->u, j, j);
        for (integer r = 0; r < j; ++r) subtract_rhs(y + r * width, turned ? EACH(f->l, j, r) : EACH(f->u, r, j), y + j * width, width);
    }
    if (turned)
        reorder(x, y, f->order, width, 1);
    else
        for (integer k = 0; k < n * width; ++k) x[k] = y[k];
}

/* Adds to the right-hand sides of a separator. */
INLINE void leave_rhs(const trifold_args* args, const members* g, int side, integer block, int add, const vec* panel, int turned,
                      const vec* y) {
    multiply((vec*)rhs_update_of(args, side, g->group, block), add, 1, panel, turned, y, width_of_rhs(args));
}

/* y of front k of a chain, from B, what the front before has solved and, beyond the first level, the separator's slots. It goes to X. */
INLINE vec* forward_front(const trifold_args* args, const trifold_level* level, const members* g, const chain* c, integer k, const front* f,
                          const front* before, const vec* y_before, factor_scratch* s, const int turned) {
    const integer block = block_at(level, c->first + k * c->step), width = width_of_rhs(args);
    vec* y = s->y[k % 2];
    read_rhs(s->b, args->b, args->b_strides, columns_of(args), g, block);
    for (int side = 0; level->index > 0 && side < 2; ++side) {
        if (!has_slot(args, 0, block, side)) continue;
        const vec* slot = (const vec*)rhs_update_of(args, side, g->group, block);
        for (integer i = 0; i < n * width; ++i) s->b[i] -= slot[i];
    }
    if (k > 0) multiply(s->b, 1, -1, turned ? before->z : before->r, turned, y_before, width);
    solve_lower(y, s->b, f, turned, width);
    if (c->behind >= 0)
        leave_rhs(args, g, side_behind(c), block_at(level, c->behind), k > 0 || level->index > 0, turned ? f->h : f->g, turned, y);
    write_rhs(args->x, args->x_strides, columns_of(args), y, g, block);
    return y;
}
INLINE void end_forward(const trifold_args* args, const trifold_level* level, const members* g, const chain* c, const front* f,
                        const vec* y, const int turned) {
    if (c->ahead < 0) return;
    leave_rhs(args, g, side_ahead(c), block_at(level, c->ahead), level->index > 0, turned ? f->z : f->r, turned, y);
}
