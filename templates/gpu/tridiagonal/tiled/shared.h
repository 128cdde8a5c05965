/* Shared memory of variant tiled: its products take chunks of 32 columns, tiles of `rows` by 32.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

constexpr int chunk = 32;
/* Leading dimensions of the chunks of both operands: 4 more than their rows, against bank conflicts. */
TRIFOLD_SIZE int leading_of(int rows) { return rows + 4; }

TRIFOLD_SIZE long long front_bytes(long long padded, int rows, bool signs, long long real) {
    const long long pivots = 24, chain = 40, diagonal = (signs ? 16 : 8) * padded;
    const long long before = (pivots + chain + diagonal + 15) / 16 * 16;
    return (before + chunk * (leading_of(rows) + 2 * leading_of(chunk)) * real + 15) / 16 * 16; /* a, b and the inverse */
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/tiled/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

constexpr int tile_rows = chunk * vector_width * row_vectors;
constexpr int a_leading = leading_of(tile_rows), b_leading = leading_of(chunk);

struct FrontShared {
    Pivots pivots;
    Chain chain;                                      /* here rather than in registers, of which the panel needs all */
    double diagonal[has_signs ? 2 * padded : padded]; /* pivots, and the sums of rows */
    alignas(16) real a[chunk * a_leading];
    real b[chunk * b_leading];
    real inverse[chunk * b_leading];
};
static_assert(sizeof(FrontShared) == factor_shared_bytes && sizeof(FrontShared) == front_bytes(padded, tile_rows, has_signs, sizeof(real)),
              "host and device disagree");
#endif
