/* The kernels that treat all levels in one launch. Grid: fronts by groups of members. */
#include "gpu/tridiagonal/dataflow/factor.cuh"
#include "gpu/tridiagonal/dataflow/sweep.cuh"
#include "gpu/tridiagonal/dataflow/finish.cuh"
#include "gpu/tridiagonal/lengths.cuh"
#include "gpu/tridiagonal/members.cuh"

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    start_barriers();
    each_factored_member(args, [&](trifold_int member) { factor_front<false>(args, member, false); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, Blocks::factor_forward)
void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    start_barriers();
    each_factored_member(
        args, [&](trifold_int member) { factor_front<true>(args, member, ends_sweep && start_of(all) == trifold_during_factor); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    each_member(args, [&](trifold_int member) { forward_front(args, member, start_of(all) == trifold_during_forward); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    each_member(args, [&](trifold_int member) { backward_front(args, member, start_of(all)); });
}
#endif
