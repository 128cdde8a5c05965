/* Records of a front's pivots, made by one warp. There are many fronts, so it takes few operations between lanes. */
#include "gpu/grid/pivots.cuh"

/* The number without its sign. Clearing the bit is one instruction. */
TRIFOLD_DEVICE double absolute(double x) {
    unsigned long long bits;
    copy_bits(bits, x);
    bits &= 0x7fffffffffffffffULL;
    copy_bits(x, bits);
    return x;
}
TRIFOLD_DEVICE float absolute(float x) {
    unsigned bits;
    copy_bits(bits, x);
    bits &= 0x7fffffffu;
    copy_bits(x, bits);
    return x;
}

/* The greatest of all lanes' numbers, none of which is negative: by their bits, the first half and then the second. */
TRIFOLD_DEVICE double warp_max(double x) {
    unsigned long long bits;
    copy_bits(bits, x);
    const unsigned first = static_cast<unsigned>(bits >> 32), greatest = warp_greatest(first);
    bits = static_cast<unsigned long long>(greatest) << 32 | warp_greatest(first == greatest ? static_cast<unsigned>(bits) : 0u);
    copy_bits(x, bits);
    return x;
}
/* The least of them. */
TRIFOLD_DEVICE double warp_least(double x) {
    unsigned long long bits;
    copy_bits(bits, x);
    const unsigned first = static_cast<unsigned>(~bits >> 32), greatest = warp_greatest(first);
    bits = ~(static_cast<unsigned long long>(greatest) << 32 | warp_greatest(first == greatest ? static_cast<unsigned>(~bits) : 0u));
    copy_bits(x, bits);
    return x;
}

/* A number from 1 to 2, whose product with 2^exponent is `size`, a positive number. */
TRIFOLD_DEVICE double digits_of(double size, int& exponent) {
    const bool tiny = size < 0x1p-1000;
    unsigned long long bits;
    copy_bits(bits, tiny ? size * 0x1p200 : size);
    exponent = static_cast<int>(bits >> 52) - 1023 - (tiny ? 200 : 0);
    bits = (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL;
    copy_bits(size, bits);
    return size;
}

/* The record of a front. Lane k has pivot k, and the entry `before` that it began with. `odd`: rows were exchanged an odd number of times.
 * `exponent`: the power of two by which the lane's row was scaled. */
TRIFOLD_DEVICE trifold_grid_record record_of_pivots(const Context& c, const Front& f, real pivot, real before, bool odd, int exponent = 0) {
    const int lane = lane_index();
    const bool exists = lane < f.s;
    const real size = absolute(pivot);
    const bool wrong = exists && (!(size > 0 && size <= largest) || (symmetric && pivot < 0));
    trifold_grid_record record = new_record();
    /* The determinant: a product of digits, and a sum of exponents and of signs. */
    int power = 0;
    double product = exists ? static_cast<double>(size) : 1.0;
    if (exists && size > 0 && size <= largest) product = digits_of(product, power);
    int sum = (power - exponent) * 64 + (exists && pivot < 0 ? 1 : 0);
#pragma unroll
    for (int apart = 1; apart < warp_lanes; apart *= 2) {
        product *= shuffle_xor(product, apart);
        sum += shuffle_xor(sum, apart);
    }
    record.log_determinant = natural_log(product) + static_cast<double>(sum >> 6) * 0.69314718055994530942;
    record.sign = ((sum & 1) != 0) != odd ? -1 : 1;
    const real ratio = !exists ? real(1) : symmetric ? size * reciprocal(absolute(before)) : size;
    record.least = warp_least(ratio < 1 ? static_cast<double>(ratio) : 1.0);
    record.largest = warp_max(exists && size > 0 ? static_cast<double>(size) : 0.0);
    const unsigned first = warp_greatest(wrong ? static_cast<unsigned>(64 - lane) : 0u);
    if (first != 0) {
        const int k = 64 - static_cast<int>(first);
        note_problem(c, f, record, pivot_problem(c, static_cast<double>(shuffle(ratio, k))), k);
        record.least = 0;
    }
    return record;
}
