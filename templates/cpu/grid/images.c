/* Kernels that run over pixels and not over fronts: the ring of data, residuals and gradients. The member's outcome is here
 * too. */
#include "cpu/grid/sweep.c"

INLINE integer first_x(const context* c) {
    return c->launch->origin % c->launch->pitch;
} /* the first unknown's place in the caller's image */
INLINE integer first_y(const context* c) { return c->launch->origin / c->launch->pitch; }

/* Writes the solution on the ring: its data, or with A' b less what the unknowns next to it contribute. */
NOINLINE void finish_ring(const context* c, integer member) {
    const integer width = c->launch->width, height = c->launch->height;
    const int failed = grid_has_failed(&status_of(c, member)->record, c->args->accepts);
    int finite = 1;
    for (integer y = -1; y <= height; ++y)
        for (integer x = -1; x <= width; x += y < 0 || y == height ? 1 : width + 1)
            for (integer column = 0; column < c->args->used_columns; ++column) {
                real value = b_at(c, member, pixel_at(c, x, y))[column];
                for (integer k = 0; k < 9 && c->launch->transposed; ++k) {
                    const integer from_x = x + k % 3 - 1, from_y = y + k / 3 - 1;
                    if (!is_inside(c, from_x, from_y)) continue;
                    value -= edge_of(c, member, from_x, from_y)[8 - k] * x_at(c, member, pixel_at(c, from_x, from_y))[column];
                }
                x_at(c, member, pixel_at(c, x, y))[column] = failed ? NOT_A_NUMBER : value;
                finite &= is_finite(value);
            }
    watch(c, member, finite);
}

/* The entry of A, or of A', that couples unknown (x, y) to its neighbour k. */
INLINE real coupling(const context* c, integer member, integer x, integer y, integer k) {
    const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
    const int inside = is_inside(c, to_x, to_y);
    if (!inside && c->launch->transposed) return 0;
    const int other = inside && (SYMMETRIC ? k > 4 : c->launch->transposed);
    return other ? stencil_of(c, member, to_x, to_y)[8 - k] : stencil_of(c, member, x, y)[k];
}

/* Copies b of one row of the caller's image. */
NOINLINE void keep_row(const context* c, integer member, integer row) {
    const integer columns = c->args->used_columns, pitch = c->launch->pitch, first = row * pitch;
    real* to = reals_at(c, c->launch->kept_b, (member * c->launch->pixels + first) * columns);
    for (integer pixel = first; pixel < first + pitch; ++pixel)
        for (integer column = 0; column < columns; ++column) *to++ = b_at(c, member, pixel)[column];
}
INLINE const real* original_b(const context* c, integer member, integer pixel) {
    if (!c->args->in_place) return b_at(c, member, pixel);
    return reals_at(c, c->launch->kept_b, (member * c->launch->pixels + pixel) * c->args->used_columns);
}

/* b - A x of one pixel; zero on a ring. Adds the sizes of its row's entries to `sizes`. */
INLINE double residual_of(const context* c, integer member, integer x, integer y, integer column, double* sizes) {
    if (!is_inside(c, x, y)) return 0;
    double sum = (double)original_b(c, member, pixel_at(c, x, y))[column];
    for (integer k = 0; k < 9; ++k) {
        const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        if (c->launch->edge < 0 && !is_inside(c, to_x, to_y)) continue;
        const double entry = (double)coupling(c, member, x, y, k);
        sum -= entry * (double)x_at(c, member, pixel_at(c, to_x, to_y))[column];
        *sizes += size_of(entry);
    }
    return sum;
}
/* b - A x of one row of the caller's image. */
NOINLINE void residual_row(const context* c, integer member, integer row) {
    const trifold_grid_launch* launch = c->launch;
    const integer columns = c->args->used_columns, rows = launch->pixels / launch->pitch, y = row - first_y(c);
    real* to = reals_at(c, launch->residual, (member * rows + row) * launch->pitch * columns);
    double sizes = 0;
    for (integer pixel = 0; pixel < launch->pitch; ++pixel, to += columns)
        for (integer column = 0; column < columns; ++column)
            to[column] = (real)residual_of(c, member, pixel - first_x(c), y, column, &sizes);
}

NOINLINE void correct_row(const context* c, integer member, integer row) {
    const trifold_grid_launch* launch = c->launch;
    const integer columns = c->args->used_columns, rows = launch->pixels / launch->pitch;
    const real* from = reals_at(c, launch->residual, (member * rows + row) * launch->pitch * columns);
    int finite = 1;
    for (integer pixel = 0; pixel < launch->pitch; ++pixel)
        for (integer column = 0; column < columns; ++column) {
            real* x = x_at(c, member, row * launch->pitch + pixel) + column;
            *x += from[pixel * columns + column];
            finite &= is_finite(*x);
        }
    watch(c, member, finite);
}

/* Computes the derivative of the loss by each entry of a stencil that is read, for one row of the caller's image. b holds lam. */
NOINLINE void gradient_row(const context* c, integer member, integer row) {
    const trifold_grid_launch* launch = c->launch;
    const integer columns = c->args->used_columns, y = row - first_y(c);
    real* to = (real*)c->args->gradient + (member * launch->pixels + row * launch->pitch) * 9;
    for (integer pixel = 0; pixel < launch->pitch; ++pixel, to += 9) {
        const integer x = pixel - first_x(c);
        for (integer k = 0; k < 9; ++k) {
            const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
            const int inside = is_inside(c, to_x, to_y);
            if (c->args->first_column == 0) to[k] = 0;
            if (!is_inside(c, x, y) || (!inside && launch->edge < 0) || (SYMMETRIC && inside && k > 4)) continue;
            const integer here = pixel_at(c, x, y), there = pixel_at(c, to_x, to_y);
            real sum = 0;
            for (integer column = 0; column < columns; ++column) {
                sum += b_at(c, member, here)[column] * x_at(c, member, there)[column];
                if (SYMMETRIC && inside && k < 4) sum += b_at(c, member, there)[column] * x_at(c, member, here)[column];
            }
            to[k] -= sum;
        }
    }
}

/* ---- a member's outcome ---- */

INLINE void add_record(trifold_grid_record* all, const trifold_grid_record* record) {
    all->log_determinant += record->log_determinant;
    all->sign *= record->sign;
    if (record->least < all->least) all->least = record->least;
    if (record->largest > all->largest) all->largest = record->largest;
    if (record->entry > all->entry) all->entry = record->entry;
    if (record->row_sum > all->row_sum) all->row_sum = record->row_sum;
}

/* Adds the records of a level's fronts to the member's status. The first front that failed on the lowest such level stays. `first`: this is
 * the lowest level. */
NOINLINE void add_level(const context* c, integer member, integer level, int first) {
    trifold_grid_status* status = status_of(c, member);
    const trifold_grid_level* l = &c->launch->level[level];
    if (first) *status = (trifold_grid_status){.record = new_record(), .level = -1};
    if (status->record.problem != trifold_grid_sound) return;
    for (integer j = 0; j < 1LL << l->y_halvings; ++j)
        for (integer i = 0; i < 1LL << l->x_halvings; ++i) {
            const front f = front_at(c, level, member, i, j);
            const trifold_grid_record* record = record_of(c, &f);
            if (record->problem != trifold_grid_sound) {
                const double row_sum = status->record.row_sum;
                *status = (trifold_grid_status){.record = *record, .level = c->launch->number, .place = f.place};
                if (row_sum > status->record.row_sum) status->record.row_sum = row_sum;
                return;
            }
            add_record(&status->record, record);
        }
    if (l->x_halvings + l->y_halvings > 0) return;
    status->record.problem = grid_problem_of(&status->record, c->launch, c->args->accepts);
    status->rough = grid_roughness(&status->record, c->launch, c->args->accepts);
    if (!status->rough) return;
    const unsigned long bytes = (unsigned long)c->launch->pixels * 9 * sizeof(real);
    __builtin_memcpy(workspace_at(c, c->launch->stencil) + (unsigned long)member * bytes,
                     (const char*)c->args->stencil + (unsigned long)member * bytes, bytes);
}
