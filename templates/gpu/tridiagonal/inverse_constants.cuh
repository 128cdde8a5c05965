/* Constants of the kernel of the selected inverse. */
#include "gpu/platform.cuh"

constexpr int inverse_threads = TRIFOLD_THREADS_INVERSE;
constexpr int inverse_shared_bytes = TRIFOLD_SHARED_INVERSE; /* bytes of InverseShared */
/* Chains of a level, at most: each has two blocks of scratch. */
TRIFOLD_DEVICE trifold_int scratch_chains_of(const trifold_args& args) { return TRIFOLD_SCRATCH_CHAINS; }
TRIFOLD_DEVICE trifold_int offset_scratch(const trifold_args& args) { return TRIFOLD_OFFSET_SCRATCH; }
/* The inverse's couplings above level 0. */
TRIFOLD_DEVICE trifold_int offset_inverse_coupling(const trifold_args& args) { return TRIFOLD_OFFSET_INVERSE_COUPLING; }
