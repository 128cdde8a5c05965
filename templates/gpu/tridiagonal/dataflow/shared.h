/* Shared memory of variant dataflow: of a front that is factored, and of one that is swept.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

/* The inverses of L's diagonal tiles have a place of their own, or that of the tiles themselves: the largest blocks need the room. Either
 * way their columns are as far apart as L's, so that a lane finds a row of L or one of the inverse by one address. */
TRIFOLD_SIZE bool inverses_apart(long long padded, long long real) { return real == 4 || padded <= 88; }

TRIFOLD_SIZE long long front_bytes(long long padded, long long lower_leading, long long stacked_leading, bool has_room, bool has_signs,
                                   long long real) {
    const long long pivots = 24, ticket = 8, arrivals = 16 * 4, vector = 16 / real, sums = has_signs ? 2 * padded * real : 0;
    const long long inverse = inverses_apart(padded, real) ? 8 * lower_leading : vector;
    const long long before = (pivots + ticket + arrivals + sums + (2 * padded + inverse + padded) * real + 15) / 16 *
                             16; /* diagonal, entry, inverse, reciprocal */
    const long long pulled = has_room ? 2 * lower_leading * padded : vector;
    return before + ((lower_leading + stacked_leading) * padded + pulled) * real;
}

/* Leading dimension of a sweep's factor: 4 modulo 8, free of bank conflicts by rows and by columns. */
TRIFOLD_SIZE int sweep_leading(int padded) { return padded + 4; }

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long columns, long long real) {
    const long long ticket = 16, factor = (padded + 4) * padded, vectors = columns * 3 * padded; /* running and solved */
    return (ticket + (factor + vectors) * real + 15) / 16 * 16;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/dataflow/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/pivots.cuh"

constexpr bool inverse_apart = inverses_apart(padded, sizeof(real));
static_assert(inverse_apart || !in_registers, "the identity has a place");

struct FrontShared {
    Pivots pivots;
    trifold_int ticket;                             /* then, where the stack's warps pull, whether a front that they pull from has failed */
    unsigned arrivals[16];                          /* counts of arrivals at the named barriers */
    real diagonal[has_signs ? 3 * padded : padded]; /* pivots; parts of the sums of rows, of either of the pivots' warps */
    real entry[padded];                             /* the diagonal of D as the caller gave it */
    /* Inverses of L's diagonal tiles; at first the identity, which is faster to load from here than to make. */
    alignas(16) real inverse[inverse_apart ? 8 * lower_leading : vector_width];
    alignas(16) real reciprocal[padded];                /* reciprocals of L's diagonal */
    alignas(16) real lower[lower_leading * padded];     /* D, then L, and below it b', then y'; column-major */
    alignas(16) real stacked[stacked_leading * padded]; /* rows: R, G */
    alignas(
        16) real pulled[has_room ? 2 * lower_leading * padded : vector_width]; /* R of the front to the left, G of the one to the right */
};
static_assert(sizeof(FrontShared) == SharedBytes::factor &&
                  sizeof(FrontShared) == front_bytes(padded, lower_leading, stacked_leading, has_room, has_signs, sizeof(real)),
              "host and device disagree");

constexpr int factor_leading = sweep_leading(padded);

struct SweepShared {
    trifold_int ticket;
    alignas(16) real factor[factor_leading * padded]; /* L, column-major, its diagonal tiles of 8 inverted; above it wider inverses */
    real running[columns_at_once][padded];            /* right-hand sides, which become solutions */
    real solved[columns_at_once][2 * padded];         /* forward: y; backward: x of the next and behind, then of the front */
};
static_assert(sizeof(SweepShared) == SharedBytes::sweep && sizeof(SweepShared) == sweep_bytes(padded, columns_at_once, sizeof(real)),
              "host and device disagree");
#endif
