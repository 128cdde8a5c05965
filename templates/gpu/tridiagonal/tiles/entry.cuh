/* One launch factors all levels and members, and one sweeps over them. Grid: thread blocks that share the tasks. */
#include "gpu/tridiagonal/tiles/factor.cuh"
#include "gpu/tridiagonal/tiles/ahead.cuh"
#include "gpu/tridiagonal/tiles/sweep.cuh"
#include "gpu/tridiagonal/finish_kernels.cuh"
#include "gpu/tridiagonal/lengths.cuh"

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) { factor_all(args); }
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) { sweep_all<true>(args); }
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) { sweep_all<false>(args); }
#endif
