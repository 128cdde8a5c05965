/* Columns of W in registers: P W = L U of them, or W = L L'. A thread has whole rows; rows do not move until the end. */
#include "gpu/grid/common.cuh"

/* How a candidate for the pivot is compared: the first digits of its size, and of equal ones the lowest lane. So a pivot may be smaller than the largest
 * candidate by one part in 2^14, and the choice is the same each time. */
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
    constexpr unsigned one = sizeof(real) == 8 ? 1u << 21 : 1u << 24, least = sizeof(real) == 8 ? 23 * one : 7 * one, most = sizeof(real) == 8 ? 2023 * one : 247 * one;
    constexpr real up = sizeof(real) == 8 ? real(0x1p200) : real(0x1p40f), down = sizeof(real) == 8 ? real(0x1p-200) : real(0x1p-40f);
    const unsigned key = size_key(d);
    return key < least ? up : key > most ? down : real(1);
}
/* 1 / d: an approximation, corrected twice. Not by a division, nor the root below by sqrt: in the loops over columns, where few registers are free,
 * their subroutines cost more than they compute, and the assembler of CUDA 13.0 made code of the root's that stopped with an illegal instruction. */
TRIFOLD_DEVICE real reciprocal(real d) {
    const real scale = scale_of(d), scaled = d * scale;
    real y = approximate_reciprocal(scaled);
    y += y * (real(1) - scaled * y);
    y += y * (real(1) - scaled * y);
    return y * scale;
}
/* The root of d: column k of L U is multiplied with it, to become one of L L'. Not a number unless d > 0. */
TRIFOLD_DEVICE real root_of(real d) {
    constexpr real up = sizeof(real) == 8 ? real(0x1p100) : real(0x1p20f), down = sizeof(real) == 8 ? real(0x1p-100) : real(0x1p-20f);
    const real scale = scale_of(d), scaled = d * scale;
    real y = approximate_rsqrt(scaled);
    y += y * real(0.5) * (real(1) - scaled * y * y);
    y += y * real(0.5) * (real(1) - scaled * y * y);
    const real root = scaled * y, exact = root + real(0.5) * y * (scaled - root * root);
    return exact * (scale == real(1) ? real(1) : scale > real(1) ? down : up);
}

/* W, in shared memory, by the first warp: at most Width columns, which has as many rows. order[k]: the row that becomes row k. The record is lane 0's. */
template <int Width>
TRIFOLD_DEVICE void factor_small(const Context& c, const Front& f, real* w, int leading, int* order, real* inverses, trifold_grid_record& record) {
    const int lane = lane_index(), s = f.s;
    real a[Width], before = 0;
    /* The largest entry of the lane's column, or its diagonal. */
    if (lane < s)
        for (int i = symmetric ? lane : 0; i < (symmetric ? lane + 1 : s); ++i) {
            const real x = w[i + lane * leading], size = x < 0 ? -x : x;
            if (size > before) before = size;
        }
#pragma unroll
    for (int k = 0; k < Width; ++k) a[k] = lane < s && k < s ? (symmetric && k > lane ? w[k + lane * leading] : w[lane + k * leading]) : real(0);
    warp_sync();
    bool used = lane >= s;
    real mine = 1; /* the pivot of column `lane` */
#pragma unroll
    for (int k = 0; k < Width; ++k) {
        if (k >= s) break;
        int row = k;
        if (pivoting) row = lane_of_key(warp_greatest(used ? 0u : key_of_lane(size_key(a[k]), lane)));
        if (lane == row) {
            used = true;
            order[k] = row;
#pragma unroll
            for (int i = 0; i < Width; ++i) w[k + i * leading] = a[i];
        }
        warp_sync();
        const real pivot = w[k + k * leading], inverse = reciprocal(pivot);
        if (lane == k) mine = pivot;
        if (!used) {
            a[k] *= inverse;
#pragma unroll
            for (int i = k + 1; i < Width; ++i) a[i] -= a[k] * w[k + i * leading];
        }
    }
    warp_sync();
    const real root = symmetric ? root_of(mine) : real(1);
    if (lane < s) inverses[lane] = symmetric ? real(1) / root : real(1) / mine;
    if (symmetric && lane < s)
        for (int i = lane; i < s; ++i) w[i + lane * leading] = i == lane ? root : w[i + lane * leading] * root;
    /* What is known of the pivots. */
    trifold_grid_record known = new_record();
    if (lane < s) {
        note_pivot(c, f, known, lane, static_cast<double>(mine), static_cast<double>(before));
        if (pivoting)
            for (int k = 0; k < lane; ++k)
                if (order[k] > order[lane]) known.sign = -known.sign;
    }
    known = sum_of_records(known);
    add_record(record, known);
    warp_sync();
}
