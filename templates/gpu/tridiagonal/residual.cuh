/* Rows of b - A x with their sizes |A| |x| + |b|, in double precision, and what solutions are judged by. A thread has a row of a block. A
 * block's rows are cut in `row_parts` parts of `part_rows` rows, and a thread block has several parts if they are small. Grids: parts, or
 * one, by groups of members. */
#include "gpu/tridiagonal/residual_constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "tridiagonal/mixed.h"

namespace mixed {

constexpr int parts_together = mixed_threads / part_rows;
TRIFOLD_DEVICE trifold_int parts_of(const trifold_args& args) { return horizon_of(args) * row_parts; }

struct MixedShared {
    double largest[ERRORS][mixed_threads];
};

struct Row {
    trifold_int block, part; /* part counts those of all blocks */
    int first, row;          /* the part's first row; this thread's */
    bool exists;
};

TRIFOLD_DEVICE Row find_row(const trifold_args& args) {
    const int which = thread_index() / part_rows, lane = thread_index() % part_rows;
    const trifold_int part = group_x() * parts_together + which;
    const int first = static_cast<int>(part % row_parts) * part_rows;
    return {part / row_parts, part, first, first + lane, which < parts_together && part < parts_of(args) && first + lane < block_size};
}

TRIFOLD_DEVICE double magnitude(double x) { return x < 0 ? -x : x; }

/* The largest of `count` threads' values from `first` on, for the first of them. All threads call it together. */
TRIFOLD_DEVICE double largest_of(double (&values)[mixed_threads], double mine, int first, int count) {
    values[thread_index()] = mine;
    block_sync();
    double largest = mine;
    if (thread_index() == first) {
#pragma unroll 1
        for (int k = 1; k < count; ++k) raise(&largest, values[first + k]);
    }
    return largest;
}

/* Rows of a part that the block has. */
TRIFOLD_DEVICE int rows_of(const Row& at) { return block_size - at.first < part_rows ? block_size - at.first : part_rows; }
TRIFOLD_DEVICE double largest_of_rows(double (&values)[mixed_threads], double mine, const Row& at) {
    return largest_of(values, mine, thread_index() - (at.row - at.first), at.exists ? rows_of(at) : 1);
}

/* A row of b - A x, and of |b| + |A| |x|. */
struct Residual {
    double value, size;
    TRIFOLD_METHOD void subtract(double a, double x) {
        const double term = a * x;
        value -= term;
        size += magnitude(term);
    }
};

/* Errors of a part in one column: maxima over its rows, as add_row() makes them. */
TRIFOLD_DEVICE void store_errors(const trifold_args& args, trifold_int member, const Row& at, int column, const double (&errors)[ERRORS]) {
    MixedShared& shared = *static_cast<MixedShared*>(shared_memory());
    for (int k = 0; k < ERRORS; ++k) {
        const double largest = largest_of_rows(shared.largest[k], errors[k], at);
        if (at.exists && at.row == at.first)
            buffer<double>(args, VectorOffset::errors(args))[((member * parts_of(args) + at.part) * max_columns + column) * ERRORS + k] =
                largest;
    }
    block_sync();
}
/* The backward error of a member, for its first thread. */
TRIFOLD_DEVICE double worst_error(const trifold_args& args, trifold_int member) {
    MixedShared& shared = *static_cast<MixedShared*>(shared_memory());
    double worst = 0;
    for (int column = 0; column < args.columns; ++column) {
        const double* errors = buffer<double>(args, VectorOffset::errors(args)) + (member * parts_of(args) * max_columns + column) * ERRORS;
        double largest[ERRORS] = {};
        for (int k = 0; k < ERRORS; ++k) {
            for (trifold_int part = thread_index(); part < parts_of(args); part += mixed_threads)
                raise(&largest[k], errors[part * max_columns * ERRORS + k]);
            largest[k] = largest_of(shared.largest[k], largest[k], 0, mixed_threads);
        }
        block_sync();
        raise(&worst, backward_error(largest));
    }
    return worst;
}

template <class Use>
TRIFOLD_DEVICE void each_of_group(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * members_per_group;
    for (trifold_int member = first; member < first + members_per_group && member < args.members; ++member) {
        use(member);
        if (members_per_group > 1) block_sync();
    }
}

}  // namespace mixed
