/* Members with lengths, and blocks with sizes, of their own: what the caller gave, and results beyond lengths. Schedules are those of N
 * blocks, of which a chain leaves out what its member does not have. Tasks are members. */
#include "cpu/tridiagonal/common.c"

/* The caller's length and sizes, which the library has checked, go to the workspace. A block that is not the last of its chain has no
 * reduction of its own, and another length may have made it the last one before. */
COLD void take_length(const trifold_args* args, integer member) {
    const int *length = (const int*)args->inverse_coupling, *sizes = (const int*)args->inverse_diagonal;
    lengths_of(args)[member] = length ? length[member] : HORIZON;
    for (integer block = 0; HAS_SIZES && block < lengths_of(args)[member]; ++block)
        *size_of(args, member, block) = sizes ? sizes[member * HORIZON + block] : (int)n;
    for (integer block = 0; HAS_LENGTHS && block < HORIZON; ++block) *reduction_of(args, member, block) = 0;
}

COLD void blank_solution(const trifold_args* args, integer member) {
    const trifold_strides* s = &args->x_strides;
    for (integer block = lengths_of(args)[member]; block < HORIZON; ++block)
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < args->columns; ++c) x_of(args, member, block)[r * s->row + c * s->column] = 0;
}
/* The coupling of the last block to the one after it is beyond the length too. */
COLD void blank_inverse(const trifold_args* args, integer member) {
    for (integer block = lengths_of(args)[member]; block < HORIZON; ++block)
        for (integer k = 0; k < n * n; ++k) {
            inverse_diagonal_of(args, member, block)[k] = 0;
            if (block > 0) inverse_neighbour_of(args, member, block - 1)[k] = 0;
        }
}

#define LENGTHS_KERNEL(NAME, CALL)                                                                                                    \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        (void)level, (void)scratch;                                                                                                   \
        for (integer member = first_task; member < last_task; ++member)                                                               \
            if (is_active(args, member)) CALL(args, member);                                                                          \
    }
#ifdef TRIFOLD_KERNEL_LENGTHS
LENGTHS_KERNEL(TRIFOLD_KERNEL_LENGTHS, take_length)
#endif
#ifdef TRIFOLD_KERNEL_BLANK
LENGTHS_KERNEL(TRIFOLD_KERNEL_BLANK, blank_solution)
#endif
#ifdef TRIFOLD_KERNEL_BLANK_INVERSE
LENGTHS_KERNEL(TRIFOLD_KERNEL_BLANK_INVERSE, blank_inverse)
#endif
