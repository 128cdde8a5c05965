/* Kernels that run over pixels and not over fronts: the ring of data, residuals and gradients. The member's outcome is here
 * too. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/common.cuh"

/* Writes the solution on the ring: its data, or with A' b less what the unknowns next to it contribute. */
TRIFOLD_DEVICE void finish_ring(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    if (is_inside(c, x, y)) return;
    const bool failed = grid_has_failed(&status_of(c, member)->record, c.args.accepts) != 0;
    bool left = false;
    for (int column = 0; column < c.args.used_columns; ++column) {
        real value = b_at(c, member, pixel_at(c, x, y))[column];
        for (int k = 0; k < 9 && c.launch.transposed; ++k) {
            const trifold_int from_x = x + k % 3 - 1, from_y = y + k / 3 - 1;
            if (!is_inside(c, from_x, from_y)) continue;
            value -= edge_of(c, member, from_x, from_y)[8 - k] * x_at(c, member, pixel_at(c, from_x, from_y))[column];
        }
        left = left || has_left(value);
        x_at(c, member, pixel_at(c, x, y))[column] = failed ? static_cast<real>(not_a_number()) : value;
    }
    note_left(c, member, left);
}

/* The entry of A, or of A', that couples unknown (x, y) to its neighbour k. */
TRIFOLD_DEVICE real coupling(const Context& c, trifold_int member, trifold_int x, trifold_int y, int k) {
    const trifold_int to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
    const bool inside = is_inside(c, to_x, to_y);
    if (!inside && c.launch.transposed) return 0;
    const bool other = inside && (symmetric ? k > 4 : c.launch.transposed != 0);
    return other ? stencil_of(c, member, to_x, to_y)[8 - k] : stencil_of(c, member, x, y)[k];
}

TRIFOLD_DEVICE real* residual_at(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    return reals_at(c, c.launch.residual, (member * c.launch.pixels + pixel_at(c, x, y)) * c.args.used_columns);
}
/* Copies b of one pixel. */
TRIFOLD_DEVICE real* kept_b_at(const Context& c, trifold_int member, trifold_int pixel) {
    return reals_at(c, c.launch.kept_b, (member * c.launch.pixels + pixel) * c.args.used_columns);
}
TRIFOLD_DEVICE void keep(const Context& c, trifold_int member, trifold_int pixel) {
    for (int column = 0; column < c.args.used_columns; ++column) kept_b_at(c, member, pixel)[column] = b_at(c, member, pixel)[column];
}
TRIFOLD_DEVICE const real* original_b(const Context& c, trifold_int member, trifold_int pixel) {
    return c.args.in_place ? kept_b_at(c, member, pixel) : b_at(c, member, pixel);
}
/* b - A x of one pixel; zero on a ring. Adds the sizes of its row's entries to `sizes`. */
TRIFOLD_DEVICE double residual_of(const Context& c, trifold_int member, trifold_int x, trifold_int y, int column, double& sizes) {
    if (!is_inside(c, x, y)) return 0;
    double sum = static_cast<double>(original_b(c, member, pixel_at(c, x, y))[column]);
    for (int k = 0; k < 9; ++k) {
        const trifold_int to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        if (c.launch.edge < 0 && !is_inside(c, to_x, to_y)) continue;
        const double entry = static_cast<double>(coupling(c, member, x, y, k));
        sum -= entry * static_cast<double>(x_at(c, member, pixel_at(c, to_x, to_y))[column]);
        sizes += size_of(entry);
    }
    return sum;
}
TRIFOLD_DEVICE void take_residual(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    double sizes = 0;
    for (int column = 0; column < c.args.used_columns; ++column)
        residual_at(c, member, x, y)[column] = static_cast<real>(residual_of(c, member, x, y, column, sizes));
}
TRIFOLD_DEVICE void correct(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    bool left = false;
    for (int column = 0; column < c.args.used_columns; ++column) {
        const real value = x_at(c, member, pixel_at(c, x, y))[column] + residual_at(c, member, x, y)[column];
        left = left || has_left(value);
        x_at(c, member, pixel_at(c, x, y))[column] = value;
    }
    note_left(c, member, left);
}

/* Computes the derivative of the loss by each entry of a pixel's stencil that is read. b holds lam. */
TRIFOLD_DEVICE void take_gradient(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    real* to = global_pointer(static_cast<real*>(c.args.gradient) + (member * c.launch.pixels + pixel_at(c, x, y)) * 9);
    for (int k = 0; k < 9; ++k) {
        const trifold_int to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        const bool inside = is_inside(c, to_x, to_y);
        real value = c.args.first_column == 0 ? real(0) : to[k];
        if (is_inside(c, x, y) && (inside || c.launch.edge >= 0) && !(symmetric && inside && k > 4)) {
            const trifold_int here = pixel_at(c, x, y), there = pixel_at(c, to_x, to_y);
            real sum = 0;
            for (int column = 0; column < c.args.used_columns; ++column) {
                sum += b_at(c, member, here)[column] * x_at(c, member, there)[column];
                if (symmetric && inside && k < 4) sum += b_at(c, member, there)[column] * x_at(c, member, here)[column];
            }
            value -= sum;
        }
        to[k] = value;
    }
}

/* Each thread has a pixel of the caller's image. */
template <int Threads>
TRIFOLD_DEVICE void treat_pixel(const Context& c) {
    const trifold_int pixel = group_x() * Threads + thread_index();
    if (pixel >= c.launch.pixels) return;
    const trifold_int x = pixel % c.launch.pitch - c.launch.origin % c.launch.pitch,
                      y = pixel / c.launch.pitch - c.launch.origin / c.launch.pitch;
    if (work_of(c) == trifold_grid_ring) finish_ring(c, group_y(), x, y);
    if (work_of(c) == trifold_grid_keep) keep(c, group_y(), pixel);
    if (work_of(c) == trifold_grid_residual) take_residual(c, group_y(), x, y);
    if (work_of(c) == trifold_grid_correct) correct(c, group_y(), x, y);
    if (work_of(c) == trifold_grid_gradient) take_gradient(c, group_y(), x, y);
}

/* ---- a member's outcome ---- */

/* Writes the outcome of a member, which is the thread block's number. The record of its last front sums up all others. Later refinements
 * need the stencils of a rough image. */
template <int Threads>
TRIFOLD_DEVICE void finish(const Context& c) {
    wait_for_launches();
    const Front f = front_of_launch(c, 0);
    trifold_grid_status outcome = {};
    outcome.record = *record_of(c, f);
    outcome.level = -1;
    if (outcome.record.problem != trifold_grid_sound) {
        outcome.level = outcome.record.level;
        outcome.place = outcome.record.place;
    }
    outcome.record.problem = grid_problem_of(&outcome.record, &c.launch, c.args.accepts);
    outcome.rough = grid_roughness(&outcome.record, &c.launch, c.args.accepts);
    if (thread_index() == 0) *status_of(c, group_y()) = outcome;
    if (!outcome.rough) return;
    const trifold_int elements = c.launch.pixels * 9, first = group_y() * elements;
    const real* const from = global_pointer(static_cast<const real*>(c.args.stencil) + first);
    for (trifold_int k = thread_index(); k < elements; k += Threads) reals_at(c, c.launch.stencil, first)[k] = from[k];
}

#ifdef TRIFOLD_KERNEL_FINISH
GRID_KERNEL(FINISH, 64, finish<64>(c))
#endif
#ifdef TRIFOLD_KERNEL_PIXELS
GRID_KERNEL(PIXELS, grid_wide_threads, (treat_pixel<grid_wide_threads>(c)))
#endif
