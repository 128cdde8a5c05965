/* Products for the selected inverse: blocks anywhere, in any order of storage, tiles of `square` by `square`. */
#include "gpu/tridiagonal/inverse_constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/inverse_shared.h"

/* A block_size by block_size block. Element (r, c) is at r * row + c * column, or in tiles if it is a block of the factors that lies in
 * tiles. */
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

TRIFOLD_DEVICE int quad_row(int i) { return thread_index() / side + i * side; }
TRIFOLD_DEVICE int quad_column(int j) { return thread_index() % side + j * side; }

/* A thread's four by four elements of a tile. */
struct Quad {
    real at[4][4];
    /* += A B' over `Depth` columns in shared memory; B has `Columns` rows. */
    template <int Depth, int Columns, int A, int B>
    TRIFOLD_METHOD void multiply(const real (&a)[Depth][A], const real (&b)[Depth][B]) {
#pragma unroll 4
        for (int q = 0; q < Depth; ++q) {
            real x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] = a[q][quad_row(i)], y[i] = quad_column(i) < Columns ? b[q][quad_column(i)] : real(0);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) at[i][j] += x[i] * y[j];
        }
    }
    /* use(value, r, c) for each of them. */
    template <class Use>
    TRIFOLD_METHOD void each(const Use& use) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) use(at[i][j], quad_row(i), quad_column(j));
    }
};

/* A thread's part of `square` rows and `depth_at_once` columns of a view, on the way to shared memory. Neighbours in memory go to threads
 * side by side, and each of a thread's elements is as far from the one before it. */
struct Staged {
    static constexpr int count = square * depth_at_once / inverse_threads;
    static_assert(inverse_threads % square == 0 && inverse_threads % depth_at_once == 0, "elements lie in line");
    real at[count];
    /* The place of a thread's first element, and the distance to its next one. Large blocks are short of registers, so all of this is
     * computed again at each use. */
    struct Place {
        int row, column, next_row, next_column;
        TRIFOLD_METHOD explicit Place(bool by_columns) {
            const int t = inverse_is_shared_out(padded) ? thread_opaque() : thread_index();
            row = by_columns ? t % square : t / depth_at_once, column = by_columns ? t / square : t % depth_at_once;
            next_row = by_columns ? 0 : inverse_threads / depth_at_once, next_column = by_columns ? inverse_threads / square : 0;
        }
    };
    /* Rows `row` .. and columns k .., zeros outside `k_end` and the block. All loads are under way together. */
    template <class V>
    TRIFOLD_METHOD void fetch(const V& from, int row, int k, int k_end) {
        const Place place(from.row == 1);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int r = row + place.row + i * place.next_row, c = k + place.column + i * place.next_column;
            at[i] = r < block_size && c < k_end ? from(r, c) : real(0);
        }
    }
    /* Into shared memory, column by column. */
    TRIFOLD_METHOD void put(real (*to)[operand_line], const View& from) const {
        const Place place(from.row == 1);
#pragma unroll
        for (int i = 0; i < count; ++i) to[place.column + i * place.next_column][place.row + i * place.next_row] = at[i];
    }
};

/* sum += A(row .., first .. last - 1) B(first .. last - 1, column ..). Starts and ends with shared memory free. The next columns are
 * fetched while these are multiplied. */
template <class Sum, class A>
TRIFOLD_DEVICE void multiply_views(Sum& sum, InverseOperands& shared, const A& a, const View& b, int row, int column, int first, int last) {
    const View transposed_b = b.transposed();
    Staged of_a, of_b;
    of_a.fetch(a, row, first, last);
    of_b.fetch(transposed_b, column, first, last);
#pragma unroll 1
    for (int k = first; k < last; k += depth_at_once) {
        of_a.put(shared.a, a);
        of_b.put(shared.b, transposed_b);
        block_sync();
        of_a.fetch(a, row, k + depth_at_once, last);
        of_b.fetch(transposed_b, column, k + depth_at_once, last);
        sum.template multiply<depth_at_once, square>(shared.a, shared.b);
        block_sync();
    }
}

/* to = start - (A B + C D). `identity`: start is the identity with the signs of the factor's pivots, otherwise zero. `first` and `second`:
 * whether A B and C D exist. */
TRIFOLD_DEVICE void subtract_products(InverseShared& shared, const View& to, bool identity, const real* factor, bool first, const View& a,
                                      const View& b, bool second, const View& c, const View& d) {
#pragma unroll 1
    for (int tile_at = 0; tile_at < (block_size + square - 1) / square * ((block_size + square - 1) / square); ++tile_at) {
        const int row = tile_at / ((block_size + square - 1) / square) * square,
                  column = tile_at % ((block_size + square - 1) / square) * square;
        Quad sum{};
#pragma unroll 1
        for (int part = first ? 0 : 1; part < (second ? 2 : 1); ++part)
            multiply_views(sum, shared.operands, part == 0 ? a : c, part == 0 ? b : d, row, column, 0, block_size);
        sum.each([&](real value, int r, int c) {
            r += row, c += column;
            if (r < block_size && c < block_size)
                to(r, c) = (identity && r == c ? by_sign(real(1), factor, static_cast<int>(place_in_block(r, r))) : real(0)) - value;
        });
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
        (inverted_bands ? shared.inverse[r][c] : shared.factor[r + c * leading]) =
            inside ? factor[place_in_block(j + r, j + c)] : (r == c ? real(1) : real(0));
    }
    block_sync();
    if constexpr (!inverted_bands) {
        const int c = thread_index();
        if (c < band) {
#pragma unroll 1
            for (int t = 0; t < band; t += tile) {
                real sum[tile];
#pragma unroll
                for (int r = 0; r < tile; ++r) sum[r] = t + r == c ? real(1) : real(0);
#pragma unroll 4
                for (int k = 0; k < t; ++k)
#pragma unroll
                    for (int r = 0; r < tile; ++r) sum[r] -= shared.factor[t + r + k * leading] * shared.inverse[k][c];
#pragma unroll
                for (int r = 0; r < tile; ++r) {
                    real value = 0;
#pragma unroll
                    for (int k = 0; k <= r; ++k) value += shared.factor[t + r + (t + k) * leading] * sum[k];
                    shared.inverse[t + r][c] = value;
                }
            }
        }
        block_sync();
    }
}

/* block = block L^-1 for up to three blocks of the inverse, in bands of columns from the last to the first. A second call for the same
 * factor finds the inverse of its band where there is only one. */
TRIFOLD_DEVICE void divide(InverseShared& shared, const trifold_args& args, trifold_int member, const real* factor, const View (&blocks)[3],
                           const bool (&exists)[3], bool again) {
    const View lower{const_cast<real*>(factor), 1, padded, true};
#pragma unroll 1
    for (int j = (block_size - 1) / band * band; j >= 0; j -= band) {
        if (!again || block_size > band) invert_band(shared, factor, j);
#pragma unroll 1
        for (int part = 0; part < 3; ++part) {
            const View block = part == 0 ? blocks[0] : part == 1 ? blocks[1] : blocks[2];
            if (!(part == 0 ? exists[0] : part == 1 ? exists[1] : exists[2])) continue;
#pragma unroll 1
            for (int row = 0; row < block_size; row += square) {
                Quad sum{}, quotient{};
                multiply_views(sum, shared.operands, block, lower, row, j, j + band, block_size);
                sum.each([&](real value, int r, int c) {
                    const bool inside = row + r < block_size && j + c < block_size;
                    if (c < band) shared.result[c][r] = inside ? block(row + r, j + c) - value : real(0);
                });
                block_sync();
                quotient.multiply<band, band>(shared.result, shared.inverse);
                quotient.each([&](real value, int r, int c) {
                    if (c >= band || row + r >= block_size || j + c >= block_size) return;
                    block(row + r, j + c) = value;
                    watch(args, member, Result::inverse, value);
                });
                block_sync();
            }
        }
    }
}
