/* Variant "lanes": the inverse's coupling of two blocks that others eliminate, for the caller. A task is a group. */
#include "cpu/tridiagonal/lanes/arrays.c"
#include "cpu/tridiagonal/lanes/lanes.c"

KERNEL TRIFOLD_KERNEL_INVERSE(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                              void* scratch) {
    (void)scratch;
    for (integer task = first_task; task < last_task; ++task) {
        const lanes g = find_lanes(args, task);
        if (!g.any) continue;
        real* base[LANES];
        for (int lane = 0; lane < LANES; ++lane) base[lane] = inverse_neighbour_of(args, g.member[lane], 0);
        scatter_run(base, 0, (const vec*)inverse_coupling_of(args, g.group, level->next_coupling), g.active, AREA);
    }
}
