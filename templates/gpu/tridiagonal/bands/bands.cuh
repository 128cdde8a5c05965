/* Bands of 16 rows of a front: first of D, then of R, then of G. Warps keep them in registers, as results of tensor
 * instructions. Shared memory has what they are multiplied by.
 *
 * A patch is 16 rows of a band by the 8 columns of a tile. Each lane has four elements of it:
 *
 *               columns  0 1      2 3      4 5      6 7
 *      row  0          lane  0  lane  1  lane  2  lane  3     elements 0 and 1 of a lane
 *      row  1          lane  4  lane  5  lane  6  lane  7
 *       ...
 *      row  7          lane 28  lane 29  lane 30  lane 31
 *      row  8          lane  0  lane  1  lane  2  lane  3     elements 2 and 3 of the same lanes
 *       ...
 *      row 15          lane 28  lane 29  lane 30  lane 31 */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/bands/invert.cuh"
#include "gpu/tridiagonal/bands/warp_constants.cuh"
#include "gpu/tridiagonal/dense/column_tile.cuh"

constexpr int max_threads = front_threads <= 128 ? 128 : 256;
constexpr int band_warps = band_threads / warp_lanes, warp_bands = bands / band_warps; /* a warp's */
/* A thread's number among those of all teams, and in its team. Values that are computed from it take registers, of which there are few.
 * Where it is read again at each use, they are computed again instead. */
TRIFOLD_DEVICE int thread_of_teams() {
    return band_rereads ? thread_opaque() & (max_threads - 1) : thread_index();
} /* its range is known */
TRIFOLD_DEVICE int band_thread() { return band_teams > 1 ? thread_of_teams() % band_threads : thread_of_teams(); }
static_assert(front_threads <= max_threads && bands == band_warps * warp_bands && results_are_operands, "host and device disagree");

/* Bands of 16 rows in patches of 8 columns. Element k of a lane is `down(k)` rows and k % 2 columns from its first, which is in row
 * tensor_column() and column result_row(0): offsets from there are constants. */
struct BandPatch {
    band_real at[tensor_columns][tensor_vectors][2];
};
struct Bands {
    BandPatch at[warp_bands][tiles];
};
/* Eight columns of the bands, in the layout of a tensor operand. */
struct BandLines {
    band_real at[warp_bands][tensor_columns][2];
};
/* A band's first row, in D, R and G alike; whether its second half is no padding, which repeats the first; tiles of its rows up to D's
 * diagonal. */
TRIFOLD_DEVICE int band_row(int band) { return (band_thread() / warp_lanes % band_warps * warp_bands + band) * 16; }
TRIFOLD_DEVICE bool is_whole(int band) {
    const int thread = band_teams > 1 ? band_thread() : thread_index();
    return padded % 16 == 0 || (thread / warp_lanes % band_warps * warp_bands + band) * 16 + 8 < padded;
}
TRIFOLD_DEVICE int reached_tiles(int band) { return band_row(band) / 8 + (is_whole(band) ? 2 : 1); }
TRIFOLD_DEVICE constexpr int down(int k) { return k / 2 * 8; }
TRIFOLD_DEVICE band_real& item(BandPatch& patch, int k) { return patch.at[k / 2][0][k % 2]; }
/* All warps of a front meet: a variant's own. */
TRIFOLD_DEVICE void sync_band_warps();
TRIFOLD_DEVICE void band_sync() {
    if (band_warps == 1)
        warp_sync();
    else
        sync_band_warps();
}

/* A lane's place in a column-major block whose rows the bands are multiplied with, and in one in shared memory whose rows are the other
 * operand. */
TRIFOLD_DEVICE int lines_place(int leading) {
    const int lane = band_thread() % warp_lanes;
    return band_row(0) + lane / 4 + lane % 4 * leading;
}
TRIFOLD_DEVICE int rows_place() {
    const int lane = band_thread() % warp_lanes;
    return lane / 4 + lane % 4 * lower_leading;
}
/* Loads eight columns: of the bands' lines (load_lines), or of rows (load_rows), which are negated, and have marks. */
TRIFOLD_DEVICE void load_lines(BandLines& lines, const real* at, int leading) {
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int c = 0; c < tensor_columns; ++c)
                lines.at[band][c][i] = static_cast<band_real>(at[4 * i * leading + band * 16 + (is_whole(band) ? c * 8 : 0)]);
}
TRIFOLD_DEVICE void load_rows(band_real (&rows)[2], const real* at) {
#pragma unroll
    for (int i = 0; i < 2; ++i) rows[i] = -static_cast<band_real>(turned(at[4 * i * lower_leading]));
}
/* bands -= the lines times such rows, of the tiles before `count(band)`. */
template <class Count>
TRIFOLD_DEVICE void subtract_tiles(Bands& bands, const BandLines& lines, const real* rows_at, const Count& count) {
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
        if (t >= count(warp_bands - 1)) continue;
        band_real rows[2];
        load_rows(rows, rows_at + t * 8);
#pragma unroll
        for (int band = 0; band < warp_bands; ++band)
            if (t < count(band)) tensor_multiply<2>(bands.at[band][t].at, lines.at[band], rows);
    }
}

TRIFOLD_DEVICE void prefetch_block(const real* from, trifold_int pitch, int size) {
    prefetch_block(from, pitch, size, band_thread(), band_threads);
}
TRIFOLD_DEVICE const real* coupling_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return E_OF(args, member, block);
}
/* Starts the copy of an original coupling, a view, by `count` threads, in the order of the memory of whole ones. */
TRIFOLD_DEVICE void pull_views(real* to, int leading, const Given& given, int thread, int count) {
#pragma unroll 1
    for (int e = thread; e < block_size * block_size; e += count) {
        const int u = e % block_size, v = e / block_size;
        const real* from = E::row < E::column ? given.at(u, v) : given.at(v, u);
        if (from != nullptr)
            copy_element_async(to + u + v * leading, from);
        else
            to[u + v * leading] = 0;
    }
}
/* Starts the copy of an original coupling to the place of pulled blocks, in the order of memory: lines of contiguous elements, `Size` at a
 * time. */
template <int Size>
TRIFOLD_DEVICE void pull_piece(real* to, const real* from) {
    if constexpr (Size == vector_width)
        copy_async(to, from);
    else
        copy_element_async(to, from);
}
template <int Size>
TRIFOLD_DEVICE void pull_lines(real* to, const real* from) {
    constexpr int pieces = block_size / Size, together = band_threads / pieces; /* lines at once */
    if constexpr (together > 0 && band_threads % pieces == 0) {
        const int u = band_thread() % pieces * Size, v = band_thread() / pieces;
        to += u + v * lower_leading, from += u + v * e_pitch;
#pragma unroll
        for (int k = 0; k < block_size; k += together)
            if (block_size % together == 0 || v + k < block_size) pull_piece<Size>(to + k * lower_leading, from + k * e_pitch);
    } else {
#pragma unroll 1
        for (int e = band_thread(); e < block_size * pieces; e += band_threads) {
            const int u = e % pieces * Size, v = e / pieces;
            pull_piece<Size>(to + u + v * lower_leading, from + u + v * e_pitch);
        }
    }
}
/* Starts the copy of an original coupling, in pieces of 16 bytes where the caller's array allows. */
template <class Shared>
TRIFOLD_DEVICE void pull_original(Shared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    if (has_views && !(is_whole(args, member, block) && is_whole(args, member, block + 1))) {
        pull_views(shared.pulled, lower_leading, given_coupling(args, member, block), band_thread(), band_threads);
        return;
    }
    constexpr bool in_pieces = block_size % vector_width == 0 && e_pitch % vector_width == 0 && E::step % vector_width == 0;
    constexpr int size = in_pieces ? vector_width : 1;
    if (in_pieces && reinterpret_cast<unsigned long long>(args.e) % 16 == 0)
        pull_lines<size>(shared.pulled, coupling_of(args, member, block));
    else
        pull_lines<1>(shared.pulled, coupling_of(args, member, block));
}
/* Loads the bands of D, with the identity in the padding. Elements above the diagonal are not read. */
TRIFOLD_DEVICE void load_bands(Bands& bands, const trifold_args& args, trifold_int member, trifold_int block) {
    const int first = band_row(0) + tensor_column(), column = result_row(0);
    const real* from = D_OF(args, member, block);
    from += first * D::row + column * D::column;
    Given given{};
    if (is_band) given = given_diagonal(args, member, block);
    const int rows = rows_of(args, member, block);
    const real unit = unit_of(args, member, block);
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int t = 0; t < tiles; ++t) {
            if (band_warps == 1 && t >= reached_tiles(band)) continue; /* known when this is compiled */
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int below = band * 16 + down(k), right = t * 8 + k % 2, row = first + below,
                          above = row - column - right; /* distance from the diagonal */
                real value = above == 0 ? unit : real(0);
                if (above >= 0 && ((!has_views && block_size % 16 == 0) || row < rows))
                    value = is_band ? *given.at(row, column + right) : from[below * D::row + right * D::column];
                item(bands.at[band][t], k) = static_cast<band_real>(value);
            }
        }
    if (args.diagonal == nullptr && args.shift == nullptr) return;
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int row = first + band * 16 + down(k);
                if (row == column + t * 8 + k % 2 && row < block_size)
                    item(bands.at[band][t], k) += static_cast<band_real>(diagonal_term(args, member, block, row));
            }
}

/* Column tile t of L, its own tile inverted, out of shared memory. */
template <class Shared>
TRIFOLD_DEVICE void store_tile(const Shared& shared, real* to, int t) {
    for (int e = band_thread(); e < 8 * padded; e += band_threads) {
        const int r = e % padded, c = e / padded;
        if (r >= t * 8)
            to[r + (t * 8 + c) * padded] = r / 8 == t ? shared.inverse[t][r % 8 * 8 + c] : shared.lower[r + (t * 8 + c) * lower_leading];
    }
}

/* Column tile t of D from shared memory by the warps that have rows of it, a lane a row: L's, and the inverse of the tile. */
template <class Shared>
TRIFOLD_DEVICE void eliminate_tile(Shared& shared, real* to, int t) {
    const int warp = band_thread() / warp_lanes, lane = band_thread() % warp_lanes, r = warp * warp_lanes + lane;
    if (warp >= row_sets || (warp + 1) * warp_lanes <= t * 8) return;
    real* own = shared.lower + t * 8 * lower_leading;
    const bool of_tile = r / 8 == t;
    real d[8][8], a[1][8];
    load_tile(d, own + t * 8, lower_leading);
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        a[0][c] = r < padded ? own[r + c * lower_leading] : real(0);
        if (of_tile) a[0][c] = r % 8 == c ? real(1) : real(0);
    }
    const bool first = warp == t * 8 / warp_lanes;
    unsigned negative = 0;
    const bool stands =
        eliminate_quickly(d, a, static_cast<real>(shared.pivots.floor), {first ? shared.diagonal + t * 8 : nullptr, nullptr}, negative);
    if (first && lane == 0) shared.slowly = !stands;
    if (!stands || r >= padded || r < t * 8) return;
    if (has_signs && !of_tile) shared.diagonal[padded + r] += squares_of_row(a[0], 1, 8);
    finish_row(a[0], negative, of_tile);
    real* near = of_tile ? shared.inverse[t] + r % 8 : own + r;
    to += of_tile ? t * 8 + r * padded : r + t * 8 * padded;
    const int leading = of_tile ? 8 : lower_leading, step = of_tile ? 1 : padded;
#pragma unroll
    for (int c = 0; c < 8; ++c) near[c * leading] = a[0][c], to[c * step] = a[0][c];
}

/* The sum of the squares in row r of L and of what was before it. */
template <class Shared>
TRIFOLD_DEVICE double sum_of_squares(const Shared& shared, int r) {
    const auto inverse = [&](int k, int c) { return shared.inverse[r / 8][k * 8 + c]; };
    return shared.diagonal[padded + r] + squares_in_tile(shared.diagonal + r / 8 * 8, r % 8, inverse);
}
/* Column tile t of L by every test, where the quick way has met a pivot that needs them. */
template <bool Eliminates, class Shared>
TRIFOLD_DEVICE void eliminate_slowly(Shared& shared, real* to, int t) {
    if (Eliminates && band_thread() < warp_lanes) {
        eliminate_one_by_one(shared.lower, lower_leading, t * 8, padded, 0, shared.pivots,
                             {shared.diagonal + t * 8, shared.reciprocal + t * 8});
        for (int r = t * 8 + 8 + band_thread(); has_signs && r < padded; r += warp_lanes)
            shared.diagonal[padded + r] += squares_of_row(shared.lower + r + t * 8 * lower_leading, lower_leading, 8);
        invert_tile<8>(shared, t);
    }
    band_sync();
    store_tile(shared, to, t);
}

/* Column tile t of D, the bands' first, to where it is eliminated. */
template <class Shared>
TRIFOLD_DEVICE void leave_tile(Bands& bands, Shared& shared, int t) {
    real* at = shared.lower + band_row(0) + tensor_column() + (t * 8 + result_row(0)) * lower_leading;
#pragma unroll
    for (int band = 0; band < warp_bands; ++band) {
        if (t >= reached_tiles(band)) continue;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (k < 2 || is_whole(band)) at[band * 16 + down(k) + k % 2 * lower_leading] = static_cast<real>(item(bands.at[band][0], k));
    }
}
/* Every tile to where the one to its left was, of those before `End`. */
template <int End>
TRIFOLD_DEVICE void shift_tiles(Bands& bands) {
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int k = 1; k < End; ++k) bands.at[band][k - 1] = bands.at[band][k];
}
/* Moves the tiles from the second on to the left, and subtracts their products by column tile s of L; only the first `rest` tiles have any.
 * Several tiles go at once: a result has other registers than what it is added to, so a tile that is skipped would have to be moved. */
template <int End>
TRIFOLD_DEVICE void shift_and_subtract(Bands& bands, const BandLines& lines, const real* rows_at, int rest) {
#pragma unroll
    for (int first = 1; first + 1 < End; first += 3) {
        if (first >= rest) return;
#pragma unroll
        for (int k = first; k < first + 3 && k + 1 < End; ++k) {
            band_real rows[2];
            load_rows(rows, rows_at + (k < rest ? k : 0) * 8);
#pragma unroll
            for (int band = 0; band < warp_bands; ++band) {
                bands.at[band][k - 1] = bands.at[band][k];
                tensor_multiply<2>(bands.at[band][k - 1].at, lines.at[band], rows);
            }
        }
    }
}

/* D = L L', out to `to`; leave(t) when column tile t is there, and meanwhile(t) while it is eliminated. The bands' first tile is the next
 * to be eliminated: it takes the products of a column tile before the others, which take theirs while it is. Warps that eliminate tiles may
 * take another branch than others: then their bands end before tile `End`, and the others' code has no elimination. */
template <int End = tiles, bool Eliminates = true, class Shared, class Leave, class Meanwhile>
TRIFOLD_DEVICE void factor_diagonal(Bands& bands, Shared& shared, real* to, const Leave& leave, const Meanwhile& meanwhile) {
    leave_tile(bands, shared, 0);
    shift_tiles<End>(bands);
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        band_sync();
        if (Eliminates) eliminate_tile(shared, to, t);
        const int rest = reached_tiles(warp_bands - 1) - t; /* tiles of the last band, from this one on */
        const auto column = [&](int s) { return shared.lower + s * 8 * lower_leading; };
        BandLines lines;
        if (t > 0 && rest > 1) {
            load_lines(lines, column(t - 1) + lines_place(lower_leading), lower_leading);
            shift_and_subtract<End>(bands, lines, column(t - 1) + t * 8 + rows_place(), rest);
        }
        meanwhile(t);
        band_sync();
        if (shared.slowly) eliminate_slowly<Eliminates>(shared, to, t);
        leave(t);
        if (t + 1 == tiles) return;
        if (rest > 1) {
            band_real rows[2];
            load_lines(lines, column(t) + lines_place(lower_leading), lower_leading);
            load_rows(rows, column(t) + t * 8 + 8 + rows_place());
#pragma unroll
            for (int band = 0; band < warp_bands; ++band) tensor_multiply<2>(bands.at[band][0].at, lines.at[band], rows);
        }
        leave_tile(bands, shared, t + 1);
    }
}

/* Loads two elements that are `step` apart, by one load if they are neighbours. */
TRIFOLD_DEVICE void load_pair(real (&to)[2], const real* from, int step) {
    struct alignas(2 * sizeof(real)) Pair {
        real at[2];
    };
    if (step == 1) {
        const Pair pair = *reinterpret_cast<const Pair*>(from);
        to[0] = pair.at[0], to[1] = pair.at[1];
    } else {
        to[0] = from[0], to[1] = from[step];
    }
}
/* The bands of the original coupling A(neighbour, block), zeros in the padding. */
template <bool Ahead, int Leading, class Shared> /* then it is E of the block, else the neighbour's transposed */
TRIFOLD_DEVICE void take_original(Bands& bands, const Shared& shared) {
    constexpr bool by_columns = (E::row < E::column) == Ahead;
    constexpr int row_step = by_columns ? 1 : Leading, column_step = by_columns ? Leading : 1;
    const int row = band_row(0) + tensor_column(), column = result_row(0);
    const real* from = shared.pulled + row * row_step + column * column_step;
    const auto inside = [](int index) { return block_size % 16 == 0 || index < block_size; };
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; k += 2) {
                const int below = band * 16 + down(k), right = t * 8;
                real pair[2] = {};
                if (inside(row + below)) load_pair(pair, from + below * row_step + right * column_step, column_step);
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    item(bands.at[band][t], k + i) = inside(column + right + i) ? static_cast<band_real>(pair[i]) : 0;
            }
}
/* The bands of R or G, tile after tile: by products with the inverses of L's. Stored are elements by their distance in rows and columns
 * from a lane's first one, whose place is patch_place(). */
TRIFOLD_DEVICE int patch_place(int leading) { return band_row(0) + tensor_column() + result_row(0) * leading; }
/* A lane's place in the inverse of a tile, or in a tile of 8 columns, whose rows such results are multiplied with. */
TRIFOLD_DEVICE int result_place(int leading) {
    const int lane = band_thread() % warp_lanes;
    return leading == 8 ? lane / 4 * 8 + lane % 4 * 2 : lane / 4 + lane % 4 * 2 * leading;
}
/* The number of the panel that a product is, in the column `right` of a lane's first. */
template <class Shared>
TRIFOLD_DEVICE real entry_of(const Shared& shared, band_real product, int right) {
    const real value = static_cast<real>(product);
    if constexpr (!has_signs) return value;
    return panel_entry(value, shared.diagonal[right + result_row(0)]);
}
/* The results of tile t; `lines` are what they become as operands, negated. */
template <class Shared, class Store>
TRIFOLD_DEVICE void solve_column(Bands& bands, BandLines& lines, const Shared& shared, int t, const Store& store) {
    const auto take = [&](int band, BandPatch& patch, band_real sign) {
#pragma unroll
        for (int k = 0; k < 4; ++k) lines.at[band][k / 2][k % 2] = sign * item(patch, k);
    };
    const real* const inverse = shared.inverse[t] + result_place(8);
    band_real rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) rows[i] = static_cast<band_real>(inverse[i]);
#pragma unroll
    for (int band = 0; band < warp_bands; ++band) {
        BandPatch solved = {};
        take(band, bands.at[band][t], 1);
        tensor_multiply<2>(solved.at, lines.at[band], rows);
        take(band, solved, -1);
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (k < 2 || is_whole(band)) store(band * 16 + down(k), t * 8 + k % 2, entry_of(shared, item(solved, k), t * 8 + k % 2));
    }
}
/* bands -= results of column tile t times the rows of that tile at `columns`, of the tiles s for which takes(s). */
template <class Takes>
TRIFOLD_DEVICE void subtract_results(Bands& bands, const BandLines& lines, const real* columns, int t, const Takes& takes) {
    const real* const at = columns + result_place(lower_leading);
#pragma unroll
    for (int s = 0; s < tiles; ++s) {
        if (!takes(s)) continue;
        band_real rows[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) rows[i] = static_cast<band_real>(at[s * 8 + (t * 8 + i) * lower_leading]);
#pragma unroll
        for (int band = 0; band < warp_bands; ++band) tensor_multiply<2>(bands.at[band][s].at, lines.at[band], rows);
    }
}
template <class Shared, class Store>
TRIFOLD_DEVICE void solve_bands(Bands& bands, const Shared& shared, const Store& store) {
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
        BandLines lines;
        solve_column(bands, lines, shared, t, store);
        subtract_results(bands, lines, shared.lower, t, [&](int s) { return s > t; });
    }
}
