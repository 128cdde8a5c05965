/* Variant "lanes": E becomes the coupling of two blocks that others eliminate. A task is a group. */
#include "cpu/tridiagonal/lanes/arrays.c"
#include "cpu/tridiagonal/lanes/lanes.c"

KERNEL TRIFOLD_KERNEL_ADOPT(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                            void* scratch) {
    for (integer task = first_task; task < last_task; ++task) {
        const lanes g = find_lanes(args, task);
        if (!g.any) continue;
        const view e = gather_e((vec*)scratch, args, &g, 0);
        vec* coupling = (vec*)coupling_of(args, g.group, level->next_coupling);
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < n; ++c) coupling[r * n + c] = e.p[r * e.row + c * e.column];
    }
}
