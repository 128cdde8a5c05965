/* Addresses in the workspace, and sums of a thread block, for all kernels of sparse systems. */
#include "gpu/sparse/constants.cuh"
#include "sparse/steps.h"

/* The operands of a call, the constants of a launch, and the step that it is at. A thread block is (part of the rows, member). */
struct Context {
    const trifold_sparse_args& args;
    const trifold_sparse_launch& launch;
    trifold_int step;
};

template <class T>
TRIFOLD_DEVICE T* at(const Context& c, trifold_int place) {
    return reinterpret_cast<T*>(static_cast<char*>(c.args.workspace) + place);
}
TRIFOLD_DEVICE const int* order_of(const Context& c) { return at<const int>(c, c.launch.order); }
TRIFOLD_DEVICE real* matrix_of(const Context& c) { return at<real>(c, c.launch.matrix + group_y() * c.launch.matrix_stride); }
TRIFOLD_DEVICE trifold_int system_of(const Context& c, trifold_int column) { return group_y() * c.launch.systems + column; }
TRIFOLD_DEVICE real* vector_of(const Context& c, trifold_int system, trifold_int number) {
    return at<real>(c, c.launch.vectors + (system * c.launch.vector_count + number) * c.launch.vector_stride);
}
TRIFOLD_DEVICE trifold_sparse_state* state_of(const Context& c, trifold_int system) {
    return at<trifold_sparse_state>(c, c.launch.states) + system;
}
TRIFOLD_DEVICE double* history_of(const Context& c, trifold_int system) {
    return at<double>(c, c.launch.history) + system * c.launch.history_length;
}
/* Sum k of each part of a system, one behind the other. */
TRIFOLD_DEVICE double* sums_of(const Context& c, trifold_int system, trifold_int k) {
    return at<double>(c, c.launch.sums) + (system * trifold_sparse_sums + k) * c.launch.parts;
}
TRIFOLD_DEVICE trifold_sparse_record* record_of(const Context& c, trifold_int member, trifold_int number) {
    return at<trifold_sparse_record>(c, c.launch.records) + member * (c.launch.parts + 1) + number;
}
/* Exponents of the rows' or columns' scales, of the member. */
TRIFOLD_DEVICE int* exponents_at(const Context& c, trifold_int place) { return at<int>(c, place + group_y() * c.launch.scale_stride); }
/* Exponents by which numbers are multiplied: b and x of rows that are stored scaled, b as A sees it, x as it sees A. */
constexpr bool scales_rows = METHOD != METHOD_CG;
TRIFOLD_DEVICE int left_exponent(const Context& c, trifold_int number) {
    return scales_rows && !c.launch.transposed ? exponents_at(c, c.launch.scales)[number] : 0;
}
TRIFOLD_DEVICE int right_exponent(const Context& c, trifold_int number) {
    return scales_rows && c.launch.transposed ? exponents_at(c, c.launch.scales)[number] : 0;
}
TRIFOLD_DEVICE int weight_at(const Context& c, trifold_int number) {
    if (c.launch.weights == 0) return 0;
    return weight_exponent(exponents_at(c, c.launch.weights)[number], record_of(c, group_y(), c.launch.parts)->largest);
}
/* The factor of a product of two residuals' numbers before it is added up. */
TRIFOLD_DEVICE double weight_of(const Context& c, trifold_int number) {
    return c.launch.weights == 0 ? 1 : power_of_two(2 * weight_at(c, number));
}
TRIFOLD_DEVICE real scale_of(const Context& c) { return static_cast<real>(record_of(c, group_y(), c.launch.parts)->scale); }
#if METHOD == METHOD_GMRES
TRIFOLD_DEVICE small_matrices small_at(const Context& c, trifold_int system) {
    const trifold_int elements = (c.launch.restart + 4) * (c.launch.restart + 1);
    return small_of(at<double>(c, c.launch.small) + system * elements, &c.launch);
}
#endif

/* The subdomain or the slice of a thread block. Ranks launch their own alone. */
TRIFOLD_DEVICE trifold_int part_number(const Context& c) { return c.launch.first_part + group_x(); }

/* The rows of a thread block: a subdomain, or as many as others have. */
struct Part {
    trifold_int first, end;
    TRIFOLD_METHOD int rows() const { return static_cast<int>(end - first); }
    TRIFOLD_METHOD int count() const { return rows() * block; }
};
TRIFOLD_DEVICE Part slice_of(const Context& c) {
    const trifold_int first = part_number(c) * c.launch.slice_rows, end = first + c.launch.slice_rows;
    return {first, end < c.launch.rows ? end : c.launch.rows};
}
TRIFOLD_DEVICE const trifold_sparse_tile& tile_of(const Context& c) {
    return at<const trifold_sparse_tile>(c, c.launch.tile)[part_number(c)];
}
TRIFOLD_DEVICE Part rows_of(const trifold_sparse_tile& tile) { return {tile.first_row, tile.first_row + tile.rows}; }

/* Place of the number k of a part in the caller's arrays. */
TRIFOLD_DEVICE trifold_int outer_place(const Context& c, const Part& part, int k, trifold_int column) {
    const trifold_int row = order_of(c)[part.first + k / block];
    return ((group_y() * c.launch.rows + row) * block + k % block) * c.args.columns + c.args.first_column + column;
}

TRIFOLD_DEVICE real size_of(real x) { return x < 0 ? -x : x; }
TRIFOLD_DEVICE int is_at_work(const trifold_sparse_state& s) { return s.outcome == trifold_sparse_running && !s.renews; }
TRIFOLD_DEVICE int is_renewing(const trifold_sparse_state& s) { return s.outcome == trifold_sparse_running && s.renews; }

/* The sum of a number of each thread, always in the same order. All threads get it. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE double block_sum(double value, double* room) {
#pragma unroll
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2) value += shuffle_xor(value, apart);
    if (lane_index() == 0) room[warp_index()] = value;
    block_sync();
    double total = 0;
    for (int k = 0; k < threads / warp_lanes; ++k) total += room[k];
    block_sync();
    return total;
}
/* The greatest number of all threads. All threads get it. */
TRIFOLD_DEVICE double block_greatest(double value, double* room) {
#pragma unroll
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2) value = larger_of(value, shuffle_xor(value, apart));
    if (lane_index() == 0) room[warp_index()] = value;
    block_sync();
    double greatest = room[0];
    for (int k = 1; k < sparse_threads / warp_lanes; ++k) greatest = larger_of(greatest, room[k]);
    block_sync();
    return greatest;
}
/* A thread block leaves a sum of its part. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE void leave_sum(const Context& c, trifold_int system, trifold_int k, double value, double* room) {
    const double total = block_sum<threads>(value, room);
    if (thread_index() == 0) sums_of(c, system, k)[part_number(c)] = total;
}
/* Some sums, from number `first` on, each in the order of `block_sum`. */
template <int count, int threads>
TRIFOLD_DEVICE void leave_sums(const Context& c, trifold_int system, const double* values, double* room, int first = 0) {
    constexpr int warps = threads / warp_lanes;
    double sums[count];
#pragma unroll
    for (int k = 0; k < count; ++k) sums[k] = values[k];
#pragma unroll
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int k = 0; k < count; ++k) sums[k] += shuffle_xor(sums[k], apart);
    if (lane_index() == 0)
#pragma unroll
        for (int k = 0; k < count; ++k) room[k * warps + warp_index()] = sums[k];
    block_sync();
    if (thread_index() < count) {
        double total = 0;
#pragma unroll
        for (int k = 0; k < warps; ++k) total += room[thread_index() * warps + k];
        sums_of(c, system, first + thread_index())[part_number(c)] = total;
    }
    block_sync();
}
template <int threads = sparse_threads>
TRIFOLD_DEVICE double dot(const real* a, const real* b, int count) {
    double sum = 0;
    for (int k = thread_index(); k < count; k += threads) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    return sum;
}
/* A dot product in which residuals weigh as the launch says. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE double weighed_dot(const Context& c, const Part& part, const real* a, const real* b) {
    double sum = 0;
    for (int k = thread_index(); k < part.count(); k += threads)
        sum += weight_of(c, part.first * block + k) * (static_cast<double>(a[k]) * static_cast<double>(b[k]));
    return sum;
}

/* The vectors of a system, from a part's first row on. */
struct Pieces {
    real *b, *x, *r, *z, *p, *v, *y, *t, *shadow;
};
TRIFOLD_DEVICE Pieces pieces_of(const Context& c, const Part& part, trifold_int system) {
    const trifold_int first = part.first * block;
    return {vector_of(c, system, trifold_sparse_b) + first,     vector_of(c, system, trifold_sparse_x) + first,
            vector_of(c, system, trifold_sparse_r) + first,     vector_of(c, system, trifold_sparse_z) + first,
            vector_of(c, system, trifold_sparse_p) + first,     vector_of(c, system, trifold_sparse_v) + first,
            vector_of(c, system, trifold_sparse_y) + first,     vector_of(c, system, trifold_sparse_t) + first,
            vector_of(c, system, trifold_sparse_shadow) + first};
}
/* The x that is saved, which is seldom wanted. */
TRIFOLD_DEVICE real* best_of(const Context& c, const Part& part, trifold_int system) {
    return vector_of(c, system, trifold_sparse_best) + part.first * block;
}
