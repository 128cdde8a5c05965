/* What a task multiplies: its original tile, and the operands that earlier fronts and the tile's own columns to the left contribute, in stages. */
constexpr int shared_elements = edge * leading > 2 * stages * stage_size ? edge * leading : 2 * stages * stage_size;
struct TileShared {
    Work work;
    Pivots pivots;
    trifold_int ready; /* what the thread that waits has found */
    trifold_gate full[stages], empty[stages]; /* is a stage's copy there, and have all warps multiplied it? */
    double diagonal[edge];
    alignas(16) float scales[2][edge]; /* of the tile's rows and columns, where halves are multiplied */
    alignas(16) real memory[shared_elements]; /* stages of two operands; two tiles; or the diagonal tile above the identity */
};
static_assert(sizeof(TileShared) == TRIFOLD_SHARED_FACTOR, "host and device disagree");

/* Copies of ranges. The stages are one sequence over all tasks of the thread block, which one warp starts and all multiply; stage `turn` has
 * the gates and the memory turn % stages. No warp waits for another, but that warp for those that are two stages behind it. It is the one
 * that has nothing to multiply for tiles on the diagonal, since what it does besides delays all others. */
struct Turns {
    unsigned now = 0, started = 0;
};
constexpr int starter = warps / 2;
TRIFOLD_DEVICE void make_gates(TileShared& shared) {
    if (thread_index() == 0)
        for (int s = 0; s < stages; ++s) make_gate(&shared.full[s], 1), make_gate(&shared.empty[s], warps);
    fence_shared_copies();
    block_sync();
}
TRIFOLD_DEVICE trifold_gate* full_gate(TileShared& shared, unsigned turn) { return &shared.full[turn % stages]; }
TRIFOLD_DEVICE trifold_gate* empty_gate(TileShared& shared, unsigned turn) { return &shared.empty[turn % stages]; }
TRIFOLD_DEVICE void wait_full(TileShared& shared, unsigned turn) { gate_wait(full_gate(shared, turn), turn / stages); }
TRIFOLD_DEVICE void leave_stage(TileShared& shared, unsigned turn) {
    warp_sync();
    if (thread_index() % warp_lanes == 0) gate_arrive(empty_gate(shared, turn));
}

/* The smaller of two counts, for one warp, which may then start copies of what they announce. A lane looks at either, since looks of one lane come one
 * after another. */
TRIFOLD_DEVICE trifold_int look_at(const trifold_int* a, const trifold_int* b) {
    const int lane = thread_index() % warp_lanes;
    const trifold_int seen = lane < 2 ? load_acquire(lane == 0 ? a : b) : 0, first = shuffle(seen, 0), second = shuffle(seen, 1);
    warp_sync();
    return first < second ? first : second;
}

/* Waits with the whole thread block until two counts are at least `wanted`; the smaller one. One warp looks: if all did, those who wait would
 * take time from those who work. Between two calls there is a barrier. */
TRIFOLD_DEVICE trifold_int wait_together(TileShared& shared, const trifold_int* a, const trifold_int* b, trifold_int wanted) {
    if (thread_index() < warp_lanes) {
        for (;;) {
            const trifold_int ready = look_at(a, b);
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
constexpr trifold_int d_steps = TRIFOLD_D_ROW + TRIFOLD_D_COLUMN, e_steps = TRIFOLD_E_ROW + TRIFOLD_E_COLUMN;
typedef Number<(d_steps > e_steps ? d_steps : e_steps) < 0x7fffffff / padded>::type offset_type; /* within a block */
struct Original {
    const real* from;
    offset_type row_step, column_step;
};
TRIFOLD_DEVICE Original original_of(const trifold_args& args, const Task& task) {
    constexpr offset_type row = TRIFOLD_E_ROW, column = TRIFOLD_E_COLUMN;
    if (task.panel == 0)
        return {global_pointer(static_cast<const real*>(args.d)) + task.member * TRIFOLD_D_MEMBER + task.block * TRIFOLD_D_STAGE, TRIFOLD_D_ROW,
                TRIFOLD_D_COLUMN};
    if (task.level > 0 || (!task.first && task.panel == 2)) return {nullptr, 0, 0};
    const real* from = coupling_at(args, task_levels[0].level, task.member, task.position, task.upward ? task.position + 1 : task.position - 1);
    return {from, task.upward ? row : column, task.upward ? column : row};
}

/* Is the tile on the diagonal? All its sources are then products of a tile with itself, which is fetched once. */
TRIFOLD_DEVICE bool is_pivots(const Task& task) { return task.panel == 0 && task.row == task.column; }

/* A row or column of the block where a tile has one; beyond the last the last again, of which nothing is kept. */
TRIFOLD_DEVICE int inside(int line) { return is_padded && line >= block_size ? block_size - 1 : line; }

/* part += what is added to the diagonal, with the identity in the padding. */
TRIFOLD_DEVICE void add_diagonal(Part& part, const trifold_args& args, const Task& task) {
    const bool adds = args.diagonal != nullptr || args.shift != nullptr, ends = is_padded && (task.row + 1) * edge > block_size;
    if (!adds && !ends) return;
    each_element(part, [&](real& value, int r, int c) {
        const int line = task.row * edge + r;
        if (r == c) value += line < block_size ? diagonal_term(args, task.member, task.block, line) : real(1);
    });
}

/* part = original, on its way. */
TRIFOLD_DEVICE void load_original(Part& part, const trifold_args& args, const Task& task) {
    const Original original = original_of(args, task);
    part.clear();
    if (original.from == nullptr) return;
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

/* part as it was loaded, but zero above the diagonal and in the padding, whose diagonal is the identity. */
TRIFOLD_DEVICE void complete_original(Part& part, const trifold_args& args, const Task& task) {
    const int rows = block_size - task.row * edge, columns = block_size - task.column * edge;
    warp_sync(); /* else loads wait for the use of others */
    if (is_padded && (rows < edge || columns < edge))
        each_element(part, [&](real& value, int r, int c) {
            if (r >= rows || c >= columns) value = 0;
        });
    if (!is_pivots(task)) return;
    each_element(part, [](real& value, int r, int c) {
        if (c > r) value = 0;
    });
    add_diagonal(part, args, task);
}

/* A panel as it is multiplied. */
TRIFOLD_DEVICE real* operand_of(const trifold_args& args, trifold_int member, trifold_int block, int panel) {
    if (!use_halves) return panel_of(args, member, block, panel);
    return buffer<real>(args, TRIFOLD_OFFSET_HALVES) + (block_index(member, block) * half_panels + panel) * storage;
}

/* What the tile's rows and columns are scaled by, a thread for each. */
TRIFOLD_DEVICE void find_scales(TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    static_assert(!use_halves || threads == 2 * edge, "a thread for each");
    const bool is_column = thread_index() >= edge;
    const trifold_int block = is_column || task.panel == 0 ? task.block : task.panel == 1 ? task.next : task.behind;
    const int e = thread_index() % edge, r = (is_column ? task.column : task.row) * edge + e;
    real diagonal = 0;
    if (r < block_size) {
        const real* d = global_pointer(static_cast<const real*>(args.d)) + task.member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
        diagonal = d[r * (TRIFOLD_D_ROW + TRIFOLD_D_COLUMN)] + diagonal_term(args, task.member, block, r);
    }
    shared.scales[is_column][e] = scale_of(diagonal);
}

/* Walks over the columns of all sources, tile by tile, of each stage by stage. */
struct Cursor {
    int source = 0, repeat = 0, tile = 0, ready = 0; /* what comes next, and how many tiles of its rows are known to be finished */
    int left = 0, step = stage_size;                 /* stages of the tiles at a and b that are still to be fetched */
    const real *a = nullptr, *b = nullptr;

    TRIFOLD_METHOD bool find(const Work& work) {
        while (source < work.task.sources && repeat == work.sources[source].count) ++source, repeat = 0;
        return source < work.task.sources;
    }
    TRIFOLD_METHOD trifold_int block(const Source& from) const { return from.block + repeat * from.step; }
    TRIFOLD_METHOD const trifold_int* a_count(const Work& work, const trifold_args& args) const {
        const Source& from = work.sources[source];
        return progress_of(args, work.task.member, block(from), from.a_panel, work.task.row);
    }
    TRIFOLD_METHOD const trifold_int* b_count(const Work& work, const trifold_args& args) const {
        const Source& from = work.sources[source];
        return progress_of(args, work.task.member, block(from), from.b_panel, work.task.column);
    }
    /* Goes to the tiles that come next, which are finished. */
    TRIFOLD_METHOD void take(const Work& work, const trifold_args& args) {
        const Task& task = work.task;
        const Source& from = work.sources[source];
        const int rest = from.columns - tile * edge;
        a = operand_of(args, task.member, block(from), from.a_panel) + place_of_tile(task.row, tile);
        b = operand_of(args, task.member, block(from), from.b_panel) + place_of_tile(task.column, tile);
        left = (rest < edge ? rest : edge) / stage_columns;
        ++tile;
        if (rest <= edge) tile = ready = 0, ++repeat;
    }
    TRIFOLD_METHOD void advance() { --left, a += step, b += step; }
};

/* Starts the copy of the next stage; false when all have been. */
TRIFOLD_DEVICE bool fetch_stage(Cursor& cursor, TileShared& shared, const trifold_args& args, real* to) {
    const Work& work = shared.work;
    if (cursor.left == 0) {
        if (!cursor.find(work)) return false;
        const trifold_int epoch = work.task.epoch;
        if (cursor.tile >= cursor.ready)
            cursor.ready = static_cast<int>(wait_together(shared, cursor.a_count(work, args), cursor.b_count(work, args), epoch + cursor.tile + 1) - epoch);
        cursor.take(work, args);
    }
    fetch_columns<stage_columns>(to, cursor.a);
    if (!is_pivots(work.task)) fetch_columns<stage_columns>(to + stage_size, cursor.b);
    cursor.advance();
    return true;
}

TRIFOLD_DEVICE real* stage_at(TileShared& shared, unsigned turn) { return shared.memory + turn % stages * (2 * stage_size); }

/* Goes to the tiles of the next stages, by one warp, if they are finished: those of sources, and after the last ones the inverse that a tile is
 * multiplied with, whose columns fill the place of both. */
TRIFOLD_DEVICE bool find_tiles(Cursor& cursor, const Work& work, const trifold_args& args) {
    const Task& task = work.task;
    if (cursor.find(work)) {
        if (cursor.tile >= cursor.ready) {
            cursor.ready = static_cast<int>(look_at(cursor.a_count(work, args), cursor.b_count(work, args)) - task.epoch);
            if (cursor.tile >= cursor.ready) return false;
            fence_device_copies();
        }
        cursor.take(work, args);
        return true;
    }
    if (is_pivots(task) || cursor.source > task.sources) return false;
    const trifold_int* pivots = progress_of(args, task.member, task.block, 0, task.column);
    if (look_at(pivots, pivots) <= task.epoch + task.column) return false;
    fence_device_copies();
    cursor.a = factor_of(args, task.member, task.block) + place_of_tile(task.column, task.column);
    cursor.b = cursor.a + stage_size;
    cursor.left = edge / (2 * stage_columns), cursor.step = 2 * stage_size;
    ++cursor.source;
    return true;
}

/* Starts copies of stages by one warp, as many as there is room for and tiles are finished. */
TRIFOLD_DEVICE void start_stages(Cursor& cursor, Turns& turns, TileShared& shared, const trifold_args& args) {
    constexpr int bytes = stage_size * static_cast<int>(sizeof(real));
    const bool both = !is_pivots(shared.work.task);
#pragma unroll 1
    for (; turns.started != turns.now + stages - 1; ++turns.started) {
        if (cursor.left == 0 && !find_tiles(cursor, shared.work, args)) return;
        if (thread_index() % warp_lanes == 0) {
            trifold_gate* gate = full_gate(shared, turns.started);
            real* to = stage_at(shared, turns.started);
            gate_wait(empty_gate(shared, turns.started), turns.started / stages - 1);
            copy_range(to, cursor.a, bytes, gate);
            if (both) copy_range(to + stage_size, cursor.b, bytes, gate);
            gate_arrive_with(gate, both ? 2 * bytes : bytes);
        }
        cursor.advance();
    }
}

/* The same until `wanted` stages that are not yet multiplied are on their way. */
TRIFOLD_DEVICE void start_stages(Cursor& cursor, Turns& turns, unsigned wanted, TileShared& shared, const trifold_args& args) {
    if (thread_index() / warp_lanes != starter) return;
    for (;;) {
        start_stages(cursor, turns, shared, args);
        if (turns.started - turns.now >= wanted) return;
        spin();
    }
}

/* Whether this warp's part is above the diagonal or in the padding, where there is nothing to multiply. */
TRIFOLD_DEVICE bool is_idle(const Task& task) {
    if (!use_tensor) return false;
    const int thread = own_thread();
    const bool is_padding = is_padded && (task.row * edge + warp_row(thread) >= block_size || task.column * edge + warp_column(thread) >= block_size);
    return is_padding || (is_pivots(task) && warp_row(thread) + 32 <= warp_column(thread));
}

/* part += all products, each stage copied by all threads. Ends with shared memory free. */
TRIFOLD_DEVICE void add_sources(Part& part, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    const bool idle = is_idle(task);
    const int other = is_pivots(task) ? 0 : stage_size;
    Cursor cursor;
    int started = 0;
#pragma unroll 1
    for (int s = 0; s < stages - 1; ++s) {
        if (fetch_stage(cursor, shared, args, shared.memory + s * (2 * stage_size))) ++started;
        end_copies();
    }
#pragma unroll 1
    for (int s = 0; s < started; ++s) {
        wait_copies<stages - 2>();
        block_sync();
        if (fetch_stage(cursor, shared, args, shared.memory + (s + stages - 1) % stages * (2 * stage_size))) ++started;
        end_copies();
        const real* stage = shared.memory + s % stages * (2 * stage_size);
        if (!idle) multiply_stage(part, stage, stage + other);
    }
    wait_copies<0>();
    block_sync();
}

/* The same by copies of ranges. */
TRIFOLD_DEVICE void add_ranges(Part& part, Cursor& cursor, Turns& turns, TileShared& shared, const trifold_args& args) {
    const Work& work = shared.work;
    const bool idle = is_idle(work.task);
    const int other = is_pivots(work.task) ? 0 : stage_size;
#pragma unroll 1
    for (int s = 0; s < work.task.sources; ++s) {
        const unsigned end = turns.now + static_cast<unsigned>(work.sources[s].count * (work.sources[s].columns / stage_columns));
#pragma unroll 1
        while (turns.now != end) {
            start_stages(cursor, turns, 1, shared, args);
            wait_full(shared, turns.now);
            const real* stage = stage_at(shared, turns.now);
            if (!idle) multiply_stage(part, stage, stage + other);
            leave_stage(shared, turns.now++);
        }
    }
    block_sync();
}
