/* Stored fronts and addresses in the workspace, for all kernels of grids.
 *
 * A front eliminates s pixels and keeps r. S and R are s and r, rounded up to whole vectors. Its s columns are stored in strips of LANES
 * rows, each strip column by column: element (row, k) is at (row / LANES) S LANES + k LANES + row % LANES. So products read memory from
 * front to back. The rows:
 *   W    S rows: the factors L and U, or L if the matrix is symmetric
 *   Y    R rows, which become Y U^-1, or Y L^-T
 *   Z'   R rows, which become (L^-1 P Z)'; symmetric matrices have none
 * Padding is the identity in W, and zero elsewhere. D, which goes to the parent, has columns of R elements. */
#include "cpu/grid/constants.c"
#include "cpu/vectors.c"
#include "grid/boxes.h"
#include "grid/outcome.h"
#include "grid/scale.h"

INLINE double size_of(double x) { return x < 0 ? -x : x; }
INLINE integer whole(integer count) { return (count + LANES - 1) / LANES * LANES; }

/* The operands of a call, the constants of a launch, and a worker's scratch. */
typedef struct {
    const trifold_grid_args* args;
    const trifold_grid_launch* launch;
    char* scratch;
} context;

/* One box, and its level. S and R are the box's own, not those of the level's largest. */
typedef struct {
    grid_box box;
    const trifold_grid_level* level;
    integer member, i, j;
    integer place, slot; /* its number in its level: within the image, and within all images */
    integer s, r, S, R;
} front;

INLINE integer row_of(integer k, integer S) {
    return k / LANES * S * LANES + k % LANES;
} /* the place where row k of a stored front begins */

INLINE int made_of(const trifold_grid_launch* launch, integer level) {
    if (level < 1) return grid_leaf; /* a merge's launch only reads the level below */
    return launch->level[level].x_halvings < launch->level[level - 1].x_halvings ? grid_side_by_side : grid_above;
}

INLINE front front_at(const context* c, integer level, integer member, integer i, integer j) {
    const trifold_grid_launch* launch = c->launch;
    const trifold_grid_level* l = &launch->level[level];
    front f = {.box = grid_box_at(launch->width, launch->height, l->x_halvings, l->y_halvings, i, j, made_of(launch, level)),
               .level = l,
               .member = member,
               .i = i,
               .j = j};
    f.place = (j << l->x_halvings) + i;
    f.slot = (member << (l->x_halvings + l->y_halvings)) + f.place;
    f.s = grid_eliminated(&f.box);
    f.r = grid_kept(&f.box);
    f.S = whole(f.s);
    f.R = whole(f.r);
    return f;
}

INLINE char* workspace_at(const context* c, integer offset) { return (char*)c->args->workspace + offset; }
INLINE real* reals_at(const context* c, integer offset, integer index) { return (real*)workspace_at(c, offset) + index; }
INLINE real* w_of(const context* c, const front* f) { return reals_at(c, f->level->factor, f->slot * f->level->factor_elements); }
INLINE real* y_of(const context* c, const front* f) { return w_of(c, f) + f->S * f->S; }
INLINE real* z_of(const context* c, const front* f) { return SYMMETRIC ? y_of(c, f) : y_of(c, f) + f->R * f->S; }
INLINE real* update_of(const context* c, const front* f) {
    return reals_at(c, f->level->update, f->member * f->level->update_stride + f->place * f->level->kept * f->level->kept);
}
INLINE real* vector_of(const context* c, const front* f) {
    return reals_at(c, f->level->vector, f->member * f->level->vector_stride + f->place * f->level->kept * c->launch->task.columns);
}
INLINE int* pivots_of(const context* c, const front* f) {
    return (int*)workspace_at(c, f->level->pivots) + f->slot * f->level->pivot_elements;
}
INLINE real* inverses_of(const context* c, const front* f) { return reals_at(c, f->level->inverses, f->slot * f->level->inverse_elements); }
INLINE real* transposed_pivots_of(const context* c, const front* f) {
    return reals_at(c, f->level->transposed_pivots,
                    f->member * f->level->transposed_pivots_stride + f->place * f->level->eliminated * f->level->eliminated);
}
INLINE trifold_grid_record* record_of(const context* c, const front* f) {
    return (trifold_grid_record*)workspace_at(c, f->level->records) + f->slot;
}

/* The exponent of an unknown's row, and 2^exponent. */
INLINE int* scale_of(const context* c, integer member, integer x, integer y) {
    return (int*)workspace_at(c, c->launch->scale) + (member * c->launch->height + y) * c->launch->width + x;
}
INLINE real power_of_two(int exponent) {
    const real_bits bits = scale_bits(exponent);
    real power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return power;
}
INLINE int is_finite(real x) { return x - x == 0; }

/* The caller's pixel. */
INLINE integer pixel_at(const context* c, integer x, integer y) { return c->launch->origin + y * c->launch->pitch + x; }
INLINE const real* stencil_of(const context* c, integer member, integer x, integer y) {
    return (const real*)c->args->stencil + (member * c->launch->pixels + pixel_at(c, x, y)) * 9;
}
/* The k-th pixel that a box eliminates. */
INLINE integer eliminated_x(const grid_box* box, integer k) { return box->ex0 + k % (box->ex1 - box->ex0 + 1); }
INLINE integer eliminated_y(const grid_box* box, integer k) { return box->ey0 + k / (box->ex1 - box->ex0 + 1); }
