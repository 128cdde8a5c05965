/* Constants of the pieces on chip. The constants of a variant are in a file of this name in its own folder. */
#include "gpu/lanes.cuh"

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else by zeros. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;

/* Whether blocks have numbers of rows of their own. The caller's blocks that a block is made of, those below the diagonal of a band; rows
 * of the last block that the caller's arrays have; and whether a block may have rows that are not theirs. */
[[maybe_unused]] constexpr bool has_sizes = TRIFOLD_SIZES;
[[maybe_unused]] constexpr int bandwidth = TRIFOLD_BAND, tail = TRIFOLD_TAIL;
[[maybe_unused]] constexpr bool is_band = bandwidth > 1, has_views = has_sizes || is_band, has_tail = tail < block_size;

/* Whether pivots have both signs. A = L S L' then, where the diagonal of L has the signs S too. */
[[maybe_unused]] constexpr bool has_signs = TRIFOLD_SIGNS;
/* Whether A is a general matrix, A = L U; and whether signs of pivots are counted, and the growth of the factor is watched. */
[[maybe_unused]] constexpr bool is_general = TRIFOLD_GENERAL, has_inertia = has_signs || is_general;
/* `value` with another sign where bit 31 of `bits` is set. Signs are bits here, since comparisons take longer. */
template <class T>
TRIFOLD_DEVICE T turned_by(T value, unsigned bits) {
    unsigned words[sizeof(T) / 4];
    copy_bits(words, value);
    words[sizeof(T) / 4 - 1] ^= bits & 0x80000000u;
    copy_bits(value, words);
    return value;
}
/* 1 where a number is negative. */
template <class P>
TRIFOLD_DEVICE unsigned sign_bit(P pivot) {
    unsigned words[sizeof(P) / 4];
    copy_bits(words, pivot);
    return words[sizeof(P) / 4 - 1] >> 31;
}
/* `value` times the sign of a pivot, or of the diagonal entry of L that is made of it. */
template <class T, class P>
TRIFOLD_DEVICE T by_sign(T value, P pivot) {
    if constexpr (!has_signs) return value;
    return turned_by(value, sign_bit(pivot) << 31);
}
template <class T, class P>
TRIFOLD_DEVICE T by_sign(T value, const P* pivots, int k) {
    if constexpr (!has_signs) return value;
    return by_sign(value, pivots[k]);
}
/* Numbers of panels that are pulled as soon as they come carry the sign of their column's pivot in their last bits, since nothing else
 * comes with them. Zeros need none. marked() gives `value` the sign to carry, 1 for -1; turned() is a number times the sign that it
 * carries. */
template <class T>
TRIFOLD_DEVICE T marked(T value, unsigned sign) {
    if (!has_signs || value == 0) return value;
    unsigned words[sizeof(T) / 4];
    copy_bits(words, value);
    words[0] = (words[0] & ~1u) | sign;
    copy_bits(value, words);
    return value;
}
template <class T>
TRIFOLD_DEVICE T turned(T value) {
    if constexpr (!has_signs) return value;
    unsigned words[sizeof(T) / 4];
    copy_bits(words, value);
    return turned_by(value, words[0] << 31);
}
/* A number of a panel, of what the product with the inverse of L's tile, transposed, is. */
template <class T, class P>
TRIFOLD_DEVICE T panel_entry(T product, P pivot) {
    if constexpr (!has_signs) return product;
    return marked(by_sign(product, pivot), sign_bit(pivot));
}
/* `value` times the sign of pivot k, of which `negative` has a bit where it is -1. */
template <class T>
TRIFOLD_DEVICE T by_bit(T value, unsigned negative, int k) {
    if constexpr (!has_signs) return value;
    return turned_by(value, negative << (31 - k));
}

/* The diagonal tiles of a factor are stored inverted, so that every triangular solve is a sequence of products. They are `tile` wide. */
[[maybe_unused]] constexpr int tile = TRIFOLD_TILE;

[[maybe_unused]] constexpr int threads = TRIFOLD_THREADS; /* threads of a block that factors */

[[maybe_unused]] constexpr int strip = padded < 8 ? padded : 8; /* columns of a product that one thread takes */
