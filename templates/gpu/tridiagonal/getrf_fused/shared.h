/* Shared memory of variant getrf-fused.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

/* Elements from one column to the next of a tile's rows of U, which lie by columns. */
TRIFOLD_SIZE long long above_leading_of(long long padded) { return padded + 4; }

TRIFOLD_SIZE long long lu_front_bytes(long long padded, long long blocks, long long leading, long long real) {
    const long long tile = 8, chain = 40, words = 4 + 2 * tile + (1 + blocks) * padded, numbers = 2 * tile + 4 + 6 * padded;
    return (chain + 4 * words + 15) / 16 * 16 + (numbers + tile * above_leading_of(padded) + leading * padded) * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/fused/constants.cuh"
#include "gpu/tridiagonal/getrf_fused/constants.cuh"
#include "gpu/tridiagonal/common.cuh"

constexpr int above_leading = static_cast<int>(above_leading_of(padded));

struct FrontShared {
    Chain chain;                        /* here rather than in registers, of which the panel needs all */
    int failed_row, interchanges;       /* the first row whose pivot failed, or -1 */
    int place[2], from[tile], to[tile]; /* where a pivot's row was; rows that come to a tile, and where those go that they replace */
    int order[padded];                  /* the rows of D in the order of the pivots */
    int most[blocks][padded];           /* the largest entries of rows of the front's blocks */
    alignas(16) real chosen[2][tile], inverse[4];                          /* the row of a pivot, and the pivot's reciprocal */
    real pivots[padded], top[padded];                                      /* and the largest entries of rows of U, Z and H */
    real sums[padded], totals[padded], next_sums[padded], entries[padded]; /* sums of rows, and the largest entries of A */
    alignas(16) real above[tile * above_leading];                          /* rows of U that a tile leaves right of it, by columns */
    alignas(16) real panel[panel_leading * padded];
};
static_assert(sizeof(FrontShared) == factor_shared_bytes &&
                  sizeof(FrontShared) == lu_front_bytes(padded, blocks, panel_leading, sizeof(real)),
              "host and device disagree");
#endif
