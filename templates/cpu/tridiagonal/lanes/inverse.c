/* Variant "lanes": the selected inverse S, each chain from its last front to its first. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/chains.c"
#include "cpu/tridiagonal/lanes/inverse_front.c"

COLD void clear_inverse_range(const trifold_args* args, const lanes* g) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane]) set_range(&range_of(args, g->member[lane])->inverse, 0);
}
/* Marks members whose block of the inverse has infinities or NaN. */
COLD void mark_inverse_range(const trifold_args* args, const lanes* g, const vec* s) {
    vec trouble = {};
    for (integer i = 0; i < AREA; ++i) trouble += s[i] * 0;
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane] && trouble[lane] != 0) set_range(&range_of(args, g->member[lane])->inverse, 1);
}

NOINLINE void gather_inverse(vec* out, const trifold_args* args, const lanes* g, integer block) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_diagonal_of(args, g->member[lane], block);
    gather_run(out, base, 0, 0, AREA, AREA);
    if (!g->all) clear_idle(out, AREA, g);
}
NOINLINE void scatter_inverse(const trifold_args* args, const lanes* g, integer block, vec* s) {
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j < i; ++j) s[j * n + i] = s[i * n + j];
    real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_diagonal_of(args, g->member[lane], block);
    scatter_run(base, 0, s, g->active, AREA);
    mark_inverse_range(args, g, s);
}

/* S(to, from) of neighbouring positions: to the caller at level 0, else to where the level below finds it. */
NOINLINE void put_coupling(const trifold_args* args, const trifold_level* level, const lanes* g, integer to, integer from, const vec* s,
                           vec* turned) {
    if (to < from) {
        for (integer i = 0; i < n; ++i)
            for (integer j = 0; j < n; ++j) turned[j * n + i] = s[i * n + j];
        s = turned;
    }
    const integer low = smaller(to, from);
    if (level->index > 0) {
        vec* out = (vec*)inverse_coupling_of(args, g->group, level->coupling + low);
        for (integer i = 0; i < AREA; ++i) out[i] = s[i];
        return;
    }
    real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_neighbour_of(args, g->member[lane], block_at(level, low));
    scatter_run(base, 0, s, g->active, AREA);
    mark_inverse_range(args, g, s);
}

/* S(behind, ahead) of a chain's two separators, which are neighbours at the next level. */
COLD void load_across(vec* out, const trifold_args* args, const trifold_level* level, const lanes* g, const chain* c) {
    const integer behind = next_position(level, c->behind), ahead = next_position(level, c->ahead);
    const view s = stored((const vec*)inverse_coupling_of(args, g->group, level->next_coupling + smaller(behind, ahead)));
    const view turned = behind > ahead ? s : transposed(s);
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j < n; ++j) out[i * n + j] = turned.p[i * turned.row + j * turned.column];
}

static void inverse_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    inverse_scratch* s = (inverse_scratch*)scratch;
    const int fill = c.behind >= 0;
    if (begins_descent(args, level)) clear_inverse_range(args, g);
    begin_inverse(s);
    if (fill) gather_inverse(s->behind_behind, args, g, block_at(level, c.behind));
    if (c.ahead >= 0) gather_inverse(s->next_next, args, g, block_at(level, c.ahead));
    if (fill && c.ahead >= 0) load_across(s->across[(c.length + 1) % 2], args, level, g, &c);
    const vec* next_next = s->next_next;
    for (integer k = c.length; k-- > 0;) {
        const integer position = c.first + k * c.step, block = block_at(level, position);
        const int has_next = k + 1 < c.length || c.ahead >= 0;
        vec* i_i = inverse_front(s, k, (const vec*)factor_of(args, g->group, block), (const vec*)next_of(args, g->group, block),
                                 (const vec*)behind_of(args, g->group, block), has_next, fill, next_next);
        if (has_next) put_coupling(args, level, g, position + c.step, position, s->next_i, s->turned);
        if (fill && k == 0) put_coupling(args, level, g, c.behind, position, s->across[1], s->turned);
        scatter_inverse(args, g, block, i_i);
        if (closes_ring(level)) put_coupling(args, level, g, 1, 0, i_i, s->turned);
        next_next = i_i;
    }
}

LANES_KERNEL(TRIFOLD_KERNEL_INVERSE, inverse_chain)
