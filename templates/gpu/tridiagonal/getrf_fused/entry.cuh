/* Variant getrf-fused: general matrices whose fronts shared memory holds whole, a launch for each level. Grid: chains by groups of members.
 */
#include "gpu/tridiagonal/getrf_fused/factor.cuh"
#include "gpu/tridiagonal/getrf_fused/sweep.cuh"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/finish_kernels.cuh"

#define GETRF_KERNEL(NAME, BLOCKS, ...)                                                              \
    TRIFOLD_KERNEL(threads, BLOCKS)                                                                  \
    void NAME(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {          \
        each_member(args, [&](trifold_int member) { __VA_ARGS__(args, level, group_x(), member); }); \
    }
TRIFOLD_DEVICE void factor_forward(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    factor_chain(args, level, number, member);
    block_sync();
    sweep_chain<true, false>(args, level, number, member);
}
#ifdef TRIFOLD_KERNEL_FACTOR
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR, Blocks::factor, factor_chain)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, 1, factor_forward)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD, Blocks::sweep, sweep_chain<true, false>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD, Blocks::sweep, sweep_chain<false, false>)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_FORWARD_TRANSPOSED, Blocks::sweep, sweep_chain<true, true>)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_TRANSPOSED
GETRF_KERNEL(TRIFOLD_KERNEL_BACKWARD_TRANSPOSED, Blocks::sweep, sweep_chain<false, true>)
#endif
