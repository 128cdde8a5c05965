/* Products for the selected inverse: blocks anywhere, in any order of storage, tiles of `square` by `square`. */
#include "gpu/tridiagonal/inverse_constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/inverse_shared.h"


/* A block_size by block_size block: element (r, c) stands at r * row + c * column; of the factors, where they have them, in tiles. */
struct View {
    real* at;
    int row, column;
    bool tiled = false;
    TRIFOLD_METHOD View transposed() const { return {at, column, row, tiled}; }
    TRIFOLD_METHOD real& operator()(int r, int c) const {
        if (in_tiles && tiled) return global_pointer(at)[row == 1 ? place_in_block(r, c) : place_in_block(c, r)];
        return global_pointer(at)[r * row + c * column];
    }
};

struct Quad {
    real at[4][4];
};
TRIFOLD_DEVICE int quad_row(int i) { return thread_index() / side + i * side; }
TRIFOLD_DEVICE int quad_column(int j) { return thread_index() % side + j * side; }

/* A thread's part of `square` rows and `depth_at_once` columns of a view, on the way to shared memory. */
struct Staged {
    real at[square * depth_at_once / inverse_threads];
    TRIFOLD_METHOD static int row_of(const View& from, int e) { return from.row == 1 ? e % square : e / depth_at_once; }
    TRIFOLD_METHOD static int column_of(const View& from, int e) { return from.row == 1 ? e / square : e % depth_at_once; }
};

/* Rows row .. and columns k .., zeros outside `k_end` and the block. All loads are under way together. */
TRIFOLD_DEVICE void fetch(Staged& staged, const View& from, int row, int k, int k_end) {
#pragma unroll
    for (int i = 0; i < square * depth_at_once / inverse_threads; ++i) {
        const int e = thread_index() + i * inverse_threads, r = row + Staged::row_of(from, e), c = k + Staged::column_of(from, e);
        staged.at[i] = r < block_size && c < k_end ? from(r, c) : real(0);
    }
}

/* Into shared memory, column by column. */
TRIFOLD_DEVICE void put(real (*to)[square + 1], const Staged& staged, const View& from) {
#pragma unroll
    for (int i = 0; i < square * depth_at_once / inverse_threads; ++i) {
        const int e = thread_index() + i * inverse_threads;
        to[Staged::column_of(from, e)][Staged::row_of(from, e)] = staged.at[i];
    }
}

/* sum += A(row .., first .. last - 1) B(first .. last - 1, column ..). Starts and ends with shared memory free. The next columns are fetched
 * while these are multiplied. */
TRIFOLD_DEVICE void multiply_views(Quad& sum, InverseShared& shared, const View& a, const View& b, int row, int column, int first, int last) {
    const View turned_b = b.transposed();
    Staged of_a, of_b;
    fetch(of_a, a, row, first, last);
    fetch(of_b, turned_b, column, first, last);
#pragma unroll 1
    for (int k = first; k < last; k += depth_at_once) {
        put(shared.a, of_a, a);
        put(shared.b, of_b, turned_b);
        block_sync();
        fetch(of_a, a, row, k + depth_at_once, last);
        fetch(of_b, turned_b, column, k + depth_at_once, last);
#pragma unroll 4
        for (int q = 0; q < depth_at_once; ++q) {
            real x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] = shared.a[q][quad_row(i)], y[i] = shared.b[q][quad_column(i)];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum.at[i][j] += x[i] * y[j];
        }
        block_sync();
    }
}

/* to = start - (A B + C D), where start is the identity or zero; C D where it exists. */
TRIFOLD_DEVICE void subtract_products(InverseShared& shared, const View& to, bool identity, bool first, const View& a, const View& b, bool second,
                                      const View& c, const View& d) {
#pragma unroll 1
    for (int tile_at = 0; tile_at < (block_size + square - 1) / square * ((block_size + square - 1) / square); ++tile_at) {
        const int row = tile_at / ((block_size + square - 1) / square) * square, column = tile_at % ((block_size + square - 1) / square) * square;
        Quad sum{};
#pragma unroll 1
        for (int part = first ? 0 : 1; part < (second ? 2 : 1); ++part)
            multiply_views(sum, shared, part == 0 ? a : c, part == 0 ? b : d, row, column, 0, block_size);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int r = row + quad_row(i), s = column + quad_column(j);
                if (r < block_size && s < block_size) to(r, s) = (identity && r == s ? real(1) : real(0)) - sum.at[i][j];
            }
    }
    block_sync();
}

/* The inverse of the factor's diagonal band from j on; lane c of the first warp solves for column c. */
TRIFOLD_DEVICE void invert_band(InverseShared& shared, const real* factor, int j) {
    constexpr int leading = band + 4;
#pragma unroll 1
    for (int e = thread_index(); e < band * band; e += inverse_threads) {
        const int r = e % band, c = e / band;
        const bool inside = j + r < padded && j + c < padded;
        real* to = inverted_bands ? shared.inverse : shared.factor;
        to[r + c * leading] = inside ? factor[place_in_block(j + r, j + c)] : (r == c ? real(1) : real(0));
    }
    block_sync();
    if constexpr (!inverted_bands) {
        const int c = thread_index();
        real* z = shared.inverse + c * leading;
        if (c < band) {
#pragma unroll 1
            for (int t = 0; t < band; t += tile) {
                real sum[tile];
#pragma unroll
                for (int r = 0; r < tile; ++r) sum[r] = t + r == c ? real(1) : real(0);
#pragma unroll 1
                for (int k = 0; k < t; ++k)
#pragma unroll
                    for (int r = 0; r < tile; ++r) sum[r] -= shared.factor[t + r + k * leading] * z[k];
#pragma unroll
                for (int r = 0; r < tile; ++r) {
                    real value = 0;
#pragma unroll
                    for (int k = 0; k <= r; ++k) value += shared.factor[t + r + (t + k) * leading] * sum[k];
                    z[t + r] = value;
                }
            }
        }
        block_sync();
    }
}

/* block = block L^-1 for up to three blocks of the inverse, in bands of columns from the last to the first. */
TRIFOLD_DEVICE void divide(InverseShared& shared, const trifold_args& args, trifold_int member, const real* factor, const View (&blocks)[3],
                           const bool (&exists)[3]) {
    const View lower{const_cast<real*>(factor), 1, padded, true};
#pragma unroll 1
    for (int j = (block_size - 1) / band * band; j >= 0; j -= band) {
        invert_band(shared, factor, j);
#pragma unroll 1
        for (int part = 0; part < 3; ++part) {
            const View block = part == 0 ? blocks[0] : part == 1 ? blocks[1] : blocks[2];
            if (!(part == 0 ? exists[0] : part == 1 ? exists[1] : exists[2])) continue;
#pragma unroll 1
            for (int row = 0; row < block_size; row += square) {
                Quad sum{};
                multiply_views(sum, shared, block, lower, row, j, j + band, block_size);
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int q = 0; q < 4; ++q) {
                        const int r = quad_row(i), c = quad_column(q);
                        if (c >= band) continue;
                        const bool inside = row + r < block_size && j + c < block_size;
                        shared.result[c][r] = inside ? block(row + r, j + c) - sum.at[i][q] : real(0);
                    }
                block_sync();
#pragma unroll 1
                for (int e = thread_index(); e < square * band; e += inverse_threads) {
                    const int r = block.row == 1 ? e % square : e / band, c = block.row == 1 ? e / square : e % band;
                    real value = 0;
#pragma unroll 4
                    for (int k = 0; k < band; ++k) value += shared.result[k][r] * shared.inverse[k + c * (band + 4)];
                    if (row + r >= block_size || j + c >= block_size) continue;
                    block(row + r, j + c) = value;
                    watch(args, member, Result::inverse, value);
                }
                block_sync();
            }
        }
    }
}
