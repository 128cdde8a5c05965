/* Variant chains: a thread block has a chain, whose running block stays on chip. Grid: chains by groups of members. */
#include "gpu/tridiagonal/chains/factor.cuh"
#include "gpu/tridiagonal/chains/sweep.cuh"
#include "gpu/tridiagonal/finish_kernels.cuh"
#include "gpu/tridiagonal/lengths.cuh"

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    unsigned turn = 0;
    start_chains();
    each_factored_member(args, [&](trifold_int member) { factor_chain<false>(args, level, group_x(), member, turn); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    unsigned turn = 0;
    start_chains();
    each_factored_member(args, [&](trifold_int member) { factor_chain<true>(args, level, group_x(), member, turn); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<true>(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<false>(args, level, group_x(), member); });
}
#endif
