/* A task's original tile: its elements before anything is eliminated. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/tiles/sources.cuh"
#include "gpu/tridiagonal/tiles/tile_products.cuh"

/* Element (r, c) at from + r * row_step + c * column_step; null: zeros. */
constexpr trifold_int d_steps = D::row + D::column, e_steps = E::row + E::column;
typedef Number<(d_steps > e_steps ? d_steps : e_steps) < 0x7fffffff / padded>::type offset_type; /* within a block */
struct Original {
    const real* from;
    offset_type row_step, column_step;
};
/* Whether D or E has elements of the task's tile. */
TRIFOLD_DEVICE bool has_original(const trifold_args& args, const Task& task) {
    if (task.panel == 0) return !leaves(task);
    return !(task.level > 0 || is_joint(args) || ((!task.first || joins(task)) && task.panel == 2));
}
TRIFOLD_DEVICE Original original_of(const trifold_args& args, const Task& task) {
    constexpr offset_type row = E::row, column = E::column;
    if (!has_original(args, task)) return {nullptr, 0, 0};
    if (task.panel == 0) return {CALLERS_D_OF(args, task.member, task.block), D::row, D::column};
    const real* from =
        coupling_at(args, task_level(args, 0).level, task.member, task.position, task.upward ? task.position + 1 : task.position - 1);
    return {from, task.upward ? row : column, task.upward ? column : row};
}

/* A row or column of the block where a tile has one; beyond the last one it is the last one again, and nothing of it is kept. */
TRIFOLD_DEVICE int inside(int line) { return is_padded && line >= block_size ? block_size - 1 : line; }

/* use(value, number) for each element of the part and the original's where blocks are views. */
template <class Use>
TRIFOLD_DEVICE void each_given(Part& part, const trifold_args& args, const Task& task, const Use& use) {
    const trifold_int lower = task.panel == 0 || task.upward ? task.block : task.block - 1;
    const bool own = task.panel == 0, swaps = !own && !task.upward;
    const Given given = own ? given_diagonal(args, task.member, lower) : given_coupling(args, task.member, lower);
    each_element(part, [&](real& value, int r, int c) {
        const int row = task.row * edge + r, column = task.column * edge + c;
        use(value, own && row < column ? real(0) : given.value(swaps ? column : row, swaps ? row : column));
    });
}

/* part += what is added to the diagonal, with the identity in the padding. */
TRIFOLD_DEVICE void add_diagonal(Part& part, const trifold_args& args, const Task& task) {
    const int rows = rows_of(args, task.member, task.block);
    const real unit = unit_of(args, task.member, task.block);
    const bool adds = args.diagonal != nullptr || args.shift != nullptr, ends = (is_padded || has_views) && (task.row + 1) * edge > rows;
    if (!adds && !ends) return;
    each_element(part, [&](real& value, int r, int c) {
        const int line = task.row * edge + r;
        if (r == c) value += line < rows ? diagonal_term(args, task.member, task.block, line) : unit;
    });
}

/* Starts the loads of part = original, from the caller's D and E. */
TRIFOLD_DEVICE void load_original(Part& part, const trifold_args& args, const Task& task) {
    const Original original = original_of(args, task);
    part.clear();
    if (original.from == nullptr) return;
    if constexpr (is_band) {
        each_given(part, args, task, [](real& value, real number) { value = number; });
        return;
    }
    const real* from = global_pointer(original.from);
    const int thread = own_thread();
    offset_type lines[part_rows][vector_width];
#pragma unroll
    for (int q = 0; q < part_rows; ++q)
#pragma unroll
        for (int v = 0; v < vector_width; ++v) lines[q][v] = inside(task.row * edge + part_row(thread, q) + v) * original.row_step;
#pragma unroll
    for (int c = 0; c < part_columns; ++c) {
        const offset_type first = inside(task.column * edge + part_column(thread, c)) * original.column_step;
#pragma unroll
        for (int q = 0; q < part_rows; ++q)
#pragma unroll
            for (int v = 0; v < vector_width; ++v) part.value(c, q, v) = from[lines[q][v] + first];
    }
}

/* Starts the loads of part = original, from the place where the tile's result will be. */
TRIFOLD_DEVICE void load_from_result(Part& part, const trifold_args& args, const Task& task) {
    part.clear();
    if (!has_original(args, task)) return;
    const real* from = panel_of(args, task.member, task.block, task.panel) + place_of_tile(task.row, task.column);
    each_element(part, [&](real& value, int r, int c) { value = from[place_in_tile(r, c)]; });
}

/* part += that which has come from the parts that this one joins: updates, and at level 0 couplings A(higher, lower). */
TRIFOLD_DEVICE void add_passed(Part& part, const trifold_args& args, const Task& task) {
    const int first_row = task.row * edge, first_column = task.column * edge;
    const auto add = [&](int interval, int which, bool transposed) {
        const real* from = passed_block(args, task.member, interval, which);
        each_element(part, [&](real& value, int r, int c) {
            value +=
                transposed ? from[place_in_block(first_column + c, first_row + r)] : from[place_in_block(first_row + r, first_column + c)];
        });
    };
    if (task.panel == 0) {
        add(updating_interval(task), updated_separator(task), false);
        if (task.block == 1) add(higher_interval, for_lower, false);
    } else if (task.level == 0) {
        add(task.upward ? higher_interval : lower_interval, for_both, !task.upward);
    }
}

/* Adds H + H' to the D of a ring of one block, whose coupling to itself is H. In a ring of two blocks, adds to one coupling between them
 * the other one. */
TRIFOLD_DEVICE void add_other_coupling(Part& part, const trifold_args& args, const Task& task) {
    const bool alone = horizon_of(args) == 1, both = joins(task) && horizon_of(args) == 2 && task.panel == 1;
    if (!alone && !both) return;
    const real* e = E_OF(args, task.member, 0);
    Given given{};
    if (is_band) given = given_coupling(args, task.member, 0);
    each_element(part, [&](real& value, int r, int c) {
        const trifold_int row = inside(task.row * edge + r), column = inside(task.column * edge + c);
        value += is_band ? given.value(column, row) : e[column * E::row + row * E::column];
        if (alone) value += is_band ? given.value(row, column) : e[row * E::row + column * E::column];
    });
}

/* part = the original less what comes from below, whose negative is at `below`, and what comes from above, which `part` holds. */
TRIFOLD_DEVICE void join_sides(Part& part, const real* below, const trifold_args& args, const Task& task) {
    if constexpr (is_band) {
        each_given(part, args, task, [](real& value, real number) { value = number - value; });
        each_element(part, [&](real& value, int r, int c) { value += below[place_in_tile(r, c)]; });
        return;
    }
    const Original original = original_of(args, task);
    each_element(part, [&](real& value, int r, int c) {
        const offset_type row = inside(task.row * edge + r) * original.row_step,
                          column = inside(task.column * edge + c) * original.column_step;
        value = original.from[row + column] + below[place_in_tile(r, c)] - value;
    });
}

/* Rows of the block that a task's panel couples to its own. */
TRIFOLD_DEVICE int rows_of_panel(const trifold_args& args, const Task& task) {
    return rows_of(args, task.member, task.panel == 0 ? task.block : task.panel == 1 ? task.next : task.behind);
}
/* part as it was loaded, but zero above the diagonal and in the padding, whose diagonal is the identity. */
TRIFOLD_DEVICE void complete_original(Part& part, const trifold_args& args, const Task& task) {
    const int rows = rows_of_panel(args, task) - task.row * edge, columns = rows_of(args, task.member, task.block) - task.column * edge;
    warp_sync(); /* without this, loads wait for the use of others */
    if (is_joint(args)) add_passed(part, args, task);
    if (is_ring) add_other_coupling(part, args, task);
    if ((is_padded || has_sizes) && (rows < edge || columns < edge))
        each_element(part, [&](real& value, int r, int c) {
            if (r >= rows || c >= columns) value = 0;
        });
    if (!is_pivots(task)) return;
    each_element(part, [](real& value, int r, int c) {
        if (c > r) value = 0;
    });
    if (!leaves(task)) add_diagonal(part, args, task);
}
