/* Products of blocks in the workspace, by one thread block: tiles of tile_rows by 32, staged through shared memory 32
 * columns at a time. A warp has four columns of the tile, a lane `row_vectors` vectors of rows. */
constexpr int row_vectors = TRIFOLD_ROW_VECTORS;
constexpr int tile_rows = warp_lanes * vector_width * row_vectors;
constexpr int chunk = 32, columns_each = chunk * warp_lanes / threads;
constexpr int a_leading = tile_rows + 4, b_leading = chunk + 4;
static_assert(columns_each == 4, "eight warps");

/* One thread's part of a tile. */
struct Part {
    real at[columns_each][row_vectors][vector_width];
    TRIFOLD_METHOD void clear() {
#pragma unroll
        for (int c = 0; c < columns_each; ++c)
#pragma unroll
            for (int q = 0; q < row_vectors; ++q)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) at[c][q][v] = 0;
    }
};
TRIFOLD_DEVICE int part_row(int q) { return (thread_index() % warp_lanes + q * warp_lanes) * vector_width; }
TRIFOLD_DEVICE int part_column() { return thread_index() / warp_lanes * columns_each; }

/* part += a b' over one chunk in shared memory. */
TRIFOLD_DEVICE void multiply_chunk(Part& part, const real* a, const real* b) {
#pragma unroll 4
    for (int k = 0; k < chunk; ++k) {
        real x[row_vectors][vector_width], y[columns_each / vector_width][vector_width];
#pragma unroll
        for (int q = 0; q < row_vectors; ++q) load_vector(x[q], a + part_row(q) + k * a_leading);
#pragma unroll
        for (int q = 0; q < columns_each / vector_width; ++q) load_vector(y[q], b + part_column() + q * vector_width + k * b_leading);
#pragma unroll
        for (int c = 0; c < columns_each; ++c)
#pragma unroll
            for (int q = 0; q < row_vectors; ++q)
#pragma unroll
                for (int v = 0; v < vector_width; ++v) part.at[c][q][v] += x[q][v] * y[c / vector_width][c % vector_width];
    }
}

/* A chunk on its way from the workspace to shared memory, `Rows` rows of which the first `rows` exist. */
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
    TRIFOLD_METHOD void put(real* to, int leading) const {
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int e = thread_index() + u * threads;
            store_vector(to + e % vectors * vector_width + e / vectors * leading, held[u]);
        }
    }
};

/* part += a b' over `depth` columns of two blocks in the workspace; `rows` rows of a exist, 32 of b. The next chunk is
 * fetched while one is multiplied. Ends with shared memory free. */
TRIFOLD_DEVICE void multiply_blocks(Part& part, real* a_shared, real* b_shared, const real* a, const real* b, int depth, int rows) {
    if (depth == 0) return;
    Chunk<tile_rows> next_a;
    Chunk<chunk> next_b;
    next_a.fetch(a, rows);
    next_b.fetch(b, chunk);
#pragma unroll 1
    for (int k = 0; k < depth; k += chunk) {
        next_a.put(a_shared, a_leading);
        next_b.put(b_shared, b_leading);
        block_sync();
        if (k + chunk < depth) {
            next_a.fetch(a + static_cast<trifold_int>(k + chunk) * padded, rows);
            next_b.fetch(b + static_cast<trifold_int>(k + chunk) * padded, chunk);
        }
        multiply_chunk(part, a_shared, b_shared);
        block_sync();
    }
}
