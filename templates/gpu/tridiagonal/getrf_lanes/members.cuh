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
 * block * strides.stage + row * strides.row + column * strides.column. Lanes go by a member's elements, which are next to each other. */
template <int Rows, int Width>
TRIFOLD_DEVICE void fetch_stage(real (*to)[row_places], const real* from, const trifold_strides& strides, const trifold_args& args,
                                trifold_int first_member, trifold_int first, trifold_int blocks) {
    constexpr int each = Rows * Width, words = stage_blocks * each;
#pragma unroll 4
    for (int at = lane_index(); at < words * warp_lanes; at += warp_lanes) {
        const int lane = at / words, e = at % words;
        const trifold_int block = first + e / each, member = first_member + lane;
        if (first < 0 || block >= blocks || member >= args.members) continue;
        copy_element_async(&to[e][lane], from + member * strides.member + block * strides.stage + e % each / Width * strides.row +
                                             e % each % Width * strides.column);
    }
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
