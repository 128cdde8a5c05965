/* Variant "intervals": forward and backward sweeps with the stored factor. */
#include "cpu/tridiagonal/intervals/factor.c"
#include "cpu/tridiagonal/lanes/back.c"

KERNEL_PART void forward_chains(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    factor_scratch* s = (factor_scratch*)scratch;
    const vec* r = 0;
    start_forward(args, s);
    for (integer k = 0; k < g->length; ++k) {
        const integer place = g->place + k;
        forward_front(args, level, g, k, l_at(args, place), r, level->index == 0 ? g_at(args, place) : 0, s);
        r = r_at(args, place);
    }
    end_forward(args, level, g, r, s);
}

typedef struct {
    vec y[n * m], x[2][n * m], ahead[n * m], behind[n * m];
} backward_scratch;
_Static_assert(sizeof(backward_scratch) <= SCRATCH_BYTES, "scratch");

KERNEL_PART void backward_chains(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    backward_scratch* s = (backward_scratch*)scratch;
    const int has_fill = level->index == 0;
    const vec* next = 0;
    vec trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, g->member)->solution, 0);
    if (has_fill) {
        gather_rhs(s->behind, args, (const real*)args->x, args->x_strides, g, -1);
        gather_rhs(s->ahead, args, (const real*)args->x, args->x_strides, g, g->length);
        next = s->ahead;
    }
    for (integer k = g->length; k-- > 0;) {
        const integer place = g->place + k;
        vec* x = s->x[k & 1];
        gather_rhs(s->y, args, (const real*)args->b, args->b_strides, g, k);
        solve_back(x, s->y, next, next ? r_at(args, place) : 0, s->behind, has_fill ? g_at(args, place) : 0, l_at(args, place),
                   width_of(args));
        scatter_rhs(args, g, k, x);
        for (integer i = 0; i < n * width_of(args); ++i) trouble += x[i] * 0; /* not zero from the first infinity or NaN on */
        next = x;
    }
    int any = 0;
    for (int lane = 0; lane < LANES; ++lane) any |= g->active[lane] && trouble[lane] != 0;
    if (any) set_range(&range_of(args, g->member)->solution, 1);
}
