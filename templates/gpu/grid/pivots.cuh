/* The root of a pivot. */
#include "gpu/grid/common.cuh"
#include "gpu/pivots.cuh"

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
