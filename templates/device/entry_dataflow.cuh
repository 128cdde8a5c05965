/* The kernels that treat all levels in one launch. Grid: fronts by groups of members. */
/* One member without a loop: before that compilers would put what it repeats, which costs the factorization registers and time before its
 * claim. A sweep is better off with it: it has fewer instructions left when what it waits for has come. */
template <class Use>
TRIFOLD_DEVICE void each_factored_member(const trifold_args& args, const Use& use) {
    if constexpr (TRIFOLD_MEMBERS_PER_GROUP > 1)
        each_member(args, use);
    else if (is_active(args, group_y()))
        use(group_y());
}

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    start_barriers();
    each_factored_member(args, [&](trifold_int member) { factor_front<false>(args, member, false); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_FORWARD_BLOCKS) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    start_barriers();
    each_factored_member(args, [&](trifold_int member) { factor_front<true>(args, member, ends_sweep && start_of(level) == Start::beside_factor); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_WIDE
TRIFOLD_KERNEL(wide_threads, TRIFOLD_WIDE_BLOCKS) void TRIFOLD_KERNEL_FACTOR_WIDE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_factored_member(args, [&](trifold_int member) { factor_wide(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { forward_front(args, member, start_of(level) == Start::beside_forward); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { backward_front(args, member, start_of(level)); });
}
#endif
