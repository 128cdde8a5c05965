/* The kernels that finish, where each launch begins after the one before it has ended. */
#include "gpu/tridiagonal/finish.cuh"
#include "gpu/tridiagonal/members.cuh"

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
TRIFOLD_KERNEL(finish_threads, 1)
void TRIFOLD_KERNEL_FINISH_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    each_member(args, [&](trifold_int member) { finish_factor_member(args, member, FrontsHaveEnded{}); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
TRIFOLD_KERNEL(finish_threads, 1)
void TRIFOLD_KERNEL_FINISH_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    each_member(args, [&](trifold_int member) { finish_forward_member(args, member); });
}
#endif
