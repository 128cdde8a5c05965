/* The kernels that finish. That of the factorization may begin while the fronts are still at work, and then waits for each. */
#include "gpu/tridiagonal/finish.cuh"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/dataflow/flags.cuh"

/* When a front's verdict is there: `early`, fronts are still at work. */
struct FrontsAtWork {
    bool early;
    TRIFOLD_METHOD trifold_int run(const trifold_args& args, trifold_int member) const {
        if constexpr (overlaps) return early ? last_run(args, member, Kind::factor) : 0;
        return 0;
    }
    TRIFOLD_METHOD void await(const trifold_args& args, trifold_int member, trifold_int block, trifold_int run) const {
        if constexpr (overlaps)
            if (early) await_everything(args, member, block, run);
    }
};

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
TRIFOLD_KERNEL(finish_threads, 1)
void TRIFOLD_KERNEL_FINISH_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels all) {
    each_member(args,
                [&](trifold_int member) { finish_factor_member(args, member, FrontsAtWork{overlaps && all.start != trifold_after}); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
TRIFOLD_KERNEL(finish_threads, 1)
void TRIFOLD_KERNEL_FINISH_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    each_member(args, [&](trifold_int member) { finish_forward_member(args, member); });
}
#endif
