/* Constants of the kernel of the wide levels. Those that were measured depend on the block size: see
 * docs/measurements/history.md#2026-11-22-gpu-dataflow. */
#include "gpu/tridiagonal/bands/warp_constants.cuh"

[[maybe_unused]] constexpr int wide_blocks = TRIFOLD_WIDE_BLOCKS; /* thread blocks that a multiprocessor must have room for */
constexpr int wide_shared_bytes = TRIFOLD_SHARED_WIDE;            /* bytes of WideShared */

constexpr bool shares_front = TRIFOLD_WIDE_SHARES_FRONT;     /* several warps look their front up in shared memory; measured */
constexpr bool diagonal_first = TRIFOLD_WIDE_DIAGONAL_FIRST; /* D is loaded before the couplings; measured */
