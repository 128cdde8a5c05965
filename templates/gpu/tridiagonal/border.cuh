/* A border: the kernels around the sweep of F. Vectors in the workspace stand column by column in a block. `at` has their places; the
 * operand's arrays are those of trifold_border. Grids are parts of a member's rows, or of its sums, by members. */
#include "gpu/tridiagonal/border_constants.cuh"

namespace bordered {

template <class T>
TRIFOLD_DEVICE T* buffer(const trifold_args& args, trifold_int offset) {
    return global_pointer(reinterpret_cast<T*>(static_cast<char*>(args.workspace) + offset));
}
TRIFOLD_DEVICE bool is_active(const trifold_args& args, trifold_int member) {
    return member < args.members && (args.active == nullptr || args.active[member] != 0);
}
/* A column of a block of the buffer that begins at `place`. */
TRIFOLD_DEVICE real* swept(const trifold_args& args, const trifold_border& at, trifold_int place, trifold_int block, int column) {
    return buffer<real>(args, place) + ((group_y() * at.horizon + block) * at.columns + column) * block_size;
}
TRIFOLD_DEVICE trifold_int place_of(const trifold_strides& s, trifold_int block, int r, int column) {
    return group_y() * s.member + block * s.stage + r * s.row + column * s.column;
}
/* An element of the chain's vector that the launch reads. */
TRIFOLD_DEVICE real vector_at(const trifold_args& args, const trifold_border& at, trifold_int block, int r, int column) {
    if (at.vector == trifold_along) return swept(args, at, at.along, block, column)[r];
    const void* from = at.vector == trifold_in_x ? args.x : args.b;
    return global_pointer(static_cast<const real*>(from))[place_of(args.b_strides, block, r, column)];
}
TRIFOLD_DEVICE real* part_of(const trifold_args& args, const trifold_border& at, trifold_int split) {
    return buffer<real>(args, at.products) + (group_y() * at.splits + split) * (border * (border + max_rhs));
}
TRIFOLD_DEVICE real* s_of(const trifold_args& args, const trifold_border& at) {
    return buffer<real>(args, at.s) + group_y() * border * border;
}
TRIFOLD_DEVICE real* t_of(const trifold_args& args, const trifold_border& at, int column) {
    return buffer<real>(args, at.t) + (group_y() * max_rhs + column) * border;
}
/* C with what is added to its diagonal. */
TRIFOLD_DEVICE real corner_at(const trifold_args& args, int r, int c) {
    const real value = global_pointer(static_cast<const real*>(args.e))[(group_y() * border + r) * border + c];
    return r == c && args.shift != nullptr ? value + global_pointer(static_cast<const real*>(args.shift))[group_y()] : value;
}

/* [B F] of the blocks, a part of their elements; columns that the call does not have are zero. */
TRIFOLD_DEVICE void gather(const trifold_args& args, const trifold_border& at) {
    constexpr int each = (max_rhs + border) * block_size;
    const real* f = global_pointer(static_cast<const real*>(args.d)) + group_y() * at.horizon * border * block_size;
    const real* b = global_pointer(static_cast<const real*>(args.b));
    const trifold_int all = at.horizon * each, first = group_x() * gathered;
    for (trifold_int k = first + thread_index(); k < first + gathered && k < all; k += border_threads) {
        const trifold_int block = k / each;
        const int within = static_cast<int>(k - block * each), column = within / block_size, r = within % block_size;
        real value = 0;
        if (column >= max_rhs)
            value = f[block * (border * block_size) + within - max_rhs * block_size];
        else if (column < args.columns)
            value = b[place_of(args.b_strides, block, r, column)];
        swept(args, at, at.along, block, 0)[within] = value;
    }
}

/* Element (row, column) of [Y y]; rows count those of all blocks. */
TRIFOLD_DEVICE real joined_at(const trifold_args& args, const trifold_border& at, trifold_int row, int column) {
    if (row >= at.horizon * block_size) return 0;
    const trifold_int block = row / block_size;
    const int r = static_cast<int>(row - block * block_size);
    if (column < border) return swept(args, at, at.y, block, column)[r];
    return at.vector != trifold_no_vector && column - border < args.columns ? vector_at(args, at, block, r, column - border) : 0;
}

struct ProductShared {
    real left[tile_rows][tile + 1], right[tile_rows][tile + 1];
};

TRIFOLD_DEVICE void load_tile(const trifold_args& args, const trifold_border& at, real (&to)[tile_rows][tile + 1], trifold_int row,
                              trifold_int end, int column) {
    for (int k = thread_index(); k < tile_rows * tile; k += border_threads) {
        const int r = k % tile_rows, c = k / tile_rows;
        to[r][c] = row + r < end && column + c < border + max_rhs ? joined_at(args, at, row + r, column + c) : 0;
    }
}

/* Sums the teams' parts of a tile in their order, and writes them. */
TRIFOLD_DEVICE void write_tile(const trifold_args& args, const trifold_border& at, const real (&sum)[micro][micro], trifold_int split,
                               int i, int j) {
    real* shared = static_cast<real*>(shared_memory());
    const int within = thread_index() % (micros * micros), team = thread_index() / (micros * micros);
    const int r = within / micros * micro, c = within % micros * micro;
    if (teams > 1) {
        block_sync();
        for (int k = 0; k < micro * micro; ++k) shared[(team * micros * micros + within) * micro * micro + k] = sum[k / micro][k % micro];
        block_sync();
    }
    if (team != 0) return;
    for (int k = 0; k < micro * micro; ++k) {
        real whole = sum[k / micro][k % micro];
        for (int other = 1; other < teams; ++other) whole += shared[(other * micros * micros + within) * micro * micro + k];
        const int row = i * tile + r + k / micro, column = j * tile + c + k % micro;
        if (row < border && column < border + max_rhs) part_of(args, at, split)[row * (border + max_rhs) + column] = whole;
    }
}

/* A tile of Y'[Y y] over a part of the rows. */
TRIFOLD_DEVICE void multiply(const trifold_args& args, const trifold_border& at) {
    ProductShared& shared = *static_cast<ProductShared*>(shared_memory());
    const trifold_int split = group_x() / (across * down);
    const int i = static_cast<int>(group_x() % (across * down)) / across, j = static_cast<int>(group_x() % across);
    const bool in_s = at.factors != 0 && j <= i, has_vector = at.vector != trifold_no_vector && (j + 1) * tile > border;
    if (!in_s && !has_vector) return;
    const trifold_int rows = at.horizon * block_size, each = (rows + at.splits - 1) / at.splits;
    const trifold_int end = (split + 1) * each < rows ? (split + 1) * each : rows;
    const int within = thread_index() % (micros * micros), team = thread_index() / (micros * micros);
    const int r = within / micros * micro, c = within % micros * micro;
    real sum[micro][micro] = {};
    for (trifold_int row = split * each; row < end; row += tile_rows) {
        block_sync();
        load_tile(args, at, shared.left, row, end, i * tile);
        if (i != j) load_tile(args, at, shared.right, row, end, j * tile);
        block_sync();
        const auto& right = i == j ? shared.left : shared.right;
#pragma unroll 4
        for (int k = team; k < tile_rows; k += teams) {
            real a[micro], b[micro];
#pragma unroll
            for (int x = 0; x < micro; ++x) a[x] = shared.left[k][r + x], b[x] = right[k][c + x];
#pragma unroll
            for (int x = 0; x < micro; ++x)
#pragma unroll
                for (int y = 0; y < micro; ++y) sum[x][y] += a[x] * b[y];
        }
    }
    write_tile(args, at, sum, split, i, j);
}

/* S = C - Y'Y, t = b - Y'y: sums over the parts, by sum_lanes threads each. */
TRIFOLD_DEVICE void collect(const trifold_args& args, const trifold_border& at) {
    double* shared = static_cast<double*>(shared_memory());
    const int lane = thread_index() % sum_lanes;
    const trifold_int k = group_x() * (border_threads / sum_lanes) + thread_index() / sum_lanes;
    const int r = static_cast<int>(k / (border + max_rhs)), c = static_cast<int>(k % (border + max_rhs));
    const bool in_s = r < border && c <= r && at.factors != 0, in_t = r < border && c >= border && c - border < args.columns;
    double sum = 0;
    if (in_s || (in_t && at.vector != trifold_no_vector)) {
#pragma unroll 4
        for (trifold_int split = lane; split < at.splits; split += sum_lanes) sum += static_cast<double>(part_of(args, at, split)[k]);
    }
    shared[thread_index()] = sum;
    for (int half = sum_lanes / 2; half > 0; half /= 2) {
        block_sync();
        if (lane < half) shared[thread_index()] += shared[thread_index() + half];
    }
    if (lane != 0) return;
    sum = shared[thread_index()];
    if (in_s) {
        const real value = static_cast<real>(static_cast<double>(corner_at(args, r, c)) - sum);
        s_of(args, at)[r * border + c] = s_of(args, at)[c * border + r] = value;
    }
    if (in_t && args.diagonal != nullptr) {
        const trifold_strides& s = args.x_strides;
        const real b = global_pointer(static_cast<const real*>(args.diagonal))[group_y() * s.member + r * s.row + (c - border) * s.column];
        t_of(args, at, c - border)[r] = static_cast<real>(static_cast<double>(b) - sum);
    }
}

/* X = y, or y - Y x of the tip, a thread a row; and the tip's own x. */
TRIFOLD_DEVICE void correct(const trifold_args& args, const trifold_border& at) {
    constexpr int few = max_rhs < 4 ? max_rhs : 4;
    if (group_x() == 0) {
        const trifold_strides& s = args.x_strides;
        real* x = global_pointer(static_cast<real*>(args.inverse_diagonal)) + group_y() * s.member;
        for (int k = thread_index(); k < border * args.columns; k += border_threads)
            x[k % border * s.row + k / border * s.column] = t_of(args, at, k / border)[k % border];
    }
    const trifold_int row = group_x() * border_threads + thread_index(), block = row / block_size;
    if (row >= at.horizon * block_size || (at.subtracts == 0 && at.vector != trifold_along)) return;
    const int r = static_cast<int>(row - block * block_size);
    for (int first = 0; first < args.columns; first += few) {
        real x[few];
#pragma unroll
        for (int c = 0; c < few; ++c) x[c] = first + c < args.columns ? vector_at(args, at, block, r, first + c) : 0;
        if (at.subtracts != 0) {
#pragma unroll 4
            for (int k = 0; k < border; ++k) {
                const real y = swept(args, at, at.y, block, k)[r];
#pragma unroll
                for (int c = 0; c < few; ++c) x[c] -= first + c < args.columns ? y * t_of(args, at, first + c)[k] : 0;
            }
        }
        real* to = global_pointer(static_cast<real*>(args.x));
#pragma unroll
        for (int c = 0; c < few; ++c)
            if (first + c < args.columns) to[place_of(args.b_strides, block, r, first + c)] = x[c];
    }
}

/* The outcome of a member. The least pivot is bounded from below: by the least of S over C on the diagonal, and what the tip has lost. */
TRIFOLD_DEVICE void conclude_factor(const trifold_args& args, const trifold_border& at, double least) {
    constexpr double min_sound = static_cast<double>(trifold_nearly_singular) * (sizeof(real) == 8 ? 0x1p-52 : 0x1p-23);
    const trifold_int member = group_y();
    trifold_status status = buffer<trifold_status>(args, at.chain_status)[member];
    const trifold_status tip = buffer<trifold_status>(args, at.tip_status)[member];
    double log_determinant = buffer<double>(args, at.chain_log_determinant)[member];
    if (status.block < 0) {
        log_determinant += buffer<double>(args, at.tip_log_determinant)[member];
        status.floors += tip.floors;
        if (tip.block >= 0) status.block = at.horizon, status.row = tip.row;
        least *= tip.least_pivot;
        if (tip.block >= 0 || least < status.least_pivot) status.least_pivot = tip.block >= 0 ? 0 : least;
        status.nearly_singular =
            status.block < 0 && status.least_pivot < min_sound && args.accept_nearly_singular == 0 && !(args.pivot_floor > 0);
    }
    buffer<trifold_status>(args, at.status)[member] = status;
    buffer<double>(args, at.log_determinant)[member] = log_determinant;
}

TRIFOLD_DEVICE void conclude(const trifold_args& args, const trifold_border& at) {
    double* shared = static_cast<double*>(shared_memory());
    double least = 1;
    for (int k = thread_index(); k < border && at.factors != 0; k += border_threads) {
        const double ratio = static_cast<double>(s_of(args, at)[k * (border + 1)]) / static_cast<double>(corner_at(args, k, k));
        if (ratio < least) least = ratio;
    }
    shared[thread_index()] = least;
    for (int half = border_threads / 2; half > 0; half /= 2) {
        block_sync();
        if (thread_index() < half && shared[thread_index() + half] < shared[thread_index()])
            shared[thread_index()] = shared[thread_index() + half];
    }
    if (thread_index() == 0 && at.factors != 0) conclude_factor(args, at, shared[0]);
    for (int c = thread_index(); c < args.columns && at.vector != trifold_no_vector; c += border_threads) {
        const trifold_int column = args.first_column + c;
        if (column >= max_rhs) continue;
        const double sum = buffer<double>(args, at.chain_quadratic)[group_y() * at.chain_quadratics + column] +
                           buffer<double>(args, at.tip_quadratic)[group_y() * max_rhs + column];
        buffer<double>(args, at.quadratic)[group_y() * max_rhs + column] = sum <= 1.7976931348623157e308 ? sum : sum - sum;
    }
}

/* ---- the selected inverse ---- */

TRIFOLD_DEVICE const real* z_of(const trifold_args& args, const trifold_border& at, trifold_int block) {
    return buffer<real>(args, at.z) + (group_y() * at.horizon + block) * border * block_size;
}
TRIFOLD_DEVICE real* arrow_of(const trifold_args& args, const trifold_border& at, trifold_int block) {
    return global_pointer(static_cast<real*>(args.x)) + (group_y() * at.horizon + block) * border * block_size;
}

/* -S^-1 Z' of a block. */
TRIFOLD_DEVICE void make_arrow(const trifold_args& args, const trifold_border& at) {
    const real* inverse = global_pointer(static_cast<const real*>(args.b)) + group_y() * border * border;
    const real* z = z_of(args, at, group_x());
    for (int k = thread_index(); k < border * block_size; k += border_threads) {
        real sum = 0;
#pragma unroll 4
        for (int j = 0; j < border; ++j) sum -= inverse[k / block_size * border + j] * z[j * block_size + k % block_size];
        arrow_of(args, at, group_x())[k] = sum;
    }
}

/* Adds Z S^-1 Z' where the chain's inverse has blocks, which are several of a band: (block, block) and (block + 1, block). */
TRIFOLD_DEVICE void spread(const trifold_args& args, const trifold_border& at) {
    constexpr int wide = bandwidth * block_size;
    const trifold_int block = group_x(), solved = (at.horizon + bandwidth - 1) / bandwidth;
    bool left = false;
    for (int below = 0; below < 2; ++below) {
        const trifold_int blocks = below ? at.couplings : solved, first = (block + below) % solved * bandwidth;
        if (block >= blocks) break;
        void* array = below ? args.inverse_coupling : args.inverse_diagonal;
        real* to = global_pointer(static_cast<real*>(array)) + (group_y() * blocks + block) * wide * wide;
        for (trifold_int k = thread_index(); k < trifold_int(wide) * wide; k += border_threads) {
            const int r = static_cast<int>(k / wide), c = static_cast<int>(k % wide);
            const trifold_int row = first + r / block_size, column = block * bandwidth + c / block_size;
            if (row >= at.horizon || column >= at.horizon) continue;
            const real *arrow = arrow_of(args, at, row) + r % block_size, *z = z_of(args, at, column) + c % block_size;
            real sum = to[k];
#pragma unroll 4
            for (int j = 0; j < border; ++j) sum -= arrow[j * block_size] * z[j * block_size];
            to[k] = sum;
            left = left || !(sum - sum == 0);
        }
    }
    if (left) buffer<trifold_range>(args, at.range)[group_y()].inverse = 1;
}

#define BORDER_KERNEL(NAME, CALL)                                                                                           \
    TRIFOLD_KERNEL(border_threads, 1) void NAME(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_border at) { \
        if (is_active(args, group_y())) CALL(args, at);                                                                     \
    }
BORDER_KERNEL(TRIFOLD_KERNEL_GATHER, gather)
BORDER_KERNEL(TRIFOLD_KERNEL_PRODUCT, multiply)
BORDER_KERNEL(TRIFOLD_KERNEL_COLLECT, collect)
BORDER_KERNEL(TRIFOLD_KERNEL_CORRECT, correct)
BORDER_KERNEL(TRIFOLD_KERNEL_CONCLUDE, conclude)
BORDER_KERNEL(TRIFOLD_KERNEL_ARROW, make_arrow)
BORDER_KERNEL(TRIFOLD_KERNEL_SPREAD, spread)

}  // namespace bordered
