/* Constants of CPU kernels of every family. */
#define TRIFOLD_SIZE static inline __attribute__((unused)) /* functions that GPUs or the generator have too */
typedef TRIFOLD_REAL real;
#define REAL_BYTES TRIFOLD_REAL_BYTES /* bytes of an element */
#define VECTOR_LANES TRIFOLD_LANES    /* elements of one `vec` */
