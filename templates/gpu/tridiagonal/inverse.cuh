/* Selected inverse of one chain by one thread block, from its last front to its first. With the border b of front i (next
 * and behind), S the inverse and P = [R; G] L^-1: S_bi = -S_bb P, S_ii = L^-T (I + [R; G]' S_bb [R; G]) L^-1. Where pivots
 * have both signs, I has them too. */
#include "gpu/tridiagonal/inverse_views.cuh"
#include "gpu/tridiagonal/members.cuh"

TRIFOLD_DEVICE void make_symmetric(const View& block) {
#pragma unroll 4
    for (int e = thread_index(); e < block_size * block_size; e += inverse_threads) {
        const int r = e / block_size, c = e % block_size;
        if (r < c) block(r, c) = block(c, r);
    }
    block_sync();
}

TRIFOLD_DEVICE void copy_view(const View& to, const View& from) {
#pragma unroll 1
    for (int e = thread_index(); e < block_size * block_size; e += inverse_threads) {
        const int r = e / block_size, c = e % block_size;
        to(r, c) = from(r, c);
    }
    block_sync();
}

TRIFOLD_DEVICE void invert_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    InverseShared& shared = *static_cast<InverseShared*>(shared_memory());
    const Chain chain = find_chain(args, level, number, member);
    const bool fill = chain.behind >= 0;
    if (thread_index() == 0 && begins_descent(level)) begin_result(args, member, Result::inverse);
    View across = fill && chain.ahead >= 0 ? inverse_across(args, level, member, chain) : View{};
#pragma unroll 1
    for (trifold_int k = chain.length; k-- > 0;) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool has_next = k + 1 < chain.length || chain.ahead >= 0;
        const View r{next_of(args, member, block), 1, padded, true}, g{behind_of(args, member, block), 1, padded, true};
        const View own = inverse_diagonal_of(args, member, block);
        View next{}, behind{}, next_own{}, behind_own{};
        if (has_next) {
            next = inverse_coupling_of(args, level, member, position + chain.step, position);
            next_own = inverse_diagonal_of(args, member, block_at(level, position + chain.step));
        }
        if (fill) {
            behind = k == 0 ? inverse_coupling_of(args, level, member, chain.behind, position) : inverse_scratch(args, member, number, k);
            behind_own = inverse_diagonal_of(args, member, block_at(level, chain.behind));
        }
        if (has_next) subtract_products(shared, next, false, nullptr, true, next_own, r, fill, across, g);
        if (fill) subtract_products(shared, behind, false, nullptr, has_next, across.transposed(), r, true, behind_own, g);
        subtract_products(shared, own, true, factor_of(args, member, block), has_next, r.transposed(), next, fill, g.transposed(), behind);
        const real* factor = factor_of(args, member, block);
        divide(shared, args, member, factor, {next, behind, own}, {has_next, fill, true}, false);
        divide(shared, args, member, factor, {own.transposed(), own, own}, {true, false, false}, true);
        make_symmetric(own);
        if constexpr (is_ring)
            if (closes_ring(level)) copy_view(inverse_coupling_of(args, level, member, 0, 1), own);
        across = behind.transposed();
    }
}

#ifdef TRIFOLD_KERNEL_INVERSE
TRIFOLD_KERNEL(inverse_threads, 1) void TRIFOLD_KERNEL_INVERSE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { invert_chain(args, level, group_x(), member); });
}
#endif
