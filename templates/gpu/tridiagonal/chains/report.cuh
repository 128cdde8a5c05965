/* Report of a chain's pivots, by one warp. A lane has a row of every front, or more, 32 apart. So fronts need no sums over rows, and no
 * logarithms: the last one has them for all. */
#include "gpu/tridiagonal/bands/bands.cuh"
#include "gpu/tridiagonal/chains/rows.cuh"
#include "gpu/tridiagonal/chains/shared.h"
#include "gpu/tridiagonal/verdict.cuh"

TRIFOLD_DEVICE void start_report(ChainShared& shared) {
    each_row([&](int, int row) {
        shared.mantissa[row] = 1, shared.quotient[row] = 0, shared.exponent[row] = 0;
        if (has_signs) shared.quotient[padded + row] = shared.quotient[2 * padded + row] = 0, shared.exponent[padded + row] = 0;
        for (int c = 0; c < columns_at_once; ++c) shared.squares[c][row] = 0;
    });
}

/* mantissa times 2^exponent, the product so far, times a pivot. */
TRIFOLD_DEVICE void multiply_by_pivot(double& mantissa, int& exponent, double pivot) {
    constexpr unsigned one = 1023, place = 20;
    if (pivot < 2.2250738585072014e-308) pivot *= 0x1p128, exponent -= 128;
    unsigned bits[2];
    copy_bits(bits, pivot);
    exponent += static_cast<int>(bits[1] >> place) - static_cast<int>(one);
    bits[1] = (bits[1] & ((1u << place) - 1)) | one << place;
    double scaled;
    copy_bits(scaled, bits);
    mantissa *= scaled;
    if (mantissa >= 2) mantissa /= 2, ++exponent;
}

/* Adds the pivots of a front. */
TRIFOLD_DEVICE void report_front(ChainShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    each_row([&](int, int row) {
        if (row >= (has_signs ? rows_of(args, member, block) : block_size)) return;
        const double pivot = by_sign(shared.diagonal[row], shared.diagonal[row]);
        double entry = static_cast<double>(shared.entry[row] + diagonal_term(args, member, block, row));
        if constexpr (has_signs) {
            entry = by_sign(entry, entry);
            raise_to(shared.quotient[2 * padded + row], entry);
            entry += sum_of_squares(shared, row);
            raise_to(shared.quotient[padded + row], entry);
            shared.exponent[padded + row] += static_cast<int>(shared.diagonal[row] < 0);
        }
        const double quotient = entry / pivot;
        if (quotient > shared.quotient[row]) shared.quotient[row] = quotient;
        multiply_by_pivot(shared.mantissa[row], shared.exponent[row], pivot);
    });
}
/* The sums of a block that has none of its own. Where members have lengths, it may have been the last of its chain before. */
TRIFOLD_DEVICE void clear_sums(const trifold_args& args, trifold_int member, trifold_int block) {
    buffer<double>(args, Offset::block_log_determinant(args))[block_index(args, member, block)] = 0;
    for (int k = 0; k < records; ++k) record_of(args, k)[block_index(args, member, block)] = 0;
}
/* Leaves the largest sum, the largest entry and the number of negative pivots of a chain, of all teams, to one of its blocks. */
TRIFOLD_DEVICE void report_signs(const trifold_args& args, trifold_int member, trifold_int block) {
    double most[records] = {};
    int negative = 0;
    each_row([&](int, int row) {
        for (int team = 0; team < band_teams; ++team) {
            for (int k = 1; k < records; ++k) raise_to(most[k], chain_shared()[team].quotient[k * padded + row]);
            negative += chain_shared()[team].exponent[padded + row];
        }
    });
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        for (int k = 1; k < records; ++k) raise_to(most[k], shuffle_xor(most[k], mask));
        negative += shuffle_xor(negative, mask);
    }
    if (lane_index() != 0) return;
    for (int k = 1; k < records; ++k) record_of(args, k)[block_index(args, member, block)] = most[k];
    negatives_of(args)[block_index(args, member, block)] = negative;
}
/* Leaves the sums of a chain, of all teams, to one of its blocks. Others have zero. */
TRIFOLD_DEVICE void report_chain(const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr double logarithm_of_two = 0.693147180559945309417;
    if constexpr (has_signs) report_signs(args, member, block);
    double sum = 0, quotient = 0;
    each_row([&](int, int row) {
        for (int team = 0; team < band_teams; ++team) {
            const ChainShared& shared = chain_shared()[team];
            sum += natural_log(shared.mantissa[row]) + shared.exponent[row] * logarithm_of_two;
            if (shared.quotient[row] > quotient) quotient = shared.quotient[row];
        }
    });
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        sum += shuffle_xor(sum, mask);
        const double other = shuffle_xor(quotient, mask);
        if (other > quotient) quotient = other;
    }
    if (lane_index() != 0) return;
    buffer<double>(args, Offset::block_log_determinant(args))[block_index(args, member, block)] = sum;
    buffer<double>(args, Offset::reduction(args))[block_index(args, member, block)] = quotient;
}
