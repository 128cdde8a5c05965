/* The factorization: whole boxes by one task, or shares of large fronts. */
#include "cpu/grid/leaf.c"

INLINE real* scratch_of(const context* c, integer offset) { return (real*)c->scratch + offset; }
/* Boxes of a level each way, within one of the last level that the launch treats. */
INLINE integer halvings_below(const context* c, integer level, int y) {
    const trifold_grid_level *l = &c->launch->level[level], *last = &c->launch->level[c->launch->levels - 1];
    return y ? l->y_halvings - last->y_halvings : l->x_halvings - last->x_halvings;
}

/* The place of D of a box. A D that the launch reads or leaves is in the workspace; one that it makes and uses itself is in scratch. */
INLINE real* update_within(const context* c, const front* f, integer level) {
    const trifold_grid_launch* launch = c->launch;
    if (level == launch->levels - 1 || (level == 0 && !launch->leaves)) return update_of(c, f);
    const integer x = halvings_below(c, level, 0), y = halvings_below(c, level, 1);
    const integer i = f->i & ((1LL << x) - 1), j = f->j & ((1LL << y) - 1);
    return scratch_of(c, (level % 2 ? launch->task.odd_scratch : 0) + ((j << x) + i) * f->level->kept * f->level->kept);
}

/* The part of a merge: the one behind where `second`. */
INLINE front part_of(const context* c, const front* f, integer level, int second) {
    const int side_by_side = made_of(c->launch, level) == grid_side_by_side;
    return front_at(c, level - 1, f->member, side_by_side ? 2 * f->i + second : f->i, side_by_side ? f->j : 2 * f->j + second);
}

INLINE void assemble(const context* c, const front* f, integer level, real* w, real* d, integer left, integer right) {
    clear_front(f, w, d, left, right);
    for (int second = 0; second < 2; ++second) {
        const front part = part_of(c, f, level, second);
        add_part(f, w, d, &part, update_within(c, &part, level - 1), left, right);
    }
}

NOINLINE void eliminate_box(const context* c, const front* f, integer level) {
    real *w = w_of(c, f), *d = update_within(c, f, level), *transposed_pivots = scratch_of(c, c->launch->task.spare_scratch);
    trifold_grid_record record = new_record();
    if (level == 0)
        read_leaf(c, f, w, d, &record);
    else
        assemble(c, f, level, w, d, 0, f->S + f->R);
    factor_pivots(c, f, transposed_pivots, &record);
    solve_panel(c, f, transposed_pivots, 0, f->R);
    subtract_product(d, f->R, y_of(c, f), z_of(c, f), f->S, 0, f->R, 0, f->R, SYMMETRIC);
    *record_of(c, f) = record;
}

/* Box `task` of the last level and all below it. */
INLINE void eliminate_boxes(const context* c, integer task) {
    const trifold_grid_launch* launch = c->launch;
    const trifold_grid_level* last = &launch->level[launch->levels - 1];
    const integer i = task & ((1LL << last->x_halvings) - 1), row = task >> last->x_halvings;
    const integer j = row & ((1LL << last->y_halvings) - 1), member = row >> last->y_halvings;
    for (integer level = launch->leaves ? 0 : 1; level < launch->levels; ++level) {
        const integer x = halvings_below(c, level, 0), y = halvings_below(c, level, 1);
        for (integer b = 0; b < 1LL << y; ++b)
            for (integer a = 0; a < 1LL << x; ++a) {
                const front f = front_at(c, level, member, (i << x) + a, (j << y) + b);
                eliminate_box(c, &f, level);
            }
    }
}

/* A share of a large front: `part` of the `parts` of box `task` / `parts` of the last level. */
typedef struct {
    front f;
    integer level, part;
} share;

INLINE share share_at(const context* c, integer task, integer parts) {
    const integer level = c->launch->levels - 1, slot = task / parts;
    const trifold_grid_level* last = &c->launch->level[level];
    const integer i = slot & ((1LL << last->x_halvings) - 1), row = slot >> last->x_halvings;
    return (share){front_at(c, level, row >> last->y_halvings, i, row & ((1LL << last->y_halvings) - 1)), level, task % parts};
}

INLINE integer parts_of(const context* c, integer size) { return (size + c->launch->task.tile - 1) / c->launch->task.tile; }
