/* ---- what is launched ---- */

enum { FACTOR, FORWARD, BACKWARD, SOLVE, FACTOR_FORWARD, FACTOR_SOLVE, INVERSE };

/* A thread block treats `members` systems of the batch. */
typedef struct {
    const char* name;
    unsigned threads, shared_bytes;
    long long members;
} kernel;

/* A kernel over one level of the elimination, or over all, in `groups` thread blocks a system. */
typedef struct {
    int kernel, constants, groups;
    int after;   /* launch of the same operation that must have ended; -1: none */
    int reads_x; /* the right-hand sides are what an earlier launch left in X */
} launch;

/* Bytes of the workspace that are zero before the first launch. */
typedef struct {
    size_t offset, bytes;
} region;

struct btd_program {
    const char* arch;
    const void* image; /* the compiled kernels */
    int kernel_count, zeroed_count;
    const kernel* kernels;
    const trifold_constants* constants;
    const launch* launches; /* operation after operation */
    const region* zeroed;
    int first[BTD_OPERATIONS + 1];                       /* launch of each operation; where the next begins there, it was not exported */
    size_t outcomes, log_determinant, quadratic, ranges; /* offsets in the workspace */
};
