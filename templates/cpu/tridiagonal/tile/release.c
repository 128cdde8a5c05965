/* Variant "tile": the inverse's coupling of two blocks that others eliminate, for the caller. A task is a member. */
#include "cpu/tridiagonal/tile/load.c"

KERNEL TRIFOLD_KERNEL_INVERSE(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                              void* scratch) {
    (void)scratch;
    for (integer member = first_task; member < last_task; ++member) {
        if (!is_active(args, member)) continue;
        const real* s = inverse_coupling_of(args, member, level->next_coupling); /* -S(0, 1) */
        real* out = inverse_neighbour_of(args, member, 0);
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < n; ++c) out[r * n + c] = -s[at(c, r)];
    }
}
