/* The kernels of variant "lanes". */
#include "cpu/tridiagonal/lanes/factor.c"
#include "cpu/tridiagonal/lanes/sweep.c"
#include "cpu/tridiagonal/lanes/chains.c"
#include "cpu/tridiagonal/finish.c"
#include "cpu/tridiagonal/lengths.c"

#ifdef TRIFOLD_KERNEL_FACTOR
LANES_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_only)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
LANES_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_forward)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
LANES_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
LANES_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain)
#endif
