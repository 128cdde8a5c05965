/* The preconditioner of a subdomain, a thread block each. Its vector v is in shared memory, and M^-1 v takes its place, level by level of
 * L, then of U. Levels come through a ring: one lane of the last warp fetches them, and all other warps, the sweepers, compute. In time:
 *   fetching lane   | wait E(k - 2) | copy level k | wait E(k - 1)        | copy level k + 1 |
 *                                                F(k)                                     F(k + 1)
 *   sweepers        | finish k - 2, take k - 1 |B| finish k - 1 | take k   |B| finish k | take k + 1   |B|
 *                                           E(k - 1)                       E(k)                         E(k + 1)
 *
 *   F(k)    gate `full`: the level and its record have come. Each warp that has a row of the level waits for it.
 *   E(k)    gate `empty`: all sweepers have level k in registers. The last sweeper arrives for it behind the barrier, and the fetching lane
 *           waits until as many levels have left as lie in the place of its next one (`needs`; in the drawing the ring holds two levels).
 *   B       named barrier 1, of the sweepers: behind it rows of level k - 1 are known, and level k is in registers.
 *
 * `take` reads a row's values out of the ring, `finish` subtracts their products with v. Before the first level of U is taken there is one
 * more B: D^-1 v needs all of L's result. If a row has more entries than its lane keeps, `finish` reads the ring too, and the level leaves
 * a barrier later. A barrier waits for no loads, so lanes fence theirs before B: the copy engine would overwrite what they have not read.
 * Without a ring (no bulk copies, or one application of M') all threads sweep, with a block barrier behind each level. */
#include "gpu/sparse/factor.cuh"

/* The product that the blocks of a slot take from component i of the level's row t. */
TRIFOLD_DEVICE real slot_product(const Context& c, const Tile& tile, const trifold_sparse_slot& slot, int t, int i, const real* v) {
    const int column = at<const unsigned short>(c, c.launch.slot_columns)[slot.columns + t] * block;
    const factor_real* a = tile.stream + slot.place + block * t + i;
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j) sum += static_cast<real>(a[j * (block * slot.rows)]) * v[column + j];
    return sum;
}
/* The product with a transposed block, whose place is listed. */
TRIFOLD_DEVICE real transposed_product(const Tile& tile, const trifold_sparse_reference& r, int i, const real* x) {
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j) sum += static_cast<real>(tile.stream[place_in(r, j, i)]) * x[j];
    return sum;
}
template <bool transposed>
TRIFOLD_DEVICE real slot_value(const Context& c, const Tile& tile, const trifold_sparse_slot& slot, int t, int i, const real* v) {
    if (!transposed) return slot_product(c, tile, slot, t, i, v);
    const int column = at<const unsigned short>(c, c.launch.slot_columns)[slot.columns + t] * block;
    return transposed_product(tile, at<const trifold_sparse_reference>(c, c.launch.transposed_references)[slot.place + t], i, v + column);
}
/* Component i of D^-1 v, or of its transposed, for the level's row t. */
template <bool transposed>
TRIFOLD_DEVICE real scaled_value(const Context& c, const Tile& tile, const trifold_sparse_level& level, int t, int i, const real* own) {
    if (transposed)
        return transposed_product(tile, at<const trifold_sparse_reference>(c, c.launch.transposed_references)[level.diagonal + t], i, own);
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j)
        sum += static_cast<real>(tile.stream[level.diagonal + j * (block * level.rows) + block * t + i]) * own[j];
    return sum;
}

/* One of the sweeps over a triangle. The second of two scales by D^-1 first. */
template <bool transposed, bool scales>
TRIFOLD_DEVICE void sweep(const Context& c, const Tile& tile, int which, real* v) {
    for (int level = tile.schedule.levels[which]; level < tile.schedule.levels[which + 1]; ++level) {
        const trifold_sparse_level l = level_at(c, level);
        const trifold_sparse_slot* slots = at<const trifold_sparse_slot>(c, c.launch.slots) + l.first_slot;
        for (int pass = 0; pass * rows_at_once<sweep_threads> < l.rows; ++pass) {
            const Lane lane = lane_at<sweep_threads>(pass);
            const bool works = lane.works && lane.row < l.rows;
            real sum = 0;
            int own = 0;
            if (works) {
                own = row_at(c, l, lane.row) * block;
                sum = scales ? scaled_value<transposed>(c, tile, l, lane.row, lane.component, v + own) : v[own + lane.component];
                for (int s = 0; s < l.slots && lane.row < slots[s].rows; ++s)
                    sum -= slot_value<transposed>(c, tile, slots[s], lane.row, lane.component, v);
            }
            if (scales) warp_sync();
            if (works) v[own + lane.component] = sum;
        }
        block_sync();
    }
}

/* Shared memory of a thread block: the ring, the gates of levels that have come and of those that have left, the word of a barrier, and the
 * vector. Without a ring the vector alone. */
struct Chip {
    char* ring;
    real* v;
    trifold_gate *full, *empty;
    unsigned* word;
};
/* Factors of A' by its own levels are there in solutions only. */
template <bool plain>
TRIFOLD_DEVICE bool goes_through_ring(const Context& c) {
    return has_bulk_copies && sweepers < sweep_threads && (!plain || !c.launch.transposed);
}
/* Levels that go through the ring: the first, how many, those of the first sweep, and where the factors lie. */
struct Stream {
    int first, count, turn;
    const factor_real* factors;
};
TRIFOLD_DEVICE Stream stream_of(const Context& c, const Tile& tile) {
    const trifold_sparse_schedule& s = tile.schedule;
    const int first = c.launch.transposed ? s.first_transposed : s.first;
    const int turn = s.levels[c.launch.transposed ? trifold_sparse_l_transposed : trifold_sparse_u];
    const int end = s.levels[c.launch.transposed ? trifold_sparse_sweeps : trifold_sparse_u + 1];
    return {first, end - first, turn - first, c.launch.transposed ? tile.transposed : tile.stream};
}
template <bool plain>
TRIFOLD_DEVICE Chip make_chip(const Context& c) {
    char *ring = static_cast<char*>(shared_memory()), *behind = ring + c.launch.ring;
    trifold_gate* gates = reinterpret_cast<trifold_gate*>(behind);
    const Chip chip = {ring, reinterpret_cast<real*>(behind + (c.launch.ring > 0 ? sparse_gate_bytes() : 0)), gates, gates + sparse_gates,
                       reinterpret_cast<unsigned*>(gates + 2 * sparse_gates)};
    if (goes_through_ring<plain>(c) && thread_index() == 0) {
        for (int k = 0; k < 2 * sparse_gates; ++k) make_gate(gates + k, 1);
        *chip.word = 0;
        fence_shared_copies();
    }
    return chip;
}

/* Fetches the levels of L and U, by one lane of the last warp. `before`: levels that earlier solutions of this launch have fetched. */
TRIFOLD_DEVICE void fetch_levels(const Context& c, const Stream& stream, const Chip& chip, unsigned before) {
    const int first = stream.first, count = stream.count;
    const char* records = at<const char>(c, c.launch.level_records);
    unsigned left = 0;
    for (int k = 0; k < count; ++k) {
        const trifold_sparse_level l = level_at(c, first + k);
        const unsigned number = before + static_cast<unsigned>(k);
        for (; static_cast<int>(left) < l.needs; ++left)
            gate_wait(chip.empty + (before + left) % sparse_gates, (before + left) / sparse_gates);
        trifold_gate* gate = chip.full + number % sparse_gates;
        if (l.bytes > 0) copy_range(chip.ring + l.ring, stream.factors + l.begin, l.bytes, gate);
        copy_range(chip.ring + l.ring + l.bytes, records + l.record, l.record_bytes, gate);
        gate_arrive_with(gate, l.bytes + l.record_bytes);
    }
    for (; static_cast<int>(left) < count; ++left) gate_wait(chip.empty + (before + left) % sparse_gates, (before + left) / sparse_gates);
}

/* The part of a lane in the next level. */
struct Taken {
    factor_real a[kept_slots][block];
    int column[kept_slots];
    real sum;
    int own, count; /* place of the row, -1: no work; slots of the row */
};
/* Numbers of a level that lanes need. Places of its values and of its record are in bytes behind the ring's begin. */
struct Stage {
    int rows, slots, values, record;
};
TRIFOLD_DEVICE Stage stage_of(const trifold_sparse_level& l) { return {l.rows, l.slots, l.ring, l.ring + l.bytes}; }
/* A level as the ring has it. */
struct Staged {
    const factor_real* values;
    const unsigned short *rows, *numbers;
};
TRIFOLD_DEVICE Staged staged_at(const Chip& chip, const Stage& l) {
    const unsigned short* record = reinterpret_cast<const unsigned short*>(chip.ring + l.record);
    return {reinterpret_cast<const factor_real*>(chip.ring + l.values), record, record + (l.slots + 7) / 8 * 8};
}
/* Four numbers of a record. */
struct Quad {
    unsigned long long bits;
    TRIFOLD_METHOD int number(int k) const { return static_cast<int>(bits >> (16 * k)) & 0xffff; }
};
TRIFOLD_DEVICE Quad quad_at(const unsigned short* numbers, int t) { return {reinterpret_cast<const unsigned long long*>(numbers)[t]}; }

/* D^-1 v or v of a lane's row. */
TRIFOLD_DEVICE void take_own(Taken& taken, const Chip& chip, const Stage& l, int t, int i, bool scales) {
    if (!scales) {
        taken.sum = chip.v[taken.own + i];
        return;
    }
    const factor_real* d = staged_at(chip, l).values + block * t + i;
    taken.sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j) taken.sum += static_cast<real>(d[j * (block * l.rows)]) * chip.v[taken.own + j];
}
/* Takes a lane's part of a level out of the ring, with D^-1 v or v of its row if that is `known`. */
TRIFOLD_DEVICE void take(Taken& taken, const Chip& chip, const Stage& l, int t, int i, bool scales, bool known = true) {
    const Staged s = staged_at(chip, l);
    const factor_real* a = s.values + block * t + i;
    const unsigned short* numbers = s.numbers;
    Quad quad = quad_at(numbers, t);
    taken.own = quad.number(0) * block;
    if (known) take_own(taken, chip, l, t, i, scales);
    if (scales) a += l.rows * square;
    taken.count = 0;
    int group = l.rows; /* rows of the group of slots */
#pragma unroll
    for (int k = 0; k < kept_slots; ++k) {
        const int rows = k < l.slots ? s.rows[k] : 0;
        if (t < rows) {
            if (k % sparse_group == sparse_group - 1) {
                numbers += sparse_group * group;
                quad = quad_at(numbers, t);
                group = rows;
            }
            taken.count = k + 1;
            taken.column[k] = quad.number((k + 1) % sparse_group) * block;
#pragma unroll
            for (int j = 0; j < block; ++j) taken.a[k][j] = a[j * (block * rows)];
        }
        a += rows * square;
    }
}
/* The products of slots that lanes do not keep, straight from the ring. */
TRIFOLD_DEVICE real rest_of(const Chip& chip, const Stage& l, int t, int i, bool scales) {
    const Staged s = staged_at(chip, l);
    const factor_real* a = s.values + (scales ? l.rows * square : 0) + block * t + i;
    const unsigned short* numbers = s.numbers;
    int group = l.rows;
    Quad quad = quad_at(numbers, t);
    real sum = 0;
    for (int k = 0; k < l.slots && t < s.rows[k]; ++k) {
        const int rows = s.rows[k];
        if (k % sparse_group == sparse_group - 1) {
            numbers += sparse_group * group;
            quad = quad_at(numbers, t);
            group = rows;
        }
        if (k >= kept_slots) {
            const int column = quad.number((k + 1) % sparse_group) * block;
#pragma unroll
            for (int j = 0; j < block; ++j) sum += static_cast<real>(a[j * (block * rows)]) * chip.v[column + j];
        }
        a += rows * square;
    }
    return sum;
}
/* The rest, when all rows before are known. */
TRIFOLD_DEVICE void finish(const Taken& taken, const Chip& chip, const Stage& l, int t, int i, bool scales) {
    real sum = taken.sum;
#pragma unroll
    for (int k = 0; k < kept_slots; ++k) {
        real product = 0;
        if (k < taken.count)
#pragma unroll
            for (int j = 0; j < block; ++j) product += static_cast<real>(taken.a[k][j]) * chip.v[taken.column[k] + j];
        sum -= product;
    }
    if (!keeps_all && l.slots > kept_slots) sum -= rest_of(chip, l, t, i, scales);
    chip.v[taken.own + i] = sum;
}

/* Sweeps L and U level by level, as drawn on top: behind a barrier only other rows' numbers remain to be read. */
TRIFOLD_DEVICE void sweep_levels(const Context& c, const Stream& stream, const Chip& chip, unsigned before) {
    const int first = stream.first, turn = stream.turn, count = stream.count;
    const Lane lane = lane_at<sweep_threads>(0);
    const int first_row = warp_index() * (warp_lanes / block); /* the warp's first row */
    Taken taken;
    taken.own = -1;
    int left = 0;
    /* Numbers of levels come from device memory: each is asked for a level early. */
    Stage l = {}, next = stage_of(level_at(c, first));
    for (int k = 0; k <= count; ++k) {
        const Stage after = stage_of(level_at(c, k + 1 < count ? first + k + 1 : first));
        /* Level k - 1 is finished, level k taken. */
        if (k > 0 && taken.own >= 0) finish(taken, chip, l, lane.row, lane.component, k - 1 >= turn);
        if (k == turn && k > 0) named_sync(*chip.word, 1, sweepers); /* D^-1 needs all of L's result */
        taken.own = -1;
        if (k < count && first_row < next.rows) {
            const unsigned number = before + static_cast<unsigned>(k);
            gate_wait(chip.full + number % sparse_gates, number / sparse_gates);
            if (lane.works && lane.row < next.rows) take(taken, chip, next, lane.row, lane.component, k >= turn);
            fence_shared_copies(); /* a barrier waits for no loads, and the copy engine overwrites what they have not read yet */
        }
        named_sync(*chip.word, 1, sweepers);
        if (thread_index() == sweepers - 1) { /* it has the least to do */
            const int gone = k == count ? count : !keeps_all && next.slots > kept_slots ? k : k + 1;
#pragma unroll 1
            for (; left < gone; ++left) gate_arrive(chip.empty + (before + static_cast<unsigned>(left)) % sparse_gates);
        }
        l = next;
        next = after;
    }
}

/* v = M^-1 v, or with M', where factors do not go through a ring. All threads have written v before, and all may read it when this
 * returns. */
TRIFOLD_DEVICE void sweep_tile(const Context& c, real* v) {
    block_sync();
    if (!has_factors) return;
    const Tile tile = tile_at(c);
    if (c.launch.transposed) {
        sweep<true, false>(c, tile, trifold_sparse_u_transposed, v);
        sweep<true, true>(c, tile, trifold_sparse_l_transposed, v);
    } else {
        sweep<false, false>(c, tile, trifold_sparse_l, v);
        sweep<false, true>(c, tile, trifold_sparse_u, v);
    }
}
#if METHOD == METHOD_GMRES
TRIFOLD_DEVICE real* basis_of(const Context& c, trifold_int system, trifold_int k, const Part& part) {
    return vector_of(c, system, trifold_sparse_basis + k) + part.first * block;
}
/* Numbers of which a vector's next one is made: the next one of the basis is r or what was left of v, scaled; at the end of a cycle it is V
 * y.
 */
struct Loaded {
    real number;
};
TRIFOLD_DEVICE Loaded load_number(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w,
                                  int k) {
    if (c.step != trifold_sparse_renews) return {s.inner == 0 ? w.r[k] : w.v[k]};
    const small_matrices m = small_at(c, system);
    real sum = 0;
    for (trifold_int j = 0; j < s.inner; ++j) sum += static_cast<real>(m.solution[j]) * basis_of(c, system, j, part)[k];
    return {sum};
}
TRIFOLD_DEVICE real next_number(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces&,
                                const Loaded& in, int k) {
    if (c.step == trifold_sparse_renews) return in.number;
    return basis_of(c, system, s.inner, part)[k] = static_cast<real>(s.alpha) * in.number;
}
constexpr int loads_together = 2;
#elif METHOD == METHOD_CG
/* x += alpha p; r -= alpha v, where the last turn left that to do. M^-1 r is wanted. */
struct Loaded {
    real x, r, p, v;
};
TRIFOLD_DEVICE Loaded load_number(const Context&, const Part&, trifold_int, const trifold_sparse_state& s, const Pieces& w, int k) {
    if (!s.pending) return {0, w.r[k], 0, 0};
    return {w.x[k], w.r[k], w.p[k], w.v[k]};
}
TRIFOLD_DEVICE real next_number(const Context&, const Part&, trifold_int, const trifold_sparse_state& s, const Pieces& w, const Loaded& in,
                                int k) {
    if (!s.pending) return in.r;
    const real alpha = static_cast<real>(s.alpha);
    w.x[k] = in.x + alpha * in.p;
    return w.r[k] = in.r - alpha * in.v;
}
constexpr int loads_together = 2;
#else
/* The first time x += alpha z + omega y; r = s - omega t, where the last turn left that to do; p = r + beta (p - omega v), of which M^-1 is
 * wanted. The second time it is that of s = r - alpha v, in the place of r. */
struct Loaded {
    real x, z, y, r, t, p, v;
};
TRIFOLD_DEVICE Loaded load_number(const Context& c, const Part&, trifold_int, const trifold_sparse_state& s, const Pieces& w, int k) {
    Loaded in = {0, 0, 0, w.r[k], 0, 0, 0};
    if (c.step == trifold_sparse_second || s.beta != 0) in.v = w.v[k];
    if (c.step == trifold_sparse_second) return in;
    if (s.pending) in.x = w.x[k], in.z = w.z[k], in.y = w.y[k], in.t = w.t[k];
    if (s.beta != 0) in.p = w.p[k];
    return in;
}
TRIFOLD_DEVICE real next_number(const Context& c, const Part&, trifold_int, const trifold_sparse_state& s, const Pieces& w,
                                const Loaded& in, int k) {
    const real alpha = static_cast<real>(s.alpha), omega = static_cast<real>(s.omega);
    if (c.step == trifold_sparse_second) return w.r[k] = in.r - alpha * in.v;
    real r = in.r;
    if (s.pending) {
        w.x[k] = in.x + (alpha * in.z + omega * in.y);
        r -= omega * in.t;
        w.r[k] = r;
    }
    return w.p[k] = s.beta == 0 ? r : r + static_cast<real>(s.beta) * (in.p - omega * in.v);
}
constexpr int loads_together = 1;
#endif

/* Number k of a part is 2^e times that of x which the caller gets. */
TRIFOLD_DEVICE trifold_int exponent_of_x(const Context& c, const Part& part, const trifold_sparse_state& s, int k) {
    return right_exponent(c, part.first * block + k) - s.scale;
}

/* Stores M^-1 of the vector. Factors are of the scaled A times its scale. Without them M is 1 / scale, so numbers stay in the range. */
TRIFOLD_DEVICE void store_solved(const Context& c, const Part& part, const trifold_sparse_state& s, const Pieces& w, const real* v,
                                 int threads, real scale) {
#if METHOD == METHOD_GMRES
    if (c.step == trifold_sparse_renews) {
        for (int k = thread_index(); k < part.count(); k += threads)
            w.x[k] = s.restores == restores_zero ? real(0) : deliverable(w.x[k] + scale * v[k], exponent_of_x(c, part, s, k));
        return;
    }
#endif
    real* to = METHOD == METHOD_BICGSTAB && c.step == trifold_sparse_second ? w.y : w.z;
    for (int k = thread_index(); k < part.count(); k += threads) to[k] = scale * v[k];
}

/* Sums that conjugate gradients take of r and z = M^-1 r. */
TRIFOLD_DEVICE void leave_products(const Context& c, const Part& part, trifold_int system, const Pieces& w, real* v) {
    const double rz = static_cast<double>(scale_of(c)) * dot<sweep_threads>(w.r, v, part.count());
    const double rr = weighed_dot<sweep_threads>(c, part, w.r, w.r);
    block_sync();
    double* room = reinterpret_cast<double*>(v);
    leave_sum<sweep_threads>(c, system, 0, rz, room);
    leave_sum<sweep_threads>(c, system, 1, rr, room);
}

/* Whether a launch has to do with a system. */
TRIFOLD_DEVICE bool concerns(const Context& c, const trifold_sparse_state& s) {
    return c.step == trifold_sparse_renews ? is_renewing(s) && (s.pending || s.restores == restores_zero) : is_at_work(s);
}

constexpr int places_together = 6;
/* Does something for the numbers of a part, of which a thread has every threads-th: first `load` for some of them, then `use`, so that
 * these loads are in flight at the same time. */
template <int together, class Load, class Use>
TRIFOLD_DEVICE void for_numbers(const Part& part, int threads, const Load& load, const Use& use) {
    const int count = part.count();
    for (int first = thread_index(); first < count; first += together * threads) {
        decltype(load(0)) in[together];
#pragma unroll
        for (int n = 0; n < together; ++n)
            if (first + n * threads < count) in[n] = load(first + n * threads);
#pragma unroll
        for (int n = 0; n < together; ++n)
            if (first + n * threads < count) use(first + n * threads, in[n]);
    }
}
/* A number of the caller's arrays, and where it is in shared memory. */
struct Outer {
    trifold_int place;
    int inner;
};
/* Does something for a thread's numbers of a part, in the order of the caller, so that neighbouring threads have neighbours. Places of some
 * of them are loaded at the same time, without branches: those beyond the end are the last one's. */
template <class Use>
TRIFOLD_DEVICE void for_outer_numbers(const Context& c, const Part& part, trifold_int column, int threads, const Use& use) {
    const int count = part.count();
    for (int first = thread_index(); first < count; first += places_together * threads) {
        Outer outer[places_together];
#pragma unroll
        for (int n = 0; n < places_together; ++n) {
            const int k = first + n * threads < count ? first + n * threads : count - 1;
            outer[n].inner = at<const unsigned short>(c, c.launch.outer_order)[part.first + k / block] * block + k % block;
        }
#pragma unroll
        for (int n = 0; n < places_together; ++n) outer[n].place = outer_place(c, part, outer[n].inner, column);
#pragma unroll
        for (int n = 0; n < places_together; ++n)
            if (first + n * threads < count) use(outer[n]);
    }
}
/* A row's scale in M, which is made of scaled rows; in M' it is that of x. */
TRIFOLD_DEVICE real outer_scale(const Context& c, const Part& part, int inner) {
    return static_cast<real>(power_of_two(exponents_at(c, c.launch.scales)[part.first * block + inner]));
}
/* The vector of which M^-1 is wanted goes to shared memory. */
template <bool plain>
TRIFOLD_DEVICE void begin_column(const Context& c, const Part& part, const Chip& chip, trifold_int column, int threads) {
    if constexpr (plain) {
        const real* b = static_cast<const real*>(c.args.b);
        for_outer_numbers(c, part, column, threads, [&](const Outer& from) { copy_element_async(chip.v + from.inner, b + from.place); });
        end_copies();
        wait_copies<0>();
        if (!scales_rows || !has_factors || c.launch.transposed) return;
        for_outer_numbers(c, part, column, threads, [&](const Outer& of) { chip.v[of.inner] *= outer_scale(c, part, of.inner); });
    } else {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state& s = *state_of(c, system);
        const Pieces w = pieces_of(c, part, system);
        for_numbers<loads_together>(
            part, threads, [&](int k) { return load_number(c, part, system, s, w, k); },
            [&](int k, const Loaded& in) { chip.v[k] = next_number(c, part, system, s, w, in, k); });
    }
}
/* And back. */
template <bool plain>
TRIFOLD_DEVICE void end_column(const Context& c, const Part& part, const Chip& chip, trifold_int column, int threads) {
    if constexpr (plain) {
        const real scale = has_factors ? scale_of(c) : real(1);
        real* x = static_cast<real*>(c.args.x);
        const bool scales = scales_rows && has_factors && c.launch.transposed;
        for_outer_numbers(c, part, column, threads, [&](const Outer& to) {
            const real y = scale * chip.v[to.inner];
            x[to.place] = scales ? outer_scale(c, part, to.inner) * y : y;
        });
    } else {
        const trifold_int system = system_of(c, column);
        store_solved(c, part, *state_of(c, system), pieces_of(c, part, system), chip.v, threads, scale_of(c));
    }
}
/* Solves for one column. If factors go through a ring, one thread of the last warp fetches them meanwhile, and the others do all else. */
template <bool plain>
TRIFOLD_DEVICE void precondition_column(const Context& c, const Part& part, const Chip& chip, trifold_int column, unsigned round) {
    const bool by_ring = goes_through_ring<plain>(c);
    const int threads = by_ring ? sweepers : sweep_threads;
    const Stream stream = stream_of(c, tile_at(c));
    const unsigned before = round * static_cast<unsigned>(stream.count);
    if (thread_index() < threads) {
        begin_column<plain>(c, part, chip, column, threads);
        if (by_ring) {
            named_sync(*chip.word, 1, sweepers);
            sweep_levels(c, stream, chip, before);
        } else
            sweep_tile(c, chip.v);
        end_column<plain>(c, part, chip, column, threads);
    } else if (thread_index() == sweepers)
        fetch_levels(c, stream, chip, before);
}

/* `plain`: of the caller's arrays; else of a solution's vectors. */
template <bool plain>
TRIFOLD_DEVICE void precondition_tile(const Context& c) {
    const Part part = rows_of(tile_of(c));
    const Chip chip = make_chip<plain>(c);
    block_sync(); /* gates are made */
    unsigned round = 0;
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        if (!plain && !concerns(c, *state_of(c, system))) continue;
        precondition_column<plain>(c, part, chip, column, round++);
        block_sync();
        if (METHOD == METHOD_CG && !plain) {
            leave_products(c, part, system, pieces_of(c, part, system), chip.v);
            block_sync();
        }
    }
}
