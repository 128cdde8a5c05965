/* Constants of the kernels of mixed precision: those around the kernels that factor and sweep in single precision. */
#include "gpu/tridiagonal/constants.cuh"

namespace mixed {

constexpr int mixed_threads = TRIFOLD_MIXED_THREADS;
constexpr int part_rows = TRIFOLD_PART_ROWS;         /* rows of a part of a block, a thread for each */
constexpr trifold_int row_parts = TRIFOLD_ROW_PARTS; /* parts of a block */
[[maybe_unused]] constexpr trifold_int members_per_group =
    TRIFOLD_MIXED_MEMBERS; /* members that one thread block treats, one after another */

/* Strides of the caller's arrays, which are in double precision: see D and E of the kernels that factor. */
struct CallerD {
    static constexpr trifold_int row = TRIFOLD_CALLER_D_ROW, column = TRIFOLD_CALLER_D_COLUMN;
    static constexpr trifold_int stage = TRIFOLD_CALLER_D_STAGE;
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_CALLER_D_MEMBER; }
};
struct CallerE {
    static constexpr trifold_int row = TRIFOLD_CALLER_E_ROW, column = TRIFOLD_CALLER_E_COLUMN;
    static constexpr trifold_int stage = TRIFOLD_CALLER_E_STAGE;
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_CALLER_E_MEMBER; }
};

/* Places of refinement's data in the workspace, in bytes from its start. */
struct MixedOffset {
    OFFSET(wide_d, TRIFOLD_OFFSET_WIDE_D) /* D and E in double precision */
    OFFSET(wide_e, TRIFOLD_OFFSET_WIDE_E)
    OFFSET(narrow_d, TRIFOLD_OFFSET_NARROW_D) /* in single precision */
    OFFSET(narrow_e, TRIFOLD_OFFSET_NARROW_E)
    OFFSET(narrow_x, TRIFOLD_OFFSET_NARROW_X) /* the residual, then its solution, in single precision */
    OFFSET(solution, TRIFOLD_OFFSET_SOLUTION) /* x, in double precision */
    OFFSET(errors, TRIFOLD_OFFSET_ERRORS)     /* errors of each part and column */
    OFFSET(running, TRIFOLD_OFFSET_RUNNING)   /* state of each member, as are all below */
    OFFSET(progress, TRIFOLD_OFFSET_PROGRESS)
    OFFSET(refined, TRIFOLD_OFFSET_REFINED)
};

}  // namespace mixed
