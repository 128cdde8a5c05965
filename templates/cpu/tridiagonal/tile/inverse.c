/* The selected inverse S for variant "tile": each chain from its last front to its first. With X = L^-T, the border
 * (next, behind) and T = X [R; G]' over it:  S_i,border = -T S_border,border   and   S_ii = X X' - T S_border,i; with signs of pivots, X S
 * X'. Products are subtracted, so T, S_ii and what S_i,border is made of are kept with the other sign. */
#include "cpu/tridiagonal/tile/load.c"
#include "cpu/tridiagonal/tile/sweep.c"

enum { STORED = n * LD };

typedef struct {
    real *x, *t_next, *t_behind;                                       /* L^-T, -T */
    real *i_next, *i_behind;                                           /* S(i, .) */
    real *i_i, *next_next, *next_behind, *behind_next, *behind_behind; /* -S */
} inverse_work;

INLINE inverse_work inverse_scratch(void* scratch) {
    _Static_assert(10 * STORED * sizeof(real) <= SCRATCH_BYTES, "scratch");
    real* p = (real*)scratch;
#define PART(k) (p + (k) * STORED)
    return (inverse_work){PART(0), PART(1), PART(2), PART(3), PART(4), PART(5), PART(6), PART(7), PART(8), PART(9)};
}

/* to = - from, transposed with `turn`. Both are stored blocks. */
static void negate(real* to, const real* from, int turn) {
    if (turn) {
        load_transposed(to, from);
        from = to;
    }
    for (integer k = 0; k < STORED; k += LANES) store(to + k, -load(from + k));
}

/* x = L^-T, row by row: x L' = I. */
static void invert_factor(real* x, const real* factor) {
    real unit[2 * LANES * LANES] __attribute__((aligned(64)));
    const panel rows = {.target = x, .start = stored(x), .factor = factor, .unit = unit, .upper = LANES};
    for (integer k = 0; k < STORED; k += LANES) store(x + k, (vec){});
    for (integer k = 0; k < n; ++k) x[at(k, k)] = 1;
    for (integer v = 0; v < VECTORS; ++v) {
        const integer j = v * LANES;
        for (integer k = j; k < smaller(j + LANES, n); ++k)
            store(unit + (k & (2 * LANES - 1)) * LANES, load(factor + at(j, k)) * spread(factor[n * LD + k]));
        panel_strips(&rows, 0, v + 1, j, WHOLE);
    }
}

/* The lower triangle of -S_ii: mirrored, and S_ii to the caller. */
static void put_inverse_diagonal(real* out, real* s) {
    for (integer c = 0; c < n; ++c)
        for (integer r = c; r < n; ++r) {
            const real value = s[at(r, c)];
            s[at(c, r)] = value;
            out[r * n + c] = -value;
            out[c * n + r] = -value;
        }
}

/* -S of a separator, from the caller's array. */
static void load_inverse_diagonal(const trifold_args* args, const trifold_level* level, integer member, integer position, real* target) {
    load_block(target, inverse_diagonal_of(args, member, block_at(level, position)), 1, n, 0);
    negate(target, target, 0);
}

/* S(from, to) of neighbouring positions: to the caller as S(higher, lower), row-major; beyond level 0 to where the level
 * below finds it, as -S(lower, higher). */
static void put_inverse_coupling(const trifold_args* args, const trifold_level* level, integer member, integer from, integer to,
                                 const real* s) {
    const integer low = smaller(from, to);
    if (level->index > 0) {
        negate(inverse_coupling_of(args, member, level->coupling + low), s, to < from);
        return;
    }
    real* out = inverse_neighbour_of(args, member, block_at(level, low));
    for (integer r = 0; r < n; ++r)
        for (integer c = 0; c < n; ++c) out[r * n + c] = to < from ? s[at(r, c)] : s[at(c, r)];
}

/* -S(ahead, behind) of a chain's two separators, neighbours at the next level, and its transpose. */
static void load_inverse_coupling(const trifold_args* args, const trifold_level* level, integer member, const chain* c, inverse_work* s) {
    const integer ahead = next_position(level, c->ahead), behind = next_position(level, c->behind);
    const real* slot = inverse_coupling_of(args, member, level->next_coupling + smaller(ahead, behind));
    real* const straight = ahead < behind ? s->next_behind : s->behind_next;
    for (integer k = 0; k < STORED; k += LANES) store(straight + k, load(slot + k));
    load_transposed(ahead < behind ? s->behind_next : s->next_behind, slot);
}

static void inverse_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    inverse_work s = inverse_scratch(scratch);
    vec trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, member)->inverse, 0);
    const int has_behind = c->behind >= 0;
    if (c->ahead >= 0) load_inverse_diagonal(args, level, member, c->ahead, s.next_next);
    if (has_behind) load_inverse_diagonal(args, level, member, c->behind, s.behind_behind);
    if (c->ahead >= 0 && has_behind) load_inverse_coupling(args, level, member, c, &s);
    for (integer k = c->length; k-- > 0;) {
        const integer position = c->first + k * c->step, block = block_at(level, position);
        const int has_next = k + 1 < c->length || c->ahead >= 0;
        invert_factor(s.x, factor_of(args, member, block));
        const real* factor = factor_of(args, member, block);
        (void)factor;
        subtract_product(s.i_i, 0, s.x, s.x, LOWER | UPPER_LEFT WITH_SIGNS(factor));
        if (has_next) subtract_product(s.t_next, 0, s.x, next_of(args, member, block), UPPER_LEFT WITH_SIGNS(factor));
        if (has_behind) subtract_product(s.t_behind, 0, s.x, behind_of(args, member, block), UPPER_LEFT WITH_SIGNS(factor));
        if (has_next) {
            subtract_product(s.i_next, 0, s.t_next, s.next_next, FULL WITH_SIGNS(0));
            if (has_behind) subtract_product(s.i_next, 1, s.t_behind, s.next_behind, FULL WITH_SIGNS(0));
            subtract_product(s.i_i, 1, s.t_next, s.i_next, LOWER WITH_SIGNS(0));
            trouble = add_trouble(trouble, s.i_next, STORED);
            put_inverse_coupling(args, level, member, position, position + c->step, s.i_next);
        }
        if (has_behind) {
            subtract_product(s.i_behind, 0, s.t_behind, s.behind_behind, FULL WITH_SIGNS(0));
            if (has_next) subtract_product(s.i_behind, 1, s.t_next, s.behind_next, FULL WITH_SIGNS(0));
            subtract_product(s.i_i, 1, s.t_behind, s.i_behind, LOWER WITH_SIGNS(0));
            trouble = add_trouble(trouble, s.i_behind, STORED);
            if (k == 0) put_inverse_coupling(args, level, member, position, c->behind, s.i_behind);
            negate(s.next_behind, s.i_behind, 0);
            negate(s.behind_next, s.i_behind, 1);
        }
        put_inverse_diagonal(inverse_diagonal_of(args, member, block), s.i_i);
        if (closes_ring(level)) {
            negate(s.i_next, s.i_i, 0);
            put_inverse_coupling(args, level, member, 0, 1, s.i_next);
        }
        trouble = add_trouble(trouble, s.i_i, STORED);
        real* const swap = s.next_next;
        s.next_next = s.i_i, s.i_i = swap;
    }
    if (is_trouble(trouble)) set_range(&range_of(args, member)->inverse, 1);
}

KERNEL TRIFOLD_KERNEL_INVERSE(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                              void* scratch) {
    for (integer task = first_task; task < last_task; ++task) {
        const integer member = task / level->chains;
        if (!is_active(args, member)) continue;
        const chain c = find_chain(args, level, task % level->chains, member);
        inverse_chain(args, level, member, &c, scratch);
    }
}
