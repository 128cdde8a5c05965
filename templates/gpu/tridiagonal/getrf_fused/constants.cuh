/* Constants of variant getrf-fused. */
#include "gpu/platform.cuh"

constexpr bool has_fill = TRIFOLD_FILL; /* whether chains may have a separator behind them */
