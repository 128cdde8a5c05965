/* Variant "lanes": forward and backward sweeps with the stored factor. */
#include "cpu/tridiagonal/lanes/back.c"
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
        finish_rhs(args, g, block, out WITH_SIGNS((const vec*)factor_of(args, g->group, block), s->b));
        y = out;
        r = (const vec*)next_of(args, g->group, block);
    }
    if (c.ahead >= 0)
        multiply_rhs((vec*)rhs_update_of(args, side_ahead(&c), g->group, block_at(level, c.ahead)), updated, r, y, width_of(args));
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
        if (HAS_LENGTHS || HAS_SIZES) clear_beyond(s->y, args, g, block);
        solve_back(x, s->y, next, next ? (const vec*)next_of(args, g->group, block) : 0, s->behind,
                   c.behind >= 0 ? (const vec*)behind_of(args, g->group, block) : 0, (const vec*)factor_of(args, g->group, block),
                   width_of(args));
        scatter_rhs((real*)args->x, args->x_strides, columns_of(args), x, g, block);
        for (integer i = 0; i < n * width_of(args); ++i) trouble += x[i] * 0; /* not zero from the first infinity or NaN on */
        next = x;
    }
    mark_solution_range(args, g, trouble);
}
