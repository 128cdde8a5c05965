/* The factorization of a chain, with or without the right-hand sides riding along. */
#include "cpu/tridiagonal/tile/load.c"
#include "cpu/tridiagonal/tile/front.c"
#include "cpu/tridiagonal/tile/sweep.c"

INLINE int add_to_slot(const trifold_level* level, integer k) { return k > 0 || level->index > 0; }

#if HAS_SIGNS
/* Sets or adds (`add`) the squares of a panel's rows to the sums behind a slot. */
INLINE void leave_squares(real* slot, int add, const real* panel) {
    for (integer k = 0; !add && k < LD; ++k) slot[n * LD + k] = 0;
    add_squares(slot + n * LD, panel, 0);
}
#define LEAVE_SQUARES(slot, add, panel) leave_squares(slot, add, panel)
#else
#define LEAVE_SQUARES(slot, add, panel) (void)0
#endif

/* Writes the updates that the last front of a chain leaves to the separators: - R R' ahead, and the coupling of ahead and behind. */
static void finish_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const front* last) {
    if (c->ahead < 0) return;
    subtract_product(update_of(args, side_ahead(c), member, block_at(level, c->ahead)), add_to_slot(level, 0), last->next, last->next,
                     LOWER WITH_SIGNS(last->factor));
    LEAVE_SQUARES(update_of(args, side_ahead(c), member, block_at(level, c->ahead)), add_to_slot(level, 0), last->next);
    if (!HAS_FILL || c->behind < 0) return;
    const integer low = next_position(level, smaller(c->ahead, c->behind));
    real* coupling = coupling_of(args, member, level->next_coupling + low);
    const int upward = c->step > 0; /* stored as A(higher, lower) */
    subtract_product(coupling, 0, upward ? last->next : last->behind, upward ? last->behind : last->next, FULL WITH_SIGNS(last->factor));
}

static void load_front(const trifold_args* args, const trifold_level* level, integer member, const chain* c, integer k, front* f) {
    const integer position = c->first + k * c->step, block = block_at(level, position);
    const int has_next = k + 1 < c->length || c->ahead >= 0;
    f->previous_next = k > 0 ? f->next : 0;
    f->previous_behind = k > 0 ? f->behind : 0;
#if HAS_SIGNS
    f->previous_signs = k > 0 ? reciprocals_of(f->factor) : 0;
#endif
    f->factor = factor_of(args, member, block);
    f->next = has_next ? next_of(args, member, block) : 0;
    f->behind = c->behind >= 0 ? behind_of(args, member, block) : 0;
    const int direct = DIRECT != 0 && level->index == 0;
    f->d = direct && !args->diagonal && !args->shift ? d_of(args, member, block) : 0;
    f->e = direct && c->step > 0 ? e_of(args, member, block) : 0;
    if (!f->d) load_diagonal_block(args, member, block, f->factor);
#if IS_RING /* the compiler chooses other registers for a chain where it has seen this */
    if (closes_ring(level)) {
        if (f->d) load_diagonal_block(args, member, block, f->factor);
        f->d = 0;
        add_own_coupling(args, level, member, f->factor, next_of(args, member, block));
    }
#endif
    if (f->next && !f->e) load_coupling(args, level, member, position + c->step, position, f->next);
    if (f->behind && k == 0) load_coupling(args, level, member, c->behind, position, f->behind);
}

/* Lines to fetch for the front that is k-th in its chain: D, the coupling ahead, and the blocks that it writes; or none. */
static expected* expect_front(const trifold_args* args, const trifold_level* level, integer member, const chain* c, integer k,
                              expected* next) {
    if (FETCHED_LINES == 0 || HAS_VIEWS || k >= c->length || level->index > 0) return 0;
    const integer position = c->first + k * c->step, block = block_at(level, position), low = smaller(position, position + c->step);
    const int d_by_columns = D_ROW == 1, growth = d_by_columns ? -1 : 1;
    *next = (expected){0};
    next->reads.first = (area){d_of(args, member, block), d_by_columns ? D_COLUMN + 1 : D_ROW, d_by_columns ? n : 1, growth, n};
    next->writes.first = (area){factor_of(args, member, block), STRIP, LANES * LANES, LANES * LANES, VECTORS};
    if (k + 1 == c->length && c->ahead < 0) return next;
    next->reads.second = (area){e_of(args, member, block_at(level, low)), E_ROW == 1 ? E_COLUMN : E_ROW, n, 0, n};
    next->writes.second = (area){next_of(args, member, block), 0, n * LD, 0, 1};
    return next;
}

KERNEL_PART void factor_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const int with_rhs,
                              void* scratch) {
    if (CLIPS && c->length == 0) return;
    real raw[LD] __attribute__((aligned(64)));
    front f = {0};
    expected next;
    scaled determinant = {1, 0};
    const integer step = level->scale * c->step, last = block_at(level, c->first + (c->length - 1) * c->step);
#if HAS_SIGNS
    real sums[LD] __attribute__((aligned(64)));
    growth g = {};
#else
    vec reduction = {};
#endif
    int fed_by_failed = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
#if !HAS_SIGNS
        if (k > 0) reduction = larger_reductions(reduction, args, member, block - step, f.factor);
#endif
        load_front(args, level, member, c, k, &f);
        f.expected = expect_front(args, level, member, c, k + 1, &next);
        const real floor = pivot_floor(args, member, block);
        if (level->index > 0) {
            add_updates(args, member, block, f.factor);
            fed_by_failed |= is_poisoned(args, member, block);
        }
        factor_front(&f, floor, raw);
#if HAS_SIGNS
        start_sums(args, member, block, level->index > 0, f.previous_next, sums, &g);
        *negatives_of(args, member, block) = finish_sums(f.factor, raw, sums, &g);
#endif
#if HAS_VIEWS
        *floors_of(args, member, block) = args->pivot_floor > 0 ? raise_first_pivots(raw, floor, rows_of(args, member, block)) : 0;
#else
        *floors_of(args, member, block) = __builtin_expect(args->pivot_floor > 0, 0) ? raise_pivots(raw, floor) : 0;
#endif
        const integer row = test_pivots(raw);
        if (__builtin_expect(record_front(args, member, block, level->index, row, fed_by_failed), 0)) {
            fed_by_failed = 1;
            poison_front(&f);
        }
        determinant = times_pivots(determinant, raw, row == SMALL);
        *block_log_determinant_of(args, member, block) = k + 1 < c->length ? 0 : logarithm(determinant);
        if (HAS_FILL && f.behind) {
            subtract_product(update_of(args, side_behind(c), member, block_at(level, c->behind)), add_to_slot(level, k), f.behind, f.behind,
                             LOWER WITH_SIGNS(f.factor));
            LEAVE_SQUARES(update_of(args, side_behind(c), member, block_at(level, c->behind)), add_to_slot(level, k), f.behind);
        }
        if (with_rhs) {
            real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
            forward_front(args, level, member, block, f.previous_next, previous_y, y);
            if (HAS_FILL && f.behind)
                update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), columns_of(args), f.behind, y,
                           add_to_slot(level, k));
        }
    }
#if HAS_SIGNS
    (void)step;
    *reduction_of(args, member, last) = (double)g.reduction[0];
    *grown_of(args, member, last) = (double)largest_lane(g.grown);
    *largest_of(args, member, last) = (double)largest_lane(g.largest);
#else
    reduction = larger_reductions(reduction, args, member, last, f.factor);
    *reduction_of(args, member, last) = (double)largest_lane(reduction);
#endif
    finish_chain(args, level, member, c, &f);
    if (with_rhs && c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), columns_of(args), f.next,
                   rhs_scratch(scratch, ~c->length & 1), add_to_slot(level, 0));
    if (c->ahead >= 0) mark_poison(args, side_ahead(c), member, block_at(level, c->ahead), level->index, fed_by_failed);
    if (c->behind >= 0) mark_poison(args, side_behind(c), member, block_at(level, c->behind), level->index, fed_by_failed);
}
