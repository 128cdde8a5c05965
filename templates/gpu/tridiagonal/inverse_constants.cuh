/* Constants of the kernel of the selected inverse. */
#include "gpu/platform.cuh"

constexpr int inverse_threads = TRIFOLD_THREADS_INVERSE;
constexpr int inverse_shared_bytes = TRIFOLD_SHARED_INVERSE;   /* bytes of InverseShared */
constexpr trifold_int scratch_chains = TRIFOLD_SCRATCH_CHAINS; /* chains of a level, at most: each has two blocks of scratch */
constexpr trifold_int offset_scratch = TRIFOLD_OFFSET_SCRATCH;
constexpr trifold_int offset_inverse_coupling = TRIFOLD_OFFSET_INVERSE_COUPLING; /* the inverse's couplings above level 0 */
