/* Products A B' of tiles by one thread block, a warp for every 16 rows. Operands come to shared memory in stages, some columns of A and
 * then as many of B, by copies of whole ranges that one thread starts, or where there are none, by asynchronous copies of all threads. */
#include "gpu/tridiagonal/dense/products.cuh"
#include "gpu/tridiagonal/tiles/tasks.cuh"

constexpr int tile_size = edge * edge, stage_size = edge * stage_columns; /* the latter of each operand */
constexpr int warps = threads / warp_lanes;
static_assert(warps * 16 == edge && warps * warp_lanes == threads, "a warp for every 16 rows");

/* A lane's part of a tile: vectors of rows by some columns. With tensor instructions a warp has 32 rows by half of the columns. The lines
 * of several instructions are shared out so that a lane's operands, a vector with a line of each, and its results are neighbours in memory.
 * Otherwise a warp has 16 columns. */
constexpr int warp_columns = edge / 2, row_lanes = warp_lanes / 4;
constexpr int row_lines = tensor_rows == 8 ? vector_width : 1, column_lines = tensor_columns == 2 ? vector_width : 1;
constexpr int part_rows = use_tensor ? 8 / vector_width : edge / row_lanes / vector_width;
constexpr int part_columns = use_tensor ? warp_columns / 16 * tensor_columns : 4;

struct Part {
    static constexpr int depth = use_tensor ? 4 : part_rows, width = use_tensor ? 2 : vector_width;
    real at[part_columns][depth][width];
    template <class Use>
    TRIFOLD_METHOD void each(const Use& use) {
        each_index<part_columns, depth, width>([&](int c, int q, int v) { use(at[c][q][v]); });
    }
    TRIFOLD_METHOD void clear() {
        each([](real& value) { value = 0; });
    }
    TRIFOLD_METHOD void negate() {
        each([](real& value) { value = -value; });
    }
    /* Element (part_row(q) + v, part_column(c)) of the tile. */
    TRIFOLD_METHOD real& value(int c, int q, int v) {
        return use_tensor && row_lines > 1 ? at[c][q / 2 * row_lines + v][q % 2] : at[c][q][v];
    }
};
/* The thread's number. Kernels of single precision are short of registers, so there numbers that follow from it are computed again at each
 * use. */
TRIFOLD_DEVICE int own_thread() { return sizeof(real) == 4 ? thread_afresh() : thread_index(); }
TRIFOLD_DEVICE int warp_row(int thread) { return thread / warp_lanes % (edge / 32) * 32; }
TRIFOLD_DEVICE int warp_column(int thread) { return thread / warp_lanes / (edge / 32) * warp_columns; }
/* The vector, of eight, that line k of an instruction has, if several lines make a vector. With this order a lane's first results and those
 * of its neighbours are neighbours in memory, which is written in whole pieces of 32 bytes, and operands are free of bank conflicts. */
TRIFOLD_DEVICE int vector_of_line(int k) { return row_lines > 1 ? (k / 2) ^ (k % 2 * 5) : k; }
TRIFOLD_DEVICE int part_row(int thread, int q) {
    const int lane = thread % warp_lanes;
    if (!use_tensor) return (lane % row_lanes + q * row_lanes) * vector_width;
    if (row_lines == 1) return warp_row(thread) + q / 2 * tensor_rows + result_row(0, thread) + q % 2 * vector_width;
    return warp_row(thread) + (q / 2 * tensor_rows + vector_of_line(result_row(0, thread) + q % 2)) * row_lines;
}
TRIFOLD_DEVICE int part_column(int thread, int c) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    return use_tensor
               ? warp_column(thread) + (c / column_lines * (16 / tensor_columns) + tensor_column(thread)) * column_lines + c % column_lines
               : warp * 16 + lane / row_lanes * 4 + c;
}

/* use(value, r, c) for every element of a thread's part. */
template <class Use>
TRIFOLD_DEVICE void each_element(Part& part, const Use& use) {
    const int thread = own_thread();
    each_index<part_columns, part_rows, vector_width>(
        [&](int c, int q, int v) { use(part.value(c, q, v), part_row(thread, q) + v, part_column(thread, c)); });
}

/* Columns of an instruction, in quads: in double precision few, so that operands of the next are in flight while these are multiplied;
 * in single precision as many as have sums of their own. */
constexpr int quads = sizeof(real) == 8 ? 2 : 4, step_columns = 4 * quads;

/* A lane's neighbours of an operand, 4 columns apart. */
template <int Lines>
TRIFOLD_DEVICE void load_lines(real (&lines)[Lines][quads], const real* from) {
#pragma unroll
    for (int i = 0; i < quads; ++i, from += 4 * edge) {
        real v[Lines] = {*from};
        if constexpr (Lines == vector_width) load_vector(v, from);
#pragma unroll
        for (int k = 0; k < Lines; ++k) lines[k][i] = v[k];
    }
}

/* A lane's operands of a step. */
template <class T> /* a template, so that it need not make sense without tensor instructions */
struct Operands {
    static constexpr int squares = warp_columns / 16, vectors = 32 / tensor_rows / row_lines;
    T columns[squares][tensor_columns][quads], rows[vectors][row_lines][quads];

    /* `negative` has a bit for each column whose pivot is, from the lane's first one on. */
    TRIFOLD_METHOD void load(const T* a, const T* b, unsigned negative) {
#pragma unroll
        for (int c = 0; c < part_columns; c += column_lines) {
            T lines[column_lines][quads];
            load_lines(lines, b + c * (16 / tensor_columns));
#pragma unroll
            for (int k = 0; k < column_lines; ++k)
#pragma unroll
                for (int i = 0; i < quads; ++i)
                    columns[(c + k) / tensor_columns][(c + k) % tensor_columns][i] = by_bit(lines[k][i], negative, 4 * i);
        }
#pragma unroll
        for (int q = 0; q < vectors; ++q) load_lines(rows[q], a + q * row_lines * tensor_rows);
    }

    /* part += the product. */
    template <class P>
    TRIFOLD_METHOD void multiply(P& part) const {
#pragma unroll
        for (int q = 0; q < vectors; ++q)
#pragma unroll
            for (int c = 0; c < squares; ++c)
#pragma unroll
                for (int f = 0; f < row_lines; ++f) multiply_part(part.at + c * tensor_columns, q * row_lines + f, columns[c], rows[q][f]);
    }
};

/* part += a S b' over columns in shared memory, a multiple of 16. S has -1 where `negative` has a bit. */
template <class P> /* a template, so that only one branch must make sense */
TRIFOLD_DEVICE void multiply_tiles(P& part, const real* a, const real* b, int columns, unsigned negative = 0) {
    if constexpr (use_tensor) {
        const int thread = own_thread();
        const real* x = a + place_in_tile(warp_row(thread) + vector_of_line(tensor_row(thread)) * row_lines, tensor_depth(thread));
        const real* y = b + place_in_tile(warp_column(thread) + tensor_column(thread) * column_lines, tensor_depth(thread));
        unsigned own = negative >> tensor_depth(thread);
        constexpr int together = 16 / step_columns; /* steps whose operands are loaded before the first is multiplied */
#pragma unroll 1
        for (int k = 0; k < columns; k += 16, x += 16 * edge, y += 16 * edge, own >>= 16) {
            Operands<real> operands[together];
#pragma unroll
            for (int s = 0; s < together; ++s)
                operands[s].load(x + s * step_columns * edge, y + s * step_columns * edge, own >> s * step_columns);
#pragma unroll
            for (int s = 0; s < together; ++s) operands[s].multiply(part);
        }
    } else {
        const int thread = own_thread();
#pragma unroll 1
        for (int k = 0; k < columns; k += 16, negative >>= 16)
            multiply_strips<16>(part.at, a + part_row(thread, 0) + k * edge, row_lanes * vector_width, edge,
                                b + part_column(thread, 0) + k * edge, edge, negative);
    }
}

/* part times S, of which `negative` has a bit where it is -1. */
TRIFOLD_DEVICE void turn_columns(Part& part, trifold_int negative) {
    const int thread = own_thread();
    each_index<part_columns, part_rows, vector_width>([&](int c, int q, int v) {
        real& value = part.value(c, q, v);
        value = by_bit(value, static_cast<unsigned>(negative >> part_column(thread, c)), 0);
    });
}

/* Starts the copy of some columns of a tile, by all threads. */
template <int Columns>
TRIFOLD_DEVICE void fetch_columns(real* to, const real* from) {
#pragma unroll
    for (int u = 0; u < edge * Columns / vector_width / threads; ++u) {
        const int e = (thread_index() + u * threads) * vector_width;
        copy_async(to + e, from + e);
    }
}

/* The tile to device memory, or with Sign -1 what is to be subtracted from nothing to shared memory, column by column: element (r, c) to
 * to[place(r, c)]. */
template <int Sign, class Place>
TRIFOLD_DEVICE void store_tile(real* to, Part& part, const Place& place) {
    const int thread = own_thread();
#pragma unroll
    for (int c = 0; c < part_columns; ++c)
#pragma unroll
        for (int q = 0; q < part_rows; ++q) {
            real v[vector_width];
#pragma unroll
            for (int k = 0; k < vector_width; ++k) v[k] = Sign * part.value(c, q, k);
            real* at = to + place(part_row(thread, q), part_column(thread, c));
            if (Sign > 0)
                store_global(at, v);
            else
                store_vector(at, v);
        }
}
