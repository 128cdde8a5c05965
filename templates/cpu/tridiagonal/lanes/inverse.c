/* Variant "lanes": the selected inverse S, each chain from its last front to its first. With P = [R; G] L^-1 over the
 * border (next, behind):  S_border,i = -S_border,border P   and   S_ii = L^-T L^-1 - P' S_border,i. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/chains.c"

typedef struct {
    vec upper[AREA];                  /* L^-T */
    vec p_next[AREA], p_behind[AREA]; /* P */
    vec next_next[AREA], behind_behind[AREA];
    vec across[2][AREA]; /* S(behind, next), then S(behind, i) */
    vec next_i[AREA], i_i[2][AREA], turned[AREA];
    vec unit[2 * n];
} inverse_scratch;
_Static_assert(sizeof(inverse_scratch) <= SCRATCH_BYTES, "scratch");

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
    for (integer k = 0; k < 2 * n; ++k) s->unit[k] = k == n ? spread(1) : (vec){};
    const view identity = {s->unit + n, -1, 1};
    if (fill) gather_inverse(s->behind_behind, args, g, block_at(level, c.behind));
    if (c.ahead >= 0) gather_inverse(s->next_next, args, g, block_at(level, c.ahead));
    if (fill && c.ahead >= 0) load_across(s->across[0], args, level, g, &c);
    vec *next_next = s->next_next, *across = s->across[0], *across_i = s->across[1];
    for (integer k = c.length; k-- > 0;) {
        const integer position = c.first + k * c.step, block = block_at(level, position);
        const int has_next = k + 1 < c.length || c.ahead >= 0;
        const view upper = stored(s->upper);
        vec* i_i = s->i_i[k % 2];
        solve_panel(s->upper, identity, 0, 0, (const vec*)factor_of(args, g->group, block));
        multiply(i_i, 0, 1, upper, transposed(upper), 1);
        if (has_next) multiply(s->p_next, 0, 1, stored((const vec*)next_of(args, g->group, block)), transposed(upper), 0);
        if (fill) multiply(s->p_behind, 0, 1, stored((const vec*)behind_of(args, g->group, block)), transposed(upper), 0);
        if (has_next) {
            multiply(s->next_i, 0, -1, stored(next_next), stored(s->p_next), 0);
            if (fill) multiply(s->next_i, 1, -1, transposed(stored(across)), stored(s->p_behind), 0);
            multiply(i_i, 1, -1, transposed(stored(s->p_next)), stored(s->next_i), 1);
            put_coupling(args, level, g, position + c.step, position, s->next_i, s->turned);
        }
        if (fill) {
            multiply(across_i, 0, -1, stored(s->behind_behind), stored(s->p_behind), 0);
            if (has_next) multiply(across_i, 1, -1, stored(across), stored(s->p_next), 0);
            multiply(i_i, 1, -1, transposed(stored(s->p_behind)), stored(across_i), 1);
            if (k == 0) put_coupling(args, level, g, c.behind, position, across_i, s->turned);
            vec* const swap = across;
            across = across_i, across_i = swap;
        }
        scatter_inverse(args, g, block, i_i);
        next_next = i_i;
    }
}

LANES_KERNEL(TRIFOLD_KERNEL_INVERSE, inverse_chain)
