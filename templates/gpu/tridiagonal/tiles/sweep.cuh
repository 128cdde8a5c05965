/* Sweeps by tasks: 64 rows of one front's right-hand sides, of which `columns_at_once` go together. Forward, y = L^-1 (b - sum of
 * [R; G; L] y) of the fronts and tiles before; backward, x = L^-T (y - sum of [R; G; L]' x) of those after. A copy of the results
 * without gaps is kept in the workspace for the tasks that need them. */
#include "gpu/tridiagonal/tiles/tasks.cuh"

/* A thread has a vector of rows of a tile by `piece_columns` columns. */
constexpr int row_groups = edge / vector_width, column_groups = sweep_threads / row_groups, piece_columns = edge / column_groups;
static_assert(row_groups <= warp_lanes && piece_columns % vector_width == 0, "a column's rows are within a warp");
struct Piece {
    real at[piece_columns][vector_width];
};
/* The thread's number; in double precision, whose kernels are short of registers, what follows from it is not kept from one use to the
 * next. */
TRIFOLD_DEVICE int sweep_thread() { return sizeof(real) == 8 ? thread_afresh() : thread_index(); }
TRIFOLD_DEVICE int piece_row(int thread) { return thread % row_groups * vector_width; }
TRIFOLD_DEVICE int piece_column(int thread) { return thread / row_groups * piece_columns; }
TRIFOLD_DEVICE void load_piece(Piece& piece, const real* tile_at) {
    const int thread = sweep_thread();
#pragma unroll
    for (int k = 0; k < piece_columns; ++k) load_vector(piece.at[k], tile_at + place_in_tile(piece_row(thread), piece_column(thread) + k));
}

struct SweepShared {
    Work work;
    alignas(16) real inverse[edge * edge];          /* inverse of the diagonal tile's factor */
    alignas(16) real vector[columns_at_once][edge]; /* the vector that a triangle is applied to, then the result */
    real partial[columns_at_once][column_groups][edge];
};
static_assert(columns_at_once * edge <= sweep_threads, "a thread for each result");
static_assert(sizeof(SweepShared) == SharedBytes::sweep &&
                  sizeof(SweepShared) == sweep_bytes(level_count, edge, columns_at_once, sweep_threads, sizeof(real)),
              "host and device disagree");

TRIFOLD_DEVICE real* result_of(const trifold_args& args, trifold_int member, trifold_int block, int first) {
    return buffer<real>(args, Offset::rhs_update(args)) + block_index(args, member, block) * vector_storage + first * padded;
}

/* Sums of one sweep: of rows forward, of columns backward. */
template <bool Forward>
struct Sums {
    static constexpr int count = Forward ? vector_width : piece_columns;
    real at[columns_at_once][count];

    /* += the piece times the vectors, which are `leading` apart; those from `active` on do not exist. */
    TRIFOLD_METHOD void add(const Piece& piece, const real* vectors, int leading, int active) {
        const int thread = sweep_thread();
        constexpr int length = Forward ? piece_columns : vector_width;
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) {
            if (c >= active) continue;
            real x[length / vector_width][vector_width];
#pragma unroll
            for (int k = 0; k < length / vector_width; ++k)
                load_vector(x[k], vectors + c * leading + (Forward ? piece_column(thread) : piece_row(thread)) + k * vector_width);
#pragma unroll
            for (int k = 0; k < piece_columns; ++k)
#pragma unroll
                for (int v = 0; v < vector_width; ++v)
                    at[c][Forward ? v : k] += piece.at[k][v] * (Forward ? x[k / vector_width][k % vector_width] : x[0][v]);
        }
    }

    /* The sums of the whole tile, element e % 64 of column e / 64 to `use(value, r, c)`. Starts with a barrier. */
    template <class Use>
    TRIFOLD_METHOD void finish(SweepShared& shared, int active, const Use& use) {
        const int thread = sweep_thread();
        block_sync();
        if constexpr (Forward) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) shared.partial[c][thread / row_groups][piece_row(thread) + v] = at[c][v];
        } else {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c)
#pragma unroll
                for (int k = 0; k < piece_columns; ++k) {
#pragma unroll
                    for (int mask = row_groups / 2; mask > 0; mask /= 2) at[c][k] += shuffle_xor(at[c][k], mask);
                    if (piece_row(thread) == 0) shared.partial[c][0][piece_column(thread) + k] = at[c][k];
                }
        }
        block_sync();
        if (thread < edge * active) {
            const int r = thread % edge, c = thread / edge;
            real sum = shared.partial[c][0][r];
            if (Forward)
                for (int k = 1; k < column_groups; ++k) sum += shared.partial[c][k][r];
            use(sum, r, c);
        }
        block_sync();
    }
};

/* sums += the products with the results of one source, tile by tile as they come. */
TRIFOLD_DEVICE void add_forward(Sums<true>& sums, const trifold_args& args, const Task& task, const Source& source, Columns columns) {
#pragma unroll 1
    for (int repeat = 0; repeat < source.count; ++repeat) {
        const trifold_int block = source.block + repeat * source.step;
        const real* panel = panel_of(args, task.member, block, source.a_panel) + place_of_tile(task.row, 0);
        const real* results = result_of(args, task.member, block, columns.first);
        const trifold_int* count = swept_of(args, task.member, block, Kind::forward);
        int ready = 0;
#pragma unroll 1
        for (int k = 0; k * edge < source.columns; ++k) {
            Piece piece;
            load_piece(piece, panel + place_of_tile(0, k));
            if (k >= ready) ready = static_cast<int>(wait_for(count, task.epoch + k + 1) - task.epoch);
            sums.add(piece, results + k * edge, padded, columns.count);
        }
    }
}

/* Backward, sums += the products of rows `first` and below of a panel of the task's block times the results of `block`, the last rows
 * first. */
TRIFOLD_DEVICE void add_backward(Sums<false>& sums, const trifold_args& args, const Task& task, const real* panel, trifold_int block,
                                 int first, Columns columns) {
    const real* results = result_of(args, task.member, block, columns.first);
    const trifold_int* count = swept_of(args, task.member, block, Kind::backward);
    panel += place_of_tile(0, task.column);
    int ready = 0;
#pragma unroll 1
    for (int k = tiles - 1; k >= first; --k) {
        Piece piece;
        load_piece(piece, panel + place_of_tile(k, 0));
        if (tiles - 1 - k >= ready) ready = static_cast<int>(wait_for(count, task.epoch + tiles - k) - task.epoch);
        sums.add(piece, results + k * edge, padded, columns.count);
    }
}

template <bool Forward>
TRIFOLD_DEVICE void add_all(Sums<Forward>& sums, const Work& work, const trifold_args& args, int first, Columns columns) {
    const Task& task = work.task;
    if constexpr (Forward) {
#pragma unroll 1
        for (int s = first; s < task.sources; ++s) add_forward(sums, args, task, work.sources[s], columns);
    } else {
        if (task.next >= 0) add_backward(sums, args, task, next_of(args, task.member, task.block), task.next, 0, columns);
        if (task.behind >= 0) add_backward(sums, args, task, behind_of(args, task.member, task.block), task.behind, 0, columns);
        add_backward(sums, args, task, factor_of(args, task.member, task.block), task.block, task.column + 1, columns);
    }
}

/* Adds the squared norms of the tile's results, by column, to those of the tiles before it. */
TRIFOLD_DEVICE void add_quadratic(const SweepShared& shared, const trifold_args& args, Columns columns) {
    const Task& task = shared.work.task;
    const int lane = thread_index() % warp_lanes;
    double* to =
        buffer<double>(args, Offset::block_quadratic(args)) + block_index(args, task.member, task.block) * max_columns + columns.first;
    for (int c = thread_index() / warp_lanes; c < columns.count; c += sweep_threads / warp_lanes) {
        double sum = 0;
        for (int r = lane; r < edge; r += warp_lanes)
            sum += square_of(shared.vector[c][r], has_signs ? shared.inverse[place_in_tile(r, r)] : real(1));
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = task.row == 0 ? sum : to[c] + sum;
    }
}

/* Starts the copy of what the last step needs, so that it is there when the last source comes. */
TRIFOLD_DEVICE void fetch_inverse(SweepShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    const int thread = sweep_thread();
    const real* from = factor_of(args, task.member, task.block) + place_of_tile(task.row, task.row);
#pragma unroll
    for (int k = 0; k < piece_columns; ++k) {
        const int at = piece_row(thread) + (piece_column(thread) + k) * edge; /* the thread's own, in another order */
        copy_async(shared.inverse + at, from + at);
    }
    end_copies();
}

/* A right-hand side's updates from the parts that this one joins. */
TRIFOLD_DEVICE real passed_entry(const trifold_args& args, const Task& task, int row, int column) {
    const int at = row + column * padded;
    real sum = passed_vector(args, task.member, updating_interval(task), updated_separator(task))[at];
    if (task.block == 1) sum += passed_vector(args, task.member, higher_interval, for_lower)[at];
    return sum;
}

/* The updates from below, and then from above, as ranks sum them up: those of a rank's own levels, and then those of each level that joins
 * some. */
TRIFOLD_DEVICE real add_sides(SweepShared& shared, const trifold_args& args, Columns columns) {
    const Task& task = shared.work.task;
    const int levels = task.level;
    real sides = 0;
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        real all = 0;
#pragma unroll 1
        for (int level = 0; level < levels;) {
            const int end = level < apart_from ? apart_from : level + 1;
            Sums<true> sums{};
#pragma unroll 1
            for (; level < end; ++level) add_forward(sums, args, task, shared.work.sources[side * levels + level], columns);
            sums.finish(shared, columns.count, [&](real sum, int, int) { all -= sum; });
        }
        sides += all;
    }
    return sides;
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_tile(SweepShared& shared, const trifold_args& args, Columns columns) {
    const Task& task = shared.work.task;
    const int row = task.row * edge;
    const int own_row = row + thread_index() % edge, own_column = columns.first + thread_index() / edge;
    real b = 0; /* right-hand side of this thread's result */
    const bool has_own = own_row < block_size && thread_index() < edge * columns.count;
    if (has_own && own_row < rows_of(args, task.member, task.block) && !leaves(task))
        b = static_cast<const real*>(args.b)[rhs_at(args.b_strides, task.member, task.block, own_row, own_column)];
    if (Forward && has_own && is_joint(args)) b += passed_entry(args, task, own_row, own_column);
    if (!Forward && leaves(task)) { /* others have solved for it */
        if (task.row + 1 < tiles)   /* counts never fall */
            wait_for(swept_of(args, task.member, task.block, Kind::backward), task.epoch + tiles - 1 - task.row);
        const trifold_int at = rhs_at(args.x_strides, task.member, task.block, own_row, own_column);
        const real x = has_own && own_row < stored_rows(args, task.block) ? static_cast<const real*>(args.x)[at] : real(0);
        if (thread_index() < edge * columns.count) result_of(args, task.member, task.block, 0)[own_row + own_column * padded] = x;
        return;
    }
    Sums<Forward> sums{};
    const int apart = Forward && is_apart(args, task) ? 2 * task.level : 0; /* sources that are subtracted before the others */
    if (apart > 0) {
        const real sides = add_sides(shared, args, columns);
        if (has_own) b += sides;
    }
    add_all(sums, shared.work, args, apart, columns);
    wait_copies<0>();
    if (Forward && leaves(task)) {
        real* to = passed_vector(args, task.member, own_interval, updated_separator(task)) + columns.first * padded + row;
        sums.finish(shared, columns.count, [&](real sum, int r, int c) { to[r + c * padded] = b - sum; });
        return;
    }
    sums.finish(shared, columns.count, [&](real sum, int r, int c) { shared.vector[c][r] = b - sum; });
    Piece inverse;
    load_piece(inverse, shared.inverse);
    sums = {};
    sums.add(inverse, shared.vector[0], edge, columns.count);
    sums.finish(shared, columns.count, [&](real sum, int r, int c) {
        shared.vector[c][r] = sum;
        result_of(args, task.member, task.block, columns.first)[row + r + c * padded] = sum;
        if (row + r >= stored_rows(args, task.block)) return;
        static_cast<real*>(args.x)[rhs_at(args.x_strides, task.member, task.block, row + r, columns.first + c)] =
            Forward && has_signs ? by_sign(sum, shared.inverse, place_in_tile(r, r)) : sum;
        if (!Forward) watch(args, task.member, Result::solution, sum);
    });
    if (Forward) add_quadratic(shared, args, columns);
}

/* The task of a backward sweep for which all others of its member wait, each by flags that tell of all that was stored before them. */
TRIFOLD_DEVICE bool is_first(const Task& task) { return task.next < 0 && task.behind < 0 && task.row == tiles - 1; }

template <bool Forward>
TRIFOLD_DEVICE void sweep_all(const trifold_args& args) {
    assume_thread();
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    constexpr Kind kind = Forward ? Kind::forward : Kind::backward;
    const Task& task = shared.work.task;
#pragma unroll 1
    while (claim_task(shared.work, args, kind)) {
        if (task.exists) {
            if (!leaves(task)) fetch_inverse(shared, args);
            if (Forward) find_sources(shared.work, args);
            if (!Forward && thread_index() == 0 && is_first(task) && !may_leave) begin_result(args, task.member, Result::solution);
#pragma unroll 1
            for (int first = 0; first < args.columns; first += columns_at_once)
                sweep_tile<Forward>(shared, args, columns_from(args, first, columns_at_once));
        }
        end_task(swept_of(args, task.member, task.block, kind), task.epoch + (Forward ? task.row + 1 : tiles - task.row), task.exists);
    }
}
