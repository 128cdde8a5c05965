/* Vectors, and the numbers in them, for CPU kernels of every family. GNU C with vector extensions, no headers. */
#include "integer.h"
#include "cpu/constants.c"

typedef trifold_int integer;
#define LANES VECTOR_LANES

typedef real vec __attribute__((vector_size(VECTOR_LANES * REAL_BYTES)));
/* A vector in the user's arrays, which are aligned to elements only; it may alias reals. */
typedef real loose __attribute__((vector_size(VECTOR_LANES * REAL_BYTES), aligned(REAL_BYTES), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE static __attribute__((noinline, unused))
#define UNROLL _Pragma("GCC unroll 16")

#if REAL_BYTES == 4
#define LARGEST 3.40282346638528859811704183484516925e+38f
INLINE real square_root(real x) { return __builtin_sqrtf(x); }
#else
#define LARGEST 1.79769313486231570814527423731704357e+308
INLINE real square_root(real x) { return __builtin_sqrt(x); }
#endif
#define NOT_A_NUMBER ((real)__builtin_nan(""))

INLINE integer smaller(integer a, integer b) { return a < b ? a : b; }
INLINE integer larger(integer a, integer b) { return a > b ? a : b; }

INLINE vec spread(real x) { return x - (vec){}; } /* x in every lane; -0 survives */
INLINE vec load(const real* p) { return *(const vec*)p; }
INLINE void store(real* p, vec x) { *(vec*)p = x; }

/* GCC reads a row again for every multiplier, unless HOLD hides where the register's value is from. Clang does not. Only a vector that
 * fills one register can be held: a wider one takes several, and a narrower one may lie in a register of another kind. */
#if defined(__AVX512F__)
#define HELD_BYTES 64
#elif defined(__AVX__)
#define HELD_BYTES 32
#else
#define HELD_BYTES 16
#endif
#if defined(__clang__) || VECTOR_LANES * REAL_BYTES < 16 || VECTOR_LANES * REAL_BYTES > HELD_BYTES
#define HOLD(row)
#elif defined(__x86_64__)
#define HOLD(row) __asm__("" : "+v"(row))
#elif defined(__aarch64__)
#define HOLD(row) __asm__("" : "+w"(row))
#else
#define HOLD(row)
#endif
