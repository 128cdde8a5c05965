/* Products of blocks in the workspace, by one thread block: tiles of tile_rows by 32, staged through shared memory 32
 * columns at a time. A thread has the elements (part_row(q) + v, part_column(c)) of a tile. */
#include "gpu/tridiagonal/tiled/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/tiled/shared.h"
#include "gpu/tridiagonal/dense/products.cuh"

static_assert(threads == 256, "eight times 32");

/* With tensor instructions a warp has half of the columns, and shares the rows with the other warps of these columns. Otherwise 32 threads
 * have four columns, and each of them vectors of rows. */
constexpr int row_warps = threads / warp_lanes / 2, warp_rows = tile_rows / row_warps;
constexpr int part_columns = use_tensor ? tensor_columns : 4,
              part_rows = use_tensor ? warp_rows / tensor_rows * tensor_vectors : row_vectors;
TRIFOLD_DEVICE int part_row(int q) {
    const int warp = thread_index() / warp_lanes;
    return use_tensor ? warp % row_warps * warp_rows + q / tensor_vectors * tensor_rows + result_row(q % tensor_vectors)
                      : (thread_index() % 32 + q * 32) * vector_width;
}
TRIFOLD_DEVICE int part_column(int c) {
    const int warp = thread_index() / warp_lanes;
    return use_tensor ? warp / row_warps * 16 + c * 8 + tensor_column() : thread_index() / 32 * 4 + c;
}

struct Part {
    real at[part_columns][part_rows][vector_width];
    TRIFOLD_METHOD void clear() {
#pragma unroll
        for (int c = 0; c < part_columns; ++c)
#pragma unroll
            for (int q = 0; q < part_rows; ++q)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) at[c][q][v] = 0;
    }
};

/* part += a b' over one chunk in shared memory. */
template <class P> /* a template, so that only one branch must make sense */
TRIFOLD_DEVICE void multiply_chunk(P& part, const real* a, const real* b) {
    if constexpr (use_tensor) {
        const int warp = thread_index() / warp_lanes;
        const real* x = a + warp % row_warps * warp_rows + tensor_row() + tensor_depth() * a_leading;
        const real* y = b + warp / row_warps * 16 + tensor_column() + tensor_depth() * b_leading;
#pragma unroll 1
        for (int k = 0; k < chunk; k += 16) {
            real columns[tensor_columns][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c) columns[c][i] = y[c * 8 + (k + 4 * i) * b_leading];
#pragma unroll
            for (int q = 0; q < warp_rows / tensor_rows; ++q) {
                real rows[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) rows[i] = x[q * tensor_rows + (k + 4 * i) * a_leading];
                multiply_part(part.at, q, columns, rows);
            }
        }
    } else {
        multiply_strips<chunk>(part.at, a + part_row(0), 32 * vector_width, a_leading, b + part_column(0), b_leading);
    }
}

/* A chunk that is copied from the workspace to shared memory, `Rows` rows of which the first `rows` exist. */
template <int Rows>
struct Chunk {
    static constexpr int vectors = Rows / vector_width, each = vectors * chunk / threads;
    real held[each][vector_width];
    TRIFOLD_METHOD void fetch(const real* from, int rows) {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int e = thread_index() + u * threads, r = e % vectors * vector_width;
#pragma unroll
            for (int v = 0; v < vector_width; ++v) held[u][v] = 0;
            if (r < rows) load_vector(held[u], from + r + e / vectors * padded);
        }
    }
    TRIFOLD_METHOD void by_signs(const double* pivots) {
#pragma unroll
        for (int u = 0; u < each; ++u)
#pragma unroll
            for (int v = 0; v < vector_width; ++v) held[u][v] = by_sign(held[u][v], pivots, (thread_index() + u * threads) / vectors);
    }
    TRIFOLD_METHOD void put(real* to, int leading) const {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int e = thread_index() + u * threads;
            store_vector(to + e % vectors * vector_width + e / vectors * leading, held[u]);
        }
    }
};

/* part += a b' over `depth` columns of two blocks in the workspace, by the signs of the front's pivots; `rows` rows of a exist, 32 of b.
 * The next chunk is fetched while one is multiplied. Ends with shared memory free. */
TRIFOLD_DEVICE void multiply_blocks(Part& part, FrontShared& shared, const real* a, const real* b, int depth, int rows) {
    if (depth == 0) return;
    Chunk<tile_rows> next_a;
    Chunk<chunk> next_b;
    next_a.fetch(a, rows);
    next_b.fetch(b, chunk);
#pragma unroll 1
    for (int k = 0; k < depth; k += chunk) {
        next_b.by_signs(shared.diagonal + k);
        next_a.put(shared.a, a_leading);
        next_b.put(shared.b, b_leading);
        block_sync();
        if (k + chunk < depth) {
            next_a.fetch(a + static_cast<trifold_int>(k + chunk) * padded, rows);
            next_b.fetch(b + static_cast<trifold_int>(k + chunk) * padded, chunk);
        }
        multiply_chunk(part, shared.a, shared.b);
        block_sync();
    }
}
