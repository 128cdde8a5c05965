/* Outcome of a front's pivots: the floor that they are raised to, the logarithms of the determinant, the pivot that failed, and the fronts
 * that must be told. */
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

/* Prepares for a block's pivots, by the first warp of those that call it. The floor follows from the largest magnitude on the diagonal of D
 * as the caller gave it. */
TRIFOLD_DEVICE void start_pivots(Pivots& pivots, const trifold_args& args, trifold_int member, trifold_int block,
                                 int thread = thread_index()) {
    if (thread >= warp_lanes) return;
    double floor = -infinity();
    if (args.pivot_floor > 0) {
        double most = 0;
        for (int r = thread; r < rows_of(args, member, block); r += warp_lanes) {
            const double entry = given_entry(args, member, block, r), size = entry < 0 ? -entry : entry;
            if (size > most && size <= static_cast<double>(largest)) most = size;
        }
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
            const double other = shuffle_xor(most, mask);
            if (other > most) most = other;
        }
        floor = args.pivot_floor * most;
    }
    if (thread == 0)
        pivots.floor = floor, pivots.rows = has_views ? rows_of(args, member, block) : 0, pivots.failed_row = -1, pivots.floors = 0;
}

/* Sums up `count` pivots, by one warp: the sum of their logarithms, and the largest quotient of a diagonal entry, entry(r), and its pivot.
 * Quotients that are NaN are left out. */
template <class T, class Entry>
TRIFOLD_DEVICE void sum_up(int count, const T* pivots, const Entry& entry, double* log_sum, double* largest_quotient) {
    double sum = 0, reduction = 0;
    for (int r = thread_index() % warp_lanes; r < count; r += warp_lanes) {
        const double pivot = static_cast<double>(pivots[r]), quotient = entry(r) / pivot;
        sum += natural_log(pivot);
        if (quotient > reduction) reduction = quotient;
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        sum += shuffle_xor(sum, mask);
        const double other = shuffle_xor(reduction, mask);
        if (other > reduction) reduction = other;
    }
    if (thread_index() % warp_lanes != 0) return;
    *log_sum = sum;
    *largest_quotient = reduction;
}
/* Writes the sums to place `place` of the results of blocks, or of their parts. */
template <class T, class Entry>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, int count, const T* pivots, trifold_int place, const Entry& entry) {
    sum_up(count, pivots, entry, buffer<double>(args, Offset::block_log_determinant(args)) + place,
           buffer<double>(args, Offset::reduction(args)) + place);
}
/* Reports a whole front, from D as it is in the caller's memory. */
template <class T>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, trifold_int member, trifold_int block, const T* pivots) {
    report_diagonal(args, block_size, pivots, block_index(args, member, block), [&](int r) { return given_entry(args, member, block, r); });
}
/* Reports a whole front from a copy of D's diagonal, which fetch_entries() has made: at the end of a front nothing is left that a look at
 * memory could hide behind. */
template <class T>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, trifold_int member, trifold_int block, const T* pivots, const real* entries) {
    report_diagonal(args, block_size, pivots, block_index(args, member, block),
                    [&](int r) { return static_cast<double>(entries[r] + diagonal_term(args, member, block, r)); });
}
/* A row's pivot, its sum, the largest such number, and the largest entry of A in it. */
struct Weights {
    double pivot, sum, grown, entry;
};
/* Sums up rows whose pivots have both signs, by one warp. The results of blocks, or of their `parts` each, are written to place `place`;
 * the first lane gets the number of negative pivots. */
template <class Row>
TRIFOLD_DEVICE int sum_rows(const trifold_args& args, int count, trifold_int place, int parts, const Row& row) {
    double log_sum = 0, most[3] = {};
    int negative = 0;
    for (int r = thread_index() % warp_lanes; r < count; r += warp_lanes) {
        const Weights own = row(r);
        const double size = own.pivot < 0 ? -own.pivot : own.pivot;
        log_sum += natural_log(size);
        negative += static_cast<int>(own.pivot < 0);
        raise_to(most[0], own.sum / size), raise_to(most[1], own.grown), raise_to(most[2], own.entry);
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        log_sum += shuffle_xor(log_sum, mask), negative += shuffle_xor(negative, mask);
        for (int k = 0; k < records; ++k) raise_to(most[k], shuffle_xor(most[k], mask));
    }
    if (thread_index() % warp_lanes != 0) return negative;
    buffer<double>(args, Offset::block_log_determinant(args))[place] = log_sum;
    for (int k = 0; k < records; ++k) record_of(args, k * parts)[place] = most[k];
    return negative;
}
/* Reports a whole front of them. */
template <class Row>
TRIFOLD_DEVICE void report_rows(const trifold_args& args, trifold_int index, int rows, const Row& row) {
    const int negative = sum_rows(args, rows, index, 1, row);
    if (thread_index() % warp_lanes == 0) negatives_of(args)[index] = negative;
}
/* The row of a symmetric matrix: its diagonal entry adds to its sum. */
TRIFOLD_DEVICE Weights symmetric_row(double pivot, double sum, double entry) {
    const double own = by_sign(entry, entry), all = own + sum;
    return {pivot, all, all, own};
}
/* Reports a whole front of a symmetric matrix, from D as it is in the caller's memory. */
template <class T, class Sum>
TRIFOLD_DEVICE void report_signed(const trifold_args& args, trifold_int member, trifold_int block, const T* pivots, const Sum& sum_of) {
    report_rows(args, block_index(args, member, block), rows_of(args, member, block),
                [&](int r) { return symmetric_row(static_cast<double>(pivots[r]), sum_of(r), given_entry(args, member, block, r)); });
}
/* Starts copies of D's diagonal to shared memory, by `count` threads. */
TRIFOLD_DEVICE void fetch_entries(real* to, const trifold_args& args, trifold_int member, trifold_int block, int thread, int count) {
    if constexpr (has_views) {
        const Given given = given_diagonal(args, member, block);
        for (int r = thread; r < block_size; r += count)
            if (const real* own = given.at(r, r))
                copy_element_async(to + r, own);
            else
                to[r] = real(1);
    } else {
        const real* d = D_OF(args, member, block);
        for (int r = thread; r < block_size; r += count) copy_element_async(to + r, &ENTRY_OF_D(d, r));
    }
}
/* The front's verdict, by one thread, after the panel. */
TRIFOLD_DEVICE void report_verdict(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed,
                                   const Pivots& pivots) {
    const trifold_int index = block_index(args, member, block);
    trifold_int verdict = sound;
    if (pivots.failed_row >= 0) verdict = (level * horizon_of(args) + block) * block_size + pivots.failed_row;
    if (fed) verdict = fed_by_failure;
    buffer<trifold_int>(args, Offset::failure(args))[index] = verdict;
    buffer<int>(args, Offset::floors(args))[index] = pivots.floors;
}
/* Reports the diagonal and the verdict. The whole thread block calls it. */
TRIFOLD_DEVICE void report_pivots(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed,
                                  const Pivots& pivots, const double* diagonal) {
    if (thread_index() < warp_lanes) {
        if constexpr (has_signs)
            report_signed(args, member, block, diagonal, [&](int r) { return diagonal[padded + r]; });
        else
            report_diagonal(args, member, block, diagonal);
    }
    if (thread_index() == 0) report_verdict(args, level, member, block, fed, pivots);
}

/* Was the block fed, through its slots, by a front that failed? */
TRIFOLD_DEVICE bool is_poisoned(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    if (level.index == 0) return false;
    return (has_side(args, member, block, 0) && poison_of(args, member, block, 0) != 0) ||
           (has_side(args, member, block, 1) && poison_of(args, member, block, 1) != 0);
}

/* Passes a chain's verdict on to the separators at its ends, by one thread. */
TRIFOLD_DEVICE void pass_poison(const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain, bool failed) {
    const bool add = level.index > 0;
    if (chain.ahead >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
    if (chain.behind >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.behind), side_behind(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
}
