/* Blocks of the selected inverse, in the caller's arrays and the workspace. */
#include "gpu/tridiagonal/inverse_products.cuh"
#include "gpu/tridiagonal/members.cuh"

/* Blocks of the inverse are row-major without padding, couplings as (higher, lower), like the caller's. */
TRIFOLD_DEVICE View inverse_diagonal_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return {static_cast<real*>(args.inverse_diagonal) + block_index(args, member, block) * block_size * block_size, block_size, 1};
}

/* The block (p, q) of the inverse, where p and q are neighbours at a level. At level 0 it is in the caller's array, above that in the
 * workspace. */
TRIFOLD_DEVICE View inverse_coupling_of(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                        trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    real* at = level.index == 0
                   ? static_cast<real*>(args.inverse_coupling) +
                         (member * (is_ring ? horizon_of(args) : horizon_of(args) - 1) + lower) * block_size * block_size
                   : buffer<real>(args, offset_inverse_coupling(args)) + (member * couplings_of(args) + level.coupling + lower) * storage;
    const View view{at, block_size, 1};
    return p > q ? view : view.transposed();
}

/* The inverse between the separators on the two sides of a chain, as (ahead, behind). */
TRIFOLD_DEVICE View inverse_across(const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain) {
    real* at = buffer<real>(args, offset_inverse_coupling(args)) + next_coupling_index(args, level, member, chain) * storage;
    const View view{at, block_size, 1};
    return chain.step < 0 ? view.transposed() : view;
}

/* Two blocks of a chain's own, which its fronts use alternately for the inverse between them and the separator behind. */
TRIFOLD_DEVICE View inverse_scratch(const trifold_args& args, trifold_int member, trifold_int number, trifold_int k) {
    return {buffer<real>(args, offset_scratch(args)) + ((member * scratch_chains_of(args) + number) * 2 + k % 2) * storage, block_size, 1};
}
