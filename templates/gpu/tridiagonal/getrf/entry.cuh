/* The kernels of variant getrf. Grid: groups of chains by groups of members. */
#include "gpu/tridiagonal/getrf/factor.cuh"
#include "gpu/tridiagonal/getrf/sweep.cuh"

#define GETRF_KERNEL(NAME, BLOCKS, SHARED, ...)                                                     \
    TRIFOLD_KERNEL(threads, BLOCKS)                                                                 \
    void NAME(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {         \
        each_chain<SHARED>(args, level, [&](SHARED& shared) { __VA_ARGS__(shared, args, level); }); \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR, Blocks::factor, FactorShared, factor_chain<false>)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, Blocks::factor_forward, FactorShared, factor_chain<true>)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD, Blocks::sweep, SweepShared, sweep_chain<true, false>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD, Blocks::sweep, SweepShared, sweep_chain<false, false>)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD_TRANSPOSED, Blocks::sweep, SweepShared, sweep_chain<true, true>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD_TRANSPOSED, Blocks::sweep, SweepShared, sweep_chain<false, true>)
#endif
