/* The state of a front while a thread block factors it, and products of its rows by warps. */
#include "gpu/tridiagonal/dataflow/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dataflow/shared.h"
#include "gpu/tridiagonal/dense/pivots.cuh"

constexpr int pivot_warps = tiles < 2 ? tiles : 2;
constexpr int stacked_rows = 2 * padded, stacked_warps = (stacked_rows + warp_lanes - 1) / warp_lanes;
constexpr int warps = pivot_warps + stacked_warps;
constexpr int strip_columns = use_tensor ? tensor_rows : warp_lanes / 4; /* a warp multiplies bands of 16 rows by strips of these */
constexpr int strips = padded / strip_columns;
static_assert(padded % strip_columns == 0, "strips are whole, bands may lack their second half");
constexpr int lower_squares = bands * (bands + 1) / 2;
static_assert(threads == warps * warp_lanes && padded >= 8, "host and device disagree");

/* The stack keeps [R; G] in registers if results of tensor instructions can be operands of others as they are. In single precision too
 * these are sums in double precision, made by the same instructions. Otherwise a lane has a row. */
constexpr bool ends_sweep = in_registers && overlaps; /* the last front begins the backward sweep */
template <bool Wide>
struct ProductOf {
    typedef double type;
};
template <>
struct ProductOf<false> {
    typedef real type;
};
typedef ProductOf<in_registers>::type product;

/* R of the front to the left and G of the one to the right come into places of their own, or where they find no room, into the
 * rows of [R; G] before those are needed. */
constexpr int pulled_leading = has_room ? lower_leading : stacked_leading;

/* Named barriers from `first` on, at each of which `party` threads meet: tile t is there for the stack, its pivots' warp only arrives; the
 * warps of the stack have met; a tile is there for the next, even ones and odd ones, so that the pivots' warps need not wait for a stack
 * that is late. Where there are messages: the pivots' warps have their part of a tile; they and, waiting, the stack's have tile t; the
 * stack's have pulled what D takes from other fronts, for which the pivots' wait. */
struct Barriers {
    int first, count, party;
};
constexpr Barriers tile_barriers{1, tiles, (1 + stacked_warps) * warp_lanes}, stack_barrier{1 + tiles, 1, stacked_warps* warp_lanes},
    pivot_barriers{2 + tiles, 2, 2 * warp_lanes}, part_barrier{4 + tiles, has_messages ? 1 : 0, pivot_warps* warp_lanes},
    message_barriers{5 + tiles, has_messages ? tiles : 0, threads}, pulled_barrier{5 + 2 * tiles, has_messages ? 1 : 0, threads};
constexpr int barriers = pulled_barrier.count > 0 ? pulled_barrier.first + pulled_barrier.count : part_barrier.first;

/* A thread's number in its front. With every wave, a thread block a multiprocessor, the warps change parts, or the fronts of a
 * multiprocessor would all have their pivots on the same schedulers. */
TRIFOLD_DEVICE int front_thread() {
    const int turn = in_registers ? static_cast<int>(group_x()) / multiprocessors % warps * warp_lanes : 0;
    return (thread_index() + turn) % threads;
}

TRIFOLD_DEVICE real* left_of(FrontShared& shared) { return has_room ? shared.pulled : shared.stacked; }
TRIFOLD_DEVICE real* right_of(FrontShared& shared) { return has_room ? shared.pulled + lower_leading * padded : shared.stacked + padded; }
/* The inverse of diagonal tile t, row-major, a row every `lower_leading` elements. */
TRIFOLD_DEVICE real* inverse_of(FrontShared& shared, int t) {
    return inverse_apart ? shared.inverse + t * 8 : shared.lower + t * 8 * (lower_leading + 1);
}

/* Clears the counts of arrivals, before the first front of a thread block. The claim's barrier makes this visible. */
TRIFOLD_DEVICE void start_barriers() {
    static_assert(barriers <= 16, "as many as there are");
    if (thread_index() < 16) static_cast<FrontShared*>(shared_memory())->arrivals[thread_index()] = 0;
}
TRIFOLD_DEVICE void meet(FrontShared& shared, Barriers at, int k = 0) { named_sync(shared.arrivals[at.first + k], at.first + k, at.party); }
TRIFOLD_DEVICE void arrive(FrontShared& shared, Barriers at, int k) { named_arrive(shared.arrivals[at.first + k], at.first + k, at.party); }

/* A warp's product of a band and a strip, four elements a lane: by tensor instructions as they come, else four rows. */
struct Patch {
    product at[tensor_columns][tensor_vectors][2];
};
static_assert(tensor_columns * tensor_vectors == 2, "four elements a lane");
template <class P>
TRIFOLD_DEVICE auto& element(P& patch, int k) {
    return patch.at[k / 2 / tensor_vectors][k / 2 % tensor_vectors][k % 2];
}
TRIFOLD_DEVICE int patch_row(int k) { return use_tensor ? k / 2 / tensor_vectors * 8 + tensor_column() : thread_index() % 4 * 4 + k; }
TRIFOLD_DEVICE int patch_column(int k) { return use_tensor ? result_row(k / 2 % tensor_vectors) + k % 2 : thread_index() % warp_lanes / 4; }

/* patches += Sign times the band at `a` times the strips from `b` on, which have marks, over `depth` columns. Strips from `count` on do not
 * exist. A strip's results beyond `Columns` columns are not used. If a band is half padding (not `whole`), its first half is taken twice,
 * and the second result is not used. */
template <int Sign, int Quads, int Columns, int Strips>
TRIFOLD_DEVICE void multiply_band(Patch (&patches)[Strips], const real* a, int a_leading, const real* b, int b_leading, bool whole,
                                  int count, int depth) {
    if constexpr (use_tensor) {
        a += (whole ? tensor_column() : tensor_column() % 8) + tensor_depth() * a_leading,
            b += tensor_row() % Columns + tensor_depth() * b_leading;
        const int second = whole ? 8 : 0;
#pragma unroll 2
        for (int k = 0; k < depth; k += 4 * Quads) {
            product lines[tensor_columns][Quads];
#pragma unroll
            for (int i = 0; i < Quads; ++i)
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c) lines[c][i] = static_cast<product>(Sign * a[(k + 4 * i) * a_leading + c * second]);
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                if (strip >= count) continue;
                product others[Quads];
#pragma unroll
                for (int i = 0; i < Quads; ++i) others[i] = static_cast<product>(turned(b[strip * Columns + (k + 4 * i) * b_leading]));
                tensor_multiply<Quads>(patches[strip].at, lines, others);
            }
        }
    } else {
        a += whole ? thread_index() % 4 * 4 : thread_index() % 2 * 4, b += thread_index() % warp_lanes / 4;
#pragma unroll 4
        for (int k = 0; k < depth; ++k) {
            real line[4 / vector_width][vector_width];
#pragma unroll
            for (int v = 0; v < 4 / vector_width; ++v) load_vector(line[v], a + v * vector_width + k * a_leading);
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                const real other = strip < count ? Sign * turned(b[strip * Columns + k * b_leading]) : real(0);
#pragma unroll
                for (int v = 0; v < 4; ++v) element(patches[strip], v) += line[v / vector_width][v % vector_width] * other;
            }
        }
    }
}
constexpr int block_quads = has_room && padded % 16 == 0 ? 4 : 2; /* the largest blocks need the registers */

/* use(value, r, c) for the elements of the patch at (row, column) that lie within a block. */
template <class Use>
TRIFOLD_DEVICE void each_element(const Patch& patch, int row, int column, const Use& use) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int r = row + patch_row(k), c = column + patch_column(k);
        if (padded % 16 == 0 || (r < padded && c < padded)) use(static_cast<real>(element(patch, k)), r, c);
    }
}

/* Copies that a thread starts together: more, where their addresses take no registers that the stack needs. */
constexpr int copies_together = in_registers ? 2 : 4, lines_together = in_registers ? 4 : 1;

/* Starts the copy of a block of the workspace, by `workers` threads together. */
TRIFOLD_DEVICE void copy_block(real* to, int leading, const real* from, int worker = front_thread(), int workers = threads) {
    constexpr int vectors = padded / vector_width;
#pragma unroll copies_together
    for (int e = worker; e < vectors * padded; e += workers)
        copy_async(to + e % vectors * vector_width + e / vectors * leading, from + e * vector_width);
}
