/* The test that a pivot must pass, and the reciprocal of its root. */
#include "gpu/tridiagonal/dense/constants.cuh"

/* The floor that pivots are tested against, and the outcome of the pivots. A thread block has one, in shared memory. */
struct Pivots {
    double floor;   /* smaller pivots are raised to it, but for infinite ones; minus infinity: none */
    double rows;    /* rows whose pivots may be raised, where blocks have rows of their own */
    int failed_row; /* first row whose pivot failed, or -1 */
    int floors;     /* pivots raised */
};

/* The sum of the squares of a row. */
TRIFOLD_DEVICE real squares_of_row(const real* row, int leading, int columns) {
    real sum = 0;
#pragma unroll 4
    for (int k = 0; k < columns; ++k) sum += row[k * leading] * row[k * leading];
    return sum;
}
/* The sum over the four lanes that have a row. */
TRIFOLD_DEVICE real sum_of_row(real sum) {
    sum += shuffle_xor(sum, 1);
    return sum + shuffle_xor(sum, 2);
}

/* Whether a row's pivot may be raised: the identity's may not. */
TRIFOLD_DEVICE bool may_be_raised(const Pivots& pivots, int row) {
    return has_views ? row < static_cast<int>(pivots.rows) : row < block_size;
}

/* Whether a pivot may stand: above the largest number whose reciprocal is infinite, and finite. */
TRIFOLD_DEVICE bool is_pivot(real d) {
    return by_sign(d, d) > (sizeof(real) == 8 ? real(0x1p-1024) : real(0x1p-128)) && by_sign(d, d) <= largest;
}
constexpr real smallest_normal = sizeof(real) == 8 ? real(2.2250738585072014e-308) : real(1.175494351e-38f);

/* `scaled`, which is y, about 1 / sqrt(x), or a multiple of it, after one correction of third order. */
TRIFOLD_DEVICE real corrected_rsqrt(real x, real y, real scaled) {
    const real e = real(1) - (x * y) * y;
    if (sizeof(real) == 4) return scaled + e * (real(0.5) * scaled); /* y is good to 22 digits already */
    return scaled + (e * scaled) * (real(0.5) + real(0.375) * e);
}

/* 1 / sqrt(x) for x so far from the ends of the range that nothing need be scaled; callers test. */
TRIFOLD_DEVICE real quick_rsqrt(real x) {
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, y);
}

/* 1 / sqrt(d) for 0 < d. The hardware flushes subnormal numbers, so these are scaled, by a factor that joins where nothing waits
 * for it. */
TRIFOLD_DEVICE real inverse_sqrt(real d) {
    constexpr real root = sizeof(real) == 8 ? real(0x1p128) : real(0x1p32f);
    const bool tiny = d < smallest_normal;
    const real x = tiny ? d * root * root : d;
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, tiny ? y * root : y);
}
/* 1 / sqrt(|d|), with the sign of d. */
TRIFOLD_DEVICE real inverse_root(real d) { return by_sign(inverse_sqrt(by_sign(d, d)), d); }
