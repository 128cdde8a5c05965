/* The pivot block W of a front that thread blocks share, panel after panel of its columns, a launch each: what panel `step` does to the
 * columns behind it, and then the factorization of the next one, by the thread block that has its columns. So a panel waits for no other
 * columns. */
#include "gpu/grid/gather.cuh"
#include "gpu/grid/pivots.cuh"
#include "gpu/grid/warp_tile.cuh"

/* Columns of W, from the two parts, one a warp. */
template <int Threads>
TRIFOLD_DEVICE void assemble(const Context& c) {
    constexpr int each = grid_assembled_rows / warp_lanes;
    static_assert(grid_assembled_rows == Threads && grid_assembled_columns == Threads / warp_lanes * (warp_lanes / 32),
                  "a thread has one place");
    start_dependents();
    Places* rows = static_cast<Places*>(shared_memory());
    const int tiles = static_cast<int>(share_of(c).parts), tile = group_index() % tiles, lane = lane_index();
    const Front f = front_of_launch(c, group_index() / tiles);
    const int left = tile * grid_assembled_columns, right = smaller(left + grid_assembled_columns, f.s);
    const Parts parts = parts_of(c, f);
    wait_for_launches();
    if (left >= f.s) return;
    if (tile == 0 && thread_index() == 0) *record_of(c, f) = with_parts(c, f, new_record());
    if (!symmetric && left + thread_index() < right) pivots_of(c, f)[left + thread_index()] = left + thread_index();
    for (int k = left + warp_index(); k < left + grid_assembled_columns; k += Threads / warp_lanes) {
        const Places column = places_eliminated(parts, f, smaller(k, f.s - 1));
        real* w = w_of(c, f) + trifold_int(k) * f.S;
        for (int top = symmetric ? left : 0; top < f.s; top += grid_assembled_rows) {
            block_sync();
            rows[thread_index()] = places_eliminated(parts, f, smaller(top + thread_index(), f.s - 1));
            block_sync();
            real values[each];
#pragma unroll
            for (int q = 0; q < each; ++q) values[q] = gathered(parts, rows[q * warp_lanes + lane], column);
#pragma unroll
            for (int q = 0; q < each; ++q) {
                const int i = top + q * warp_lanes + lane;
                if (i < f.s && k < right && !(symmetric && i < k)) w[i] = values[q];
            }
        }
    }
}

/* Shared memory of a step. */
template <int Columns, int Rows, int Threads>
struct StepChip {
    static constexpr int warps = Threads / warp_lanes, square = Columns < 16 ? 16 : Columns;
    static constexpr int lower_leading = tile_width + 1, upper_leading = square + 4, panel_leading = Rows * Threads + 2;
    real lower[tile_width * lower_leading];                  /* L of the panel's tile on the diagonal, or what is inverted */
    real rows[2][warps][Columns];                            /* candidates for a pivot's row, of two columns in turn */
    real pivot_inverses[2][warps];                           /* 1 / what these begin with */
    real panel[panel_on_chip ? Columns * panel_leading : 1]; /* what a panel is factored from, where it has been updated before */
    real upper[Columns * upper_leading];                     /* U, its row k from k upper_leading on */
    real inverses[tile_width];
    unsigned keys[2][warps];
    int places[2][warps];
    int chosen[tile_width];  /* the row of each pivot; -1: none */
    int outside[tile_width]; /* of those from behind the panel's rows, one after another */
    /* Rows that move: from where, to where, and with how many entries of L. Those of pivots, then those of the panel's rows that go
     * elsewhere. */
    int from[2 * Columns], to[2 * Columns], entries[2 * Columns];
};

/* Where a panel says which rows it moves: pairs of where to and where from, -1 for none. Two panels in turn. */
TRIFOLD_DEVICE int* moves_of(const Context& c, const Front& f, trifold_int panel) {
    return pivots_of(c, f) + f.level->eliminated + panel % 2 * 4 * tile_width;
}

/* What a panel of `width` columns from `first` on, of which there are `size`, does to its rows in `count` columns from `w` on: those that
 * its pivots have taken change places with those that they push away; then they become rows of U, where these columns are `behind` it, here
 * and in shared memory. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void treat_rows(const Front& f, StepChip<Columns, Rows, Threads>& chip, const real* panel, const int* moves, int first,
                               int size, int width, real* w, int count, bool behind) {
    constexpr int together = 4, each = (tile_width * tile_width + Threads - 1) / Threads;
    const int lane = lane_index();
    int from = first + lane, pushed_to = -1, pushed_from = 0;
    if (pivoting && lane < width) {
        if (moves[2 * lane] >= 0) from = moves[2 * lane + 1];
        pushed_to = moves[2 * (width + lane)];
        pushed_from = pushed_to >= 0 ? moves[2 * (width + lane) + 1] : 0;
    }
    if (behind) {
        real tile[each];
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int index = thread_index() + q * Threads, row = index % tile_width, column = index / tile_width;
            tile[q] = panel[first + (row < size ? row : 0) + trifold_int(column < size ? column : 0) * f.S];
        }
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int index = thread_index() + q * Threads, row = index % tile_width, column = index / tile_width;
            if (column < tile_width) chip.lower[row + column * chip.lower_leading] = tile[q];
        }
        block_sync();
    }
#pragma unroll 1
    for (int left = warp_index() * together; left < count; left += Threads / warp_lanes * together) {
        real x[together], pushed[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const real* column = w + trifold_int(smaller(left + q, count - 1)) * f.S;
            x[q] = column[lane < size ? from : first];
            pushed[q] = column[pushed_from];
        }
        warp_sync();
        if (pushed_to >= 0) {
#pragma unroll
            for (int q = 0; q < together; ++q)
                if (left + q < count) w[pushed_to + trifold_int(left + q) * f.S] = pushed[q];
        }
        if (behind) {
#pragma unroll 4
            for (int i = 0; i < size; ++i) {
                const real l = lane > i && lane < size ? chip.lower[lane + i * chip.lower_leading] : real(0);
#pragma unroll
                for (int q = 0; q < together; ++q) x[q] -= l * shuffle(x[q], i);
            }
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            if (lane >= size || left + q >= count) continue;
            if (behind) chip.upper[lane * chip.upper_leading + left + q] = x[q];
            if (behind || from != first + lane) w[first + lane + trifold_int(left + q) * f.S] = x[q];
        }
    }
}

/* What the panel of `size` columns from `first` on does to `count` columns from `left` on, behind it, once their rows of U are there. What
 * becomes the next panel (`stays`) is left in shared memory, if there is enough. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void update_columns(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, int first, int size, int left,
                                   int count, bool stays) {
    constexpr int warps = Threads / warp_lanes,
                  row_squares = Columns <= 16             ? 4
                                : Threads > grid_few_rows ? 2
                                                          : 1,
                  column_squares = Columns > 16 ? 2 : 1, rows = 16 * row_squares;
    real *w = w_of(c, f) + trifold_int(left) * f.S, *l = w_of(c, f) + trifold_int(first) * f.S;
    if (symmetric)
        for (int k = thread_index(); k < size * count; k += Threads)
            chip.upper[k / count * chip.upper_leading + k % count] = l[left + k % count + trifold_int(k / count) * f.S];
    block_sync();
    const int begin = symmetric ? left : first + size;
#pragma unroll 1
    for (int top = begin + warp_index() * rows; top < f.s; top += warps * rows) {
        const auto is_there = [&](int i, int j) { return top + i < f.s && j < count && (!symmetric || top + i >= left + j); };
        real* at = w + top;
        WarpTile<row_squares, column_squares> before, product;
        /* Where there is nothing, the panel's first number, which nobody changes. */
        before.each([&](real& element, int i, int j) { element = *(is_there(i, j) ? at + i + trifold_int(j) * f.S : l + first); });
        product.clear();
        product.add(l + top, f.S, f.s - top, chip.upper, chip.upper_leading, size);
        product.minus(before);
        if (panel_on_chip && stays)
            product.each([&](real& element, int i, int j) {
                if (is_there(i, j)) chip.panel[top - left + i + j * chip.panel_leading] = -element;
            });
        else
            product.each([&](real& element, int i, int j) {
                if (is_there(i, j)) at[i + trifold_int(j) * f.S] = -element;
            });
    }
    block_sync();
}

/* A tile on the diagonal inverted: L^-1, or U^-1 (`upper`). Lanes have rows, a warp columns, of which it works on several at the same
 * time. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void invert_tile(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, int tile, bool upper) {
    const int first = tile * tile_width, size = smaller(tile_width, f.s - first), lane = lane_index();
    const real* w = w_of(c, f) + first + trifold_int(first) * f.S;
#pragma unroll 1
    for (int k = thread_index(); k < size * size; k += Threads)
        if (!symmetric || k % size >= k / size)
            chip.lower[k % size + k / size * chip.lower_leading] = w[k % size + trifold_int(k / size) * f.S];
    block_sync();
    if (thread_index() < size) chip.inverses[thread_index()] = reciprocal(chip.lower[thread_index() * (chip.lower_leading + 1)]);
    block_sync();
    constexpr int warps = Threads / warp_lanes, together = (tile_width + warps - 1) / warps;
    real x[together];
#pragma unroll
    for (int q = 0; q < together; ++q) x[q] = lane == warp_index() + q * warps ? real(1) : real(0);
#pragma unroll 4
    for (int k = 0; k < size; ++k) {
        const int i = upper ? size - 1 - k : k;
        const real inverse = upper || symmetric ? chip.inverses[i] : real(1);
        const real l = lane < size && (upper ? lane < i : lane > i) ? chip.lower[lane + i * chip.lower_leading] : real(0);
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const real solved = shuffle(x[q], i) * inverse;
            x[q] = lane == i ? solved : x[q] - l * solved;
        }
    }
#pragma unroll
    for (int q = 0; q < together; ++q) {
        const int column = warp_index() + q * warps;
        if (lane < tile_width && column < tile_width)
            inverse_tile(c, f, tile, upper ? 1 : 0)[lane + column * tile_width] = lane < size && column < size ? x[q] : real(0);
    }
    block_sync();
}

/* Row number q of a thread: those of a warp stand together, so that warps behind the last row have nothing to do. */
template <int Rows>
TRIFOLD_DEVICE int row_of_thread(int first, int q) {
    return first + (warp_index() * Rows + q) * warp_lanes + lane_index();
}

/* Columns of a panel, one after another: a[q][0] is the one at work, and the others move up. So all take the same code, which the caches of
 * instructions hold. L goes where the rows stand, U into shared memory. Width: columns that are left at the first of these. place[q]: the
 * column whose pivot the row is, or -1. Warps without rows wait. */
template <int Width, int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void factor_columns(const Front& f, StepChip<Columns, Rows, Threads>& chip, real* w, int first, int begin, int end,
                                   real (&a)[Rows][Columns], int (&place)[Rows]) {
    constexpr int warps = Threads / warp_lanes;
    const int lane = lane_index(), warp = warp_index(), mine = row_of_thread<Rows>(first, 0),
              last = (f.s - 1 - first) / (warp_lanes * Rows);
    if (warp > last) {
#pragma unroll 1
        for (int k = begin; k < end; ++k) block_sync();
        return;
    }
    /* The best candidate of the lane, and the best key of the warp. */
    int best = 0;
    real best_value = 0;
    const auto best_of = [&](int k, const real(&candidates)[Rows]) {
        unsigned key = 0;
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            const unsigned candidate = place[q] >= 0                        ? 0u
                                       : pivoting                           ? key_of_lane(size_key(candidates[q]), lane)
                                       : mine + q * warp_lanes == first + k ? key_of_lane(~lane_digits, lane)
                                                                            : 0u;
            if (q == 0 || candidate > key) key = candidate, best = q, best_value = candidates[q];
        }
        return key;
    };
    real next[Rows];
#pragma unroll
    for (int q = 0; q < Rows; ++q) next[q] = a[q][0];
    unsigned greatest_here = warp_greatest(best_of(begin, next));
    real inverse_here = reciprocal(best_value);
    real* column = w + mine + trifold_int(begin) * f.S;
#pragma unroll 1
    for (int k = begin; k < end; ++k) {
        if (greatest_here != 0 && lane == lane_of_key(greatest_here)) {
            real(&row)[Columns] = chip.rows[k % 2][warp];
            chip.keys[k % 2][warp] = key_of_lane(greatest_here & ~lane_digits, warp);
            chip.places[k % 2][warp] = mine + best * warp_lanes;
            chip.pivot_inverses[k % 2][warp] = inverse_here;
#pragma unroll
            for (int q = 0; q < Rows; ++q)
                if (q == best) {
#pragma unroll
                    for (int i = 0; i < Width; ++i) row[i] = a[q][i];
                }
        } else if (greatest_here == 0 && lane == 0)
            chip.keys[k % 2][warp] = 0;
        block_sync();
        const int winner = lane_of_key(warp_greatest(lane <= last ? chip.keys[k % 2][smaller(lane, warps - 1)] : 0u)),
                  pivot_row = chip.places[k % 2][winner];
        const real* u = chip.rows[k % 2][winner];
        const real inverse = chip.pivot_inverses[k % 2][winner], root = symmetric ? root_of(u[0]) : real(1);
        if (warp == last) {
            if (lane == 0) chip.chosen[k] = pivot_row;
            const real top = u[0] > 0 ? root : u[0]; /* a root, or what has none */
            if (lane < Width && k + lane < Columns) chip.upper[k * chip.upper_leading + k + lane] = symmetric && lane == 0 ? top : u[lane];
        }
        /* The next column first, so that the search for its pivot is under way while the others are updated. */
        real l[Rows];
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            if (mine + q * warp_lanes == pivot_row) place[q] = k;
            l[q] = a[q][0] * inverse;
            next[q] = Width > 1 ? a[q][Width > 1 ? 1 : 0] - l[q] * u[Width > 1 ? 1 : 0] : real(0);
        }
        greatest_here = warp_greatest(best_of(k + 1, next));
        inverse_here = reciprocal(best_value);
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            if (place[q] < 0) column[q * warp_lanes] = symmetric ? l[q] * root : l[q];
            a[q][0] = next[q];
        }
        column += f.S;
#pragma unroll
        for (int q = 0; q < Rows; ++q)
#pragma unroll
            for (int i = 1; i + 1 < Width; ++i) a[q][i] = a[q][i + 1] - l[q] * u[i + 1];
    }
}

/* Which rows a factored panel moves, by one warp: rows of pivots to the front; those of the first rows that no pivot took to where pivots
 * have come from, in their order. For the columns beside the panel, and for the panel itself. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void note_moves(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, int first, int count) {
    const int k = lane_index(), end = first + count, row = first + k, mine = k < Columns ? chip.chosen[k] : -1;
    int before = 0, below = 0; /* pivots before this one that come from outside; pivots from the panel's rows before this one */
    bool taken = k >= count;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
        const int other = chip.chosen[j];
        before += other >= end && j < k ? 1 : 0;
        below += other >= 0 && other < row ? 1 : 0;
        taken = taken || other == row;
    }
    if (mine >= end) chip.outside[before] = mine;
    warp_sync();
    const int number = k - below, to = taken ? -1 : chip.outside[number];
    int *moves = moves_of(c, f, step_of(c).panel), *order = pivots_of(c, f);
    const bool comes = k < count && mine != row;
    const int old = comes ? order[mine] : 0, old_pushed = taken ? 0 : order[row];
    if (k < Columns) {
        moves[2 * k] = comes ? row : -1;
        moves[2 * k + 1] = comes ? mine : -1;
        moves[2 * (Columns + k)] = -1;
        chip.from[k] = mine, chip.to[k] = row, chip.entries[k] = comes ? k : 0;
        chip.from[Columns + k] = row, chip.to[Columns + k] = to, chip.entries[Columns + k] = taken ? 0 : count;
    }
    warp_sync();
    if (!taken) {
        moves[2 * (Columns + number)] = to;
        moves[2 * (Columns + number) + 1] = row;
        order[to] = old_pushed;
    }
    if (comes) order[row] = old;
}

/* Rows of the panel that move take their part of L with them. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void move_rows(const StepChip<Columns, Rows, Threads>& chip, real* w, int S, int count) {
    constexpr int each = (2 * Columns * Columns + Threads - 1) / Threads;
    real values[each];
#pragma unroll
    for (int q = 0; q < each; ++q) {
        const int index = thread_index() + q * Threads, k = index / (2 * Columns), move = index % (2 * Columns);
        values[q] = k < chip.entries[move] ? w[chip.from[move] + trifold_int(k) * S] : real(0);
    }
    block_sync();
#pragma unroll
    for (int q = 0; q < each; ++q) {
        const int index = thread_index() + q * Threads, k = index / (2 * Columns), move = index % (2 * Columns);
        if (k < chip.entries[move]) w[chip.to[move] + trifold_int(k) * S] = values[q];
    }
}

/* A panel in shared memory, where an update has not left it there; of a symmetric one both halves of its first rows. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void gather_panel(const Front& f, StepChip<Columns, Rows, Threads>& chip, const real* w, int first, int count, bool fresh) {
    if (fresh) {
#pragma unroll 1
        for (int i = thread_index(); i < f.s - first; i += Threads) {
#pragma unroll 8
            for (int k = 0; k < count; ++k)
                copy_element_async(chip.panel + i + k * chip.panel_leading, w + first + i + trifold_int(k) * f.S);
        }
        end_copies();
        wait_copies<0>();
        block_sync();
    }
    if (!symmetric) return;
#pragma unroll 1
    for (int e = thread_index(); e < count * count; e += Threads) {
        const int row = e % count, k = e / count;
        if (k > row) chip.panel[row + k * chip.panel_leading] = chip.panel[k + row * chip.panel_leading];
    }
    block_sync();
}

/* The panel of `count` columns from `first` on, from its own rows on; in shared memory, or (`fresh`) as it was assembled. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void factor_panel(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, int first, int count,
                                 bool fresh) {
    real *w = w_of(c, f) + trifold_int(first) * f.S, a[Rows][Columns];
    int place[Rows];
    if (panel_on_chip) gather_panel(f, chip, w, first, count, fresh);
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        const int row = row_of_thread<Rows>(first, q);
        place[q] = row < f.s ? -1 : Columns;
#pragma unroll
        for (int k = 0; k < Columns; ++k) {
            if (panel_on_chip) {
                a[q][k] = chip.panel[row - first + k * chip.panel_leading]; /* where there is nothing, anything */
                continue;
            }
            const bool turned = symmetric && first + k > row;
            const int i = turned ? k : row - first, j = turned ? row - first : k;
            a[q][k] = row >= f.s || k >= count ? real(0) : w[first + i + trifold_int(j) * f.S];
        }
    }
    if (thread_index() < tile_width) chip.chosen[thread_index()] = -1;
    block_sync(); /* all is read before L goes there */
    constexpr int quarter = Columns >= 16 ? Columns / 4 : Columns;
    factor_columns<Columns>(f, chip, w, first, 0, smaller(quarter, count), a, place);
    if constexpr (quarter < Columns) {
        factor_columns<Columns - quarter>(f, chip, w, first, quarter, smaller(2 * quarter, count), a, place);
        factor_columns<Columns - 2 * quarter>(f, chip, w, first, 2 * quarter, smaller(3 * quarter, count), a, place);
        factor_columns<Columns - 3 * quarter>(f, chip, w, first, 3 * quarter, count, a, place);
    }
    block_sync();
    if (pivoting) {
        if (warp_index() == 0) note_moves(c, f, chip, first, count);
        block_sync();
        move_rows(chip, w, f.S, count);
    }
#pragma unroll 1
    for (int e = thread_index(); e < count * count; e += Threads) {
        const int row = e % count, k = e / count;
        if (k == row || (k > row && !symmetric)) w[first + row + trifold_int(k) * f.S] = chip.upper[row * chip.upper_leading + k];
    }
}

/* Adds the pivots of a factored panel to the front's record, by one warp: `count` columns from `first` on, of `width` that the launch
 * names. The sign of the exchanges is that of two steps: rows of pivots go to the front, then those that they push away to where pivots
 * have come from. `before`: what the lane's pivot began with. */
TRIFOLD_DEVICE void note_panel(const Context& c, const Front& f, const int* moves, int first, int count, int width, real before) {
    const int lane = lane_index(), end = first + count;
    const real* w = w_of(c, f);
    trifold_grid_record known = new_record();
    int from = first + lane, pushed = -1; /* lane k: the row of pivot k; where the k-th row that is pushed away goes */
    if (pivoting && lane < count && moves[2 * lane] >= 0) from = moves[2 * lane + 1];
    if (pivoting && lane < count) pushed = moves[2 * (width + lane)];
    if (lane < count) {
        const real diagonal = w[first + lane + trifold_int(first + lane) * f.S];
        note_pivot(c, f, known, first + lane, static_cast<double>(symmetric && diagonal > 0 ? diagonal * diagonal : diagonal),
                   static_cast<double>(before));
    }
    if (pivoting) {
        int exchanges = lane < count ? from - first : 0;
        if (lane < count && pushed >= 0) exchanges += pushed - end;
        for (int k = 0; k < count; ++k) {
            const int other = shuffle(from, k), other_pushed = shuffle(pushed, k);
            if (lane < count && k < lane && other < from) ++exchanges;
            if (lane < count && pushed >= 0 && other_pushed >= 0 && (other_pushed < pushed) != (k < lane && other_pushed > pushed))
                ++exchanges;
        }
        if (exchanges % 2 != 0) known.sign = -known.sign;
    }
    known = sum_of_records(known);
    if (lane == 0) {
        known.level = c.launch.number, known.place = f.place;
        trifold_grid_record all = *record_of(c, f);
        add_record(all, known);
        *record_of(c, f) = all;
    }
}

/* Thread block (box, tile), and some more. Tiles before the panel have their rows moved, those behind it are updated, and the first of
 * these becomes the next panel. After them one notes what the panel's pivots were, and others invert the tiles on the diagonal in whose
 * rows nothing moves any more. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void step(const Context& c) {
    static_assert(sizeof(StepChip<Columns, Rows, Threads>) <=
                      grid_step_bytes(Columns, Threads / warp_lanes, sizeof(real), panel_on_chip ? Rows * Threads : 0),
                  "the launch asks for enough shared memory");
    start_dependents();
    StepChip<Columns, Rows, Threads>& chip = *static_cast<StepChip<Columns, Rows, Threads>*>(shared_memory());
    const int tiles = static_cast<int>(step_of(c).parts), tile = group_index() % tiles;
    const Front f = front_of_launch(c, group_index() / tiles);
    const int first = static_cast<int>(step_of(c).applied), next = static_cast<int>(step_of(c).factored), end = smaller(next, f.s);
    const bool begins = first < 0; /* there is no panel yet */
    const int* moves = moves_of(c, f, step_of(c).panel + 1);
    const int beside = tile - (tiles - grid_step_groups(symmetric)); /* 0: notes; 1, 2: inverts L's and U's tiles */
    const bool notes = !begins && beside == 0 && first < f.s && warp_index() == 0;
    const real before = notes ? diagonal_of(c, f, smaller(first + lane_index(), f.s - 1)) : real(1);
    wait_for_launches();
    if (!begins && beside >= 0) {
        if (notes) note_panel(c, f, moves, first, end - first, next - first, before);
        for (int k = static_cast<int>(step_of(c).inverse); beside > 0 && k < step_of(c).inverse_end && k * tile_width < f.s; ++k)
            invert_tile(c, f, chip, k, beside == 2);
        return;
    }
    const int left = begins ? 0 : tile * Columns, count = smaller(Columns, f.s - left);
    if (first >= f.s || left >= f.s) return;
    real* w = w_of(c, f);
    if (!begins && !symmetric && (pivoting || left >= next))
        treat_rows(f, chip, w + trifold_int(first) * f.S, moves, first, end - first, next - first, w + trifold_int(left) * f.S,
                   left >= next ? count : smaller(count, first - left), left >= next);
    if (left < next) return;
    if (!begins) update_columns(c, f, chip, first, end - first, left, count, left == next);
    if (left == next) factor_panel(c, f, chip, left, count, begins);
}
/* For pivot blocks with so many times grid_step_rows rows that are left, or grid_few_rows. */
template <int Times>
TRIFOLD_DEVICE void step_of(const Context& c) {
    constexpr int threads = grid_step_threads(Times);
    step<grid_step_columns(Times), grid_most_rows(Times) / threads, threads>(c);
}
