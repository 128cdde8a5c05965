/* How the operands of a task come to shared memory, in stages, and are multiplied there. A stage is some columns of a tile of A and as many
 * of a tile of B. For three places in memory (`stages`), in time:
 *
 *      one warp starts copies   0  1         2        3        4
 *      all warps multiply             | 0 |    | 1 |    | 2 |    | 3 |
 *      place in memory                  0        1        2        0        number % stages
 *
 *      full[0]  opens when copy 0 has come, and again when copy 3 has
 *      empty[0] opens when all warps have multiplied stage 0: then copy 3 may start
 *
 * Which tiles come next is told by the counts of finished tiles in the workspace: the warp that starts copies looks at them, and starts
 * none while the next tile is not finished. Devices without copies of whole ranges take the same stages, copied by all threads, with
 * barriers in place of gates. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/tiles/pivots.cuh"
#include "gpu/tridiagonal/tiles/sources.cuh"

constexpr int shared_elements = edge * leading > 2 * stages* stage_size ? edge* leading : 2 * stages* stage_size;
struct TileShared {
    Work work;
    Pivots pivots;
    trifold_int ready;                            /* the count that the waiting thread has found */
    trifold_gate full[stages], empty[stages];     /* is a stage's copy there, and have all warps multiplied it? */
    double diagonal[has_signs ? 2 * edge : edge]; /* pivots, and the sums of rows */
    union alignas(16) {
        float scales[2][edge];   /* scales of the tile's rows and columns, if halves are multiplied */
        trifold_int signs[edge]; /* two words of each stage, and last, how many of the tile's own pivots are negative, and which */
    };
    alignas(16) real memory[shared_elements]; /* stages of two operands; two tiles; or the diagonal tile above the identity */
};
static_assert(sizeof(TileShared) == SharedBytes::factor &&
                  sizeof(TileShared) == tile_bytes(level_count, edge, stages, stage_columns, has_signs, sizeof(real)),
              "host and device disagree");

static_assert(!has_signs || (!use_halves && 2 * stages + 2 <= edge), "room for signs");

/* Begins the sums of a tile on the diagonal, and adds the squares of a stage's rows, by the warp that has nothing else to do there. */
constexpr int starter = warps / 2;
TRIFOLD_DEVICE void start_signs(TileShared& shared) {
    if (thread_index() / warp_lanes != starter) return;
    for (int r = thread_index() % warp_lanes; r < edge; r += warp_lanes) shared.diagonal[edge + r] = 0;
    if (thread_index() % warp_lanes == 0) shared.signs[edge - 2] = shared.signs[edge - 1] = 0;
}
TRIFOLD_DEVICE void add_squares(TileShared& shared, const real* stage) {
    if (thread_index() / warp_lanes != starter || !is_pivots(shared.work.task)) return;
    for (int r = thread_index() % warp_lanes; r < edge; r += warp_lanes) {
        real sum = 0;
#pragma unroll 4
        for (int c = 0; c < stage_columns; ++c) sum += stage[place_in_tile(r, c)] * stage[place_in_tile(r, c)];
        shared.diagonal[edge + r] += sum;
    }
}
/* The bits of a stage's negative pivots. */
TRIFOLD_DEVICE unsigned signs_at(const TileShared& shared, unsigned number) {
    return has_signs ? static_cast<unsigned>(shared.signs[2 * (number % stages)]) : 0;
}

/* ---- waiting for other thread blocks ---- */

/* The smaller of two counts, for one warp, which may then start copies of the tiles that they count. Two lanes read one count each, since
 * the reads of one lane would follow one another. */
TRIFOLD_DEVICE trifold_int look_at(const trifold_int* a, const trifold_int* b) {
    const int lane = thread_index() % warp_lanes;
    const trifold_int seen = lane < 2 ? load_acquire(lane == 0 ? a : b) : 0, first = shuffle(seen, 0), second = shuffle(seen, 1);
    warp_sync();
    return first < second ? first : second;
}

/* Waits with the whole thread block until two counts are at least `wanted`; the smaller one. One warp looks: if all did, those who wait
 * would take time from those who work. Between two calls there is a barrier. */
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

/* ---- scales, where halves are multiplied ---- */

/* Finds the scales of the tile's rows and columns, a thread for each. */
TRIFOLD_DEVICE void find_scales(TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    static_assert(!use_halves || threads == 2 * edge, "a thread for each");
    const bool is_column = thread_index() >= edge;
    const trifold_int block = is_column || task.panel == 0 ? task.block : task.panel == 1 ? task.next : task.behind;
    const int e = thread_index() % edge, r = (is_column ? task.column : task.row) * edge + e;
    real diagonal = 0;
    if (has_views) {
        diagonal = r < block_size ? static_cast<real>(given_entry(args, task.member, block, r)) : real(0);
    } else if (r < block_size) {
        const real* d = D_OF(args, task.member, block);
        diagonal = ENTRY_OF_D(d, r) + diagonal_term(args, task.member, block, r);
    }
    if (is_ring && r < block_size && horizon_of(args) == 1) diagonal += own_coupling(args, task_level(args, 0).level, task.member, r, r);
    shared.scales[is_column][e] = scale_of(diagonal);
}

/* Whether this warp's part is above the diagonal or in the padding, where there is nothing to multiply. */
TRIFOLD_DEVICE bool is_idle(const Task& task) {
    if (!use_tensor) return false;
    const int thread = own_thread();
    const bool is_padding =
        is_padded && (task.row * edge + warp_row(thread) >= block_size || task.column * edge + warp_column(thread) >= block_size);
    return is_padding || (is_pivots(task) && warp_row(thread) + 32 <= warp_column(thread));
}

/* ---- stages that all threads copy ---- */

/* Starts the copy of the next stage; false when all have been. */
TRIFOLD_DEVICE bool fetch_stage(Cursor& cursor, TileShared& shared, const trifold_args& args, int number) {
    real* to = shared.memory + number % stages * (2 * stage_size);
    const Work& work = shared.work;
    if (cursor.left == 0) {
        if (!cursor.find(work)) return false;
        const trifold_int epoch = work.task.epoch;
        if (cursor.tile >= cursor.ready)
            cursor.ready = static_cast<int>(
                wait_together(shared, cursor.a_count(work, args), cursor.b_count(work, args), epoch + cursor.tile + 1) - epoch);
        cursor.take(work, args);
    }
    fetch_columns<stage_columns>(to, cursor.a);
    if (!is_pivots(work.task)) fetch_columns<stage_columns>(to + stage_size, cursor.b);
    if (has_signs && thread_index() == 0) copy_async(shared.signs + 2 * (number % stages), cursor.at);
    cursor.advance();
    return true;
}

/* part += all products from the cursor's source on, each stage copied by all threads. Ends with shared memory free. */
TRIFOLD_DEVICE void add_sources(Part& part, Cursor cursor, TileShared& shared, const trifold_args& args) {
    const Task& task = shared.work.task;
    const bool idle = is_idle(task);
    const int other = is_pivots(task) ? 0 : stage_size;
    int started = 0;
#pragma unroll 1
    for (int s = 0; s < stages - 1; ++s) {
        if (fetch_stage(cursor, shared, args, s)) ++started;
        end_copies();
    }
#pragma unroll 1
    for (int s = 0; s < started; ++s) {
        wait_copies<stages - 2>();
        block_sync();
        if (fetch_stage(cursor, shared, args, s + stages - 1)) ++started;
        end_copies();
        const real* stage = shared.memory + s % stages * (2 * stage_size);
        if (!idle) multiply_stage(part, stage, stage + other, signs_at(shared, static_cast<unsigned>(s)));
        if constexpr (has_signs) add_squares(shared, stage);
    }
    wait_copies<0>();
    block_sync();
}

/* ---- stages that one warp copies as whole ranges ---- */

/* The stages are one sequence over all tasks of the thread block. One warp starts their copies, and all warps multiply them. A stage has
 * the gates and the memory of its number modulo `stages`. No warp waits for another, except that the one that starts copies waits for those
 * two stages behind it. It is the warp that has nothing to multiply for tiles on the diagonal: its other work would delay all others. */
struct Pipeline {
    unsigned now = 0, started = 0; /* numbers of the stage that is multiplied next, and of the one whose copy starts next */
};
TRIFOLD_DEVICE void make_gates(TileShared& shared) {
    if (thread_index() == 0)
        for (int s = 0; s < stages; ++s) make_gate(&shared.full[s], 1), make_gate(&shared.empty[s], warps);
    fence_shared_copies();
    block_sync();
}
TRIFOLD_DEVICE trifold_gate* full_gate(TileShared& shared, unsigned number) { return &shared.full[number % stages]; }
TRIFOLD_DEVICE trifold_gate* empty_gate(TileShared& shared, unsigned number) { return &shared.empty[number % stages]; }
TRIFOLD_DEVICE void wait_full(TileShared& shared, unsigned number) { gate_wait(full_gate(shared, number), number / stages); }
TRIFOLD_DEVICE void leave_stage(TileShared& shared, unsigned number) {
    warp_sync();
    if (thread_index() % warp_lanes == 0) gate_arrive(empty_gate(shared, number));
}

TRIFOLD_DEVICE real* stage_at(TileShared& shared, unsigned number) { return shared.memory + number % stages * (2 * stage_size); }

/* Goes to the tiles of the next stages, by one warp, if they are finished: those of sources, and after the last ones the inverse that a
 * tile is multiplied with, whose columns fill the place of both. */
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
    if (is_pivots(task) || leaves(task) || (sums_apart && task.later > 0) || cursor.source > task.sources) return false;
    const trifold_int* pivots = progress_of(args, task.member, task.block, 0, task.column);
    if (look_at(pivots, pivots) <= task.epoch + task.column) return false;
    fence_device_copies();
    cursor.a = factor_of(args, task.member, task.block) + place_of_tile(task.column, task.column);
    cursor.b = cursor.a + stage_size;
    cursor.go_to(signs_of(args, task.member, task.block, task.column));
    cursor.left = edge / (2 * stage_columns), cursor.step = 2 * stage_size;
    ++cursor.source;
    return true;
}

/* Starts copies of stages by one warp, as many as there is room for and tiles are finished. */
TRIFOLD_DEVICE void start_stages(Cursor& cursor, Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    constexpr int bytes = stage_size * static_cast<int>(sizeof(real)), sign_bytes = has_signs ? 16 : 0;
    const bool both = !is_pivots(shared.work.task);
#pragma unroll 1
    for (; pipeline.started != pipeline.now + stages - 1; ++pipeline.started) {
        if (cursor.left == 0 && !find_tiles(cursor, shared.work, args)) return;
        if (thread_index() % warp_lanes == 0) {
            trifold_gate* gate = full_gate(shared, pipeline.started);
            real* to = stage_at(shared, pipeline.started);
            gate_wait(empty_gate(shared, pipeline.started), pipeline.started / stages - 1);
            copy_range(to, cursor.a, bytes, gate);
            if (both) copy_range(to + stage_size, cursor.b, bytes, gate);
            if (has_signs) copy_range(shared.signs + 2 * (pipeline.started % stages), cursor.at, sign_bytes, gate);
            gate_arrive_with(gate, (both ? 2 * bytes : bytes) + sign_bytes);
        }
        cursor.advance();
    }
}

/* Starts copies until `wanted` stages that are not yet multiplied are in flight; by all warps, of which one does it. */
TRIFOLD_DEVICE void start_stages(Cursor& cursor, Pipeline& pipeline, unsigned wanted, TileShared& shared, const trifold_args& args) {
    if (thread_index() / warp_lanes != starter) return;
    for (;;) {
        start_stages(cursor, pipeline, shared, args);
        if (pipeline.started - pipeline.now >= wanted) return;
        spin();
    }
}

/* part += all products from source `first` on, each stage copied by one warp. Ends with shared memory free. */
TRIFOLD_DEVICE void add_ranges(Part& part, int first, Cursor& cursor, Pipeline& pipeline, TileShared& shared, const trifold_args& args) {
    const Work& work = shared.work;
    const bool idle = is_idle(work.task);
    const int other = is_pivots(work.task) ? 0 : stage_size;
#pragma unroll 1
    for (int s = first; s < work.task.sources; ++s) {
        const unsigned end = pipeline.now + static_cast<unsigned>(work.sources[s].count * (work.sources[s].columns / stage_columns));
#pragma unroll 1
        while (pipeline.now != end) {
            start_stages(cursor, pipeline, 1, shared, args);
            wait_full(shared, pipeline.now);
            const real* stage = stage_at(shared, pipeline.now);
            if (!idle) multiply_stage(part, stage, stage + other, signs_at(shared, pipeline.now));
            if constexpr (has_signs) add_squares(shared, stage);
            leave_stage(shared, pipeline.now++);
        }
    }
    block_sync();
}
