/* Shared memory of a front of a wide level.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

TRIFOLD_SIZE long long wide_bytes(long long padded, long long lower_leading, bool has_signs, long long real) {
    const long long pivots = 24, ticket = 8, terms = 16, front = 40, flags = 8, diagonal = (has_signs ? 2 : 1) * 8 * padded,
                    inverse = padded / 8 * 64;
    const long long before = (pivots + ticket + terms + front + flags + diagonal + (padded + inverse + padded) * real + 15) / 16 *
                             16; /* with entry and reciprocal */
    return before + 2 * lower_leading * padded * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/dataflow/wide_constants.cuh"
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"

struct WideShared {
    Pivots pivots;
    trifold_int ticket;
    const real* terms; /* terms that are added to the diagonal entries, or null; and a shift of all of them */
    double shift;
    Front front;                                      /* if it is shared */
    bool slowly;                                      /* the tile's pivots need every test */
    bool failed;                                      /* the front, or one that it needs; for one thread */
    double diagonal[has_signs ? 2 * padded : padded]; /* pivots, and the sums of rows */
    real entry[padded];                               /* the diagonal of D as the caller gave it */
    alignas(16) real inverse[tiles][64];              /* inverses of L's diagonal tiles, row-major */
    alignas(16) real reciprocal[padded];              /* reciprocals of L's diagonal */
    alignas(
        16) real lower[lower_leading * padded]; /* L's column tiles as they are made; before, R of the front to the left; column-major */
    alignas(16) real pulled[lower_leading * padded]; /* G of the front to the right, then whatever else a band is multiplied by */
};
TRIFOLD_DEVICE void sync_band_warps() { block_sync(); }
TRIFOLD_DEVICE real* inverse_of(WideShared& shared, int t) { return shared.inverse[t]; }
static_assert(sizeof(WideShared) == wide_shared_bytes && sizeof(WideShared) == wide_bytes(padded, lower_leading, has_signs, sizeof(real)),
              "host and device disagree");
#endif
