/* The kernels of variant "intervals". */
#include "cpu/tridiagonal/intervals/factor.c"
#include "cpu/tridiagonal/intervals/columns.c"
#include "cpu/tridiagonal/intervals/groups.c"
#include "cpu/tridiagonal/finish.c"

#ifdef TRIFOLD_KERNEL_FACTOR
INTERVALS_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_only)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_forward)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_any)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
INTERVALS_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_any)
#endif
