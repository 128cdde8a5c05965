/* Products of a warp: sums += A B' for 16 RowSquares rows of A and 16 ColumnSquares rows of B. A and B are stored column by column. */
#include "gpu/grid/common.cuh"

/* Elements from column to column of such an array in shared memory. */
TRIFOLD_DEVICE int leading_of(int rows) { return static_cast<int>(grid_leading(rows, sizeof(real))); }

/* A lane's part of a square: pairs of rows in each strip, in some columns. Without tensor instructions a square is one strip. */
constexpr int strip_rows = use_tensor ? tensor_rows : 16, square_strips = 16 / strip_rows, lane_pairs = use_tensor ? tensor_vectors : 1;
constexpr int lane_columns = use_tensor ? tensor_columns : 128 / warp_lanes;
TRIFOLD_DEVICE int strip_row(int pair) { return use_tensor ? result_row(pair) : lane_index() % 8 * 2; }
TRIFOLD_DEVICE int square_column(int k) { return use_tensor ? k * 8 + tensor_column() : k * (warp_lanes / 8) + lane_index() / 8; }

/* Stores such a pair. If it is a whole vector, its place must be aligned. */
TRIFOLD_DEVICE void store_pair_of(double* to, const double (&pair)[2]) { store_global(to, pair); }
TRIFOLD_DEVICE void store_pair_of(float* to, const float (&pair)[2]) { to[0] = pair[0], to[1] = pair[1]; }

template <int RowSquares, int ColumnSquares>
struct WarpTile {
    static constexpr int strips = RowSquares * square_strips;
    real at[ColumnSquares][strips][lane_columns][lane_pairs][2];

    TRIFOLD_METHOD void clear() {
        each_index<ColumnSquares, strips, lane_columns * lane_pairs * 2>(
            [&](int j, int i, int k) { at[j][i][k / 2 / lane_pairs][k / 2 % lane_pairs][k % 2] = 0; });
    }

    TRIFOLD_METHOD void minus(const WarpTile& other) {
        each_index<ColumnSquares, strips, lane_columns * lane_pairs * 2>([&](int j, int i, int k) {
            at[j][i][k / 2 / lane_pairs][k / 2 % lane_pairs][k % 2] -= other.at[j][i][k / 2 / lane_pairs][k / 2 % lane_pairs][k % 2];
        });
    }

    /* Row and column of an element in the tile. */
    TRIFOLD_METHOD static int row_of(int strip, int pair) { return strip * strip_rows + strip_row(pair); }
    TRIFOLD_METHOD static int column_of(int square, int k) { return square * 16 + square_column(k); }

    template <int Quads>
    TRIFOLD_METHOD void add_tensor(const real* a, trifold_int a_leading, int a_rows, const real* b, int b_leading, int depth,
                                   int b_apart = 1) {
        a += tensor_row() + tensor_depth() * a_leading;
        b += tensor_column() * b_apart + tensor_depth() * b_leading;
#pragma unroll 1
        for (int k = 0; k < depth; k += 4 * Quads) {
            real rows[strips][Quads];
#pragma unroll
            for (int q = 0; q < Quads; ++q) {
                const bool inside = k + 4 * q + tensor_depth() < depth;
#pragma unroll
                for (int i = 0; i < strips; ++i)
                    rows[i][q] = inside && i * tensor_rows + tensor_row() < a_rows ? a[i * tensor_rows + (k + 4 * q) * a_leading] : real(0);
            }
#pragma unroll
            for (int j = 0; j < ColumnSquares; ++j) {
                real columns[tensor_columns][Quads];
#pragma unroll
                for (int q = 0; q < Quads; ++q) {
                    const bool inside = k + 4 * q + tensor_depth() < depth;
#pragma unroll
                    for (int t = 0; t < tensor_columns; ++t)
                        columns[t][q] = inside ? b[(j * 16 + t * 8) * b_apart + (k + 4 * q) * b_leading] : real(0);
                }
#pragma unroll
                for (int i = 0; i < strips; ++i) tensor_multiply<Quads>(at[j][i], columns, rows[i]);
            }
        }
    }
    TRIFOLD_METHOD void add_plain(const real* a, trifold_int a_leading, int a_rows, const real* b, int b_leading, int depth,
                                  int b_apart = 1) {
#pragma unroll 2
        for (int k = 0; k < depth; ++k) {
#pragma unroll
            for (int j = 0; j < ColumnSquares; ++j)
#pragma unroll
                for (int t = 0; t < lane_columns; ++t) {
                    const real y = b[column_of(j, t) * b_apart + k * b_leading];
#pragma unroll
                    for (int i = 0; i < strips; ++i)
#pragma unroll
                        for (int u = 0; u < lane_pairs; ++u)
#pragma unroll
                            for (int v = 0; v < 2; ++v)
                                if (row_of(i, u) + v < a_rows) at[j][i][t][u][v] += a[row_of(i, u) + v + k * a_leading] * y;
                }
        }
    }
    /* Adds a product. All lanes of a warp call it together. Rows of A from a_rows on are not read, and count as zero. Rows of B are b_apart
     * elements apart. */
    TRIFOLD_METHOD void add(const real* a, trifold_int a_leading, int a_rows, const real* b, int b_leading, int depth, int b_apart = 1) {
        if constexpr (use_tensor)
            add_tensor<4>(a, a_leading, a_rows, b, b_leading, depth, b_apart);
        else
            add_plain(a, a_leading, a_rows, b, b_leading, depth, b_apart);
    }

    /* use(pair, row, column) for each pair that the lane has: elements of that row and the next. */
    template <class Use>
    TRIFOLD_METHOD void each_pair(const Use& use) {
#pragma unroll
        for (int j = 0; j < ColumnSquares; ++j)
            each_index<lane_columns, strips, lane_pairs>([&](int t, int i, int u) { use(at[j][i][t][u], row_of(i, u), column_of(j, t)); });
    }
    /* use(element, row, column) */
    template <class Use>
    TRIFOLD_METHOD void each(const Use& use) {
        each_pair([&](real(&pair)[2], int i, int j) {
            use(pair[0], i, j);
            use(pair[1], i + 1, j);
        });
    }
};
