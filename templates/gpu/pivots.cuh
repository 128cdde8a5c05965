/* Pivots that are searched for among lanes, for GPU kernels of every family: how candidates are compared, and reciprocals. */
#include "gpu/lanes.cuh"

/* How a candidate for the pivot is compared: the first digits of its size, and of equal ones the lowest lane. So a pivot may be smaller
 * than the largest candidate by one part in 2^14, and the choice is the same each time. */
constexpr unsigned lane_digits = 127;
TRIFOLD_DEVICE unsigned size_key(double x) {
    unsigned long long bits;
    copy_bits(bits, x);
    return static_cast<unsigned>(bits >> 31) & ~lane_digits; /* without its sign */
}
TRIFOLD_DEVICE unsigned size_key(float x) {
    unsigned bits;
    copy_bits(bits, x);
    return bits << 1 & ~lane_digits;
}
/* 0: none. */
TRIFOLD_DEVICE unsigned key_of_lane(unsigned key, int lane) { return key | static_cast<unsigned>(64 - lane); }
TRIFOLD_DEVICE int lane_of_key(unsigned key) { return 64 - static_cast<int>(key & lane_digits); }

/* A power of two that takes d near 1, where approximations hold; its square root is one too. By d's exponent, as a whole number. */
TRIFOLD_DEVICE real scale_of(real d) {
    constexpr unsigned one = sizeof(real) == 8 ? 1u << 21 : 1u << 24, least = sizeof(real) == 8 ? 23 * one : 7 * one,
                       most = sizeof(real) == 8 ? 2023 * one : 247 * one;
    constexpr real up = sizeof(real) == 8 ? real(0x1p200) : real(0x1p40f), down = sizeof(real) == 8 ? real(0x1p-200) : real(0x1p-40f);
    const unsigned key = size_key(d);
    return key < least ? up : key > most ? down : real(1);
}
/* 1 / d: an approximation, corrected twice. Neither a division here nor sqrt below: both are subroutines, which cost more than they compute
 * in the loops over columns, where few registers are free. Nor a branch for unusual numbers: compilers make both its sides wait for one
 * another. */
TRIFOLD_DEVICE real reciprocal(real d) {
    const real scale = scale_of(d), scaled = d * scale;
    real y = approximate_reciprocal(scaled);
    y += y * (real(1) - scaled * y);
    y += y * (real(1) - scaled * y);
    return y * scale;
}
