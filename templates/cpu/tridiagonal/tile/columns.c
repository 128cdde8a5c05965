/* Variant "tile": forward and backward sweeps with many right-hand sides, which are products of matrices.
 *
 * A task has a panel of PANEL_COLUMNS right-hand sides of its chain, and works on slices of them. */
#include "cpu/tridiagonal/tile/load.c"
#include "cpu/tridiagonal/slices.c"

#if HAS_SLICES

enum { FEW_COLUMNS = 2 * SLICE_VECTORS }; /* largest number that takes longer as a slice than one by one; measured */

/* ---- squares ---- */

COLD double tiny_column(double sum, const real* y) {
    real values[n];
    for (integer r = 0; r < n; ++r) values[r] = y[r * SLICE];
    return tiny_square(sum, values, n);
}

INLINE void store_squares(double* quadratic, const squares_across* sum, const real* y, integer count) {
    for (integer c = 0; c < count; ++c) {
        const double square = sum[c / PANEL_LANES][c % PANEL_LANES];
        quadratic[c] = REAL_BYTES == 8 && __builtin_expect(is_tiny(square), 0) ? tiny_column(square, y + c) : square;
    }
}

/* ---- chains ---- */

/* The right-hand sides of a task: those of the call from `first` on. */
typedef struct {
    integer number, first, columns;
} column_panel;

INLINE column_panel panel_of(const trifold_args* args, integer number) {
    const integer first = number * PANEL_COLUMNS;
    return (column_panel){number, first, smaller(args->columns - first, PANEL_COLUMNS)};
}

/* The slices of a panel: `c` is the first column of each, of which it has `count`. */
#define EACH_SLICE(panel) for (integer c = 0, count; count = smaller((panel)->columns - c, SLICE), c < (panel)->columns; c += SLICE)

/* One worker's room: the right-hand sides of two fronts and of the separator behind. */
INLINE real* panel_scratch(void* scratch, integer which) { return (real*)scratch + which * BLOCK_OF_PANEL; }

INLINE real* slot_of(const trifold_args* args, int side, integer member, integer block, const column_panel* panel) {
    return rhs_update_of(args, side, member, block) + panel->number * BLOCK_OF_PANEL;
}

INLINE void load_panel(const trifold_args* args, integer member, integer block, const column_panel* panel, real* x) {
    const trifold_strides* s = &args->x_strides;
    EACH_SLICE(panel)
    load_given_rows(x_of(args, member, block) + (panel->first + c) * s->column, s, stored_rows(args, block), count, x + c * n);
}

INLINE void add_slots(const trifold_args* args, integer member, integer block, const column_panel* panel, integer c, real* y) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(args, member, block, side)) continue;
        const real* slot = slot_of(args, side, member, block, panel) + c * n;
        for (integer i = 0; i < BLOCK_OF_SLICE; i += PANEL_LANES) *vector_at(y + i, 0) += *vector_at(slot + i, 0);
    }
}

KERNEL_PART void forward_panel(const trifold_args* args, const trifold_level* level, integer member, const chain* chain, integer number,
                               void* scratch) {
    const column_panel panel = panel_of(args, number);
    const integer ahead = level->scale * chain->step;
    const real *previous_next = 0, *last_y = 0;
    for (integer k = 0; k < chain->length; ++k) {
        const integer block = block_at(level, chain->first + k * chain->step);
        real* y = panel_scratch(scratch, k & 1);
        EACH_SLICE(&panel) {
            real* slice = y + c * n;
            squares_across sum[SLICE_VECTORS] = {};
            const passage way = way_of(args, member, block, panel.first + c, count, ahead, level->index == 0 && !HAS_SIGNS, slice);
            if (level->index > 0) add_slots(args, member, block, &panel, c, slice);
            forward_slice(factor_of(args, member, block), previous_next, last_y + c * n, slice, &way, sum);
            if (HAS_SIGNS) turn_slice(slice, factor_of(args, member, block));
            end_way(args, member, block, panel.first + c, count, &way, slice);
            if (HAS_SIGNS) turn_slice(slice, factor_of(args, member, block));
            store_squares(block_quadratic_of(args, member, block) + panel.first + c, sum, slice, count);
            if (chain->behind >= 0)
                update_slice(slot_of(args, side_behind(chain), member, block_at(level, chain->behind), &panel) + c * n,
                             behind_of(args, member, block), slice, k > 0 || level->index > 0);
        }
        previous_next = next_of(args, member, block);
        last_y = y;
    }
    if (chain->ahead < 0) return;
    real* slot = slot_of(args, side_ahead(chain), member, block_at(level, chain->ahead), &panel);
    EACH_SLICE (&panel)(void) count, update_slice(slot + c * n, previous_next, last_y + c * n, level->index > 0);
}

/* Each panel has a bit of the mark that a solution has left the range. The first panel's chain also clears those that the call has not. */
INLINE void clear_range(int* range, const column_panel* panel, integer columns) {
    const unsigned own = 1u << panel->number, used = (2u << ((columns - 1) / PANEL_COLUMNS)) - 1;
    __atomic_fetch_and((unsigned*)range, panel->number == 0 ? used & ~own : ~own, __ATOMIC_RELAXED);
}

KERNEL_PART void backward_panel(const trifold_args* args, const trifold_level* level, integer member, const chain* chain, integer number,
                                void* scratch) {
    const column_panel panel = panel_of(args, number);
    const integer length = chain->length, ahead = -level->scale * chain->step;
    int* range = &range_of(args, member)->solution;
    real *x_behind = panel_scratch(scratch, 2), *x_next = panel_scratch(scratch, length & 1);
    across_columns trouble = {};
    if (panel.columns <= 0) return;
    if (begins_descent(args, level)) clear_range(range, &panel, args->columns);
    if (chain->behind >= 0) load_panel(args, member, block_at(level, chain->behind), &panel, x_behind);
    if (chain->ahead >= 0) load_panel(args, member, block_at(level, chain->ahead), &panel, x_next);
    for (integer k = length; k-- > 0;) {
        const integer block = block_at(level, chain->first + k * chain->step);
        real* x = panel_scratch(scratch, k & 1);
        back_panels p = {.factor = factor_of(args, member, block)};
        if (k + 1 < length || chain->ahead >= 0) p.next = next_of(args, member, block);
        if (chain->behind >= 0) p.behind = behind_of(args, member, block);
        EACH_SLICE(&panel) {
            real* slice = x + c * n;
            const passage way = way_of(args, member, block, panel.first + c, count, ahead, 1, slice);
            p.x_next = kept(x_next + c * n);
            p.x_behind = kept(x_behind + c * n);
            backward_slice(&p, slice, &way, &trouble);
            end_way(args, member, block, panel.first + c, count, &way, slice);
        }
        x_next = x;
    }
    int any = 0;
    UNROLL for (int lane = 0; lane < PANEL_LANES; ++lane) any |= trouble[lane] != 0;
    if (__builtin_expect(any, 0)) __atomic_fetch_or((unsigned*)range, 1u << panel.number, __ATOMIC_RELAXED);
}

#endif
