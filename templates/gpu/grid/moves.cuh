/* Rows that partial pivoting moves in a pivot block W that several thread blocks share.
 *
 * A panel's launch chooses the pivot rows and moves the panel's own columns. All other columns have their rows moved in the next launch,
 * which applies the panel. */
#include "gpu/grid/common.cuh"

/* Shared memory of a step: of a thread block that factors panels of up to `Columns` columns with `Rows` rows a thread. */
template <int Columns, int Rows, int Threads>
struct StepChip {
    static constexpr int warps = Threads / warp_lanes, square = Columns < 16 ? 16 : Columns;
    static constexpr int lower_leading = tile_width + 1, upper_leading = square + 4, panel_leading = Rows * Threads + 2;
    real lower[tile_width * lower_leading];                  /* L of the applied panel's diagonal tile, or the tile that is inverted */
    real rows[2][warps][Columns];                            /* each warp's candidate for the pivot row; columns take turns in two places */
    real pivot_inverses[2][warps];                           /* reciprocals of the candidates for the pivot */
    real panel[panel_on_chip ? Columns * panel_leading : 1]; /* the panel that is factored next, after its update */
    real upper[Columns * upper_leading];                     /* U; its row k begins at k upper_leading */
    real inverses[tile_width];                               /* reciprocals of the diagonal of the tile that is inverted */
    unsigned keys[2][warps];                                 /* sizes of the candidates, for comparison; 0: the warp has none */
    int places[2][warps];                                    /* rows of the candidates */
    int chosen[tile_width];                                  /* the row that became each pivot's row; -1: none */
    int outside[tile_width]; /* those of the chosen rows that lie below the panel's own rows, one after another */
    /* Rows that move: from where, to where, and with how many entries of L. First the pivot rows, then the rows that they push away. */
    int from[2 * Columns], to[2 * Columns], entries[2 * Columns];
};

/* Place where a panel writes which rows it moves, as pairs (to, from) with -1 for no move: first the pivot rows, then the rows that they
 * push away. Two panels take turns in two places, because a launch reads one panel's moves while it writes the next one's. */
TRIFOLD_DEVICE int* moves_of(const Context& c, const Front& f, trifold_int panel) {
    return pivots_of(c, f) + f.level->eliminated + panel % 2 * 4 * tile_width;
}

/* A factored panel of W. */
struct AppliedPanel {
    const int* moves;       /* the rows that it moves; see moves_of */
    int first, size, width; /* its first column, its columns, and those of a whole panel of its kernel, by which `moves` is laid out */
};

/* Applies a panel to the rows of its own pivots, in `count` columns that begin with column `first_column`:
 *   1. swaps the rows that pivoting moved;
 *   2. if the columns lie behind the panel, solves with the panel's unit lower triangle. The rows become rows of U, in W and in shared
 *      memory. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void apply_panel_to_rows(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, const AppliedPanel& panel,
                                        int first_column, int count, bool behind) {
    const int first = panel.first, size = panel.size, width = panel.width;
    const int* const moves = panel.moves;
    const real* const l = w_of(c, f) + trifold_int(first) * f.S;
    real* const w = w_of(c, f) + trifold_int(first_column) * f.S;
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
            tile[q] = l[first + (row < size ? row : 0) + trifold_int(column < size ? column : 0) * f.S];
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
                const real entry = lane > i && lane < size ? chip.lower[lane + i * chip.lower_leading] : real(0);
#pragma unroll
                for (int q = 0; q < together; ++q) x[q] -= entry * shuffle(x[q], i);
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

/* Writes down which rows a factored panel moves; one warp does. Pivot rows go to the front. The panel's own rows that are no pivot rows go,
 * in their order, to the places that pivot rows have left. The next launch reads this and moves them in all other columns;
 * move_rows moves them in the panel itself. */
template <int Columns, int Rows, int Threads>
TRIFOLD_DEVICE void note_moves(const Context& c, const Front& f, StepChip<Columns, Rows, Threads>& chip, int first, int count) {
    const int k = lane_index(), end = first + count, row = first + k, mine = k < Columns ? chip.chosen[k] : -1;
    int before = 0, below = 0; /* earlier pivots that come from below the panel's rows; pivot rows above this row */
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

/* Moves the rows of the panel itself: each takes its entries of L along. All is read before anything is written. */
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

/* Adds the pivots of a factored panel to the front's record; one warp does. `before`: the diagonal entry that the lane's pivot began with.
 * The sign of the row exchanges is that of two steps: pivot rows go to the front, then the rows that they push away go to where pivot rows
 * came from. */
TRIFOLD_DEVICE void note_panel(const Context& c, const Front& f, const AppliedPanel& panel, real before) {
    const int first = panel.first, count = panel.size, width = panel.width, lane = lane_index(), end = first + count;
    const int* const moves = panel.moves;
    const real* w = w_of(c, f);
    trifold_grid_record known = new_record();
    int from = first + lane, pushed = -1; /* lane k has the row of pivot k; where the k-th pushed row goes */
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
