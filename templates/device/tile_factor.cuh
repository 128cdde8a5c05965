/* Factorization by tasks: the original tile less the products that earlier fronts and the tile's own columns to the left
 * contribute, then factored (on the diagonal) or times the diagonal tile's transposed inverse. */
struct TileShared {
    Work work;
    Pivots pivots;
    trifold_int ready; /* what the thread that waits has found */
    double diagonal[edge];
    alignas(16) real memory[edge * leading]; /* stages of two operands; two tiles; or the diagonal tile above the identity */
};
static_assert(sizeof(TileShared) == TRIFOLD_SHARED_FACTOR, "host and device disagree");
static_assert(stages * stage_columns == edge, "they fit");

/* Waits with the whole thread block until two counts are at least `wanted`; the smaller one. One warp looks: if all did, those who wait would
 * take time from those who work. A lane looks at either, since looks of one lane come one after another. Between two calls there is a barrier. */
TRIFOLD_DEVICE trifold_int wait_together(TileShared& shared, const trifold_int* a, const trifold_int* b, trifold_int wanted) {
    if (thread_index() < warp_lanes) {
        const trifold_int* mine = thread_index() == 0 ? a : b;
        for (;;) {
            const trifold_int seen = thread_index() < 2 ? load_acquire(mine) : 0;
            const trifold_int first = shuffle(seen, 0), second = shuffle(seen, 1), ready = first < second ? first : second;
            if (ready >= wanted) {
                if (thread_index() == 0) shared.ready = ready;
                break;
            }
            spin();
        }
    }
    block_sync();
    return shared.ready;
}

/* What stands at a task's tile before anything is eliminated: element (r, c) at from + r * row_step + c * column_step; null: zeros. */
struct Original {
    const real* from;
    trifold_int row_step, column_step;
};
TRIFOLD_DEVICE Original original_of(const trifold_args& args, const Task& task) {
    if (task.panel == 0)
        return {global_pointer(static_cast<const real*>(args.d)) + task.member * TRIFOLD_D_MEMBER + task.block * TRIFOLD_D_STAGE, TRIFOLD_D_ROW,
                TRIFOLD_D_COLUMN};
    if (task.level > 0 || (!task.first && task.panel == 2)) return {nullptr, 0, 0};
    const real* from = coupling_at(args, task_levels[0].level, task.member, task.position, task.upward ? task.position + 1 : task.position - 1);
    return {from, task.upward ? TRIFOLD_E_ROW : TRIFOLD_E_COLUMN, task.upward ? TRIFOLD_E_COLUMN : TRIFOLD_E_ROW};
}

/* Is the tile on the diagonal? All its sources are then products of a tile with itself, which is fetched once. */
TRIFOLD_DEVICE bool is_pivots(const Task& task) { return task.panel == 0 && task.row == task.column; }

/* part = -original, with the identity in the padding of the diagonal. */
TRIFOLD_DEVICE void load_original(Part& part, const trifold_args& args, const Task& task) {
    const Original original = original_of(args, task);
    const int row = task.row * edge, column = task.column * edge;
    part.clear();
    if (original.from != nullptr) {
        const bool lower = is_pivots(task);
        const real* lines[part_rows];
#pragma unroll
        for (int q = 0; q < part_rows; ++q)
            lines[q] = original.from + (row + part_row(q)) * original.row_step + (column + part_column(0)) * original.column_step;
#pragma unroll
        for (int c = 0; c < part_columns; ++c) {
            warp_sync(); /* keeps a column's loads together, and all columns' at once out of the registers */
#pragma unroll
            for (int q = 0; q < part_rows; ++q)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) {
                    const int r = row + part_row(q) + v, s = column + part_column(c);
                    const bool exists = (!is_padded || (r < block_size && s < block_size)) && (!lower || s <= r);
                    const real* at = lines[q] + v * original.row_step + (part_column(c) - part_column(0)) * original.column_step;
                    if (is_padded) at = original.from + (exists ? r * original.row_step + s * original.column_step : 0); /* no branch: all loads are under way together */
                    const real value = *at;
                    part.value(c, q, v) = exists ? -value : real(0);
                }
        }
    }
    if (!is_pivots(task)) return;
#pragma unroll
    for (int c = 0; c < part_columns; ++c)
#pragma unroll
        for (int q = 0; q < part_rows; ++q)
#pragma unroll
            for (int v = 0; v < vector_width; ++v) {
                const int r = part_row(q) + v;
                if (r == part_column(c)) part.value(c, q, v) -= row + r < block_size ? diagonal_term(args, task.member, task.block, row + r) : real(1);
            }
}

/* Walks over the columns of all sources, one stage after another. */
struct Cursor {
    int source = 0, repeat = 0, column = 0, ready = 0;
    const real *a = nullptr, *b = nullptr;
};

/* Starts the copy of the next stage; false when all have been. */
TRIFOLD_DEVICE bool fetch_stage(Cursor& cursor, TileShared& shared, const trifold_args& args, real* to) {
    const Task& task = shared.work.task;
    while (cursor.source < task.sources && cursor.repeat == shared.work.sources[cursor.source].count) ++cursor.source, cursor.repeat = 0;
    if (cursor.source == task.sources) return false;
    const Source& source = shared.work.sources[cursor.source];
    if (cursor.column % edge == 0) {
        const trifold_int block = source.block + cursor.repeat * source.step;
        if (cursor.column == 0) {
            cursor.a = panel_of(args, task.member, block, source.a_panel) + task.row * edge;
            cursor.b = panel_of(args, task.member, block, source.b_panel) + task.column * edge;
            cursor.ready = 0;
        }
        if (cursor.column / edge >= cursor.ready)
            cursor.ready = static_cast<int>(wait_together(shared, progress_of(args, task.member, block, source.a_panel, task.row),
                                                          progress_of(args, task.member, block, source.b_panel, task.column),
                                                          task.epoch + cursor.column / edge + 1) -
                                            task.epoch);
    }
    fetch_tile<stage_columns>(to, cursor.a);
    if (!is_pivots(task)) fetch_tile<stage_columns>(to + edge, cursor.b);
    cursor.a += stage_columns * padded, cursor.b += stage_columns * padded;
    cursor.column += stage_columns;
    if (cursor.column == source.columns) cursor.column = 0, ++cursor.repeat;
    return true;
}

/* Whether this warp's part is above the diagonal or in the padding, where there is nothing to multiply. */
TRIFOLD_DEVICE bool is_idle(const Task& task) {
    if (!use_tensor) return false;
    const bool is_padding = is_padded && (task.row * edge + warp_row() >= block_size || task.column * edge + warp_column() >= block_size);
    return is_padding || (is_pivots(task) && warp_row() + 32 <= warp_column());
}

/* part += all products. Ends with shared memory free. */
TRIFOLD_DEVICE void add_sources(Part& part, TileShared& shared, const trifold_args& args) {
    constexpr int size = stage_columns * leading;
    const Task& task = shared.work.task;
    const bool pivots = is_pivots(task), idle = is_idle(task);
    const int other = pivots ? 0 : edge;
    Cursor cursor;
    int started = 0;
#pragma unroll 1
    for (int s = 0; s < stages - 1; ++s) {
        if (fetch_stage(cursor, shared, args, shared.memory + s * size)) ++started;
        end_copies();
    }
#pragma unroll 1
    for (int s = 0; s < started; ++s) {
        wait_copies<stages - 2>();
        block_sync();
        if (fetch_stage(cursor, shared, args, shared.memory + (s + stages - 1) % stages * size)) ++started;
        end_copies();
        const real* stage = shared.memory + s % stages * size;
        if (!idle) multiply_tiles<stage_columns>(part, stage, stage + other);
    }
    wait_copies<0>();
    block_sync();
}

/* What is known of a block's pivots. */
struct Verdict {
    trifold_int failure;
    int floors;
};

/* Was any front that contributes to the pivot block a failed one? By one warp. */
TRIFOLD_DEVICE bool any_failed(const Work& work, const trifold_args& args) {
    int failed = 0;
    for (int s = thread_index() % warp_lanes; s + 1 < work.task.sources; s += warp_lanes) {
        const Source source = work.sources[s];
        for (int k = 0; k < source.count; ++k)
            if (buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[block_index(work.task.member, source.block + k * source.step)] != sound) failed = 1;
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) failed |= shuffle_xor(failed, mask);
    return failed != 0;
}

/* What was known of the block before this diagonal tile; by one warp. */
TRIFOLD_DEVICE Verdict verdict_before(const Work& work, const trifold_args& args) {
    if (work.task.column == 0) return {any_failed(work, args) ? fed_by_failure : sound, 0};
    const trifold_int index = block_index(work.task.member, work.task.block);
    return {buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index], buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index]};
}

/* The same with this tile; by one thread. */
TRIFOLD_DEVICE void report_tile(const TileShared& shared, const trifold_args& args, const Verdict& before) {
    const Task& task = shared.work.task;
    const trifold_int index = block_index(task.member, task.block), row = shared.pivots.failed_row;
    const bool failed = before.failure == sound && row >= 0;
    buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index] = failed ? (task.level * TRIFOLD_HORIZON + task.block) * block_size + row : before.failure;
    buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index] = before.floors + shared.pivots.floors;
}

/* Where the sum of the logarithms of a diagonal tile's pivots goes; null: no diagonal tile. */
TRIFOLD_DEVICE double* log_sum_of(const trifold_args& args, const Task& task) {
    if (!task.exists || !is_pivots(task)) return nullptr;
    return buffer<double>(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT) + block_index(task.member, task.block) * TRIFOLD_LOG_PARTS + task.column;
}

/* That sum, of `count` pivots; by one warp. */
TRIFOLD_DEVICE void sum_logarithms(double* to, const double* pivots, int count) {
    const int lane = thread_index() % warp_lanes;
    double sum = 0;
    for (int r = lane; r < edge && r < count; r += warp_lanes) sum += natural_log(pivots[r]);
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (lane == 0) *to = sum;
}

/* The diagonal tile, which stands in shared memory, factored and inverted. */
TRIFOLD_FUNCTION void factor_diagonal(TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    const bool reports = thread_index() / warp_lanes == warps - 1;
    Verdict before{};
    if (reports) before = verdict_before(shared.work, args);
    start_pivots(shared.pivots, args, task.member, task.block);
    real* to = factor_of(args, task.member, task.block) + static_cast<trifold_int>(task.column) * edge * (padded + 1);
    invert_tile(shared.memory, task.column * edge, shared.pivots, shared.diagonal, to);
    if (thread_index() == threads - 1) report_tile(shared, args, before);
}

/* The tile in shared memory times the transposed inverse of its column's diagonal tile. */
TRIFOLD_DEVICE void divide_tile(Part& part, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    real* inverse = shared.memory + edge;
    const trifold_int* pivot = progress_of(args, task.member, task.block, 0, task.column);
    wait_together(shared, pivot, pivot, task.epoch + task.column + 1);
    fetch_tile<edge, use_tensor>(inverse, factor_of(args, task.member, task.block) + static_cast<trifold_int>(task.column) * edge * (padded + 1));
    end_copies();
    wait_copies<0>();
    block_sync();
    part.clear();
    if (!is_padded || !is_idle(task)) multiply_tiles<edge, true>(part, shared.memory, inverse);
    store_tile<1>(panel_of(args, task.member, task.block, task.panel) + task.row * edge + static_cast<trifold_int>(task.column) * edge * padded, padded, part);
}

TRIFOLD_DEVICE void factor_all(const trifold_args& args) {
    TileShared& shared = *static_cast<TileShared*>(shared_memory());
    const Task& task = shared.work.task;
#pragma unroll 1
    while (claim_task(shared.work, args, Kind::factor)) {
        if (task.exists) {
            find_sources(shared.work);
            Part part;
            load_original(part, args, task); /* while the sources are under way, although sums of products alone are rounded less */
            add_sources(part, shared, args);
            store_tile<-1>(shared.memory, leading, part);
            if (is_pivots(task))
                factor_diagonal(shared, args);
            else
                divide_tile(part, shared, args);
        }
        double* log_sum = log_sum_of(args, task);
        const int left = block_size - task.column * edge;
        end_task(progress_of(args, task.member, task.block, task.panel, task.row), task.epoch + task.column + 1, task.exists);
        if (log_sum != nullptr && thread_index() / warp_lanes == warps - 1) sum_logarithms(log_sum, shared.diagonal, left); /* nobody waits for it */
    }
}
