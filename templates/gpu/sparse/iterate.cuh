/* A whole solution in one launch, of a system whose factors fit the shared memory of its thread blocks. Each has a subdomain, and keeps
 * its factors from iteration to iteration. All thread blocks of a member are at work at the same time: what one needs of others goes
 * through device memory, and they meet before it is read. Each of them makes all decisions, from the same sums. */
#include "gpu/sparse/product.cuh"

#if ONE_LAUNCH
/* Threads sweep in groups, each through every so-manyth level. While one computes a level, others have taken their parts of the next ones
 * already. */
constexpr int iterate_threads = groups * sweepers;
constexpr int iterate_sums = renewal_sums;
constexpr int member_counters = 16; /* numbers of 8 bytes: members have their counters in lines of their own */

/* State and sums that a thread block has in addition to its vectors and factors. */
struct Desk {
    trifold_sparse_state state;
    double sums[iterate_sums], room[iterate_sums * iterate_threads / warp_lanes];
    real scale;
    trifold_int column; /* that is solved for */
    trifold_int met;    /* the counter of its meetings when the last of them is complete; 0: there was none */
    unsigned words[groups];
};
static_assert(sizeof(Desk) <= sparse_desk_bytes, "the host leaves room for it");

/* Shared memory of a thread block. */
struct Resident {
    Desk& desk;
    Chip chip; /* its ring holds all levels */
    const Stage* stages;
    int levels, turn;
};
TRIFOLD_DEVICE char* shared_place(trifold_int place) { return static_cast<char*>(shared_memory()) + place; }

/* Vectors that no other thread block reads are in shared memory, where there is room. */
TRIFOLD_DEVICE Pieces near_pieces(const Context& c, const Part& part, trifold_int system) {
    Pieces w = pieces_of(c, part, system);
    if (!c.launch.near_vectors) return w;
    real** near[] = {&w.r, &w.v, METHOD == METHOD_CG ? &w.z : &w.p, &w.t, &w.shadow};
#pragma unroll
    for (int k = 0; k < (METHOD == METHOD_CG ? 3 : 5); ++k)
        *near[k] = reinterpret_cast<real*>(shared_place(sparse_desk_bytes + (k + 1) * c.launch.near_bytes));
    return w;
}

/* A block of A: the row of x that it is multiplied with, -1 where there is none, and its number in A. Slot s of all rows is side by side.
 */
struct Entry {
    int column, number;
};
TRIFOLD_DEVICE Entry* near_entries(const Context& c) { return reinterpret_cast<Entry*>(shared_place(c.launch.near_entries)); }
TRIFOLD_DEVICE real* near_matrix(const Context& c) { return reinterpret_cast<real*>(shared_place(c.launch.near_matrix)); }
/* The element of a block that component i of its row takes from component j of x. */
TRIFOLD_DEVICE real element_of(const Context& c, const real* matrix, int number, int i, int j) {
    const bool transposed = c.launch.transposed != 0;
    return matrix[entry_place(number) + (transposed ? i : j) * (block * sparse_chunk) + (transposed ? j : i)];
}
TRIFOLD_DEVICE Entry entry_at(const Context& c, trifold_int row, int s) {
    if (!c.launch.transposed) {
        if (s >= slots_of(c, row)) return {-1, 0};
        const trifold_int number = (first_slot(c, row) + s) * sparse_chunk + row % sparse_chunk;
        return {at<const int>(c, c.launch.column)[number], static_cast<int>(number)};
    }
    const trifold_int* starts = at<const trifold_int>(c, c.launch.transposed_starts) + row;
    if (starts[0] + s >= starts[1]) return {-1, 0};
    return {at<const int>(c, c.launch.transposed_rows)[starts[0] + s], at<const int>(c, c.launch.transposed_entries)[starts[0] + s]};
}
/* Puts the list of blocks into shared memory, and the elements of the first slots, as many as there is room for. */
TRIFOLD_DEVICE void keep_matrix(const Context& c, const Part& part) {
    const int rows = part.rows(), count = part.count(), slots = static_cast<int>(c.launch.near_slots);
    Entry* entries = near_entries(c);
    for (int k = thread_index(); k < slots * rows; k += iterate_threads) entries[k] = entry_at(c, part.first + k % rows, k / rows);
    block_sync();
    const real* matrix = matrix_of(c);
    real* kept = near_matrix(c);
    for (int s = 0; s < c.launch.near_kept; ++s)
        for (int k = thread_index(); k < count; k += iterate_threads) {
            const Entry entry = entries[s * rows + k / block];
            for (int j = 0; j < block; ++j)
                kept[(s * block + j) * count + k] = entry.column < 0 ? real(0) : element_of(c, matrix, entry.number, k % block, j);
        }
}
constexpr int slots_together = block == 1                                        ? 6
                               : block == 2 || (block == 3 && sizeof(real) == 8) ? 3
                               : block <= 4                                      ? 2
                                                                                 : 1; /* those that are in flight at a time */
/* Number k of the part's product. */
TRIFOLD_DEVICE real near_product(const Context& c, const Part& part, int k, const real* x) {
    const int rows = part.rows(), count = part.count(), slots = static_cast<int>(c.launch.near_slots);
    const Entry* entries = near_entries(c) + k / block;
    const real *matrix = matrix_of(c), *kept = near_matrix(c) + k;
    real sum = 0;
    for (int s = 0; s < slots; s += slots_together) {
        real a[slots_together][block], from[slots_together][block];
#pragma unroll
        for (int n = 0; n < slots_together; ++n) {
            const Entry entry = s + n < slots ? entries[(s + n) * rows] : Entry{-1, 0};
            const bool is_kept = s + n < c.launch.near_kept;
#pragma unroll
            for (int j = 0; j < block; ++j) {
                a[n][j] = from[n][j] = 0;
                if (entry.column < 0) continue;
                from[n][j] = x[static_cast<trifold_int>(entry.column) * block + j];
                a[n][j] = is_kept ? kept[((s + n) * block + j) * count] : element_of(c, matrix, entry.number, k % block, j);
            }
        }
#pragma unroll
        for (int n = 0; n < slots_together; ++n)
#pragma unroll
            for (int j = 0; j < block; ++j) sum += a[n][j] * from[n][j];
    }
    return sum;
}

TRIFOLD_DEVICE void copy_in(char* to, const char* from, int bytes) {
    for (int k = 16 * thread_index(); k < bytes; k += 16 * iterate_threads) copy_async(to + k, from + k);
}
TRIFOLD_DEVICE Resident resident_at(const Context& c, const Stream& stream) {
    return {*reinterpret_cast<Desk*>(shared_place(0)),
            {shared_place(0), reinterpret_cast<real*>(shared_place(sparse_desk_bytes)), nullptr, nullptr, nullptr},
            reinterpret_cast<Stage*>(shared_place(c.launch.near_stages)),
            stream.count,
            stream.turn};
}
TRIFOLD_DEVICE Stream resident_stream(const Context& c) { return has_factors ? stream_of(c, tile_at(c)) : Stream{0, 0, 0, nullptr}; }
/* Puts a subdomain's factors into shared memory, and the records and numbers of their levels. */
TRIFOLD_DEVICE void make_resident(const Context& c, const Part& part) {
    const Stream stream = resident_stream(c);
    const Resident on = resident_at(c, stream);
    Stage* stages = reinterpret_cast<Stage*>(shared_place(c.launch.near_stages));
    if (thread_index() == 0) {
        on.desk.scale = scale_of(c);
        on.desk.met = 0;
    }
    if (thread_index() < groups) on.desk.words[thread_index()] = 0;
    if (stream.count > 0) {
        const trifold_sparse_level begin = level_at(c, stream.first), end = level_at(c, stream.first + stream.count - 1);
        const int values = static_cast<int>(c.launch.near_factors), records = static_cast<int>(c.launch.near_records);
        constexpr int bytes = static_cast<int>(sizeof(factor_real));
        copy_in(shared_place(values), reinterpret_cast<const char*>(stream.factors + begin.begin),
                (end.begin - begin.begin) * bytes + end.bytes);
        copy_in(shared_place(records), at<const char>(c, c.launch.level_records) + begin.record,
                end.record + end.record_bytes - begin.record);
        for (int k = thread_index(); k < stream.count; k += iterate_threads) {
            const trifold_sparse_level l = level_at(c, stream.first + k);
            stages[k] = {l.rows, l.slots, values + (l.begin - begin.begin) * bytes, records + l.record - begin.record};
        }
    }
    keep_matrix(c, part);
    end_copies();
    wait_copies<0>();
    block_sync();
}

/* A group of threads ends a level, and the next one waits for that. Of one group all threads wait for one another. */
TRIFOLD_DEVICE void end_level(Desk& desk, int level) {
    if (groups > 1) named_arrive(desk.words[level % groups], 1 + level % groups, 2 * sweepers);
}
TRIFOLD_DEVICE void await_level(Desk& desk, int level) {
    if (groups == 1)
        block_sync();
    else if (level >= 0)
        named_sync(desk.words[level % groups], 1 + level % groups, 2 * sweepers);
}
/* v = M^-1 v. All threads have written v before, and all may read it when this returns. A level's group knows that those before its own
 * last one are complete: where that is all of L, it may scale by D^-1 before it waits. */
TRIFOLD_DEVICE void sweep_resident(const Resident& on) {
    block_sync();
    const int group = thread_index() / sweepers, count = on.levels, turn = on.turn;
    Lane lane = lane_at<sweepers>(0);
    lane.row -= group * rows_at_once<sweepers>;
    for (int k = group; k < count; k += groups) {
        const Stage l = on.stages[k];
        const bool works = lane.works && lane.row < l.rows, scales = k >= turn, knows = !scales || k - groups >= turn;
        Taken taken;
        if (works) take(taken, on.chip, l, lane.row, lane.component, scales, knows);
        await_level(on.desk, k - 1);
        if (!knows) {
            if (works) take_own(taken, on.chip, l, lane.row, lane.component, scales);
            warp_sync();
        }
        if (works) finish(taken, on.chip, l, lane.row, lane.component, scales);
        if (k + 1 < count) end_level(on.desk, k);
    }
    block_sync();
}

/* All thread blocks of the member come here, and see what others have written before. */
TRIFOLD_DEVICE void meet(const Context& c, Desk& desk) {
    block_sync();
    if (thread_index() == 0 && c.launch.tiles > 1) {
        trifold_int* counter = at<trifold_int>(c, c.launch.meetings) + group_y() * member_counters;
        const trifold_int before = claim_release(counter);
        desk.met = desk.met == 0 ? (before / c.launch.tiles + 1) * c.launch.tiles : desk.met + c.launch.tiles;
        while (load_acquire(counter) < desk.met) spin();
    }
    block_sync();
}
/* The sums of all thread blocks, always in the same order; each of them gets all sums. */
template <int count>
TRIFOLD_DEVICE void add_sums(const Context& c, Desk& desk, trifold_int system, int first = 0) {
    meet(c, desk);
    for (int k = warp_index(); k < count; k += iterate_threads / warp_lanes) {
        const double* all = sums_of(c, system, first + k);
        double sum = 0;
        for (trifold_int part = lane_index(); part < c.launch.tiles; part += warp_lanes) sum += all[part];
#pragma unroll
        for (int apart = warp_lanes / 2; apart > 0; apart /= 2) sum += shuffle_xor(sum, apart);
        if (lane_index() == 0) desk.sums[k] = sum;
    }
    block_sync();
}

/* A system of the thread block's member. */
struct System {
    Part part;
    trifold_int number;
    Pieces w;
    double* history; /* null: another thread block writes it */
};
TRIFOLD_DEVICE System system_at(const Context& c, trifold_int column) {
    const Part part = rows_of(tile_of(c));
    const trifold_int number = system_of(c, column);
    return {part, number, near_pieces(c, part, number), group_x() == 0 ? history_of(c, number) : nullptr};
}
/* M^-1 of the next vector. */
TRIFOLD_DEVICE void precondition(const Context& c, const System& system, const Resident& on) {
    const trifold_sparse_state& s = on.desk.state;
    for_numbers<loads_together>(
        system.part, iterate_threads, [&](int k) { return load_number(c, system.part, system.number, s, system.w, k); },
        [&](int k, const Loaded& in) { on.chip.v[k] = next_number(c, system.part, system.number, s, system.w, in, k); });
    sweep_resident(on);
    store_solved(c, system.part, s, system.w, on.chip.v, iterate_threads, on.desk.scale);
}
TRIFOLD_DEVICE void multiply(const Context& c, const System& system, Desk& desk) {
    meet(c, desk);
    next_product<iterate_threads>(
        c, system.part, system.number, desk.state.saves != 0, system.w, desk.room,
        [&](int k, const real* x) { return near_product(c, system.part, k, x); },
        [&](int k) { return weight_of(c, system.part.first * block + k); });
}
TRIFOLD_FUNCTION void renew(const trifold_sparse_args& args, const trifold_sparse_launch& launch) {
    const Context c = {args, launch, trifold_sparse_renews};
    Desk& desk = *reinterpret_cast<Desk*>(shared_place(0));
    const System system = system_at(c, desk.column);
    complete_x<iterate_threads>(c, system.part, system.number, desk.state, system.w);
    meet(c, desk);
    true_residual<iterate_threads, 1>(c, system.part, system.number, desk.state, system.w, desk.room);
    add_sums<renewal_sums>(c, desk, system.number);
    if (thread_index() == 0) renew_step(&desk.state, desk.sums, &c.args, &c.launch, system.history);
    block_sync();
}
TRIFOLD_DEVICE void first_half(const Context& of, const System& system, const Resident& on) {
    const Context c = {of.args, of.launch, trifold_sparse_first};
    precondition(c, system, on);
#if METHOD == METHOD_CG
    double sums[2] = {};
    for (int k = thread_index(); k < system.part.count(); k += iterate_threads) {
        sums[0] += times(system.w.r[k], system.w.z[k]);
        sums[1] += weight_of(c, system.part.first * block + k) * times(system.w.r[k], system.w.r[k]);
    }
    /* Thread blocks have not met since the last sums were read: these go elsewhere. */
    leave_sums<2, iterate_threads>(c, system.number, sums, on.desk.room, iterate_sums);
    add_sums<2>(c, on.desk, system.number, iterate_sums);
#else
    multiply(c, system, on.desk);
    add_sums<1>(c, on.desk, system.number);
#endif
    if (thread_index() == 0) first_step(&on.desk.state, on.desk.sums, &c.args, &c.launch, system.history);
    block_sync();
}
TRIFOLD_DEVICE void second_half(const Context& of, const System& system, const Resident& on) {
    const Context c = {of.args, of.launch, trifold_sparse_second};
#if METHOD == METHOD_CG
    turn_direction<iterate_threads>(c, system.part, system.number, on.desk.state, system.w);
#else
    precondition(c, system, on);
#endif
    multiply(c, system, on.desk);
    add_sums<METHOD == METHOD_CG ? 1 : 5>(c, on.desk, system.number);
    if (thread_index() == 0) second_step(&on.desk.state, on.desk.sums, &c.args, &c.launch, system.history);
    block_sync();
}

/* Until the true residual is wanted. */
TRIFOLD_DEVICE void iterate(const Context& c, trifold_int column) {
    const Resident on = resident_at(c, resident_stream(c));
    const System system = system_at(c, column);
    while (is_at_work(on.desk.state)) {
        first_half(c, system, on);
        if (is_at_work(on.desk.state)) second_half(c, system, on);
    }
}
TRIFOLD_DEVICE void iterate_systems(const Context& c) {
    make_resident(c, rows_of(tile_of(c)));
    Desk& desk = *reinterpret_cast<Desk*>(shared_place(0));
    for (trifold_int column = 0; column < c.args.used_columns; column = desk.column + 1) {
        block_sync(); /* all have read the state of the column before */
        if (thread_index() == 0) {
            desk.column = column;
            desk.state = *state_of(c, system_of(c, column));
        }
        block_sync();
        if (desk.state.outcome != trifold_sparse_running) continue;
        while (desk.state.outcome == trifold_sparse_running) {
            renew(c.args, c.launch);
            iterate(c, desk.column);
        }
        if (thread_index() == 0 && group_x() == 0) *state_of(c, system_of(c, desk.column)) = desk.state;
    }
}
#endif
