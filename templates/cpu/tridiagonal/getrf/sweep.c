/* Variant "getrf": sweeps with the stored factors, of A or (`turned`) of A'. */
#include "cpu/tridiagonal/getrf/factor.c"

INLINE void forward_sweep(const trifold_args* args, const trifold_level* level, const members* g, chain c, factor_scratch* s,
                          const int turned) {
    front f = {0}, before = {0};
    vec* y = 0;
    for (integer k = 0; k < c.length; ++k) {
        before = f;
        f = front_of(args, g->group, block_at(level, c.first + k * c.step));
        y = forward_front(args, level, g, &c, k, &f, &before, y, s, turned);
    }
    end_forward(args, level, g, &c, &f, y, turned);
}

/* Whether a result of a lane has left the range of the precision. */
COLD void set_solution_range(const trifold_args* args, const members* g, each trouble) {
    for (int lane = 0; lane < INTERLEAVE; ++lane)
        if (g->active[lane] && !(OF_LANE(trouble, lane) == 0)) set_range(&range_of(args, g->member[lane])->solution, 1);
}

INLINE void backward_sweep(const trifold_args* args, const trifold_level* level, const members* g, chain c, factor_scratch* s,
                           const int turned) {
    const integer width = width_of_rhs(args);
    const vec* next = 0;
    each trouble = one_of(0);
    for (int lane = 0; begins_descent(args, level) && lane < INTERLEAVE; ++lane)
        if (g->active[lane]) set_range(&range_of(args, g->member[lane])->solution, 0);
    if (c.behind >= 0) read_rhs(s->t, args->x, args->x_strides, columns_of(args), g, block_at(level, c.behind));
    if (c.ahead >= 0) {
        read_rhs(s->y[c.length % 2], args->x, args->x_strides, columns_of(args), g, block_at(level, c.ahead));
        next = s->y[c.length % 2];
    }
    for (integer k = c.length; k-- > 0;) {
        const integer block = block_at(level, c.first + k * c.step);
        const front f = front_of(args, g->group, block);
        vec* x = s->y[k % 2];
        read_rhs(s->b, args->b, args->b_strides, columns_of(args), g, block);
        if (next) multiply(s->b, 1, -1, turned ? f.r : f.z, turned, next, width);
        if (c.behind >= 0) multiply(s->b, 1, -1, turned ? f.g : f.h, turned, s->t, width);
        solve_upper(x, s->b, &f, turned, width);
        write_rhs(args->x, args->x_strides, columns_of(args), x, g, block);
        for (integer i = 0; i < n * width; ++i) /* not zero from the first infinity or NaN on */
#if IN_LANES
            trouble += x[i] * 0;
#else
            for (int lane = 0; lane < LANES; ++lane) trouble += x[i][lane] * 0;
#endif
        next = x;
    }
    set_solution_range(args, g, trouble);
}
