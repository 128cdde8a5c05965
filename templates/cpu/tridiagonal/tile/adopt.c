/* Variant "tile": E becomes the coupling of two blocks that others eliminate. A task is a member. */
#include "cpu/tridiagonal/tile/load.c"

KERNEL TRIFOLD_KERNEL_ADOPT(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                            void* scratch) {
    (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) load_coupling(args, level, member, 1, 0, coupling_of(args, member, level->next_coupling));
}
