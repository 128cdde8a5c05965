/* Constants of variant getrf-fused. */
#include "gpu/platform.cuh"

constexpr bool has_fill = TRIFOLD_FILL;                                 /* whether chains may have a separator behind them */
constexpr int blocks = has_fill ? 5 : 3, right_part = has_fill ? 3 : 2; /* blocks of a front: D, R, G, Z', H'; the number of Z' */
