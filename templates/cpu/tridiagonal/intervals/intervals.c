/* Variant "intervals": the chains of one system, which lie between separators, are in the lanes of vectors; variant "lanes" has members
 * there. All chains are as long as the first, but for the last one, which may be shorter. Where a lane has no front, its D is the identity,
 * and its couplings and right-hand sides are zero. So nothing else asks for it.
 *
 * The separators are one chain. Each of its vectors has the same number in all lanes. */
#include "cpu/tridiagonal/lanes/transfer.c"

/* LANES chains of a level. Lane k has the blocks first + k * apart on. */
typedef struct {
    integer member, group, place; /* place: of the first front */
    integer first, apart, step;   /* in blocks; step: from a front to the next one of its chain */
    integer length, last;         /* fronts of a chain, and of the last one */
    int count, has_last;          /* lanes with chains, and whether these end with the level's last chain */
    int active[LANES];            /* lanes whose results go to the caller */
} interval;

INLINE integer group_count(integer chains) { return (chains + LANES - 1) / LANES; }
/* Fronts that the workspace has room for, LANES blocks each: those of the groups, then the separators. */
INLINE integer places_of_groups(const trifold_args* args) {
    return group_count(FIRST_CHAINS) * (SEPARATORS > 0 ? SEPARATOR_SCALE - 1 : HORIZON);
}

INLINE interval find_interval(const trifold_args* args, const trifold_level* level, integer member, integer group) {
    const integer left = level->chains - group * LANES, chain = group * LANES, length = level->run[0].length;
    interval g = {.member = member,
                  .group = group,
                  .place = member * (places_of_groups(args) + SEPARATORS) + group * length,
                  .first = level->base + level->scale * chain * (length + 1),
                  .apart = level->scale * (length + 1),
                  .step = level->scale,
                  .length = length,
                  .last = level->run[level->runs - 1].length,
                  .count = (int)smaller(left, LANES),
                  .has_last = left <= LANES};
    for (int lane = 0; lane < LANES; ++lane) g.active[lane] = lane < g.count;
    return g;
}
/* The separators: lane 0 alone writes. */
INLINE interval find_separators(const trifold_args* args, const trifold_level* level, integer member) {
    const integer groups = places_of_groups(args);
    return (interval){member, 0,  member * (groups + SEPARATORS) + groups, level->base, 0, level->scale, level->size, level->size, LANES,
                      0,      {1}};
}

/* Whether all lanes have a front k of their chain. */
INLINE int is_full(const interval* g, integer k) { return g->count == LANES && (!g->has_last || k < g->last); }
INLINE int has_front(const interval* g, int lane, integer k) {
    return lane < g->count && (k < g->last || !g->has_last || lane + 1 < g->count);
}
/* A lane's block `k` places after its chain's first. */
INLINE integer block_in(const interval* g, int lane, integer k) { return g->first + lane * g->apart + k * g->step; }
INLINE integer inside(const trifold_args* args, integer block) { return larger(0, smaller(block, HORIZON - 1)); }

/* Places in a stored block, from its first one of a lane on. */
INLINE integer at(integer row, integer column) { return (row * n + column) * LANES; }
INLINE integer reciprocal_at(integer row) { return at(row, row); }

INLINE vec* at_place(const trifold_args* args, integer offset, integer place) { return (vec*)reals_at(args, offset, place, STORAGE_PANEL); }
INLINE vec* l_at(const trifold_args* args, integer place) { return at_place(args, OFFSET_FACTOR, place); }
INLINE vec* r_at(const trifold_args* args, integer place) { return at_place(args, OFFSET_NEXT, place); }
INLINE vec* g_at(const trifold_args* args, integer place) { return at_place(args, OFFSET_BEHIND, place); }

/* Blocks that a group leaves for the separators, a chain a lane: `side` 0 for those ahead and 1 for those behind. */
INLINE integer left_index(const trifold_args* args, integer side, integer member, integer group) {
    return (side * MEMBERS + member) * group_count(FIRST_CHAINS) + group;
}
INLINE vec* left_block(const trifold_args* args, integer side, integer member, integer group) {
    return (vec*)reals_at(args, OFFSET_UPDATE, left_index(args, side, member, group), STORAGE_UPDATE);
}
INLINE vec* left_rhs(const trifold_args* args, integer side, integer member, integer group) {
    return (vec*)reals_at(args, OFFSET_RHS_UPDATE, left_index(args, side, member, group), STORAGE_VECTOR);
}
INLINE vec* left_coupling(const trifold_args* args, integer member, integer group) {
    return (vec*)reals_at(args, OFFSET_COUPLING, left_index(args, 0, member, group), STORAGE_COUPLING);
}
/* Element e of what one chain has left, in all lanes. */
INLINE vec of_chain(const vec* left, integer chain, integer e) { return spread(((const real*)left)[e * LANES + chain % LANES]); }

/* ---- blocks of the caller ---- */

/* A block of each lane, `at` its array's block 0; blocks outside the path are those at its end, to be overwritten. */
COLD view gather_some(vec* out, const interval* g, const real* at, integer stage, integer k, integer row, integer column, integer blocks) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane)
        base[lane] = at + larger(0, smaller(block_in(g, smaller(lane, g->count - 1), k), blocks - 1)) * stage;
    return gather_block(out, base, row, column, 0);
}
FRONT_PART view gather_d(vec* out, const trifold_args* args, const interval* g, integer k) {
    const real* d = d_of(args, g->member, 0);
    if (is_full(g, k)) {
        const real* base[LANES];
        UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = d + block_in(g, lane, k) * D_STAGE;
        return gather_block(out, base, D_ROW, D_COLUMN, 1);
    }
    const view v = gather_some(out, g, d, D_STAGE, k, D_ROW, D_COLUMN, HORIZON);
    for (int lane = 0; lane < LANES; ++lane)
        for (integer e = 0; !has_front(g, lane, k) && e < AREA; ++e) out[e][lane] = e % (n + 1) == 0;
    return v;
}
/* A(block + 1, block) of each lane's block k, or zero where there is no such coupling of its chain. k is -1 for the coupling behind. */
FRONT_PART view gather_e(vec* out, const trifold_args* args, const interval* g, integer k) {
    const real* e = e_of(args, g->member, 0);
    const int full = k < 0 ? g->count == LANES && block_in(g, 0, k) >= 0 : is_full(g, k) && block_in(g, LANES - 1, k) + 1 < HORIZON;
    if (full) {
        const real* base[LANES];
        UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = e + block_in(g, lane, k) * E_STAGE;
        return gather_block(out, base, E_ROW, E_COLUMN, 0);
    }
    view v = {out, E_ROW == 1 && E_COLUMN != 1 ? 1 : n, E_ROW == 1 && E_COLUMN != 1 ? n : 1};
    if (HORIZON > 1) v = gather_some(out, g, e, E_STAGE, k, E_ROW, E_COLUMN, HORIZON - 1);
    for (int lane = 0; lane < LANES; ++lane) {
        const integer block = block_in(g, lane, k);
        const int has = k < 0 ? lane < g->count && block >= 0 : has_front(g, lane, k) && block + 1 < HORIZON;
        for (integer i = 0; !has && i < AREA; ++i) out[i][lane] = 0;
    }
    return v;
}

/* Right-hand sides, or zero where a lane has no such block. `k` may be -1 or the chain's length, for the separators at its ends. */
FRONT_PART void gather_rhs(vec* out, const trifold_args* args, const real* array, trifold_strides s, const interval* g, integer k) {
    const integer columns = columns_of(args);
    const real* base[LANES];
    array += g->member * s.member;
    const int full = k >= 0 && k < g->length && is_full(g, k);
    UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = array + block_in(g, lane, k) * s.stage;
    if (__builtin_expect(!full, 0))
        for (int lane = 0; lane < LANES; ++lane) base[lane] = array + inside(args, block_in(g, lane, k)) * s.stage;
    if (is_dense(s, columns))
        gather_run(out, base, 0, 0, n * columns, n * columns);
    else
        gather_strided(out, base, s, columns);
    if (__builtin_expect(full, 1)) return;
    for (int lane = 0; lane < LANES; ++lane) {
        const integer block = block_in(g, lane, k);
        const int has = k >= 0 && k < g->length ? has_front(g, lane, k) : lane < g->count && block >= 0 && block < HORIZON;
        for (integer i = 0; !has && i < n * columns; ++i) out[i][lane] = 0;
    }
}
INLINE void find_active(const interval* g, integer k, int* active) {
    for (int lane = 0; lane < LANES; ++lane) active[lane] = g->active[lane] && has_front(g, lane, k);
}
FRONT_PART void scatter_rhs(const trifold_args* args, const interval* g, integer k, const vec* in) {
    const trifold_strides s = args->x_strides;
    const integer columns = columns_of(args);
    real* base[LANES];
    int some[LANES];
    const int* active = g->active;
    if (__builtin_expect(!is_full(g, k), 0)) find_active(g, k, some), active = some;
    UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = x_of(args, g->member, block_in(g, lane, k));
    if (is_dense(s, columns))
        scatter_run(base, 0, in, active, n * columns);
    else
        scatter_strided(base, s, columns, in, active);
}

/* Subtracts the updates that the chains on both sides of separator s have left for it. The chain below has its number. */
FRONT_PART void subtract_left(vec* d, view shape, const trifold_args* args, integer member, integer s) {
    for (integer side = 0; side < 2 && s + side < FIRST_CHAINS; ++side) {
        const vec* left = left_block(args, side, member, (s + side) / LANES);
        for (integer i = 0; i < n; ++i)
            for (integer j = 0; j <= i; ++j) d[i * shape.row + j * shape.column] -= of_chain(left, s + side, i * n + j);
    }
}
FRONT_PART void subtract_left_rhs(vec* b, const trifold_args* args, integer member, integer s) {
    for (integer side = 0; side < 2 && s + side < FIRST_CHAINS; ++side) {
        const vec* left = left_rhs(args, side, member, (s + side) / LANES);
        for (integer i = 0; i < n * columns_of(args); ++i) b[i] -= of_chain(left, s + side, i);
    }
}
