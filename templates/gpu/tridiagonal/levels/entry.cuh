/* The kernels that treat one level in each launch. */
#include "gpu/tridiagonal/levels/constants.cuh"
#include "gpu/tridiagonal/levels/sweep.cuh"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/finish_kernels.cuh"
#include "gpu/tridiagonal/lengths.cuh"

/* A variant's own: in fused/factor.cuh or tiled/factor.cuh. */
TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member);

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { factor_chain(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) {
        factor_chain(args, level, group_x(), member);
        block_sync();
        sweep_chain<true>(args, level, group_x(), member);
    });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<true>(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<false>(args, level, group_x(), member); });
}
#endif
