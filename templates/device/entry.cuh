/* The kernels of every unit. Grid: chains by groups of members. */
template <class Use>
TRIFOLD_DEVICE void each_member(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * TRIFOLD_MEMBERS_PER_GROUP;
    for (trifold_int member = first; member < first + TRIFOLD_MEMBERS_PER_GROUP; ++member) {
        if (is_active(args, member)) use(member);
        if (TRIFOLD_MEMBERS_PER_GROUP > 1) block_sync();
    }
}

#ifdef TRIFOLD_KERNEL_INVERSE
TRIFOLD_KERNEL(inverse_threads, 1) void TRIFOLD_KERNEL_INVERSE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { invert_chain(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
TRIFOLD_KERNEL(finish_threads, 1) void TRIFOLD_KERNEL_FINISH_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { finish_factor_member(args, member, TRIFOLD_OVERLAPS && level.index != 0); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
TRIFOLD_KERNEL(finish_threads, 1) void TRIFOLD_KERNEL_FINISH_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { finish_forward_member(args, member); });
}
#endif
