/* The pivot block W of a front that several thread blocks share, one for the columns of each panel. Columns are factored panel by panel, in
 * a launch each. A launch applies the panel that the launch before it factored, and factors the next one:
 *   columns        launch 0     launch 1              launch 2              launch 3
 *   panel 0        factor 0     -                     move rows             move rows
 *   panel 1                     U, update, factor 1   -                     move rows
 *   panel 2                     U, update             U, update, factor 2   -
 *   panel 3                     U, update             U, update             U, update, factor 3
 *   helper 0                    record pivots of 0    record pivots of 1    record pivots of 2
 *   helpers 1, 2                invert tiles of L and of U (symmetric: of L alone) whose rows move no more
 *
 * Thread blocks wait for the launch before theirs (`wait_for_launches`), and never for one another. The one with the next panel updates it
 * first and factors it at once, so a panel never waits for the update of other columns. "U" moves rows and solves them with the panel's
 * triangle of L; rows move where there is pivoting, and symmetric matrices have no U. Within factor p a thread has a few rows, and warps
 * wait for one another once a column, at B:
 *   each warp | offers its best pivot |B| reads the best of all | next column, its best pivot | the other columns | offers it |B| ...
 * A key has the leading digits of a candidate's size and, below these, its lane or warp: the largest key names the pivot and its owner.
 * Offers of even and odd columns have places of their own, so that one barrier a column is enough. Rows move when all columns are done. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/moves.cuh"
#include "gpu/grid/pivots.cuh"
#include "gpu/grid/warp_tile.cuh"

/* Subtracts the product of the panel and its rows of U from `count` columns behind the panel, which begin with column `left`. Those rows
 * are in shared memory by then. `stays`: these columns are the next panel, and are left in shared memory if it has room for them. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void update_columns(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, const AppliedPanel& panel,
                                   int left, int count, bool stays) {
    const int first = panel.first, size = panel.size;
    constexpr int warps = Threads / warp_lanes,
                  row_squares = Columns <= 16                    ? 4
                                : Threads > grid_small_step_rows ? 2
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
        /* Beyond the columns it reads the panel's first number, which this launch does not change. */
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

/* Inverts a tile on the diagonal: L^-1, or U^-1 with `upper`. A lane has a row, and a warp several columns, so that it has independent work
 * while it waits for a shuffle. */
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

/* The row that a thread holds as its q-th. The rows of a warp are neighbours, so whole warps beyond the last row have nothing to do. */
template <int Rows>
TRIFOLD_DEVICE int row_of_thread(int first, int q) {
    return first + (warp_index() * Rows + q) * warp_lanes + lane_index();
}

/* Factors columns begin .. end - 1 of a panel, one after another. a[q][0] is the column at work, and the others move up, so that all
 * columns run the same code and the instruction cache holds it. L goes to W, U to shared memory. Width: columns left when the first of
 * these begins. place[q]: the column whose pivot row this is, or -1. Warps without rows only take part in the barriers. */
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
            const real top = u[0] > 0 ? root : u[0]; /* the root; a pivot without one stays, to be reported */
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

/* Brings a panel to shared memory, unless an update has left it there. `fresh`: no update has. The upper half of a symmetric panel's own
 * rows is filled in too. */
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

/* Factors the panel of `count` columns that begins with column `first`. `fresh`: no panel has been applied to it yet. */
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
                a[q][k] = chip.panel[row - first + k * chip.panel_leading]; /* beyond the panel the number does not matter */
                continue;
            }
            const bool mirrored = symmetric && first + k > row;
            const int i = mirrored ? k : row - first, j = mirrored ? row - first : k;
            a[q][k] = row >= f.s || k >= count ? real(0) : w[first + i + trifold_int(j) * f.S];
        }
    }
    if (thread_index() < tile_width) chip.chosen[thread_index()] = -1;
    block_sync(); /* all rows are read before L overwrites them */
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

/* Treats one step with the thread blocks (box, tile) of a launch: a tile has `Columns` columns of W, and the helpers come last. */
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
    const bool begins = first < 0; /* no panel is factored yet */
    const AppliedPanel panel{moves_of(c, f, step_of(c).panel + 1), first, end - first, next - first};
    const int helper = tile - (tiles - grid_step_groups(symmetric)); /* 0: notes pivots; 1 and 2: invert tiles of L and U */
    const bool notes = !begins && helper == 0 && first < f.s && warp_index() == 0;
    const real before = notes ? diagonal_of(c, f, smaller(first + lane_index(), f.s - 1)) : real(1);
    wait_for_launches();
    if (!begins && helper >= 0) {
        if (notes) note_panel(c, f, panel, before);
        for (int k = static_cast<int>(step_of(c).inverse); helper > 0 && k < step_of(c).inverse_end && k * tile_width < f.s; ++k)
            invert_tile(c, f, chip, k, helper == 2);
        return;
    }
    const int left = begins ? 0 : tile * Columns, count = smaller(Columns, f.s - left);
    if (first >= f.s || left >= f.s) return;
    if (!begins && !symmetric && (pivoting || left >= next))
        apply_panel_to_rows(c, f, chip, panel, left, left >= next ? count : smaller(count, first - left), left >= next);
    if (left < next) return;
    if (!begins) update_columns(c, f, chip, panel, left, count, left == next);
    if (left == next) factor_panel(c, f, chip, left, count, begins);
}
/* RowGroups: how many times grid_step_rows rows are left at most; 0: at most grid_small_step_rows. */
template <int RowGroups>
TRIFOLD_DEVICE void step_of(const Context& c) {
    constexpr int threads = grid_step_threads(RowGroups);
    step<grid_step_columns(RowGroups), grid_max_rows(RowGroups) / threads, threads>(c);
}

#ifdef TRIFOLD_KERNEL_STEP_FEW
GRID_KERNEL(STEP_FEW, grid_step_threads(0), step_of<0>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_1
GRID_KERNEL(STEP_1, grid_step_threads(1), step_of<1>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_2
GRID_KERNEL(STEP_2, grid_step_threads(2), step_of<2>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_4
GRID_KERNEL(STEP_4, grid_step_threads(4), step_of<4>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_8
GRID_KERNEL(STEP_8, grid_step_threads(8), step_of<8>(c))
#endif
#ifdef TRIFOLD_KERNEL_STEP_16
GRID_KERNEL(STEP_16, grid_step_threads(16), step_of<16>(c))
#endif
