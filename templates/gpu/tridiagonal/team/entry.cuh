/* The kernels of teams. Grid: groups of chains by groups of members. */
#include "gpu/tridiagonal/team/factor.cuh"
#include "gpu/tridiagonal/team/sweep.cuh"
#include "gpu/tridiagonal/lengths.cuh"

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<false>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, Blocks::factor_forward)
void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<false>(shared, args, level); });
}
#endif
