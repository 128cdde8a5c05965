/* Products A B' of rows of a panel in shared memory, by tensor instructions in squares of 16 by 16 a warp, or by strips of
 * vector_width rows and `strip` columns a thread. Where pivots have both signs, S, of which `pivots` have those of the
 * columns, the products are A S B'. */
#include "gpu/tridiagonal/dense/constants.cuh"

/* sum[k][v] += or -= the product of `depth` columns of rows a .. a + vector_width - 1 and b .. b + strip - 1. */
template <int Sign>
TRIFOLD_DEVICE void multiply_rows(real (&sum)[strip][vector_width], const real* a, const real* b, int leading, const double* pivots,
                                  int depth) {
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
        real x[vector_width], y[strip / vector_width][vector_width];
        load_vector(x, a + k * leading);
#pragma unroll
        for (int q = 0; q < strip / vector_width; ++q) load_vector(y[q], b + q * vector_width + k * leading);
#pragma unroll
        for (int c = 0; c < strip; ++c)
#pragma unroll
            for (int v = 0; v < vector_width; ++v)
                sum[c][v] += by_sign(Sign < 0 ? -x[v] : x[v], pivots, k) * y[c / vector_width][c % vector_width];
    }
}

/* part[c][q] += the product of `Depth` columns of the q-th vector of rows of a, `apart` from one to the next, and row c of b. `negative`
 * has a bit for each column whose pivot is. */
template <int Depth, int Columns, int Rows>
TRIFOLD_DEVICE void multiply_strips(real (&part)[Columns][Rows][vector_width], const real* a, int apart, int a_leading, const real* b,
                                    int b_leading, unsigned negative = 0) {
#pragma unroll 4
    for (int k = 0; k < Depth; ++k) {
        real x[Rows][vector_width], y[Columns / vector_width][vector_width];
#pragma unroll
        for (int q = 0; q < Rows; ++q) load_vector(x[q], a + q * apart + k * a_leading);
#pragma unroll
        for (int q = 0; q < Columns / vector_width; ++q) load_vector(y[q], b + q * vector_width + k * b_leading);
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
            if constexpr (has_signs)
                y[c / vector_width][c % vector_width] = by_bit(y[c / vector_width][c % vector_width], negative >> k, 0);
#pragma unroll
            for (int q = 0; q < Rows; ++q)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) part[c][q][v] += x[q][v] * y[c / vector_width][c % vector_width];
        }
    }
}

/* part[c][q ..] += columns rows, for c below tensor_columns and the q-th product of a lane's results. */
template <int Rows, int Quads>
TRIFOLD_DEVICE void multiply_part(real (*part)[Rows][2], int q, const real (&columns)[tensor_columns][Quads], const real (&rows)[Quads]) {
    real sum[tensor_columns][tensor_vectors][2];
#pragma unroll
    for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
        for (int v = 0; v < tensor_vectors; ++v)
#pragma unroll
            for (int k = 0; k < 2; ++k) sum[c][v][k] = part[c][q * tensor_vectors + v][k];
    tensor_multiply<Quads>(sum, columns, rows);
#pragma unroll
    for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
        for (int v = 0; v < tensor_vectors; ++v)
#pragma unroll
            for (int k = 0; k < 2; ++k) part[c][q * tensor_vectors + v][k] = sum[c][v][k];
}

/* A warp's square: element (square_row(q) + v, square_column(c)) at [c][q][v]. Halves that do not exist repeat the first,
 * and their results are not used. */
constexpr int square_vectors = 16 / tensor_rows * tensor_vectors;
struct Square {
    real at[tensor_columns][square_vectors][2];
};
TRIFOLD_DEVICE int square_row(int q) { return q / tensor_vectors * tensor_rows + result_row(q % tensor_vectors); }
TRIFOLD_DEVICE int square_column(int c) { return c * 8 + tensor_column(); }
/* The first of the 8 rows or columns that exist together. */
TRIFOLD_DEVICE int first_of_eight(int line) { return line & ~7; }

/* square += A B' over `depth` columns, a multiple of 4, in steps of 4 Quads, zeros beyond. `a` and `b` are the first rows. All
 * lanes take the same steps, and see that they do. `b_leading` is 0 where B lies as A does. */
template <int Quads, class S>
TRIFOLD_DEVICE void multiply_square(S& square, const real* a, const real* b, bool two_rows, bool two_columns, int leading, int depth,
                                    const double* pivots = nullptr, int b_leading = 0) {
    if (b_leading == 0) b_leading = leading;
    a += (two_rows ? tensor_row() : tensor_row() % 8) + tensor_depth() * leading;
    b += (two_columns ? tensor_column() : tensor_column() % 8) + tensor_depth() * b_leading;
    const int next_a = two_rows ? tensor_rows : 0, next_b = two_columns ? 8 : 0;
#pragma unroll 2
    for (int k = 0; k < depth; k += 4 * Quads) {
        real columns[tensor_columns][Quads], rows[16 / tensor_rows][Quads];
#pragma unroll
        for (int i = 0; i < Quads; ++i) {
            const bool inside = k + 4 * i < depth;
            const int at = (k + 4 * i) * leading, b_at = (k + 4 * i) * b_leading;
#pragma unroll
            for (int c = 0; c < tensor_columns; ++c) columns[c][i] = inside ? b[b_at + c * next_b] : real(0);
#pragma unroll
            for (int q = 0; q < 16 / tensor_rows; ++q) rows[q][i] = inside ? a[at + q * next_a] : real(0);
            if (pivots == nullptr || !inside) continue;
#pragma unroll
            for (int c = 0; c < tensor_columns; ++c) columns[c][i] = by_sign(columns[c][i], pivots, k + 4 * i + tensor_depth());
        }
#pragma unroll
        for (int q = 0; q < 16 / tensor_rows; ++q) multiply_part(square.at, q, columns, rows[q]);
    }
}

/* use(sum, r, c) for every vector of rows r .. in column c of A B', where A and B are `padded` panel rows from a and b on;
 * the lower part, and perhaps more of the tiles on the diagonal, only where so asked. */
template <class Use>
TRIFOLD_DEVICE void multiply_panels(const real* panel, int leading, const double* pivots, int a, int b, bool lower, const Use& use) {
    if constexpr (use_tensor && padded >= 8) {
        int unit = thread_index() / warp_lanes;
#pragma unroll 1
        for (int column = 0; column < padded; column += 16) {
            const int first = lower ? column : 0, units = (padded - first + 15) / 16;
#pragma unroll 1
            for (; unit < units; unit += threads / warp_lanes) {
                const int row = first + unit * 16;
                Square square{};
                multiply_square<4>(square, panel + a + row, panel + b + column, row + 8 < padded, column + 8 < padded, leading, padded,
                                   pivots);
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
                    for (int q = 0; q < square_vectors; ++q)
                        if (row + first_of_eight(square_row(q)) < padded && column + first_of_eight(square_column(c)) < padded)
                            use(square.at[c][q], row + square_row(q), column + square_column(c));
            }
            unit -= units;
        }
    } else {
        int unit = thread_index();
#pragma unroll 1
        for (int column = 0; column < padded; column += strip) {
            const int first = lower ? column : 0, units = (padded - first) / vector_width;
#pragma unroll 1
            for (; unit < units; unit += threads) {
                real sum[strip][vector_width] = {};
                const int row = first + unit * vector_width;
                multiply_rows<1>(sum, panel + a + row, panel + b + column, leading, pivots, padded);
#pragma unroll
                for (int c = 0; c < strip; ++c) use(sum[c], row, column + c);
            }
            unit -= units;
        }
    }
}

/* Columns j .. j + 7 eliminated from everything right of them, but for the next diagonal tile, which the first warp has.
 * The other warps share the work; `rows` is a multiple of 8. */
TRIFOLD_DEVICE void update_trailing(real* panel, int leading, const double* pivots, int j, int size, int rows) {
    if constexpr (use_tensor) {
        int unit = thread_index() / warp_lanes - 1;
#pragma unroll 1
        for (int column = j + 8; column < size; column += 16) {
            const int units = (rows - column + 15) / 16;
#pragma unroll 1
            for (; unit < units; unit += threads / warp_lanes - 1) {
                const int row = column + unit * 16;
                Square square{};
                multiply_square<2>(square, panel + row + j * leading, panel + column + j * leading, row + 8 < rows, column + 8 < size,
                                   leading, 8, pivots + j);
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
                    for (int q = 0; q < square_vectors; ++q) {
                        const int r = row + first_of_eight(square_row(q)), s = column + first_of_eight(square_column(c));
                        if (r >= rows || s >= size || r < s || (r == j + 8 && s == j + 8)) continue;
                        real v[vector_width];
                        real* at = panel + row + square_row(q) + (column + square_column(c)) * leading;
                        load_vector(v, at);
#pragma unroll
                        for (int k = 0; k < vector_width; ++k) v[k] -= square.at[c][q][k];
                        store_vector(at, v);
                    }
            }
            unit -= units;
        }
    } else {
        int unit = thread_index() - warp_lanes;
#pragma unroll 1
        for (int column = j + 8; column < size; column += 8) {
            const int first = column == j + 8 ? column + 8 : column, units = (rows - first) / vector_width;
#pragma unroll 1
            for (; unit < units; unit += threads - warp_lanes) {
                real sum[strip][vector_width];
                real* at = panel + first + unit * vector_width + column * leading;
#pragma unroll
                for (int k = 0; k < strip; ++k) load_vector(sum[k], at + k * leading);
                multiply_rows<-1>(sum, panel + first + unit * vector_width + j * leading, panel + column + j * leading, leading, pivots + j,
                                  8);
#pragma unroll
                for (int k = 0; k < strip; ++k) store_vector(at + k * leading, sum[k]);
            }
            unit -= units;
        }
    }
}
