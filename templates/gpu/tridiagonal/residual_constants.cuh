/* Constants of the kernels that refine. */
#include "gpu/tridiagonal/constants.cuh"

namespace mixed {

constexpr int mixed_threads = TRIFOLD_MIXED_THREADS;
constexpr int part_rows = TRIFOLD_PART_ROWS;         /* rows of a part of a block, a thread for each */
constexpr trifold_int row_parts = TRIFOLD_ROW_PARTS; /* parts of a block */
[[maybe_unused]] constexpr trifold_int members_per_group =
    TRIFOLD_MIXED_MEMBERS; /* members that one thread block treats, one after another */

/* Places of refinement's data in the workspace, in bytes from its start. */
struct VectorOffset {
    OFFSET(narrow_x, TRIFOLD_OFFSET_NARROW_X) /* the residual, then its solution, in the precision of the kernels that sweep */
    OFFSET(errors, TRIFOLD_OFFSET_ERRORS)     /* errors of each part and column */
    OFFSET(refined, TRIFOLD_OFFSET_REFINED)   /* outcome of each member */
};

}  // namespace mixed
