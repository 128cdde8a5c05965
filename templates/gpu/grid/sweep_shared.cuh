/* Sweeps over fronts that several thread blocks share. One thread block solves with a triangle of W, or with a part of it, whose columns
 * the launch names. Many thread blocks multiply by Y and Z', or by the rows of W next to that part. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/sweep.cuh"

constexpr int wide_threads = grid_wide_threads, triangle_threads = grid_triangle_threads;

/* ---- triangles ---- */

/* A pipeline over the tiles of x. The diagonal tiles of the triangle are inverted beforehand. Tiles are numbered in the order in which they
 * are solved. In step q
 *   - warp 0 solves tile q: it subtracts the contribution of tile q - 1, and multiplies by the inverse;
 *   - warps 1 and 2 fetch what warp 0 needs in later steps;
 *   - all other warps subtract the contribution of tile q - 1 from the later tiles. */
constexpr int tile_pitch = static_cast<int>(grid_pitch(tile_width, sizeof(real))), tile_reals = tile_width * tile_pitch;
constexpr int chain_stages = grid_chain_stages(fetches_async), first_streaming = 3,
              streaming = triangle_threads / warp_lanes - first_streaming;
static_assert(streaming > 0, "some warp takes later tiles");

/* Starts a warp's copies of a tile, or of a part of one. */
TRIFOLD_DEVICE void fetch_tile(real* to, const real* from, int stride, int rows, int columns) {
    constexpr int vectors = tile_width / vector_width, across = warp_lanes / vectors;
    const int row = lane_index() % vectors * vector_width, first = lane_index() / vectors;
    if (row >= rows) return;
    to += first * tile_pitch + row, from += first * stride + row;
#pragma unroll 4
    for (int column = first; column < columns; column += across, to += across * tile_pitch, from += across * stride) copy_async(to, from);
}

/* T: a lower (`up`) or upper triangle of W, or of W' with `transposed`. */
template <bool transposed, bool up>
struct Triangle {
    const real *w, *inverses;
    int S;            /* elements from column to column of W */
    int first, end;   /* the columns of this launch */
    int tiles, upper; /* upper: 1 for inverses of U, 0 for those of L */
    real *x, *stages; /* shared memory: x from column `first` on; the stages, each with an inverse and the tile next to it */

    TRIFOLD_METHOD int place(int q) const { return first + (up ? q : tiles - 1 - q) * tile_width; } /* the first column of tile q */
    TRIFOLD_METHOD int size(int q) const { return smaller(tile_width, end - place(q)); }
    TRIFOLD_METHOD real* x_of(int q) const { return x + (place(q) - first); }
    TRIFOLD_METHOD real* stage(int q) const { return stages + q % chain_stages * (2 * tile_reals); }
    /* The tile of W that multiplies tile `column` of x, for tile `row`. */
    TRIFOLD_METHOD const real* block(int row, int column) const {
        return transposed ? w + place(column) + place(row) * S : w + place(row) + place(column) * S;
    }
    /* Starts the copies for step q. Warp 1 fetches inverses, warp 2 the tiles next to them. */
    TRIFOLD_METHOD void fetch(int q) const {
        if (q < tiles && warp_index() == 1)
            fetch_tile(stage(q), inverses + (place(q) / tile_width * (symmetric ? 1 : 2) + upper) * (tile_width * tile_width), tile_width,
                       tile_width, size(q));
        if (q < tiles && q > 0 && warp_index() == 2) {
            const int rows = transposed ? q - 1 : q, columns = transposed ? q : q - 1;
            fetch_tile(stage(q) + tile_reals, block(q, q - 1), S, whole(size(rows)), size(columns));
        }
        end_copies();
    }
};

/* The product of the lane's line of a tile in shared memory and the first `size` entries of x. In waves with more lanes than a tile has
 * rows, lanes share rows. */
template <bool transposed>
TRIFOLD_DEVICE real line_times(const real* tile, const real* x, int size) {
    constexpr int width = tile_width * tile_width / warp_lanes, along = transposed ? 1 : tile_pitch, across = transposed ? tile_pitch : 1;
    const int from = lane_index() / tile_width * width;
    const real* const line = tile + lane_index() % tile_width * across;
    real sum[4] = {};
    if (size == tile_width) {
#pragma unroll
        for (int j = 0; j < width; j += vector_width) {
            real entry[vector_width], value[vector_width];
            load_vector(value, x + from + j);
            if (transposed) load_vector(entry, line + from + j);
#pragma unroll
            for (int e = 0; e < vector_width; ++e) sum[(j + e) % 4] += (transposed ? entry[e] : line[(from + j + e) * along]) * value[e];
        }
    } else {
#pragma unroll 1
        for (int j = from; j < smaller(from + width, size); ++j) sum[0] += line[j * along] * x[j];
    }
    real all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (int apart = tile_width; apart < warp_lanes; apart *= 2) all += shuffle_xor(all, apart);
    return all;
}
template <bool transposed, bool up>
TRIFOLD_DEVICE void solve_tile(const Triangle<transposed, up>& t, int q) {
    real* const x = t.x_of(q);
    const int row = lane_index();
    const bool mine = row < t.size(q);
    if (q > 0) {
        const real less = line_times<transposed>(t.stage(q) + tile_reals, t.x_of(q - 1), t.size(q - 1));
        if (mine) x[row] -= less;
        warp_sync();
    }
    const real solved = line_times<transposed>(t.stage(q), x, t.size(q));
    warp_sync();
    if (mine) x[row] = solved;
}

/* A tile of W in a warp's registers. Warps take turns with the tiles, and each loads its tile long before the step that needs it. Vectors
 * lie along columns of W. Lanes that share a row add up their sums. */
template <bool transposed, bool up>
struct Streamed {
    static constexpr int vectors = tile_width / vector_width, apart = transposed ? 4 : vectors, lines = warp_lanes / apart;
    static constexpr int deep = transposed ? vectors / apart : 1, count = tile_width / lines; /* vectors of a line; lines of a lane */
    real entry[count][deep][vector_width];
    int q, u; /* the tile that takes tile q - 1 of x to tile u */

    TRIFOLD_METHOD void settle(const Triangle<transposed, up>& t) {
        while (q < t.tiles && u >= t.tiles) u += q + 2 - t.tiles, ++q;
    }
    TRIFOLD_METHOD void load(const Triangle<transposed, up>& t) {
        if (q >= t.tiles) return;
        const int rows = whole(t.size(transposed ? q - 1 : u)), columns = t.size(transposed ? u : q - 1);
        const int along = lane_index() % apart * vector_width, across = lane_index() / apart;
        const real* const from = t.block(u, q - 1);
        /* Beyond the triangle other numbers are read, but not used. */
#pragma unroll
        for (int k = 0; k < count; ++k) {
            const int column = transposed ? k * lines + across : across * count + k;
#pragma unroll
            for (int d = 0; d < deep; ++d) {
                const int row = along + d * apart * vector_width;
                load_vector(entry[k][d], from + (row < rows ? row : 0) + smaller(column, columns - 1) * t.S);
            }
        }
    }
    TRIFOLD_METHOD void start(const Triangle<transposed, up>& t) {
        q = 1, u = 2 + warp_index() - first_streaming;
        settle(t);
        load(t);
    }
    /* Applies the warp's tiles of a step, and loads the next one. */
    TRIFOLD_METHOD void take_step(const Triangle<transposed, up>& t, int step) {
        while (q == step) {
            apply(t);
            u += streaming;
            settle(t);
            load(t);
        }
    }
    TRIFOLD_METHOD void apply(const Triangle<transposed, up>& t) const {
        if constexpr (transposed)
            apply_lines(t);
        else
            apply_columns(t);
    }
    TRIFOLD_METHOD void apply_columns(const Triangle<transposed, up>& t) const {
        const int along = lane_index() % apart * vector_width, across = lane_index() / apart * count, size = t.size(q - 1);
        real sum[vector_width] = {};
#pragma unroll
        for (int k = 0; k < count; k += vector_width) {
            real value[vector_width];
            load_vector(value, t.x_of(q - 1) + across + k);
#pragma unroll
            for (int j = 0; j < vector_width; ++j)
#pragma unroll
                for (int e = 0; e < vector_width; ++e)
                    if (across + k + j < size) sum[e] += entry[k + j][0][e] * value[j];
        }
#pragma unroll
        for (int e = 0; e < vector_width; ++e) {
            for (int lanes = apart; lanes < warp_lanes; lanes *= 2) sum[e] += shuffle_xor(sum[e], lanes);
            if (across == 0) t.x_of(u)[along + e] -= sum[e];
        }
    }
    TRIFOLD_METHOD void apply_lines(const Triangle<transposed, up>& t) const {
        const int along = lane_index() % apart * vector_width, across = lane_index() / apart, size = t.size(q - 1);
        real sum[count] = {};
#pragma unroll
        for (int d = 0; d < deep; ++d) {
            real value[vector_width];
            load_vector(value, t.x_of(q - 1) + along + d * apart * vector_width);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (along + d * apart * vector_width + e < size)
#pragma unroll
                    for (int k = 0; k < count; ++k) sum[k] += entry[k][d][e] * value[e];
        }
#pragma unroll
        for (int k = 0; k < count; ++k) {
            for (int lanes = 1; lanes < apart; lanes *= 2) sum[k] += shuffle_xor(sum[k], lanes);
            if (along == 0) t.x_of(u)[k * lines + across] -= sum[k];
        }
    }
};

template <bool transposed, bool up>
TRIFOLD_DEVICE Triangle<transposed, up> triangle_of(const Context& c, const Front& f, int upper) {
    Triangle<transposed, up> t;
    t.w = w_of(c, f), t.inverses = inverses_of(c, f);
    t.S = f.S, t.upper = upper;
    t.first = static_cast<int>(triangle_of(c).first), t.end = smaller(static_cast<int>(triangle_of(c).end), f.s);
    t.tiles = larger(t.end - t.first + tile_width - 1, 0) / tile_width;
    t.x = static_cast<real*>(shared_memory());
    t.stages = t.x + static_cast<int>(grid_round(triangle_of(c).end - triangle_of(c).first, tile_width));
    return t;
}
/* Prefetches the whole triangle to the cache. */
template <bool transposed, bool up>
TRIFOLD_DEVICE void prefetch_triangle(const Triangle<transposed, up>& t) {
    constexpr int line = 128 / static_cast<int>(sizeof(real));
    const bool lower = transposed != up;
#pragma unroll 1
    for (int column = t.first + warp_index() - first_streaming; column < t.end; column += streaming) {
        const int from = lower ? column : t.first, end = lower ? t.end : column;
#pragma unroll 1
        for (int row = from + lane_index() * line; row < end; row += warp_lanes * line) prefetch(t.w + row + trifold_int(column) * t.S);
    }
}
/* x <- T^-1 x, where `gather` brings x. The copies for the first steps start before `gather`, or after it with `late`. Each kind of warp
 * has a loop of its own, so that it needs no registers for the work of the others. */
template <bool transposed, bool up, class Gather>
TRIFOLD_DEVICE void solve_triangle(const Triangle<transposed, up>& t, bool late, const Gather& gather) {
    const int warp = warp_index();
    const bool fetches = warp > 0 && warp < first_streaming;
    const auto begin = [&] {
#pragma unroll 1
        for (int q = 0; q < chain_stages - 1; ++q) t.fetch(q);
    };
    if (fetches && !late) begin();
    if (warp >= first_streaming) prefetch_triangle(t);
    wait_for_launches();
    gather();
    if (fetches && late) begin();
    if (fetches) wait_copies<chain_stages - 2>();
    block_sync();
    if (warp == 0) {
#pragma unroll 1
        for (int q = 0; q < t.tiles; ++q) {
            solve_tile(t, q);
            block_sync();
        }
    } else if (fetches) {
#pragma unroll 1
        for (int q = 0; q < t.tiles; ++q) {
            t.fetch(q + chain_stages - 1);
            wait_copies<chain_stages - 2>();
            block_sync();
        }
    } else {
        Streamed<transposed, up> tile;
        tile.start(t);
#pragma unroll 1
        for (int q = 0; q < t.tiles; ++q) {
            tile.take_step(t, q);
            block_sync();
        }
    }
}

template <bool transposed>
TRIFOLD_DEVICE void forward_triangle(const Context& c, int column) {
    const Front f = front_of_launch(c, group_x());
    const Triangle<transposed, true> t = triangle_of<transposed, true>(c, f, transposed ? 1 : 0);
    const bool begins = t.first == 0, parted = t.end < f.s;
    const auto at = [&](int k) { return solution_at(c, f, grid_eliminated_pixel(&f.box, k)) + column; };
    /* The source of the thread's next element of x, and its exponent. Both are read long before the element. */
    const auto pixel_of = [&](int k) {
        const int row = smaller(k, f.s - 1);
        return grid_eliminated_pixel(&f.box, begins && !transposed && !symmetric ? pivots_of(c, f)[row] : row);
    };
    const auto exponent_of = [&](grid_pixel at) { return begins && !transposed && !symmetric ? *scale_at(c, f.member, at) : 0; };
    grid_pixel pixel = pixel_of(t.first + thread_index());
    int exponent = exponent_of(pixel);
    solve_triangle(t, begins && parted, [&] {
        const PartVectors parts = vectors_of(c, f);
        /* The first launch gathers all of x, even if it solves for a part: the array of the solution may be that of right-hand sides, and
         * later writes would overwrite these. */
#pragma unroll 1
        for (int k = t.first + thread_index(); k < (begins ? f.s : t.end); k += triangle_threads) {
            const real value = begins ? right_hand_side(c, f.member, pixel, column) : *at(k),
                       left = begins ? left_at(parts, pixel, column) : real(0);
            t.x[k - t.first] = (transposed ? value : times_power(value, exponent)) + left;
            if (k + triangle_threads >= f.s) continue;
            pixel = pixel_of(k + triangle_threads);
            exponent = exponent_of(pixel);
        }
        if (!begins || !parted) return;
        block_sync();
#pragma unroll 1
        for (int k = t.end + thread_index(); k < f.s; k += triangle_threads) *at(k) = t.x[k];
        block_sync();
    });
#pragma unroll 1
    for (int k = t.first + thread_index(); k < t.end; k += triangle_threads) *at(k) = t.x[k - t.first];
    block_sync();
}
/* A symmetric matrix is its own transpose, and has no kernels for that. */
template <bool transposed>
TRIFOLD_DEVICE void forward_pivots(const Context& c) {
    EXPECT(symmetric || transposed == (c.launch.transposed != 0));
    start_dependents();
#pragma unroll 1
    for (int column = 0; column < c.args.used_columns; ++column) forward_triangle<transposed>(c, column);
}

template <bool transposed>
TRIFOLD_DEVICE void backward_triangle(const Context& c, int column) {
    const Front f = front_of_launch(c, group_x());
    const Triangle<transposed, false> t = triangle_of<transposed, false>(c, f, transposed ? 0 : 1);
    /* The last launch moves all of x to its places. */
    const bool failed = has_failed(c, f), moves = transposed && !symmetric && t.first == 0;
    const auto at = [&](int k) { return solution_at(c, f, grid_eliminated_pixel(&f.box, k)) + column; };
    solve_triangle(t, false, [&] {
#pragma unroll 1
        for (int k = t.first + thread_index(); k < t.end; k += triangle_threads)
            t.x[k - t.first] = failed ? static_cast<real>(not_a_number()) : *at(k);
    });
    if (moves && t.end < f.s) {
#pragma unroll 1
        for (int k = t.end + thread_index(); k < f.s; k += triangle_threads) t.x[k] = *at(k);
        block_sync();
    }
    bool left = false;
#pragma unroll 1
    for (int k = t.first + thread_index(); k < (moves ? f.s : t.end); k += triangle_threads) {
        const int to = moves ? pivots_of(c, f)[k] : k;
        real value = t.x[k - t.first];
        if (transposed) value = times_power(value, moves ? exponent_out(c, f, grid_eliminated_pixel(&f.box, to)) : 0);
        left = left || has_left(value);
        *at(to) = value;
    }
    note_left(c, f.member, left);
    block_sync();
}
template <bool transposed>
TRIFOLD_DEVICE void backward_pivots(const Context& c) {
    EXPECT(symmetric || transposed == (c.launch.transposed != 0));
    start_dependents();
#pragma unroll 1
    for (int column = 0; column < c.args.used_columns; ++column) backward_triangle<transposed || symmetric>(c, column);
}

/* ---- products with panels ---- */

/* The matrix that a launch multiplies by: a panel, or columns of W (with `transposed`: of W'). It takes rows `from` to before `end`: all
 * rows of a panel, or the rows of W behind or before the columns. */
struct Factor {
    const real* entries; /* entries of row 0 */
    int stride, first, count, from, end;
};
TRIFOLD_DEVICE Factor factor_of(const Context& c, const Front& f, const real* panel, int rows, int columns, bool transposed) {
    if (factor_of(c).rows == trifold_grid_panel) return {panel, f.R, 0, columns, 0, rows};
    const int first = static_cast<int>(factor_of(c).first), end = smaller(static_cast<int>(factor_of(c).end), f.s);
    const bool behind = factor_of(c).rows == trifold_grid_rows_behind;
    return {w_of(c, f) + trifold_int(first) * (transposed ? 1 : f.S),
            f.S,
            first,
            end - first,
            behind ? end : 0,
            behind ? f.s : smaller(first, f.s)};
}
TRIFOLD_DEVICE real* eliminated_at(const Context& c, const Front& f, int k) { return solution_at(c, f, grid_eliminated_pixel(&f.box, k)); }

/* Computes some rows of d <- d - Y w. A thread has vectors of several columns in flight, and loads a new one as soon as one is used. */
constexpr int kept_rows = grid_kept_rows, row_vectors = kept_rows / vector_width, row_groups = wide_threads / row_vectors, rows_ahead = 8;
TRIFOLD_DEVICE void forward_kept(const Context& c) {
    start_dependents();
    constexpr int warps = wide_threads / warp_lanes;
    const int tiles = static_cast<int>(factor_of(c).parts);
    const Front f = front_of_launch(c, group_x() / tiles);
    const Factor factor = factor_of(c, f, c.launch.transposed && !symmetric ? z_of(c, f) : y_of(c, f), f.r, f.s, false);
    const int top = factor.from + static_cast<int>(group_x() % tiles) * kept_rows;
    if (top >= factor.end) return wait_for_launches();
    real *x = static_cast<real*>(shared_memory()), *part = x + f.level->eliminated;
    const PartVectors parts = vectors_of(c, f);
    const int vector = thread_index() % row_vectors, group = thread_index() / row_vectors, row = top + vector * vector_width,
              mine = top + thread_index();
    const bool keeps = factor_of(c).rows == trifold_grid_panel, writes = thread_index() < kept_rows && mine < factor.end;
    const real* const entries = factor.entries + (row < factor.stride ? row : 0);
    const grid_pixel pixel = grid_kept_pixel(&f.box, writes ? mine : 0);
    real ahead[rows_ahead][vector_width];
    const auto fetch = [&](int q, int k) {
        if (k < factor.count) load_vector(ahead[q], entries + trifold_int(k) * factor.stride);
    };
    for (int column = 0; column < c.args.used_columns; ++column) {
#pragma unroll
        for (int q = 0; q < rows_ahead; ++q) fetch(q, group + q * row_groups);
        wait_for_launches();
#pragma unroll 1
        for (int k = thread_index(); k < factor.count; k += wide_threads) x[k] = eliminated_at(c, f, factor.first + k)[column];
        real left = 0;
        real* const to = keeps ? vector_of(c, f) + trifold_int(column) * f.R + mine : eliminated_at(c, f, writes ? mine : 0) + column;
        if (writes) left = keeps ? left_at(parts, pixel, column) : *to;
        block_sync();
        real sum[vector_width] = {};
#pragma unroll 1
        for (int first = group; first < factor.count; first += rows_ahead * row_groups) {
#pragma unroll
            for (int q = 0; q < rows_ahead; ++q) {
                const int k = first + q * row_groups;
                if (k >= factor.count) break;
#pragma unroll
                for (int e = 0; e < vector_width; ++e) sum[e] += ahead[q][e] * x[k];
                fetch(q, k + rows_ahead * row_groups);
            }
        }
#pragma unroll
        for (int e = 0; e < vector_width; ++e) {
            for (int apart = row_vectors; apart < warp_lanes; apart *= 2) sum[e] += shuffle_xor(sum[e], apart);
            if (lane_index() < row_vectors) part[warp_index() * kept_rows + lane_index() * vector_width + e] = sum[e];
        }
        block_sync();
        if (writes) {
            real all = 0;
#pragma unroll
            for (int q = 0; q < warps; ++q) all += part[q * kept_rows + thread_index()];
            *to = left - all;
        }
        block_sync();
    }
}

/* Computes some entries of w <- w - Z x; a warp has few of them. Here each row of the factor is a column in memory. */
constexpr int kept_columns = grid_kept_columns, kept_chunk = grid_kept_chunk, columns_ahead = 4, column_step = warp_lanes * vector_width;
static_assert(kept_chunk % (columns_ahead * column_step) == 0, "chunks begin with the first of the vectors that are on their way");
TRIFOLD_DEVICE void backward_kept(const Context& c) {
    start_dependents();
    constexpr int warps = wide_threads / warp_lanes;
    const int tiles = static_cast<int>(factor_of(c).parts), lane = lane_index();
    const Front f = front_of_launch(c, group_x() / tiles);
    const Factor factor = factor_of(c, f, c.launch.transposed && !symmetric ? y_of(c, f) : z_of(c, f), f.s, f.r, true);
    const int first = factor.from + static_cast<int>(group_x() % tiles) * warps * kept_columns;
    if (first >= factor.end) return wait_for_launches();
    const int left = first + warp_index() * kept_columns;
    const bool keeps = factor_of(c).rows == trifold_grid_panel;
    real* const kept = static_cast<real*>(shared_memory());
    real ahead[columns_ahead][kept_columns][vector_width];
    const auto fetch = [&](int n, int row) {
#pragma unroll
        for (int q = 0; q < kept_columns; ++q)
            if (row < factor.count && left + q < factor.end)
                load_vector(ahead[n][q], factor.entries + row + trifold_int(left + q) * factor.stride);
    };
    for (int column = 0; column < c.args.used_columns; ++column) {
        real sum[kept_columns] = {};
#pragma unroll
        for (int n = 0; n < columns_ahead; ++n) fetch(n, lane * vector_width + n * column_step);
        wait_for_launches();
        for (int chunk = 0; chunk < factor.count; chunk += kept_chunk) {
            const int count = smaller(kept_chunk, factor.count - chunk);
#pragma unroll 1
            for (int i = thread_index(); i < count; i += wide_threads) {
                const grid_pixel pixel = keeps ? kept_pixel(f, chunk + i) : grid_eliminated_pixel(&f.box, factor.first + i + chunk);
                const real value = solution_at(c, f, pixel)[column];
                kept[i] = times_power(value, keeps ? -exponent_out(c, f, pixel) : 0);
            }
            block_sync();
#pragma unroll 1
            for (int i = lane * vector_width; i < count; i += columns_ahead * column_step) {
#pragma unroll
                for (int n = 0; n < columns_ahead; ++n) {
                    const int at = i + n * column_step;
                    if (at >= count) break;
                    real value[vector_width];
                    load_vector(value, kept + at);
#pragma unroll
                    for (int q = 0; q < kept_columns; ++q)
#pragma unroll
                        for (int e = 0; e < vector_width; ++e)
                            if (at + e < count && left + q < factor.end) sum[q] += ahead[n][q][e] * value[e];
                    fetch(n, chunk + at + columns_ahead * column_step);
                }
            }
            block_sync();
        }
#pragma unroll
        for (int q = 0; q < kept_columns; ++q) {
            for (int apart = warp_lanes / 2; apart > 0; apart /= 2) sum[q] += shuffle_xor(sum[q], apart);
            if (lane == 0 && left + q < factor.end) eliminated_at(c, f, left + q)[column] -= sum[q];
        }
    }
}

#ifdef TRIFOLD_KERNEL_FORWARD_PIVOTS
GRID_KERNEL(FORWARD_PIVOTS, triangle_threads, forward_pivots<false>(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_PIVOTS_TRANSPOSED
GRID_KERNEL(FORWARD_PIVOTS_TRANSPOSED, triangle_threads, forward_pivots<true>(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_PIVOTS
GRID_KERNEL(BACKWARD_PIVOTS, triangle_threads, backward_pivots<false>(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_PIVOTS_TRANSPOSED
GRID_KERNEL(BACKWARD_PIVOTS_TRANSPOSED, triangle_threads, backward_pivots<true>(c))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_KEPT
GRID_KERNEL(FORWARD_KEPT, wide_threads, forward_kept(c))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_KEPT
GRID_KERNEL(BACKWARD_KEPT, wide_threads, backward_kept(c))
#endif
