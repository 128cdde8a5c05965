/* The kernels that treat all levels in one launch. Grid: fronts by groups of members. */
#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    start_barriers();
    each_member(args, [&](trifold_int member) { factor_front<false>(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_FORWARD_BLOCKS) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    start_barriers();
    each_member(args, [&](trifold_int member) { factor_front<true>(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { forward_front(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { backward_front(args, member); });
}
#endif
