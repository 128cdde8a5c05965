/* Single precision by tensor instructions of half precision. A number is the sum of two halves, of eleven digits each, which take the place
 * of its four bytes. Rows of the factors are scaled by powers of two, so that no number is too small or too large for halves: the squares
 * of a row sum up to its diagonal element. A row has four chunks of 16 bytes for 16 columns: the first halves of eight columns, those of
 * the next eight, and then their last halves. */
#include "gpu/tridiagonal/tiles/tile_products.cuh"

constexpr bool use_halves = half_panels > 0;
#if TRIFOLD_HALF_PANELS > 0 /* not every platform has instructions for halves */
/* The place of a chunk of row r in the group of columns from c on. The chunks of two rows are stored together, in an order that differs
 * from row to row. */
TRIFOLD_DEVICE int place_of_chunk(int r, int c, int chunk) {
    return c / 16 * (16 * edge) + r / 2 * 32 + ((r % 2 * 4 + chunk) ^ (r / 4 % 8)) * 4;
}

/* part += a b' over columns of halves in shared memory, a multiple of 16. */
TRIFOLD_DEVICE void multiply_halves(Part& part, const float* a, const float* b, int columns) {
    const int thread = thread_afresh(), line = thread % 8, matrix = thread % warp_lanes / 8;
    const int row = warp_row(thread) + vector_of_line(line) * 4, column = warp_column(thread) + line * 4 + matrix % 2;
#pragma unroll 1
    for (int k = 0; k < columns; k += 16, a += 16 * edge, b += 16 * edge) {
        unsigned x[4][4], first[2][4], last[2][4];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            load_matrices(first[c], b + place_of_chunk(column + 2 * c, 0, matrix / 2));
            load_matrices(last[c], b + place_of_chunk(column + 2 * c, 0, 2 + matrix / 2));
        }
#pragma unroll
        for (int f = 0; f < 4; ++f) load_matrices(x[f], a + place_of_chunk(row + f, 0, matrix));
#pragma unroll
        for (int f = 0; f < 4; ++f)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                float sum[4] = {}; /* a sum of its own, because these instructions do not round sums but truncate them */
                const unsigned first_x[2] = {x[f][0], x[f][1]}, last_x[2] = {x[f][2], x[f][3]};
                tensor_multiply(sum, last[c], first_x);
                tensor_multiply(sum, first[c], last_x);
                tensor_multiply(sum, first[c], first_x);
#pragma unroll
                for (int v = 0; v < 4; ++v) part.at[2 * c + v / 2][f][v % 2] += sum[v];
            }
    }
}

/* The scale of a row with this diagonal element of the original. Its scaled numbers are below 2^14. */
TRIFOLD_DEVICE float scale_of(float diagonal) {
    unsigned bits = 0;
    copy_bits(bits, diagonal);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127, half = (exponent + 128) / 2 - 63; /* diagonal < 4^half */
    bits = diagonal > 0 && exponent < 128 ? static_cast<unsigned>(127 + 14 - half) << 23 : 127u << 23;
    float scale = 0;
    copy_bits(scale, bits);
    return scale;
}

/* 1 / s for such a power of two. */
TRIFOLD_DEVICE float inverse_scale(float scale) {
    unsigned bits = 0;
    copy_bits(bits, scale);
    bits = (254u << 23) - bits;
    copy_bits(scale, bits);
    return scale;
}

/* Multiplies each element of `part` by by_row(its row's scale) and by_column(its column's scale). */
template <class ByRow, class ByColumn>
TRIFOLD_DEVICE void scale_part(Part& part, const float* rows, const float* columns, const ByRow& by_row, const ByColumn& by_column) {
    const int thread = thread_afresh();
#pragma unroll
    for (int q = 0; q < part_rows; ++q)
#pragma unroll
        for (int v = 0; v < vector_width; ++v)
#pragma unroll
            for (int c = 0; c < part_columns; ++c)
                part.value(c, q, v) =
                    part.value(c, q, v) * by_row(rows[part_row(thread, q) + v]) * by_column(columns[part_column(thread, c)]);
}
/* Turns the original into the start of a sum of products: negates it, and multiplies rows and columns by their scales. end_sums takes the
 * scales back. */
TRIFOLD_DEVICE void start_sums(Part& part, const float* rows, const float* columns) {
    scale_part(part, rows, columns, [](float scale) { return -scale; }, [](float scale) { return scale; });
}
TRIFOLD_DEVICE void end_sums(Part& part, const float* rows, const float* columns) {
    scale_part(part, rows, columns, inverse_scale, inverse_scale);
}

/* The tile as halves, rows scaled. A lane has half of two chunks, first and last halves; its neighbour in columns has the others. */
TRIFOLD_DEVICE void store_halves(float* to, Part& part, const float* rows) {
    const int thread = thread_afresh(), column = part_column(thread, 0), chunk = column % 16 / 8;
    to += column % 8 / 2;
#pragma unroll
    for (int q = 0; q < part_rows; ++q) {
        const int row = part_row(thread, q);
        float scales[vector_width];
        load_vector(scales, rows + row);
#pragma unroll
        for (int v = 0; v < vector_width; ++v) {
            unsigned first[2], last[2];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const float x = part.value(2 * k, q, v) * scales[v], y = part.value(2 * k + 1, q, v) * scales[v];
                first[k] = pack_halves(x, y);
                last[k] = pack_halves(x - half_of(first[k], false), y - half_of(first[k], true));
            }
            store_pair(to + place_of_chunk(row + v % 2, column, chunk) + v / 2 * 32, first);
            store_pair(to + place_of_chunk(row + v % 2, column, chunk + 2) + v / 2 * 32, last);
        }
    }
}

/* The product of operands that came in a stage. */
TRIFOLD_DEVICE void multiply_stage(Part& part, const float* a, const float* b, unsigned) { multiply_halves(part, a, b, stage_columns); }
#else
TRIFOLD_DEVICE float scale_of(real) { return 1; }
TRIFOLD_DEVICE void start_sums(Part& part, const float*, const float*) { part.negate(); }
TRIFOLD_DEVICE void end_sums(Part&, const float*, const float*) {}
TRIFOLD_DEVICE void store_halves(real*, Part&, const float*) {}
TRIFOLD_DEVICE void multiply_stage(Part& part, const real* a, const real* b, unsigned negative) {
    multiply_tiles(part, a, b, stage_columns, negative);
}
#endif
