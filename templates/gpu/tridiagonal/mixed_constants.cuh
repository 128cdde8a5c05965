/* Constants of the kernels of mixed precision: those around the kernels that factor and sweep in single precision. */
#include "gpu/tridiagonal/residual_constants.cuh"

namespace mixed {

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

struct MixedOffset : VectorOffset {
    OFFSET(wide_d, TRIFOLD_OFFSET_WIDE_D) /* D and E in double precision */
    OFFSET(wide_e, TRIFOLD_OFFSET_WIDE_E)
    OFFSET(narrow_d, TRIFOLD_OFFSET_NARROW_D) /* in single precision */
    OFFSET(narrow_e, TRIFOLD_OFFSET_NARROW_E)
    OFFSET(solution, TRIFOLD_OFFSET_SOLUTION) /* x, in double precision */
    OFFSET(running, TRIFOLD_OFFSET_RUNNING)   /* state of each member, as are all below */
    OFFSET(progress, TRIFOLD_OFFSET_PROGRESS)
};

}  // namespace mixed
