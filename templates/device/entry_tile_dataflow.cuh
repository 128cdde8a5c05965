/* One launch factors all levels and members, and one sweeps over them. Grid: thread blocks that share the tasks. */
#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) { factor_all(args); }
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    sweep_all<true>(args);
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    sweep_all<false>(args);
}
#endif
