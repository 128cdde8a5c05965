/* Products of blocks in the workspace, by one thread block: tiles of tile_rows by 32, staged through shared memory 32
 * columns at a time. A thread has the elements (part_row(q) + v, part_column(c)) of a tile. */
constexpr int row_vectors = TRIFOLD_ROW_VECTORS;
constexpr int tile_rows = warp_lanes * vector_width * row_vectors;
constexpr int chunk = 32;
constexpr int a_leading = tile_rows + 4, b_leading = chunk + 4;
static_assert(threads == 256, "eight warps");

/* With tensor instructions a warp has a quarter of the rows and half of the columns, and a tile of 8 rows by 16 columns is
 * one instruction, transposed so that a lane's two results are neighbours in memory. Else it has four columns, and a lane
 * vectors of rows. */
constexpr int part_columns = use_tensor ? 2 : 4, part_rows = use_tensor ? tile_rows / 32 : row_vectors;
TRIFOLD_DEVICE int part_row(int q) {
    const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
    return use_tensor ? warp % 4 * (tile_rows / 4) + q * 8 + lane % 4 * 2 : (lane + q * warp_lanes) * vector_width;
}
TRIFOLD_DEVICE int part_column(int c) {
    const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
    return use_tensor ? warp / 4 * 16 + c * 8 + lane / 4 : warp * 4 + c;
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
        const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
        const real* x = a + warp % 4 * (tile_rows / 4) + lane / 4 + lane % 4 * a_leading;
        const real* y = b + warp / 4 * 16 + lane / 4 + lane % 4 * b_leading;
#pragma unroll 1
        for (int k = 0; k < chunk; k += 16) {
            real columns[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int c = 0; c < 2; ++c) columns[c][i] = y[c * 8 + (k + 4 * i) * b_leading];
#pragma unroll
            for (int q = 0; q < part_rows; ++q) {
                real rows[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) rows[i] = x[q * 8 + (k + 4 * i) * a_leading];
                tensor_multiply<4>(part.at[0][q], part.at[1][q], columns, rows);
            }
        }
    } else {
#pragma unroll 4
        for (int k = 0; k < chunk; ++k) {
            real x[part_rows][vector_width], y[part_columns / vector_width][vector_width];
#pragma unroll
            for (int q = 0; q < part_rows; ++q) load_vector(x[q], a + part_row(q) + k * a_leading);
#pragma unroll
            for (int q = 0; q < part_columns / vector_width; ++q) load_vector(y[q], b + part_column(0) + q * vector_width + k * b_leading);
#pragma unroll
            for (int c = 0; c < part_columns; ++c)
#pragma unroll
                for (int q = 0; q < part_rows; ++q)
#pragma unroll
                    for (int v = 0; v < vector_width; ++v) part.at[c][q][v] += x[q][v] * y[c / vector_width][c % vector_width];
        }
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
