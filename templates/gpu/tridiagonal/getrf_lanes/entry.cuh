/* The kernels of variant getrf-lanes. Grid: one by groups of members. */
#include "gpu/tridiagonal/getrf_lanes/factor.cuh"
#include "gpu/tridiagonal/getrf_lanes/sweep.cuh"

#define GETRF_KERNEL(NAME, ...)                                                       \
    TRIFOLD_KERNEL(threads, 1)                                                        \
    void NAME(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) { \
        each_warp(args, [&](trifold_int first) { __VA_ARGS__(args, first); });        \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_members<false>)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_members<true>)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD, sweep_members<true, false>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD, sweep_members<false, false>)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD_TRANSPOSED, sweep_members<true, true>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD_TRANSPOSED, sweep_members<false, true>)
#endif
