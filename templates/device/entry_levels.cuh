/* The kernels that treat one level a launch. */
#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { factor_chain(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) {
        factor_chain(args, level, group_x(), member);
        block_sync();
        sweep_chain<true>(args, level, group_x(), member);
    });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<true>(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<false>(args, level, group_x(), member); });
}
#endif
