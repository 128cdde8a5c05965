/* The inverse of a diagonal tile that was eliminated by every test. */
#include "gpu/tridiagonal/bands/constants.cuh"

/* Computes the inverse of tile t's factor, which is in shared memory. Lane c < 8 solves for column c. */
template <int inverse_leading, class Shared>
TRIFOLD_DEVICE void invert_tile(Shared& shared, int t) {
    const int lane = thread_index() % warp_lanes;
    const real* l = shared.lower + t * 8 * (lower_leading + 1);
    real z[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= l[r + k * lower_leading] * z[k];
        z[r] = sum * shared.reciprocal[t * 8 + r];
    }
    warp_sync(); /* the inverse may take the tile's place */
    if (lane < 8) {
#pragma unroll
        for (int r = 0; r < 8; ++r) inverse_of(shared, t)[r * inverse_leading + lane] = z[r];
    }
}
