/* Shared memory of sweeps that treat one level in each launch.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

/* Leading dimension of the factor, where sweeps copy it to shared memory: one more than its rows, against bank conflicts. */
TRIFOLD_SIZE int sweep_leading(int padded, bool stage_factor) { return stage_factor ? padded + 1 : padded; }

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long columns, long long parts, bool stage_factor, long long real) {
    const long long stacked = 3, solved = 1, partial = 2 * parts; /* blocks of each column */
    const long long factor = stage_factor ? (padded + 1) * padded : 1;
    return (columns * (stacked + solved + partial) * padded + factor) * real;
}

#ifdef TRIFOLD_DEVICE
#include "gpu/tridiagonal/levels/constants.cuh"
#include "gpu/tridiagonal/common.cuh"

constexpr int factor_leading = sweep_leading(padded, stage_factor);
constexpr int stack = 3 * padded;

struct SweepShared {
    real stacked[columns_at_once][stack];
    real solved[columns_at_once][padded];
    real partial[parts][columns_at_once][2 * padded]; /* sums over parts of a panel's columns */
    real factor[stage_factor ? factor_leading * padded : 1];
};
static_assert(sizeof(SweepShared) == sweep_shared_bytes &&
                  sizeof(SweepShared) == sweep_bytes(padded, columns_at_once, parts, stage_factor, sizeof(real)),
              "host and device disagree");
#endif
