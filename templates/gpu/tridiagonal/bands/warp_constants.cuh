/* Constants of the kernels whose warps keep bands in registers. */
#include "gpu/tridiagonal/bands/constants.cuh"

constexpr int band_threads = TRIFOLD_BAND_THREADS;   /* threads that have a front's bands */
constexpr int front_threads = TRIFOLD_FRONT_THREADS; /* ... with those that have its other work */
constexpr int band_teams = TRIFOLD_BAND_TEAMS;       /* teams of warps, which take alternate fronts of a chain */
constexpr bool band_rereads = TRIFOLD_BAND_REREADS;  /* a thread's number is read again at each use, which frees registers; measured */
/* Numbers of bands: of double precision also where elements are of single precision, or elements. */
template <bool Doubles>
struct BandRealOf {
    typedef double type;
};
template <>
struct BandRealOf<false> {
    typedef real type;
};
typedef BandRealOf<TRIFOLD_BAND_DOUBLES>::type band_real;
