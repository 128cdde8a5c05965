/* Shared memory of variant fused.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

TRIFOLD_SIZE long long front_bytes(long long padded, long long leading, bool signs, long long real) {
    const long long pivots = 24, chain = 40, diagonal = (signs ? 16 : 8) * padded;
    const long long before = (pivots + chain + diagonal + 15) / 16 * 16;
    return (before + leading * padded * real + 15) / 16 * 16; /* the panel */
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/fused/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"
struct FrontShared {
    Pivots pivots;
    Chain chain;                                      /* here rather than in registers, of which the panel needs all */
    double diagonal[has_signs ? 2 * padded : padded]; /* pivots, and the sums of rows */
    alignas(16) real panel[panel_leading * padded];
};
static_assert(sizeof(FrontShared) == factor_shared_bytes &&
                  sizeof(FrontShared) == front_bytes(padded, panel_leading, has_signs, sizeof(real)),
              "host and device disagree");
#endif
