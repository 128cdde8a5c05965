/* The kernels of teams. Grid: one chain by groups of members. */
#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](const Member& member) { factor_member<false>(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_FORWARD_BLOCKS) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](const Member& member) { factor_member<true>(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](const Member& member) { sweep_member<true>(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](const Member& member) { sweep_member<false>(args, member); });
}
#endif
