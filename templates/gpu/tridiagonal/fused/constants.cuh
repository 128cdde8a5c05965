/* Constants of variant fused. */
#include "gpu/platform.cuh"

constexpr int panel_leading = TRIFOLD_PANEL_LEADING;       /* leading dimension of a front's panel in shared memory */
constexpr int factor_shared_bytes = TRIFOLD_SHARED_FACTOR; /* bytes of FrontShared */
