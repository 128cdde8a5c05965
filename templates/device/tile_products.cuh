/* Products A B' of tiles of 64 by 64 by one thread block of four warps. Operands stand in shared memory column by column,
 * with a leading dimension of 4 modulo 16, and come there in stages by asynchronous copies. */
constexpr int tile_leading = edge + 4;
constexpr int stages = TRIFOLD_STAGES, stage_columns = edge / stages; /* copies in flight, and columns of each */
static_assert(threads == 128 && warp_lanes == 32, "four warps");

/* What a lane has of a tile. With tensor instructions a warp has 32 by 32, and a lane 4 rows by 2 columns of each 16 by 16:
 * the instruction's lines are dealt out so that a lane's operands and results are neighbours in memory. Else a warp has 16
 * columns, and a lane vectors of rows by 4 columns. */
constexpr int part_rows = use_tensor ? 4 : 8 / vector_width, part_columns = 4;

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
    /* Element (part_row(q) + v, part_column(c)) of the tile. */
    TRIFOLD_METHOD real& value(int c, int q, int v) { return use_tensor ? at[c][q / 2 * 2 + v][q % 2] : at[c][q][v]; }
};
TRIFOLD_DEVICE int part_row(int q) {
    const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
    return use_tensor ? warp % 2 * 32 + q / 2 * 16 + lane % 4 * 4 + q % 2 * 2 : (lane % 8 + q * 8) * vector_width;
}
TRIFOLD_DEVICE int part_column(int c) {
    const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
    return use_tensor ? warp / 2 * 32 + c / 2 * 16 + lane / 4 * 2 + c % 2 : warp * 16 + lane / 8 * 4 + c;
}

/* part += a b' over `Columns` columns in shared memory. */
template <int Columns, class P> /* a template, so that only one branch must make sense */
TRIFOLD_DEVICE void multiply_tiles(P& part, const real* a, const real* b) {
    const int lane = thread_index() % warp_lanes, warp = thread_index() / warp_lanes;
    if constexpr (use_tensor) {
        const real* x = a + warp % 2 * 32 + lane / 4 * 2 + lane % 4 * tile_leading;
        const real* y = b + warp / 2 * 32 + lane / 4 * 2 + lane % 4 * tile_leading;
#pragma unroll 1
        for (int k = 0; k < Columns; k += 16, x += 16 * tile_leading, y += 16 * tile_leading) {
            real columns[2][2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    real v[vector_width];
                    load_vector(v, y + c * 16 + i * 4 * tile_leading);
                    columns[c][0][i] = v[0], columns[c][1][i] = v[1];
                }
#pragma unroll
            for (int q = 0; q < 2; ++q) {
                real rows[2][4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    real v[vector_width];
                    load_vector(v, x + q * 16 + i * 4 * tile_leading);
                    rows[0][i] = v[0], rows[1][i] = v[1];
                }
#pragma unroll
                for (int c = 0; c < 2; ++c)
#pragma unroll
                    for (int f = 0; f < 2; ++f)
                        tensor_multiply<4>(part.at[2 * c][2 * q + f], part.at[2 * c + 1][2 * q + f], columns[c], rows[f]);
            }
        }
    } else {
        const real* x = a + lane % 8 * vector_width;
        const real* y = b + warp * 16 + lane / 8 * 4;
#pragma unroll 4
        for (int k = 0; k < Columns; ++k) {
            real rows[part_rows][vector_width], columns[4 / vector_width][vector_width];
#pragma unroll
            for (int q = 0; q < part_rows; ++q) load_vector(rows[q], x + q * 8 * vector_width + k * tile_leading);
#pragma unroll
            for (int q = 0; q < 4 / vector_width; ++q) load_vector(columns[q], y + q * vector_width + k * tile_leading);
#pragma unroll
            for (int c = 0; c < part_columns; ++c)
#pragma unroll
                for (int q = 0; q < part_rows; ++q)
#pragma unroll
                    for (int v = 0; v < vector_width; ++v) part.at[c][q][v] += rows[q][v] * columns[c / vector_width][c % vector_width];
        }
    }
}

/* Starts the copy of `Columns` columns of 64 rows of a block in the workspace. */
template <int Columns>
TRIFOLD_DEVICE void fetch_tile(real* to, const real* from) {
    constexpr int vectors = edge / vector_width;
#pragma unroll
    for (int u = 0; u < vectors * Columns / threads; ++u) {
        const int e = thread_index() + u * threads, r = e % vectors * vector_width, c = e / vectors;
        copy_async(to + r + c * tile_leading, from + r + c * padded);
    }
}

/* The tile to memory, column by column. */
TRIFOLD_DEVICE void store_tile(real* to, int leading, Part& part) {
#pragma unroll
    for (int c = 0; c < part_columns; ++c)
#pragma unroll
        for (int q = 0; q < part_rows; ++q) {
            real v[vector_width];
#pragma unroll
            for (int k = 0; k < vector_width; ++k) v[k] = part.value(c, q, k);
            store_vector(to + part_row(q) + part_column(c) * leading, v);
        }
}
