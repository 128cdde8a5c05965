/* Variant "lanes": factorization, alone or with the right-hand sides riding along. */
#include "cpu/tridiagonal/lanes/arrays.c"
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/fetch.c"
#include "cpu/tridiagonal/lanes/pivots.c"

typedef struct {
    vec d[AREA], e[AREA];      /* pivot block and coupling as loaded */
    vec own[2][3 * AREA];      /* if some lanes are idle: the factors of this front and of the one before, including idle lanes */
    vec b[n * m], y[2][n * m]; /* right-hand sides of this front; solved ones of this front and of the one before */
    vec unit[2 * n];           /* zeros around a one */
} factor_scratch;
_Static_assert(sizeof(factor_scratch) <= SCRATCH_BYTES, "scratch");

/* factor_pivot() with D from the members' own arrays, and the panel r l' = e with E from there. */
NOINLINE void factor_original_pivot(const trifold_args* args, vec* l, const real* d, const vec* before_r, ahead* f, pivots* p) {
    factor_pivot_any(l, (source){{}, d, D_MEMBER, D_ROW, D_COLUMN}, before_r, 0, f, p);
}
NOINLINE void solve_original_panel(const trifold_args* args, vec* r, const real* e, const vec* l, ahead* f) {
    solve_any(panel_of(r, l), (source){{}, e, E_MEMBER, E_ROW, E_COLUMN}, stored(l), stored(l), 0, l, n, TILE, n % TILE, f);
}

COLD void add_to_diagonal(vec* d, const trifold_args* args, const lanes* g, integer block) {
    for (integer j = 0; j < n; ++j)
        for (int lane = 0; lane < LANES; ++lane) d[j * (n + 1)][lane] += diagonal_term(args, g->member[lane], block, j);
}

COLD void subtract_slots(vec* d, view shape, const trifold_args* args, const lanes* g, integer block WITH_SIGNS(pivots* p)) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(args, 0, block, side)) continue;
        const vec* slot = (const vec*)update_of(args, side, g->group, block);
#if HAS_SIGNS
        for (integer i = 0; i < n; ++i) p->sums[i] += slot[AREA + i];
#endif
        for (integer i = 0; i < n; ++i)
            for (integer j = 0; j <= i; ++j) d[i * shape.row + j * shape.column] -= slot[i * n + j];
    }
}

INLINE int adds_to_pivots(const trifold_args* args) { return args->diagonal || args->shift || args->pivot_floor > 0; }

/* Loads D with the terms that the caller adds to its diagonal and, beyond level 0, less the updates of the separator. */
NOINLINE view assemble_pivot(vec* out, const trifold_args* args, const lanes* g, integer block, int updated, pivots* p) {
    const view d = BANDWIDTH > 1 ? gather_view(out, args, g, block, 0) : gather_d(out, args, g, block);
    if (args->diagonal || args->shift) add_to_diagonal(out, args, g, block);
    if (HAS_LENGTHS || HAS_SIZES) set_beyond(d, args, g, block, 0);
#if HAS_VIEWS
    p->rows = rows_in_lanes(args, g, block);
#endif
    for (integer j = 0; j < n; ++j) p->entry[j] = out[j * (n + 1)];
#if HAS_SIGNS
#if HAS_LENGTHS || HAS_VIEWS /* rows of the identity have no part in the growth of A */
    const mask rows = rows_in_lanes(args, g, block);
    for (integer j = 0; j < n; ++j) p->entry[j] = choose((int)j < rows, p->entry[j], (vec){});
#endif
    for (integer j = 0; j < n; ++j) p->sums[j] = size_of_all(p->entry[j]);
#endif
    p->floor = spread(-LARGEST);
    if (args->pivot_floor > 0) {
        vec largest = {};
        for (integer j = 0; j < n; ++j) {
            vec size = choose(p->entry[j] < 0, -p->entry[j], p->entry[j]);
#if HAS_VIEWS
            size = choose((int)j < p->rows, size, (vec){});
#endif
            largest = choose((size > largest) & (size <= LARGEST), size, largest);
        }
        p->floor = largest * (real)args->pivot_floor;
    }
    if (updated) subtract_slots(out, d, args, g, block WITH_SIGNS(p));
    return d;
}

/* A(to, from) of neighbouring positions, as a view of the stored or the gathered coupling. */
INLINE view coupling_between(vec* out, const trifold_args* args, const trifold_level* level, const lanes* g, integer to, integer from) {
    const integer low = smaller(to, from);
    const view a = level->index == 0
                       ? BANDWIDTH > 1 ? gather_view(out, args, g, block_at(level, low), 1) : gather_e(out, args, g, block_at(level, low))
                       : stored((const vec*)coupling_of(args, g->group, level->coupling + low));
    if ((HAS_LENGTHS || HAS_SIZES) && level->index == 0) set_beyond(a, args, g, block_at(level, low), 1);
    return to > from ? a : transposed(a);
}

/* Adds the coupling H of the last block of a ring to itself: H + H'. */
COLD void add_own_coupling(vec* d, view shape, vec* room, const trifold_args* args, const trifold_level* level, const lanes* g) {
    const view h = coupling_between(room, args, level, g, 1, 0);
    for (integer i = 0; i < n; ++i)
        for (integer j = 0; j <= i; ++j)
            d[i * shape.row + j * shape.column] += h.p[i * h.row + j * h.column] + h.p[j * h.row + i * h.column];
}

/* Whether coupling_between() gathers A(position + step, position) in row-major order. */
INLINE int gathers_rows(integer step) { return BANDWIDTH > 1 ? step > 0 : (E_ROW == 1 && E_COLUMN != 1) == (step < 0); }

/* Right-hand sides of a block less the separator's updates. */
NOINLINE void assemble_rhs(vec* out, const trifold_args* args, const lanes* g, integer block, int updated) {
    gather_rhs(out, (const real*)args->b, args->b_strides, columns_of(args), g, block);
    if (HAS_LENGTHS || HAS_SIZES) clear_beyond(out, args, g, block);
    for (int side = 0; updated && side < 2; ++side) {
        if (!has_slot(args, 0, block, side)) continue;
        const vec* slot = (const vec*)rhs_update_of(args, side, g->group, block);
        for (integer k = 0; k < n * columns_of(args); ++k) out[k] -= slot[k];
    }
}

/* In f64, whatever the precision: squares have twice the exponents of their roots. */
typedef double squares __attribute__((vector_size(VECTOR_LANES * 8)));
COLD double tiny_lane(double sum, const vec* y, integer columns, int lane) {
    real values[n];
    for (integer r = 0; r < n; ++r) values[r] = y[r * columns][lane];
    return tiny_square(sum, values, n);
}

/* y = L^-1 b of a front goes out, with its squares; where pivots have signs, S y, through `room`. */
NOINLINE void finish_rhs(const trifold_args* args, const lanes* g, integer block, const vec* y WITH_SIGNS(const vec* l, vec* room)) {
    const integer columns = columns_of(args);
#if HAS_SIGNS
    for (integer k = 0; k < n * columns; ++k) room[k] = with_sign_of(y[k], l[k / columns * (n + 1)]);
    y = room;
#endif
    scatter_rhs((real*)args->x, args->x_strides, columns, y, g, block);
    for (integer c = 0; c < columns; ++c) {
        squares sum = {};
        for (integer r = 0; r < n; ++r) {
            const squares wide = __builtin_convertvector(y[r * columns + c], squares);
#if HAS_SIGNS
            sum += wide * __builtin_convertvector(with_sign_of(y[r * columns + c], l[r * (n + 1)]), squares);
#else
            sum += wide * wide;
#endif
        }
        for (int lane = 0; lane < LANES; ++lane)
            if (g->active[lane])
                block_quadratic_of(args, g->member[lane], block)[c] =
                    is_tiny(sum[lane]) ? tiny_lane(sum[lane], y + c, columns, lane) : sum[lane];
    }
}

/* Stores the active lanes of a front's factor. Idle lanes have worked on another member's data, so they raise no exceptions that that
 * member does not. */
COLD void deliver(vec* const kept[3], const vec* own, mask which) {
    for (int k = 0; k < 3; ++k)
        for (integer i = 0; kept[k] && i < AREA; ++i) kept[k][i] = choose(which, own[k * AREA + i], kept[k][i]);
}

/* A lane's first row whose pivot failed, or -1. */
INLINE integer failed_row(const vec* l, int lane) {
    for (integer j = 0; j < n; ++j)
        if (!(l[j * (n + 1)][lane] > 0) && !(HAS_SIGNS && l[j * (n + 1)][lane] < 0)) return j;
    return -1;
}
COLD void record_trouble(const trifold_args* args, const lanes* g, integer block, integer level, const vec* l, pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!g->active[lane]) continue;
        const integer member = g->member[lane];
        p->failed[lane] = -record_front(args, member, block, level, failed_row(l, lane), p->failed[lane] != 0);
        *floors_of(args, member, block) = (int)p->floors[lane];
        if (HAS_SIGNS) *negatives_of(args, member, block) = NEGATIVES(p, lane);
        *block_log_determinant_of(args, member, block) = 0;
    }
}
NOINLINE void record_lanes(const trifold_args* args, const lanes* g, integer block, integer level, const vec* l, pivots* p) {
    const mask trouble = ~p->sound | p->floors | p->failed;
    bits any = !g->all;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= trouble[lane];
    if (any) return record_trouble(args, g, block, level, l, p);
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        *failure_of(args, g->member[0] + lane, block) = SOUND;
        *floors_of(args, g->member[0] + lane, block) = 0;
        if (HAS_SIGNS) *negatives_of(args, g->member[0] + lane, block) = NEGATIVES(p, lane);
        *block_log_determinant_of(args, g->member[0] + lane, block) = 0;
    }
}

/* The chain's log determinant and reduction go to its last front. */
COLD void record_chain(const trifold_args* args, const lanes* g, integer block, const pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!g->active[lane]) continue;
        *block_log_determinant_of(args, g->member[lane], block) = -2 * log_of((double)p->product[lane], (double)p->exponent[lane]);
        *reduction_of(args, g->member[lane], block) = (double)p->reduction[lane];
#if HAS_SIGNS
        *grown_of(args, g->member[lane], block) = (double)p->grown[lane];
        *largest_of(args, g->member[lane], block) = (double)p->largest[lane];
#endif
    }
}

INLINE void join_poison(const trifold_args* args, const lanes* g, integer block, pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) p->failed[lane] |= -is_poisoned(args, g->member[lane], block);
}
INLINE void pass_poison(const trifold_args* args, const lanes* g, int side, integer block, integer level, const pivots* p) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane]) mark_poison(args, side, g->member[lane], block, level, p->failed[lane] != 0);
}

/* Sets or adds (`add`) the squares of a panel's rows to the sums behind a slot. */
INLINE void leave_squares(vec* slot, int add, const vec* panel) {
#if HAS_SIGNS
    vec* sums = slot + AREA;
    for (integer i = 0; !add && i < n; ++i) sums[i] = (vec){};
    add_squares(sums, stored(panel), n, n);
#endif
    (void)slot, (void)add, (void)panel;
}

#if HAS_SIGNS
#define OWN_PANEL(p) panel_of(p, l)
#else
#define OWN_PANEL(p) stored(p)
#endif
/* The separators at the ends of a chain and their new coupling. */
COLD void end_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, const vec* r, const vec* fill,
                    const pivots* p WITH_SIGNS(const vec* l)) {
    if (c.behind >= 0) pass_poison(args, g, side_behind(&c), block_at(level, c.behind), level->index, p);
    if (c.ahead < 0) return;
    const integer ahead = block_at(level, c.ahead);
    vec* slot = (vec*)update_of(args, side_ahead(&c), g->group, ahead);
    multiply(slot, level->index > 0, 1, OWN_PANEL(r), transposed(stored(r)), 1);
    leave_squares(slot, level->index > 0, r);
    pass_poison(args, g, side_ahead(&c), ahead, level->index, p);
    if (c.behind < 0) return;
    const integer low = smaller(next_position(level, c.ahead), next_position(level, c.behind));
    vec* joint = (vec*)coupling_of(args, g->group, level->next_coupling + low);
    const int up = c.step > 0;
    multiply(joint, 0, -1, OWN_PANEL(up ? r : fill), transposed(stored(up ? fill : r)), 0);
}

/* Pointers of the front at a position of the first level, whose data are fetched ahead. */
INLINE ahead ahead_of(const trifold_args* args, const trifold_level* level, const lanes* g, integer position, integer step) {
    const integer block = block_at(level, position), coupling = smaller(block, block_at(level, position + step));
    return (ahead){(const char*)d_of(args, g->member[0], block),
                   (const char*)e_of(args, g->member[0], coupling),
                   D_MEMBER,
                   E_MEMBER,
                   (const vec*)factor_of(args, g->group, block),
                   (const vec*)next_of(args, g->group, block),
                   0,
                   0,
                   0,
                   0};
}

NOINLINE void factor_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, int forward, factor_scratch* s) {
    const int updated = level->index > 0,
              original = GATHERS_TILES && !HAS_LENGTHS && !HAS_VIEWS && !updated && g->all && !adds_to_pivots(args) && !closes_ring(level);
    pivots p = {.product = spread(1)};
    vec *r = 0, *fill = 0, *y = 0;
    const vec* l = 0;
    for (integer k = 0; k < 2 * n; ++k) s->unit[k] = (vec){};
    for (integer k = 0; k < c.length; ++k) {
        const integer position = c.first + k * c.step, block = block_at(level, position);
        const int has_next = k + 1 < c.length || c.ahead >= 0;
        vec* const kept[3] = {(vec*)factor_of(args, g->group, block), has_next ? (vec*)next_of(args, g->group, block) : 0,
                              c.behind >= 0 ? (vec*)behind_of(args, g->group, block) : 0};
        vec* const own = s->own[k % 2];
        vec* const parts[3] = {g->all ? kept[0] : own, g->all ? kept[1] : own + AREA, g->all ? kept[2] : own + 2 * AREA};
        const vec *r_before = r, *fill_before = fill, *y_before = y, *l_before = l;
        l = parts[0];
#if HAS_SIGNS
        p.before_l = l_before;
#endif
        (void)l_before;
        ahead next = IS_FAR && k + 1 < c.length ? ahead_of(args, level, g, position + c.step, c.step) : nothing_ahead();
        if (original) {
            factor_original_pivot(args, parts[0], d_of(args, g->member[0], block), r_before, &next, &p);
        } else {
            const view d = assemble_pivot(s->d, args, g, block, updated, &p);
            if (closes_ring(level)) add_own_coupling(s->d, d, s->e, args, level, g);
            if (updated) join_poison(args, g, block, &p);
            factor_pivot(parts[0], d, r_before, &p);
        }
        if (has_next) r = parts[1];
        if (has_next && original && c.step > 0) {
            solve_original_panel(args, r, e_of(args, g->member[0], block), l, &next);
        } else if (has_next) {
            vec* const loaded = gathers_rows(c.step) ? r : s->e; /* in place: the caches are narrow */
            solve_panel(r, coupling_between(loaded, args, level, g, position + c.step, position), 0, 0, l);
        }
        if (c.behind >= 0) {
            fill = parts[2];
            view start = k == 0 ? coupling_between(s->e, args, level, g, c.behind, position) : strided(s->unit, 0, 0);
#if HAS_SIGNS
            start.signs = l_before;
#endif
            solve_panel(fill, start, fill_before, r_before, l);
            vec* slot = (vec*)update_of(args, side_behind(&c), g->group, block_at(level, c.behind));
            multiply(slot, k > 0 || updated, 1, panel_of(fill, l), transposed(stored(fill)), 1);
            leave_squares(slot, k > 0 || updated, fill);
        }
        if (forward) {
            assemble_rhs(s->b, args, g, block, updated);
            solve_rhs(y = s->y[k % 2], s->b, y_before, r_before, l, width_of(args));
            if (c.behind >= 0)
                multiply_rhs((vec*)rhs_update_of(args, side_behind(&c), g->group, block_at(level, c.behind)), k > 0 || updated, fill, y,
                             width_of(args));
            finish_rhs(args, g, block, y WITH_SIGNS(l, s->b));
        }
        if (!g->all) deliver(kept, own, g->which);
        record_lanes(args, g, block, level->index, l, &p);
        if (k + 1 == c.length) record_chain(args, g, block, &p);
    }
    end_chain(args, level, g, c, r, fill, &p WITH_SIGNS(l));
    if (forward && c.ahead >= 0)
        multiply_rhs((vec*)rhs_update_of(args, side_ahead(&c), g->group, block_at(level, c.ahead)), updated, r, y, width_of(args));
}

KERNEL_PART void factor_only(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_chain(args, level, g, c, 0, (factor_scratch*)scratch);
}
KERNEL_PART void factor_forward(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_chain(args, level, g, c, 1, (factor_scratch*)scratch);
}
