/* Constants of the kernels of sparse systems. Patterns are no constants: launches bring them. */
#include "gpu/lanes.cuh"
#include "gpu/sparse/shared.h"
#include "sparse_args.h"

typedef TRIFOLD_FACTOR factor_real; /* an element of the factors */

#define METHOD_BICGSTAB 0
#define METHOD_CG 1
#define METHOD_GMRES 2
#define METHOD TRIFOLD_KRYLOV /* one of these */

constexpr int block = TRIFOLD_BLOCK;                    /* rows and columns of a block */
constexpr int square = block * block;                   /* its elements */
constexpr bool diagonal_alone = TRIFOLD_DIAGONAL_ALONE; /* only D of the factors is computed, L and U are A's */
constexpr bool has_factors = TRIFOLD_HAS_FACTORS;       /* the preconditioner is not the identity */
constexpr int sweepers = TRIFOLD_SWEEPERS;              /* threads of a thread block that sweep through a subdomain */
constexpr int sweep_threads = sweepers + TRIFOLD_FETCHERS;
constexpr int sweep_blocks = TRIFOLD_SWEEP_BLOCKS; /* such thread blocks that a multiprocessor must have registers for */
/* Conjugate gradients need some registers more. */
constexpr int precondition_blocks = METHOD == METHOD_CG && sweep_blocks > 6 ? 6 : sweep_blocks;
constexpr int factor_blocks = block <= 3 ? sweep_blocks : 1;
/* Thread blocks that have some chunks of rows. Before sm_90 the compiler needs some registers more. */
constexpr int row_blocks = block <= (has_bulk_copies ? 3 : 2) ? 4 : block == 3 ? 3 : 2;
constexpr int kept_slots = TRIFOLD_KEPT_SLOTS; /* slots whose blocks a lane takes into registers a level early */
constexpr bool keeps_all = TRIFOLD_KEEPS_ALL;  /* no row has more */
#define ONE_LAUNCH TRIFOLD_ONE_LAUNCH          /* there is a kernel that makes a whole solution */
constexpr int groups = TRIFOLD_GROUPS;         /* groups of its threads, which take alternate levels */

/* Lanes of a warp that have work: a row's lanes, one for each component, are in one warp. */
constexpr int row_lanes = warp_lanes / block * block;

#define STEP TRIFOLD_DEVICE /* functions of templates/sparse/steps.h */
TRIFOLD_DEVICE double fabs_of(double x) { return x < 0 ? -x : x; }
TRIFOLD_DEVICE long long bits_of(double x) {
    long long bits;
    copy_bits(bits, x);
    return bits;
}
TRIFOLD_DEVICE double number_of(long long bits) {
    double x;
    copy_bits(x, bits);
    return x;
}
/* By an approximation of 1 / sqrt(x) and two corrections. What is not above 0 or infinite stays as it is. */
TRIFOLD_DEVICE double root_of(double x) {
    constexpr double tiny = 0x1p-900, large = 0x1p200;
    if (!(x > 0) || x - x != 0) return x;
    const double scaled = x < tiny ? x * large * large : x;
    double y = approximate_rsqrt(scaled);
    y += y * (0.5 - 0.5 * scaled * y * y);
    const double root = scaled * y, better = root + 0.5 * y * (scaled - root * root);
    return x < tiny ? better / large : better;
}

static_assert(sizeof(trifold_sparse_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_sparse_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                  sizeof(trifold_sparse_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_sparse_state) == TRIFOLD_SIZEOF_STATE,
              "host and kernels agree on what is passed");
