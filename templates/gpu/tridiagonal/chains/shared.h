/* Shared memory of variant chains: of a chain that is factored, and of one that is swept.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

TRIFOLD_SIZE long long chain_bytes(long long padded, long long lower_leading, long long columns, bool has_signs, long long real) {
    const long long pivots = 24, chain = 40, gate = 8, arrivals = 16 * 4, flags = 8;
    const long long sums = (3 * 8 + 4 + (has_signs ? 4 * 8 + 4 : 0)) * padded + 8 * columns * padded, inverse = 8 * padded;
    return pivots + chain + gate + arrivals + flags + sums +
           (inverse + 2 * padded + 3 * columns * padded + 2 * lower_leading * padded) * real;
}

/* Leading dimension of a block of a sweep: lanes that read vectors down its columns meet no bank conflicts. */
TRIFOLD_SIZE int sweep_leading(int padded, int real) { return padded + 16 / real; }

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long columns, long long ring, long long real) {
    const long long chain = 48, arrivals = 16 * 4, block = (padded + 16 / real) * padded, vectors = columns * padded; /* sweep_leading */
    return chain + arrivals + (ring * block + 2 * vectors) * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/chains/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

struct ChainShared {
    Pivots pivots;
    Chain chain;
    trifold_gate gate;     /* opens when a coupling has come */
    unsigned arrivals[16]; /* counts of arrivals at the named barriers */
    bool slowly;           /* the tile's pivots need every test */
    /* Pivots; where they have both signs, the sums of this front's rows, and those that come for the next one's. */
    alignas(16) double diagonal[has_signs ? 3 * padded : padded];
    /* Sums of each row over the whole chain: the product of its pivots, as a number between 1 and 2 and an exponent; the largest quotient
     * of an entry and its pivot; the squares of y. Where pivots have both signs, also the largest sum, the largest entry, and the number of
     * negative pivots. */
    double mantissa[padded], quotient[has_signs ? 3 * padded : padded];
    int exponent[has_signs ? 2 * padded : padded];
    double squares[columns_at_once][padded];
    alignas(16) real inverse[tiles][64]; /* inverses of L's diagonal tiles, row-major */
    real reciprocal[padded];             /* reciprocals of L's diagonal */
    real entry[padded];                  /* the diagonal of D as the caller gave it */
    /* Right-hand sides: of this front, less its updates; of the next one, which are being fetched; y. */
    real running[columns_at_once][padded], coming[columns_at_once][padded], solved[columns_at_once][padded];
    alignas(16) real lower[lower_leading * padded];  /* L's column tiles as they are made; column-major */
    alignas(16) real pulled[lower_leading * padded]; /* the original coupling as it is in memory, then R */
};
static_assert(band_teams * sizeof(ChainShared) == SharedBytes::factor &&
                  sizeof(ChainShared) == chain_bytes(padded, lower_leading, columns_at_once, has_signs, sizeof(real)),
              "host and device disagree");
TRIFOLD_DEVICE real* inverse_of(ChainShared& shared, int t) { return shared.inverse[t]; }
/* Each team has its own. */
TRIFOLD_DEVICE ChainShared* chain_shared() { return static_cast<ChainShared*>(shared_memory()); }

constexpr int factor_leading = sweep_leading(padded, sizeof(real));

struct SweepShared {
    unsigned arrivals[16]; /* counts of arrivals at the named barriers */
    Chain chain;
    alignas(16) real blocks[ring][factor_leading * padded];
    /* A tile's right-hand sides while it is solved; solutions of the front, which the next front of the sweep takes. */
    real running[columns_at_once][padded], solved[columns_at_once][padded];
};
static_assert(sizeof(SweepShared) == SharedBytes::sweep && sizeof(SweepShared) == sweep_bytes(padded, columns_at_once, ring, sizeof(real)),
              "host and device disagree");
#endif
