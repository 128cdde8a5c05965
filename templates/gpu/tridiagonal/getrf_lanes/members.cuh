/* Variant getrf-lanes: small general matrices in large batches. A lane has a member, from its first block to its last, in registers. The
 * caller's arrays have members far apart, so the lanes of a warp copy some blocks of each to shared memory, as they lie in memory, while
 * earlier ones are eliminated. Factors lie in the workspace lane by lane. */
#include "gpu/tridiagonal/getrf_lanes/constants.cuh"
#include "gpu/tridiagonal/getrf/factors.cuh"
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/getrf_lanes/shared.h"

constexpr int area = block_size * block_size, row_places = warp_lanes + 1;
static_assert(threads == warp_lanes && padded == block_size, "a lane a member, and blocks without padding");

/* Copies `stage_blocks` blocks of each member, from block `first` on, to to[element][lane]. An element is at member * strides.member +
 * block * strides.stage + row * strides.row + column * strides.column. A lane copies the same element of every few members, and those next
 * to it what is next to that in memory. */
template <int Rows, int Width>
TRIFOLD_DEVICE void fetch_stage(real (*to)[row_places], const real* from, const trifold_strides& strides, const trifold_args& args,
                                trifold_int first_member, trifold_int first, trifold_int blocks) {
    constexpr int each = Rows * Width, words = stage_blocks * each, together = warp_lanes / words;
    static_assert(warp_lanes % words == 0, "lanes for whole members");
    const int e = lane_index() % words, own = lane_index() / words;
    const trifold_int block = first + e / each, left = args.members - first_member;
    if (first < 0 || block >= blocks) return;
    from += (first_member + own) * strides.member + block * strides.stage + e % each / Width * strides.row + e % Width * strides.column;
#pragma unroll
    for (int k = 0; k < words; ++k)
        if (k * together + own < left) copy_element_async(&to[e][k * together + own], from + k * together * strides.member);
}

/* Word `w` of a block's factor, or of its panels, stands at [w * warp_lanes]. */
TRIFOLD_DEVICE real* words_of(const trifold_args& args, trifold_int offset, trifold_int each, trifold_int member, trifold_int block) {
    return buffer<real>(args, offset) + (member / warp_lanes * horizon_of(args) + block) * each * warp_lanes + member % warp_lanes;
}
TRIFOLD_DEVICE real* factor_words(const trifold_args& args, trifold_int member, trifold_int block) {
    return words_of(args, Offset::factor(args), factor_storage, member, block);
}
TRIFOLD_DEVICE real* panel_words(const trifold_args& args, trifold_int member, trifold_int block) {
    return words_of(args, Offset::next(args), panel_storage, member, block);
}
/* L and U of a factor come first, row by row, and then the order of the rows, of four bits each. */
constexpr int order_word = area, order_bits = 4;
TRIFOLD_DEVICE int row_at(int order, int place) { return order >> place * order_bits & 15; }

/* use(first member) for each warp of members. */
template <class Use>
TRIFOLD_DEVICE void each_warp(const trifold_args& args, const Use& use) {
#pragma unroll 1
    for (trifold_int k = 0; k < members_per_group; k += warp_lanes) {
        const trifold_int first = group_y() * members_per_group + k;
        if (first < args.members) use(first);
    }
}
