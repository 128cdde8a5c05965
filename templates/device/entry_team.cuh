/* The kernels of teams. Grid: groups of chains by groups of members. */
#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<false>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_FORWARD_BLOCKS) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<false>(shared, args, level); });
}
#endif
