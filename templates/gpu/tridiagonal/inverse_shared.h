/* Shared memory of the selected inverse, whose products take tiles of `square` by `square`.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

constexpr int inverse_depth = 16; /* columns of operands at once */
TRIFOLD_SIZE int inverse_square(long long padded) { return padded <= 32 ? 32 : 64; }
/* Blocks of more than one tile are for the whole device: see inverse_tiles.cuh. */
TRIFOLD_SIZE bool inverse_is_shared_out(long long padded) { return padded > 64; }
/* Elements from one column of an operand to the next: of large blocks 4 modulo 8, so that tensor instructions meet no bank conflicts. */
TRIFOLD_SIZE int inverse_line(long long padded) { return inverse_square(padded) + (inverse_is_shared_out(padded) ? 4 : 1); }
/* Columns that are solved together: a diagonal tile's, or as many of smaller ones. */
TRIFOLD_SIZE int inverse_band(long long tile) { return tile > 32 ? static_cast<int>(tile) : 32; }
/* Threads that have four by four elements of a tile each. */
TRIFOLD_SIZE int inverse_threads_of(long long padded) { return inverse_square(padded) * inverse_square(padded) / 16; }

/* Bytes of shared memory: of kernels that only multiply, and of those that also divide by the factor's diagonal bands. */
TRIFOLD_SIZE long long inverse_product_bytes(long long padded, long long real) {
    return 2 * inverse_depth * inverse_line(padded) * real; /* a and b */
}
TRIFOLD_SIZE long long inverse_bytes(long long padded, long long tile, long long real) {
    const long long band = inverse_band(tile), line = inverse_line(padded);
    const long long factor = tile == band ? 1 : band * (band + 4), inverse = band * (inverse_is_shared_out(padded) ? line : band + 4);
    return inverse_product_bytes(padded, real) + (band * line + inverse + factor) * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/inverse_constants.cuh"
#include "gpu/tridiagonal/common.cuh"

constexpr int square = inverse_square(padded), operand_line = inverse_line(padded);
constexpr int side = square / 4; /* threads along a tile's edge; each has 4 by 4 elements, `side` apart */
constexpr int depth_at_once = inverse_depth, band = inverse_band(tile);
constexpr bool inverted_bands = tile == band; /* the factor has the bands' inverses */
static_assert(side * side == inverse_threads, "host and device disagree");

/* Operands of A B', column by column. */
struct InverseOperands {
    real a[depth_at_once][operand_line];
    real b[depth_at_once][operand_line];
};
struct InverseShared {
    InverseOperands operands;
    real result[band][operand_line];
    real inverse[band][inverse_is_shared_out(padded) ? operand_line : band + 4]; /* inverse of a diagonal band: element (r, c) at [r][c] */
    real factor[inverted_bands ? 1 : band * (band + 4)];
};
static_assert(sizeof(InverseShared) == inverse_shared_bytes && sizeof(InverseShared) == inverse_bytes(padded, tile, sizeof(real)),
              "host and device disagree");
#endif
