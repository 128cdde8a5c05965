/* General matrices: P D = L U within a block, R = E U^-1 below it and Z = L^-1 P U_i to the right; G and H are those of the separator
 * behind. The next block gets - R Z. Variant getrf has teams of lanes as team has, getrf-fused a thread block a chain as fused has. */
#include "gpu/tridiagonal/common.cuh"

/* Factors in the workspace. A block has L and U, with reciprocals of the pivots on the diagonal, and the rows of A in the order of the
 * pivots; its panels are R and Z, and G and H, of which getrf-fused keeps Z' and H'. A coupling of the levels above the first has A(higher,
 * lower), then A(lower, higher). */
TRIFOLD_DEVICE int* order_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return reinterpret_cast<int*>(factor_of(args, member, block) + storage);
}

/* A block of A: element (r, c) is at r * row + c * column. */
struct Stored {
    const real* first;
    trifold_int row, column;
};
/* A(to, from) of neighbouring positions of a level. */
TRIFOLD_DEVICE Stored stored_coupling(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int to,
                                      trifold_int from) {
    const trifold_int low = to < from ? to : from;
    if (level.index > 0) {
        const trifold_int index = member * couplings_of(args) + level.coupling + low;
        return {buffer<real>(args, Offset::coupling(args)) + index * panel_storage + (to > from ? 0 : storage), 1, padded};
    }
    const real* array = global_pointer(static_cast<const real*>(to > from ? args.e : args.inverse_coupling));
    return {array + member * E::member(args) + block_at(level, low) * E::stage, E::row, E::column};
}

TRIFOLD_DEVICE real size_of_number(real x) { return x < 0 ? -x : x; }
/* Sizes are compared by the upper halves of doubles, or by floats, as integers, which takes less time: to one part in 2^20. */
TRIFOLD_DEVICE int size_word(double value) {
    long long bits;
    copy_bits(bits, value);
    return static_cast<int>(bits >> 32) & 0x7fffffff;
}
TRIFOLD_DEVICE int size_word(float value) {
    int bits;
    copy_bits(bits, value);
    return bits & 0x7fffffff;
}
TRIFOLD_DEVICE void raise_word(int& most, real value) { most = larger(most, size_word(value)); }
TRIFOLD_DEVICE real number_of_word(int word) {
    real value;
    if constexpr (sizeof(real) == 8) {
        const long long bits = static_cast<long long>(word) << 32;
        copy_bits(value, bits);
    } else {
        copy_bits(value, word);
    }
    return value;
}

/* Whether a pivot may stand: its reciprocal and it are finite. */
TRIFOLD_DEVICE bool may_divide(real pivot) {
    return size_of_number(pivot) > (sizeof(real) == 8 ? real(0x1p-1024) : real(0x1p-128)) && size_of_number(pivot) <= largest;
}
