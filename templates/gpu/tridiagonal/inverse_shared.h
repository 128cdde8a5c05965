/* Shared memory of the selected inverse, whose products take tiles of `square` by `square`.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

constexpr int inverse_depth = 16; /* columns of operands at once */
TRIFOLD_SIZE int inverse_square(long long padded) { return padded <= 32 ? 32 : 64; }
/* Columns that are solved together: a diagonal tile's, or as many of smaller ones. */
TRIFOLD_SIZE int inverse_band(long long tile) { return tile > 32 ? static_cast<int>(tile) : 32; }
/* Threads that have four by four elements of a tile each. */
TRIFOLD_SIZE int inverse_threads_of(long long padded) { return inverse_square(padded) * inverse_square(padded) / 16; }

TRIFOLD_SIZE long long inverse_bytes(long long padded, long long tile, long long real) {
    const long long band = inverse_band(tile), line = inverse_square(padded) + 1;
    const long long inverse = band * (band + 4), factor = tile == band ? 1 : inverse;
    return ((2 * inverse_depth + band) * line + factor + inverse) * real; /* a, b and the result */
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/inverse_constants.cuh"
#include "gpu/tridiagonal/common.cuh"

constexpr int square = inverse_square(padded);
constexpr int side = square / 4;  /* threads along a tile's edge; each has 4 by 4 elements, `side` apart */
constexpr int depth_at_once = inverse_depth, band = inverse_band(tile);
constexpr bool inverted_bands = tile == band;  /* the factor has the bands' inverses */
static_assert(side * side == inverse_threads, "host and device disagree");

struct InverseShared {
    real a[depth_at_once][square + 1];
    real b[depth_at_once][square + 1];
    real result[band][square + 1];
    real factor[inverted_bands ? 1 : band * (band + 4)];
    real inverse[band * (band + 4)];
};
static_assert(sizeof(InverseShared) == inverse_shared_bytes && sizeof(InverseShared) == inverse_bytes(padded, tile, sizeof(real)), "host and device disagree");
#endif
