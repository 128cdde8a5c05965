/* Lanes, numbers and loops over registers, for GPU kernels of every family. */
#include "gpu/constants.cuh"

[[maybe_unused]] constexpr real largest = sizeof(real) == 8 ? real(1.7976931348623157e308) : real(3.402823466e38f);

TRIFOLD_DEVICE int smaller(int a, int b) { return a < b ? a : b; }
TRIFOLD_DEVICE int larger(int a, int b) { return a > b ? a : b; }

TRIFOLD_DEVICE int warp_index() { return thread_index() / warp_lanes; }
TRIFOLD_DEVICE int lane_index() { return thread_index() % warp_lanes; }

/* use(a, b, c) for all a < A, b < B and c < C. The loops are unrolled, so that an array which these index stays in registers. */
template <int A, int B, int C, class Use>
TRIFOLD_DEVICE void each_index(const Use& use) {
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
        for (int b = 0; b < B; ++b)
#pragma unroll
            for (int c = 0; c < C; ++c) use(a, b, c);
}
