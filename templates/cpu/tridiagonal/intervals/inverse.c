/* Variant "intervals": the selected inverse S, each chain from its last front to its first. Where a lane has no front, R and G are zero. */
#include "cpu/tridiagonal/intervals/factor.c"
#include "cpu/tridiagonal/intervals/groups.c"
#include "cpu/tridiagonal/lanes/inverse_front.c"

/* Whether there is a separator behind a lane's chain (k = -1) or ahead of it. */
INLINE int has_end(const trifold_args* args, const interval* g, int lane, integer k) {
    const integer block = block_in(g, lane, k);
    return lane < g->count && block >= 0 && block < HORIZON;
}
INLINE void clear_lane(vec* block, int lane) {
    for (integer i = 0; i < AREA; ++i) block[i][lane] = 0;
}

/* S of the separators at an end of the chains, or zero. */
NOINLINE void gather_end(vec* out, const trifold_args* args, const interval* g, integer k) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_diagonal_of(args, g->member, inside(args, block_in(g, lane, k)));
    gather_run(out, base, 0, 0, AREA, AREA);
    for (int lane = 0; lane < LANES; ++lane)
        if (!has_end(args, g, lane, k)) clear_lane(out, lane);
}

/* S(behind, ahead) of the chains of a group, which the separators have left there. */
INLINE vec* across_of(const trifold_args* args, integer member, integer group) {
    return (vec*)reals_at(args, OFFSET_INVERSE_COUPLING, member * group_count(FIRST_CHAINS) + group, STORAGE_COUPLING);
}
NOINLINE void load_across(vec* out, const trifold_args* args, const interval* g) {
    const vec* left = across_of(args, g->member, g->group);
    for (integer i = 0; i < AREA; ++i) out[i] = left[i];
    for (int lane = 0; lane < LANES; ++lane)
        if (!has_end(args, g, lane, -1) || !has_end(args, g, lane, g->length)) clear_lane(out, lane);
}
/* S(separator + 1, separator) for the chain between them. */
NOINLINE void leave_across(const trifold_args* args, const interval* g, integer separator, const vec* s) {
    const integer chain = separator + 1;
    real* out = (real*)across_of(args, g->member, chain / LANES) + chain % LANES;
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j < n; ++j) out[(j * n + i) * LANES] = s[i * n + j][0];
}

/* Blocks of the inverse for the caller, one a lane. Infinities and NaN are noted. */
NOINLINE void put_inverse(const trifold_args* args, const interval* g, real* const base[LANES], const int active[LANES], const vec* s) {
    vec trouble = {};
    scatter_run(base, 0, s, active, AREA);
    for (integer i = 0; i < AREA; ++i) trouble += s[i] * 0;
    for (int lane = 0; lane < LANES; ++lane)
        if (active[lane] && trouble[lane] != 0) set_range(&range_of(args, g->member)->inverse, 1);
}
NOINLINE void put_diagonal(const trifold_args* args, const interval* g, integer k, vec* s) {
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j < i; ++j) s[j * n + i] = s[i * n + j];
    real* base[LANES];
    int active[LANES];
    find_active(g, k, active);
    for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_diagonal_of(args, g->member, block_in(g, lane, k));
    put_inverse(args, g, base, active, s);
}
/* S(k + 1, k) of the chains' blocks; k is -1 for the separators behind them. */
NOINLINE void put_neighbour(const trifold_args* args, const interval* g, integer k, const vec* s) {
    real* base[LANES];
    int active[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        const integer block = block_in(g, lane, k);
        active[lane] = (k < 0 ? has_end(args, g, lane, k) : has_front(g, lane, k)) && block + 1 < HORIZON;
        base[lane] = inverse_neighbour_of(args, g->member, block);
    }
    put_inverse(args, g, base, active, s);
}

KERNEL_PART void inverse_chains(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    inverse_scratch* s = (inverse_scratch*)scratch;
    const int between = level->index == 0; /* chains that lie between separators */
    if (begins_descent(args, level)) set_range(&range_of(args, g->member)->inverse, 0);
    begin_inverse(s);
    if (between) {
        gather_end(s->behind_behind, args, g, -1);
        gather_end(s->next_next, args, g, g->length);
        load_across(s->across[(g->length + 1) % 2], args, g);
    }
    const vec* next_next = s->next_next;
    for (integer k = g->length; k-- > 0;) {
        const integer place = g->place + k;
        const int has_next = between || k + 1 < g->length;
        vec* i_i = inverse_front(s, k, l_at(args, place), r_at(args, place), g_at(args, place), has_next, between, next_next);
        if (between)
            put_neighbour(args, g, k, s->next_i);
        else if (has_next)
            leave_across(args, g, k, s->next_i);
        put_diagonal(args, g, k, i_i);
        next_next = i_i;
    }
    if (!between) return;
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j < n; ++j) s->turned[j * n + i] = s->across[1][i * n + j];
    put_neighbour(args, g, -1, s->turned);
}

INTERVALS_KERNEL(TRIFOLD_KERNEL_INVERSE, inverse_chains)
