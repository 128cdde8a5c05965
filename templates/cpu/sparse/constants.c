/* Constants of the kernels of sparse systems. Patterns are no constants: launches bring them. */
#include "sparse_args.h"
#include "cpu/constants.c"

#define FACTOR_BYTES TRIFOLD_FACTOR_BYTES     /* bytes of an element of the factors */
#define DIAGONAL_ALONE TRIFOLD_DIAGONAL_ALONE /* 1: of the factors only D is computed, L and U are A's */
#define HAS_FACTORS TRIFOLD_HAS_FACTORS       /* 0: the preconditioner is the identity */
#define METHOD_BICGSTAB 0
#define METHOD_CG 1
#define METHOD_GMRES 2
#define METHOD TRIFOLD_KRYLOV /* one of these */

#define STEP static inline __attribute__((unused)) /* functions of templates/sparse/steps.h */
STEP double root_of(double x) { return __builtin_sqrt(x); }
STEP double fabs_of(double x) { return __builtin_fabs(x); }
STEP long long bits_of(double x) {
    long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
STEP double number_of(long long bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

enum { block = TRIFOLD_BLOCK, block_elements = block * block }; /* rows and columns of a block */
typedef TRIFOLD_FACTOR factor;                                  /* an element of the factors */
typedef TRIFOLD_LOCAL_INDEX local;                              /* a row within a subdomain */

_Static_assert(sizeof(trifold_sparse_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_sparse_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                   sizeof(trifold_sparse_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_sparse_state) == TRIFOLD_SIZEOF_STATE,
               "host and kernels agree on what is passed");
