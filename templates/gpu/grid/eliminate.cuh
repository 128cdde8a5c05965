/* Elimination of a small merge by one thread block. W and its panels stay in shared memory, and D goes through registers square by square.
 */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"
#include "gpu/grid/warp_tile.cuh"
#include "gpu/grid/rows.cuh"

/* The front, as all threads see it. It is in shared memory, because compilers that see how it is computed repeat that at every use, to save
 * registers. */
struct Task {
    Front front; /* its level is left out */
    Sources sources;
    real *w, *y, *z, *d, *inverses;
    int* pivots;
    trifold_grid_record* record;
};
static_assert(sizeof(Task) <= grid_task_bytes, "the launch asks for enough shared memory");
TRIFOLD_DEVICE Task& task_of_block() { return *static_cast<Task*>(shared_memory()); }

/* Shared memory of a front. Rows of U and columns of L begin at their diagonals. */
template <int Width>
struct Chip {
    static constexpr int w_leading = Width + vector_width;
    real *upper, *lower, *y, *z; /* W comes to `upper`, column by column */
    int leading;
    real* inverses;
    trifold_grid_record* parts; /* the record of all fronts below */
    Places* places;             /* places of the merge's pixels in its parts: s eliminated ones, then r kept ones */
    int* order;
};
template <int Width>
TRIFOLD_DEVICE Chip<Width> chip_of(const Front& f) {
    Chip<Width> chip;
    chip.leading = leading_of(f.r);
    chip.upper = reinterpret_cast<real*>(static_cast<char*>(shared_memory()) + grid_task_bytes);
    chip.lower = chip.upper + Width * chip.w_leading;
    chip.y = chip.lower + Width * chip.w_leading;
    chip.z = symmetric ? chip.y : chip.y + f.s * chip.leading;
    chip.inverses = chip.z + f.s * chip.leading;
    chip.parts = reinterpret_cast<trifold_grid_record*>(chip.inverses + Width);
    chip.places = reinterpret_cast<Places*>(chip.parts + 1);
    chip.order = reinterpret_cast<int*>(chip.places + f.s + f.r);
    return chip;
}

/* Brings W, Y and Z to shared memory. Lanes read neighbours in memory, and each has several loads in flight. */
template <int Threads, int Width>
TRIFOLD_DEVICE void gather_small() {
    const Task& task = task_of_block();
    const Front f = task.front;
    const Chip<Width> chip = chip_of<Width>(f);
    Sources sources = task.sources;
    sources.update = global_pointer(sources.update);
    constexpr int together = 4, warps = Threads / warp_lanes, columns = warp_lanes / Width;
    const int lane = lane_index(), rows = f.s + f.r, groups = (f.s + together - 1) / together;
    Places at[together];
    real values[together];
#pragma unroll 1
    for (int task = warp_index(); task < (rows + warp_lanes - 1) / warp_lanes * groups; task += warps) {
        const int i = task / groups * warp_lanes + lane, first = task % groups * together;
        const Places row = chip.places[smaller(i, rows - 1)];
#pragma unroll
        for (int q = 0; q < together; ++q) at[q] = offsets_at(sources, row, chip.places[smaller(first + q, f.s - 1)]);
        gather_elements(sources, at, values);
        const int step = i < f.s ? chip.w_leading : chip.leading;
        real* to = (i < f.s ? chip.upper + i : chip.y + i - f.s) + first * step;
#pragma unroll
        for (int q = 0; q < together; ++q)
            if (i < rows && first + q < f.s) to[q * step] = values[q];
    }
    if (symmetric) return;
    const int k = lane % Width;
    const Places row = chip.places[smaller(k, f.s - 1)];
#pragma unroll 1
    for (int first = warp_index() * columns * together + lane / Width; first < f.r; first += warps * columns * together) {
#pragma unroll
        for (int q = 0; q < together; ++q) at[q] = offsets_at(sources, row, chip.places[f.s + smaller(first + q * columns, f.r - 1)]);
        gather_elements(sources, at, values);
#pragma unroll
        for (int q = 0; q < together; ++q)
            if (k < f.s && first + q * columns < f.r) chip.z[first + q * columns + k * chip.leading] = values[q];
    }
}

/* Factors W, by the first warp. */
template <int Width>
TRIFOLD_DEVICE void factor_small(const Context& c) {
    const Task& task = task_of_block();
    const Chip<Width> chip = chip_of<Width>(task.front);
    const int s = task.front.s;
    const int lane = lane_index();
    constexpr int leading = Chip<Width>::w_leading;
    real a[Width];
#pragma unroll
    for (int k = 0; k < Width; ++k) a[k] = lane < s && k < s ? chip.upper[lane + k * leading] : real(0);
    warp_sync();
    LaneRow mine = {lane < s, lane};
    eliminate_quarters(s, a, mine, chip.upper, leading, [&](int k, real l, const real*) {
        if (lane < s) chip.lower[k * leading + lane] = l;
    });
    /* Moves rows of L to their places. */
    constexpr int together = 4;
#pragma unroll 1
    for (int first = 0; first < s; first += together) {
        real l[together];
        warp_sync();
#pragma unroll
        for (int q = 0; q < together; ++q) l[q] = chip.lower[smaller(first + q, s - 1) * leading + smaller(lane, s - 1)];
        warp_sync();
#pragma unroll
        for (int q = 0; q < together; ++q)
            if (lane < s && first + q < s && mine.place >= first + q) chip.lower[(first + q) * leading + mine.place - first - q] = l[q];
    }
    wait_copies<0>(); /* waits for the copies of this lane */
    const real before = symmetric && lane < s ? chip.inverses[lane] : real(1);
    if (lane < s) {
        chip.order[mine.place] = lane;
        chip.inverses[lane] = mine.inverse;
        global_pointer(task.inverses)[lane] = mine.inverse;
        if (!symmetric) global_pointer(task.pivots)[mine.place] = lane;
    }
    const trifold_grid_record record = record_of_pivots(c, task.front, lane < s ? chip.upper[lane * leading] : real(1), before, mine.odd);
    if (lane == 0) {
        trifold_grid_record all = placed(task.front, record, c.launch.number);
        add_record(all, *chip.parts);
        *global_pointer(task.record) = all;
    }
}

/* A row of a panel that is solved. a[0] is the column at work: it is subtracted from the others, which then move up, and stored in shared
 * and device memory. */
struct PanelRow {
    real *at, *to;
    const real *triangle, *inverses;
    int leading, to_leading;
    bool scaled, exists;
};
template <int Width, int Columns>
TRIFOLD_DEVICE void solve_columns(int begin, int end, real (&a)[Columns], PanelRow& row) {
#pragma unroll 1
    for (int k = begin; k < end; ++k) {
        const real* from = row.triangle + k * (Columns + vector_width);
        const real x = row.scaled ? a[0] * row.inverses[k] : a[0];
        if (row.exists) row.at[k * row.leading] = x, *row.to = x;
        row.to += row.to_leading;
#pragma unroll
        for (int i = 0; i < Width; i += vector_width) {
            real part[vector_width];
            load_vector(part, from + i);
#pragma unroll
            for (int v = 0; v < vector_width; ++v)
                if (i + v > 0) a[i + v - 1] = a[i + v] - x * part[v];
            if (i % 8 == 0) warp_sync(); /* a few columns at a time, so that registers suffice */
        }
    }
}
template <int Columns>
TRIFOLD_DEVICE void solve_quarters(int count, real (&a)[Columns], PanelRow& row) {
    constexpr int quarter = Columns < 16 ? Columns : Columns / 4;
    solve_columns<Columns>(0, smaller(quarter, count), a, row);
    if constexpr (quarter < Columns) {
        solve_columns<Columns - quarter>(quarter, smaller(2 * quarter, count), a, row);
        solve_columns<Columns - 2 * quarter>(2 * quarter, smaller(3 * quarter, count), a, row);
        solve_columns<Columns - 3 * quarter>(3 * quarter, count, a, row);
    }
}

/* Solves a thread's row of Y U^-1, or Y L^-T, or of (L^-1 P Z)'. Threads without a row repeat the last one, since all must take the same
 * steps. */
template <int Width>
TRIFOLD_DEVICE void solve_row(int row, int rows) {
    const Task& task = task_of_block();
    const Front f = task.front;
    const Chip<Width> chip = chip_of<Width>(f);
    const bool is_y = symmetric || smaller(row, rows - 1) < f.r;
    const int i = smaller(row, rows - 1) - (is_y ? 0 : f.r);
    PanelRow solved = {(is_y ? chip.y : chip.z) + i,
                       kept_pointer((is_y ? task.y : task.z) + i),
                       symmetric || !is_y ? chip.lower : chip.upper,
                       chip.inverses,
                       chip.leading,
                       f.R,
                       is_y,
                       row < rows};
    real a[Width];
#pragma unroll
    for (int k = 0; k < Width; ++k) {
        a[k] = k < f.s ? solved.at[(is_y ? k : chip.order[k]) * chip.leading] : real(0);
        if (k % 8 == 7) warp_sync();
    }
    solve_quarters(f.s, a, solved);
}
template <int Threads, int Width>
TRIFOLD_DEVICE void solve_panels() {
    const int rows = task_of_block().front.r * (symmetric ? 1 : 2);
#pragma unroll 1
    for (int first = warp_index() * warp_lanes; first < rows; first += Threads) solve_row<Width>(first + lane_index(), rows);
}

/* Stores W in device memory. */
template <int Threads, int Width>
TRIFOLD_DEVICE void store_w() {
    const Task& task = task_of_block();
    const Front f = task.front;
    const Chip<Width> chip = chip_of<Width>(f);
    constexpr int leading = Chip<Width>::w_leading, together = warp_lanes / Width, step = Threads / warp_lanes * together;
    const int i = lane_index() % Width;
    real* w = global_pointer(task.w) + i;
#pragma unroll 1
    for (int k = warp_index() * together + lane_index() / Width; k < f.s; k += step)
        if (i < f.s && (!symmetric || i >= k))
            w[k * f.S] = symmetric || i > k ? chip.lower[k * leading + i - k] : chip.upper[i * leading + k - i];
}

/* Stores a pair of rows. The second may be behind the last one: a column of D has room for it. */
TRIFOLD_DEVICE void store_rows(double* to, const double (&pair)[2], int) { store_global(to, pair); }
TRIFOLD_DEVICE void store_rows(float* to, const float (&pair)[2], int rows) {
    to[0] = pair[0];
    if (rows > 1) to[1] = pair[1];
}

/* Subtracts Y Z' from D, a square at a time, and stores it. */
template <int Threads, int Width>
TRIFOLD_DEVICE void store_small_update() {
    const Task& task = task_of_block();
    const Front f = task.front;
    const Chip<Width> chip = chip_of<Width>(f);
    Sources sources = task.sources;
    sources.update = global_pointer(sources.update);
    constexpr int warps = Threads / warp_lanes, count = 256 / warp_lanes;
    const int squares = (f.r + 15) / 16;
    const Places* kept = chip.places + f.s;
    real* d = global_pointer(task.d);
#pragma unroll 1
    for (int square = warp_index(); square < squares * squares; square += warps) {
        const int top = square % squares * 16, left = square / squares * 16;
        if (symmetric && top < left) continue;
        WarpTile<1, 1> tile;
        Places at[count];
        real before[count];
        int q = 0;
        tile.each(
            [&](real&, int i, int j) { at[q++] = offsets_at(sources, kept[smaller(top + i, f.r - 1)], kept[smaller(left + j, f.r - 1)]); });
        gather_elements(sources, at, before);
        tile.clear();
        if constexpr (use_tensor && Width <= 8)
            tile.template add_tensor<2>(chip.y + top, chip.leading, 16, chip.z + left, chip.leading, f.s);
        else
            tile.add(chip.y + top, chip.leading, 16, chip.z + left, chip.leading, f.s);
        q = 0;
        tile.each_pair([&](real(&pair)[2], int i, int j) {
            const real result[2] = {before[q] - pair[0], before[q + 1] - pair[1]};
            q += 2;
            const int row = top + i, column = left + j;
            if (row < f.r && column < f.r && !(symmetric && row + 1 < column)) store_rows(d + column * f.R + row, result, f.r - row);
        });
    }
}

/* Describes the front in shared memory, finds the places of its pixels in the parts, and adds up the parts' records. */
template <int Threads, int Width>
TRIFOLD_DEVICE void begin_task(const Context& c, Front f, const Chip<Width>& chip) {
    Parts parts = parts_of(c, f);
    parts.first = kept_front(parts.first), parts.second = kept_front(parts.second);
    for (int k = thread_index(); k < f.s + f.r; k += Threads)
        chip.places[k] = offsets_of(k < f.s ? places_eliminated(parts, f, k) : places_kept(parts, f, k - f.s));
    if (symmetric && thread_index() < f.s) copy_element_async(chip.inverses + thread_index(), diagonal_at(c, f, thread_index()));
    end_copies();
    wait_for_launches();
    if (thread_index() == Threads - 1) {
        *chip.parts = *record_of(c, parts.first);
        add_record(*chip.parts, *record_of(c, parts.second));
    }
    if (thread_index() != 0) return;
    Task& task = task_of_block();
    task.sources = sources_of(parts);
    task.w = kept_pointer(w_of(c, f)), task.y = task.w + f.S * f.S, task.z = task.y + f.S * f.R;
    task.d = update_of(c, f), task.inverses = pivot_reciprocals(c, f);
    task.pivots = pivots_of(c, f);
    task.record = record_of(c, f);
    f.level = nullptr;
    task.front = f;
}

template <int Threads, int Width>
TRIFOLD_DEVICE void eliminate(const Context& c) {
    start_dependents();
    const Front f = kept_front(front_of_launch(c, group_index()));
    begin_task<Threads>(c, f, chip_of<Width>(f));
    block_sync();
    gather_small<Threads, Width>();
    block_sync();
    if (warp_index() == 0) factor_small<Width>(c);
    block_sync();
    solve_panels<Threads, Width>();
    store_w<Threads, Width>();
    block_sync();
    store_small_update<Threads, Width>();
}

#ifdef TRIFOLD_KERNEL_SMALL
GRID_KERNEL(SMALL, warp_lanes, (eliminate<warp_lanes, 8>(c)))
#endif
#ifdef TRIFOLD_KERNEL_MIDDLE
GRID_KERNEL(MIDDLE, 128, (eliminate<128, 16>(c)))
#endif
#ifdef TRIFOLD_KERNEL_LARGE
GRID_KERNEL(LARGE, 256, (eliminate<256, 32>(c)))
#endif
#ifdef TRIFOLD_KERNEL_HUGE
GRID_KERNEL(HUGE, 512, (eliminate<512, 32>(c)))
#endif
