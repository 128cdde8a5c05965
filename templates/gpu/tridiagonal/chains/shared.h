/* Shared memory of variant chains: of a chain that is factored, and of one that is swept.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

TRIFOLD_SIZE long long chain_bytes(long long padded, long long lower_leading, long long columns, long long real) {
    const long long pivots = 24, chain = 40, flags = 16, diagonal = 8 * padded, inverse = 8 * padded;
    return pivots + chain + flags + diagonal + (inverse + 2 * padded + 3 * columns * padded + 2 * lower_leading * padded) * real;
}

/* Leading dimension of a block of a sweep: lanes that read vectors down its columns meet no bank conflicts. */
TRIFOLD_SIZE int sweep_leading(int padded, int real) { return padded + 16 / real; }

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long columns, long long ring, long long real) {
    const long long chain = 48, block = (padded + 16 / real) * padded, vectors = columns * padded; /* sweep_leading */
    return chain + (ring * (block + vectors) + 2 * vectors) * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/chains/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

struct ChainShared {
    Pivots pivots;
    Chain chain;
    bool slowly;                         /* the tile's pivots need every test */
    alignas(16) double diagonal[padded]; /* pivots */
    alignas(16) real inverse[tiles][64]; /* inverses of L's diagonal tiles, row-major */
    real reciprocal[padded];             /* reciprocals of L's diagonal */
    real entry[padded];                  /* the diagonal of D as the caller gave it */
    /* Right-hand sides: of this front, less its updates; of the next one, on its way; y. */
    real running[columns_at_once][padded], coming[columns_at_once][padded], solved[columns_at_once][padded];
    alignas(16) real lower[lower_leading * padded];  /* L's column tiles as they are made; column-major */
    alignas(16) real pulled[lower_leading * padded]; /* the original coupling, then R */
};
static_assert(sizeof(ChainShared) == SharedBytes::factor &&
                  sizeof(ChainShared) == chain_bytes(padded, lower_leading, columns_at_once, sizeof(real)),
              "host and device disagree");
TRIFOLD_DEVICE real* inverse_of(ChainShared& shared, int t) { return shared.inverse[t]; }

constexpr int factor_leading = sweep_leading(padded, sizeof(real));

/* A block on its way or at hand: L with the right-hand sides of its front, or R. */
struct Slot {
    alignas(16) real block[factor_leading * padded];
    real vectors[columns_at_once][padded];
};
struct SweepShared {
    Chain chain;
    Slot slots[ring];
    /* A tile's right-hand sides while it is solved; solutions of the front, which the next front of the sweep takes. */
    real running[columns_at_once][padded], solved[columns_at_once][padded];
};
static_assert(sizeof(SweepShared) == SharedBytes::sweep && sizeof(SweepShared) == sweep_bytes(padded, columns_at_once, ring, sizeof(real)),
              "host and device disagree");
#endif
