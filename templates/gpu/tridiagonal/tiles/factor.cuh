/* Factorization by tasks: the original tile less the products that earlier fronts and the tile's own columns to the left
 * contribute, then factored (on the diagonal) or times the diagonal tile's transposed inverse. */
#include "gpu/tridiagonal/finish_constants.cuh"
#include "gpu/tridiagonal/verdict.cuh"
#include "gpu/tridiagonal/tiles/original.cuh"
#include "gpu/tridiagonal/tiles/pipeline.cuh"

/* Outcome of a block's pivots so far. */
struct Verdict {
    trifold_int failure;
    int pivots; /* raised, or negative */
};
TRIFOLD_DEVICE int& pivots_of(const trifold_args& args, trifold_int index) {
    return (has_signs ? negatives_of(args) : buffer<int>(args, Offset::floors(args)))[index];
}

/* Was any front that contributes to the pivot block a failed one? By one warp. */
TRIFOLD_DEVICE bool any_failed(const Work& work, const trifold_args& args) {
    int failed = 0;
    for (int s = thread_index() % warp_lanes; s + 1 < work.task.sources; s += warp_lanes) {
        const Source source = work.sources[s];
        for (int k = 0; k < source.count; ++k)
            if (buffer<trifold_int>(args, Offset::failure(args))[block_index(args, work.task.member, source.block + k * source.step)] !=
                sound)
                failed = 1;
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) failed |= shuffle_xor(failed, mask);
    return failed != 0;
}

/* The block's outcome before this diagonal tile. One warp calls it. */
TRIFOLD_DEVICE Verdict verdict_before(const Work& work, const trifold_args& args) {
    if (work.task.column == 0) return {any_failed(work, args) ? fed_by_failure : sound, 0};
    const trifold_int index = block_index(args, work.task.member, work.task.block);
    return {buffer<trifold_int>(args, Offset::failure(args))[index], pivots_of(args, index)};
}

/* Reports the block's outcome including this tile. One thread calls it. */
TRIFOLD_DEVICE void report_tile(const TileShared& shared, const trifold_args& args, const Verdict& before) {
    const Task& task = shared.work.task;
    const trifold_int index = block_index(args, task.member, task.block), row = shared.pivots.failed_row;
    const bool failed = before.failure == sound && row >= 0;
    buffer<trifold_int>(args, Offset::failure(args))[index] =
        failed ? (task.level * horizon_of(args) + task.block) * block_size + row : before.failure;
    pivots_of(args, index) = before.pivots + (has_signs ? static_cast<int>(shared.signs[edge - 2]) : shared.pivots.floors);
    if (!has_signs) return;
    trifold_int* signs = signs_of(args, task.member, task.block, task.column);
#pragma unroll
    for (int c = 0; c < edge; c += stage_columns, signs += 2) signs[0] = shared.signs[edge - 1] >> c, signs[1] = shared.signs[edge - 1];
}

/* The diagonal tile, which stands in shared memory, factored and inverted. */
TRIFOLD_FUNCTION void factor_diagonal(TileShared& shared, const trifold_args& args) {
    assume_thread();
    const Task& task = shared.work.task;
    const bool reports = thread_index() / warp_lanes == warps - 1;
    Verdict before{};
    if (reports) before = verdict_before(shared.work, args);
    start_pivots(shared.pivots, args, task.member, task.block);
    real* to = factor_of(args, task.member, task.block) + place_of_tile(task.column, task.column);
    invert_tile(shared.memory, task.column * edge, shared.pivots, shared.diagonal, shared.signs + edge - 1, to);
    if (thread_index() == threads - 1) report_tile(shared, args, before);
}

/* The tile times the transposed inverse of its column's diagonal tile. */
TRIFOLD_DEVICE void divide_tile(Part& part, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    real* inverse = shared.memory + tile_size;
    const trifold_int* pivot = progress_of(args, task.member, task.block, 0, task.column);
    store_tile<-1>(shared.memory, part, place_in_tile);
    wait_together(shared, pivot, pivot, task.epoch + task.column + 1);
    fetch_columns<edge>(inverse, factor_of(args, task.member, task.block) + place_of_tile(task.column, task.column));
    end_copies();
    wait_copies<0>();
    block_sync();
    part.clear();
    if (!is_padded || !is_idle(task))
        multiply_tiles(part, shared.memory, inverse, use_tensor ? warp_column(thread_index()) + warp_columns : edge);
    if (has_signs) turn_columns(part, signs_of(args, task.member, task.block, task.column)[1]);
}

/* The tile times that inverse, where it comes in stages. The tile stands in the memory of the stages after it. */
TRIFOLD_DEVICE void divide_range(Part& part, Cursor& cursor, Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    constexpr int columns = 2 * stage_columns; /* columns of a stage, which has room for both operands */
    constexpr unsigned parts = edge / columns;
    static_assert((parts > 0 || !has_bulk_copies) && 2 * parts <= stages, "room for both, of which each has a stage");
    const unsigned tile_stage = pipeline.now + parts;
    store_tile<-1>(shared.memory, part, [&](int r, int c) {
        const unsigned turn = tile_stage + static_cast<unsigned>(c / columns);
        return static_cast<int>(turn % stages) * (2 * stage_size) + place_in_tile(r, c % columns);
    });
    start_stages(cursor, pipeline, parts, shared, args);
    block_sync();
    part.clear();
    const bool idle = is_padded && is_idle(shared.work.task);
    trifold_int signs = 0;
#pragma unroll 1
    for (unsigned k = 0; k < parts; ++k) {
        wait_full(shared, pipeline.now);
        if (has_signs) signs = shared.signs[2 * (pipeline.now % stages) + 1];
        const int left = use_tensor ? warp_column(thread_index()) + warp_columns - static_cast<int>(k) * columns : edge; /* zeros beyond */
        if (!idle) multiply_tiles(part, stage_at(shared, tile_stage + k), stage_at(shared, pipeline.now), left < columns ? left : columns);
        leave_stage(shared, pipeline.now++);
    }
    if (has_signs) turn_columns(part, signs);
}

/* part += products of the sources from `first` on, which have not been started. */
TRIFOLD_DEVICE void add_from(Part& part, int first, Cursor& cursor, Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    cursor = Cursor{{}, first};
    if (has_bulk_copies)
        add_ranges(part, first, cursor, pipeline, shared, args);
    else
        add_sources(part, cursor, shared, args);
}

/* part = the original less two sums, of what comes from below and of what comes from above. The first waits where the tile's result will
 * be. Returns the number of sources that were added. */
TRIFOLD_DEVICE int add_sides(Part& part, Cursor& cursor, Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    const int levels = task.level, all = task.sources;
    real* below = factor_of(args, task.member, task.block) + place_of_tile(task.row, task.column);
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        end_sources(shared.work, (side + 1) * levels);
        if (side == 1) store_tile<-1>(below, part, place_in_tile);
        part.clear();
        part.negate();
        add_from(part, side * levels, cursor, pipeline, shared, args);
    }
    end_sources(shared.work, all);
    join_sides(part, below, args, task);
    return 2 * levels;
}

/* One task. */
TRIFOLD_DEVICE void factor_tile(Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    find_sources(shared.work, args);
    Part part;
    Cursor cursor;
    if (has_signs && is_pivots(task)) start_signs(shared);
    const bool apart = is_apart(args, task);
    int added = 0;
    if (has_bulk_copies && !apart) start_stages(cursor, pipeline, 0, shared, args);
    if (apart)
        added = add_sides(part, cursor, pipeline, shared, args);
    else if (loads_ahead)
        load_from_result(part, args, task);
    else
        load_original(part, args, task); /* while the sources are under way, although sums of products alone are rounded less */
    if (use_halves) {
        find_scales(shared, args); /* while the original is under way */
        block_sync();
    }
    complete_original(part, args, task);
    start_sums(part, shared.scales[0], shared.scales[1]);
    if (apart)
        add_from(part, added, cursor, pipeline, shared, args);
    else if (has_bulk_copies)
        add_ranges(part, 0, cursor, pipeline, shared, args);
    else
        add_sources(part, Cursor{}, shared, args);
    end_sums(part, shared.scales[0], shared.scales[1]);
    if (leaves(task)) {
        real* to = passed_block(args, task.member, own_interval, task.panel != 0 ? for_both : updated_separator(task));
        store_tile<-1>(to + place_of_tile(task.row, task.column), part, place_in_tile);
        return;
    }
    if (is_pivots(task)) {
        store_tile<-1>(shared.memory, part, [](int r, int c) { return r + c * leading; });
        factor_diagonal(shared, args);
        return;
    }
    if (has_bulk_copies)
        divide_range(part, cursor, pipeline, shared, args);
    else
        divide_tile(part, shared, args);
    const trifold_int at = place_of_tile(task.row, task.column);
    store_tile<1>(panel_of(args, task.member, task.block, task.panel) + at, part, place_in_tile);
    if (use_halves) store_halves(operand_of(args, task.member, task.block, task.panel) + at, part, shared.scales[0]);
}

TRIFOLD_DEVICE void factor_all(const trifold_args& args) {
    assume_thread();
    TileShared& shared = *static_cast<TileShared*>(shared_memory());
    const Task& task = shared.work.task;
    Pipeline pipeline;
    if (has_bulk_copies) make_gates(shared);
#pragma unroll 1
    while (claim_task(shared.work, args, Kind::factor)) {
        if (task.exists) factor_tile(pipeline, shared, args);
        const bool reports = task.exists && is_pivots(task) && !leaves(task) && thread_index() / warp_lanes == warps - 1;
        const trifold_int member = task.member, block = task.block, column = task.column; /* the task is another one soon */
        fence_shared_copies(); /* the next task's copies overwrite what this one has written */
        end_task(progress_of(args, task.member, task.block, task.panel, task.row), task.epoch + task.column + 1, task.exists);
        const int first = static_cast<int>(column) * edge, left = block_size - first;
        if (has_signs && reports) { /* no other task waits for it */
            const int rows = rows_of(args, member, block) - first;
            sum_rows(args, rows < edge ? rows : edge, block_index(args, member, block) * log_parts + column, log_parts, [&](int r) {
                return symmetric_row(shared.diagonal[r], shared.diagonal[edge + r], given_entry(args, member, block, first + r));
            });
        } else if (reports) {
            report_diagonal(args, left < edge ? left : edge, shared.diagonal, block_index(args, member, block) * log_parts + column,
                            [&](int r) { return given_entry(args, member, block, first + r); });
        }
    }
}
