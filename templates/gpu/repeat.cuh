/* The kernel that decides whether a repetition has another turn. */
#include "gpu/platform.cuh"
#include "repeat_args.h"

TRIFOLD_KERNEL(1, 1) void trifold_repeat(TRIFOLD_PARAMETER trifold_repeat_args args) {
    const trifold_int turns = args.begins != 0 ? 0 : args.flag[1];
    const bool again = args.flag[0] != 0 && turns < args.most;
    args.flag[1] = turns + (again ? 1 : 0);
    set_condition(args.handle, again);
}
