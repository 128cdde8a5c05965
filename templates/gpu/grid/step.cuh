/* The pivot block W of a front that thread blocks share, panel after panel of its columns, a launch each: what panel `step` does to the columns
 * behind it, and then the factorization of the next one, by the thread block that has its columns. So a panel waits for no other columns. */
#include "gpu/grid/gather.cuh"
#include "gpu/grid/pivots.cuh"
#include "gpu/grid/products.cuh"

/* Columns of W, from the two parts; what is known before the elimination. */
template <int Threads>
TRIFOLD_DEVICE void assemble(const Context& c) {
    constexpr int warps = Threads / warp_lanes;
    const int tiles = static_cast<int>(c.launch.tile), tile = static_cast<int>(group_x() % tiles);
    const Front f = front_of_launch(c, group_x() / tiles);
    const int left = tile * tile_width, right = smaller(left + tile_width, f.s);
    const Parts parts = parts_of(c, f);
    if (tile == 0 && thread_index() == 0) *record_of(c, f) = new_record();
    if (!symmetric)
        for (int k = left + thread_index(); k < right; k += Threads) pivots_of(c, f)[k] = k;
    real* w = w_of(c, f);
    for (int k = left + warp_index(); k < right; k += warps) {
        const Places column = places_eliminated(parts, f, k);
        real most = 0;
        for (int i = (symmetric ? k : 0) + lane_index(); i < f.s; i += warp_lanes) {
            const real x = gathered(parts, places_eliminated(parts, f, i), column), size = x < 0 ? -x : x;
            w[i + trifold_int(k) * f.S] = x;
            if (size > most && (!symmetric || i == k)) most = size;
        }
        for (int apart = 1; apart < warp_lanes; apart *= 2) {
            const real other = shuffle_xor(most, apart);
            if (other > most) most = other;
        }
        if (lane_index() == 0) inverse_tile(c, f, tile, 0)[k - left] = most; /* until it is needed for the inverse */
    }
}

/* Shared memory of a step. */
template <int Columns, int Threads>
struct StepChip {
    static constexpr int warps = Threads / warp_lanes, square = Columns < 16 ? 16 : Columns;
    real lower[tile_width * (tile_width + 1)]; /* L of the panel's tile on the diagonal, or what is inverted */
    real upper[Columns * (square + 4)];        /* U, its row k from k (square + 4) on */
    real rows[2][warps][Columns];              /* candidates for a pivot's row */
    real pivots[Columns], roots[Columns];
    unsigned keys[2][warps];
    int places[2][warps];
    int chosen[Columns], rank[Columns]; /* the row of each pivot; how many before it come from behind the panel's rows */
    int to[2 * Columns], from[2 * Columns], old[2 * Columns];
};

/* Where a panel says which rows it moves: from[k] to to[k], -1 for none. Two panels in turn. */
TRIFOLD_DEVICE int* moves_of(const Context& c, const Front& f, int panel, int columns) {
    return pivots_of(c, f) + f.level->eliminated + panel % 2 * 4 * columns;
}

template <int Columns, int Threads>
TRIFOLD_DEVICE void move_rows(const Context& c, const Front& f, int panel, real* w, int count) {
    constexpr int entries = 2 * Columns, each = (entries * Columns + Threads - 1) / Threads;
    const int* moves = moves_of(c, f, panel, Columns);
    real values[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
        const int index = thread_index() + k * Threads, column = index / entries, from = column < count ? moves[index % entries * 2 + 1] : -1;
        values[k] = from >= 0 ? w[from + trifold_int(column) * f.S] : real(0);
    }
    block_sync();
#pragma unroll
    for (int k = 0; k < each; ++k) {
        const int index = thread_index() + k * Threads, column = index / entries, to = column < count ? moves[index % entries * 2] : -1;
        if (to >= 0) w[to + trifold_int(column) * f.S] = values[k];
    }
    block_sync();
}

/* Rows of U in `count` columns from `w` on, by shuffles, and into shared memory. Row `first` is the panel's. */
template <int Columns, int Threads>
TRIFOLD_DEVICE void solve_rows(const Front& f, StepChip<Columns, Threads>& chip, const real* panel, real* w, int first, int size, int count) {
    const int lane = lane_index();
    for (int k = thread_index(); k < size * size; k += Threads)
        chip.lower[k % size + k / size * (tile_width + 1)] = panel[first + k % size + trifold_int(k / size) * f.S];
    block_sync();
    for (int column = warp_index(); column < count; column += Threads / warp_lanes) {
        real x = lane < size ? w[first + lane + trifold_int(column) * f.S] : real(0);
        for (int i = 0; i < size; ++i) {
            const real u = shuffle(x, i);
            if (lane > i && lane < size) x -= chip.lower[lane + i * (tile_width + 1)] * u;
        }
        if (lane < size) {
            w[first + lane + trifold_int(column) * f.S] = x;
            chip.upper[lane * (chip.square + 4) + column] = x;
        }
    }
}

/* What panel `panel` does to the columns of tile `tile` behind it. */
template <int Columns, int Threads>
TRIFOLD_DEVICE void update_columns(const Context& c, const Front& f, StepChip<Columns, Threads>& chip, int panel, int tile) {
    constexpr int rows = 16;
    const int first = panel * Columns, size = smaller(Columns, f.s - first), left = tile * Columns, count = smaller(Columns, f.s - left);
    real *w = w_of(c, f) + trifold_int(left) * f.S, *l = w_of(c, f) + trifold_int(first) * f.S;
    if (symmetric) {
        for (int k = thread_index(); k < size * count; k += Threads)
            chip.upper[k / count * (chip.square + 4) + k % count] = l[left + k % count + trifold_int(k / count) * f.S];
    } else {
        solve_rows(f, chip, l, w, first, size, count);
    }
    block_sync();
    for (int top = (symmetric ? left : first + size) + warp_index() * rows; top < f.s; top += Threads / warp_lanes * rows) {
        WarpTile<rows / 16, StepChip<Columns, Threads>::square / 16> product;
        product.clear();
        product.add(l + top, f.S, f.s - top, chip.upper, chip.square + 4, size);
        product.each([&](real& element, int i, int j) {
            if (top + i < f.s && j < count && (!symmetric || top + i >= left + j)) w[top + i + trifold_int(j) * f.S] -= element;
        });
    }
    block_sync();
}

/* The tile on the diagonal inverted: L^-1, then U^-1. Lanes have rows, a warp a column. */
template <int Columns, int Threads>
TRIFOLD_DEVICE void invert_tile(const Context& c, const Front& f, StepChip<Columns, Threads>& chip, int tile) {
    const int first = tile * tile_width, size = smaller(tile_width, f.s - first), lane = lane_index();
    const real* w = w_of(c, f) + first + trifold_int(first) * f.S;
    for (int k = thread_index(); k < size * size; k += Threads)
        if (!symmetric || k % size >= k / size) chip.lower[k % size + k / size * (tile_width + 1)] = w[k % size + trifold_int(k / size) * f.S];
    block_sync();
    for (int task = warp_index(); task < (symmetric ? 1 : 2) * tile_width; task += Threads / warp_lanes) {
        const int column = task % tile_width, upper = task / tile_width;
        real x = lane == column ? real(1) : real(0);
        for (int k = 0; k < size; ++k) {
            const int i = upper ? size - 1 - k : k;
            real solved = shuffle(x, i);
            if (upper || symmetric) solved /= chip.lower[i + i * (tile_width + 1)];
            if (lane == i) x = solved;
            if (lane < size && (upper ? lane < i : lane > i)) x -= chip.lower[lane + i * (tile_width + 1)] * solved;
        }
        if (lane < tile_width) inverse_tile(c, f, tile, upper)[lane + column * tile_width] = lane < size && column < size ? x : real(0);
    }
}

/* The sign of the panel's exchanges: a cycle of n rows is n - 1 of them. */
template <int Columns, int Threads>
TRIFOLD_DEVICE int sign_of_moves(StepChip<Columns, Threads>& chip, int first, int count) {
    unsigned long long seen = 0;
    int sign = 1;
    for (int start = 0; start < 2 * Columns; ++start) {
        if (chip.to[start] < 0 || (seen >> start & 1) != 0) continue;
        for (int k = start, length = 0; (seen >> k & 1) == 0; ++length) {
            seen |= 1ULL << k;
            if (length > 0) sign = -sign;
            const int from = chip.from[k];
            k = from < first + count ? from - first : Columns + chip.rank[k];
        }
    }
    return sign;
}

/* Columns of tile `tile` from its rows on. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void factor_panel(const Context& c, const Front& f, StepChip<Columns, Threads>& chip, int tile) {
    constexpr int warps = Threads / warp_lanes;
    const int first = tile * Columns, count = smaller(Columns, f.s - first), lane = lane_index(), warp = warp_index();
    real *w = w_of(c, f) + trifold_int(first) * f.S, a[Rows][Columns];
    int place[Rows];
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        const int row = first + thread_index() + q * Threads;
        place[q] = row < f.s ? -1 : Columns;
#pragma unroll
        for (int k = 0; k < Columns; ++k) {
            const bool turned = symmetric && first + k > row;
            a[q][k] = row < f.s && k < count ? (turned ? w[first + k + trifold_int(row - first) * f.S] : w[row + trifold_int(k) * f.S]) : real(0);
        }
    }
#pragma unroll
    for (int k = 0; k < Columns; ++k) {
        if (k >= count) break;
        unsigned key = 0;
        int best = 0;
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            const bool here = first + thread_index() + q * Threads == first + k;
            const unsigned mine = place[q] >= 0 ? 0u : pivoting ? key_of_lane(size_key(a[q][k]), lane) : here ? key_of_lane(~lane_digits, lane) : 0u;
            if (mine > key) key = mine, best = q;
        }
        const unsigned greatest_here = greatest(key);
        if (greatest_here != 0 && lane == lane_of_key(greatest_here)) {
#pragma unroll
            for (int q = 0; q < Rows; ++q)
                if (q == best) {
                    chip.places[k % 2][warp] = first + thread_index() + q * Threads;
#pragma unroll
                    for (int i = k; i < Columns; ++i) chip.rows[k % 2][warp][i] = a[q][i];
                }
        }
        if (lane == 0) chip.keys[k % 2][warp] = greatest_here;
        block_sync();
        const unsigned of_warp = lane < warps ? chip.keys[k % 2][lane] : 0u;
        const int winner = lane_of_key(greatest(of_warp == 0 ? 0u : key_of_lane(of_warp & ~lane_digits, lane)));
        const int row = chip.places[k % 2][winner];
        const real* u = chip.rows[k % 2][winner];
        const real pivot = u[k], inverse = real(1) / pivot;
        if (thread_index() == 0) chip.chosen[k] = row, chip.pivots[k] = pivot;
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            if (place[q] >= 0) continue;
            if (first + thread_index() + q * Threads == row) {
                place[q] = k;
                continue;
            }
            a[q][k] *= inverse;
#pragma unroll
            for (int i = k + 1; i < Columns; ++i) a[q][i] -= a[q][k] * u[i];
        }
    }
    block_sync();
    for (int k = thread_index(); k < 2 * Columns; k += Threads) {
        const bool moves = k < count && chip.chosen[k] != first + k;
        chip.to[k] = moves ? first + k : -1;
        chip.from[k] = moves ? chip.chosen[k] : -1;
        if (k < Columns) {
            int rank = 0;
            for (int j = 0; j < smaller(k, count); ++j) rank += chip.chosen[j] >= first + count ? 1 : 0;
            chip.rank[k] = rank;
            chip.roots[k] = symmetric && k < count ? root_of(chip.pivots[k]) : real(1);
        }
    }
    block_sync();
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        const int row = first + thread_index() + q * Threads;
        if (row >= f.s) continue;
        int to = place[q] >= 0 ? first + place[q] : row;
        if (place[q] < 0 && row < first + count) { /* one of the first rows that no pivot took: to where a pivot has come from */
            int rank = row - first;
            for (int j = 0; j < count; ++j) rank -= chip.chosen[j] < row ? 1 : 0;
            for (int j = 0; j < count; ++j)
                if (chip.chosen[j] >= first + count && chip.rank[j] == rank) to = chip.chosen[j];
            chip.to[Columns + rank] = to;
            chip.from[Columns + rank] = row;
        }
#pragma unroll
        for (int k = 0; k < Columns; ++k) {
            if (k >= count) break;
            const bool diagonal = symmetric && place[q] == k;
            if (!symmetric || place[q] < 0 || k <= place[q]) w[to + trifold_int(k) * f.S] = diagonal ? chip.roots[k] : a[q][k] * chip.roots[k];
        }
    }
    block_sync();
    if (pivoting) {
        int* moves = moves_of(c, f, tile, Columns);
        int* order = pivots_of(c, f);
        for (int k = thread_index(); k < 2 * Columns; k += Threads) {
            moves[2 * k] = chip.to[k];
            moves[2 * k + 1] = chip.from[k];
            if (chip.to[k] >= 0) chip.old[k] = order[chip.from[k]];
        }
        block_sync();
        for (int k = thread_index(); k < 2 * Columns; k += Threads)
            if (chip.to[k] >= 0) order[chip.to[k]] = chip.old[k];
    }
    if (warp == 0) {
        trifold_grid_record known = new_record();
        const real* before = inverse_tile(c, f, first / tile_width, 0) + first % tile_width;
        if (lane < count) note_pivot(c, f, known, first + lane, static_cast<double>(chip.pivots[lane]), static_cast<double>(before[lane]));
        known = sum_of_records(known);
        if (lane == 0) {
            if (pivoting) known.sign *= sign_of_moves(chip, first, count);
            trifold_grid_record all = *record_of(c, f);
            add_record(all, known);
            *record_of(c, f) = all;
        }
    }
}

/* Thread block (box, tile). Tiles before the panel have their rows moved, the panel's own inverts what is ready, those behind it are updated. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void step(const Context& c) {
    StepChip<Columns, Threads>& chip = *static_cast<StepChip<Columns, Threads>*>(shared_memory());
    const int tiles = static_cast<int>(c.launch.tile), tile = static_cast<int>(group_x() % tiles), panel = static_cast<int>(c.launch.step);
    const Front f = front_of_launch(c, group_x() / tiles);
    const int panels = (f.s + Columns - 1) / Columns;
    if (tile == panel) {
        /* Narrow panels: other thread blocks still move rows of this launch's panel within its tile. */
        const int done = Columns == tile_width ? panel : panel - 1, end = (done + 1) * Columns;
        if (done >= 0 && done < panels && (end % tile_width == 0 || done + 1 == panels)) invert_tile(c, f, chip, (end - 1) / tile_width);
        return;
    }
    if (tile >= panels || panel >= panels) return;
    if (panel >= 0 && pivoting) move_rows<Columns, Threads>(c, f, panel, w_of(c, f) + trifold_int(tile) * Columns * f.S, smaller(Columns, f.s - tile * Columns));
    if (tile < panel) return;
    if (panel >= 0) update_columns(c, f, chip, panel, tile);
    if (tile == panel + 1) factor_panel<Columns, Rows, Threads>(c, f, chip, tile);
}
