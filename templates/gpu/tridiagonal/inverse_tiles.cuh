/* Selected inverse of large blocks, whose tiles all multiprocessors share. With the border b of front i (next and behind), S the inverse, M
 * = L^-1 and Q = [R; G] M: S_bi = -S_bb Q, S_ii = M' M - Q' S_bi. M and Q need nothing of the levels above, so that they are made for all
 * fronts beforehand (invert_factor, invert_panels). The others go down the levels, a launch for the couplings and one for the diagonal
 * block of each chain's last front that is left: the generator shortens the chains of a level from one pair of launches to the next. */
#include "gpu/tridiagonal/dense/products.cuh"
#include "gpu/tridiagonal/inverse_tiles_constants.cuh"
#include "gpu/tridiagonal/inverse_views.cuh"

constexpr int tiles_along = (block_size + square - 1) / square;
constexpr int whole_tiles = tiles_along * tiles_along, lower_tiles = tiles_along * (tiles_along + 1) / 2;

/* L^-1, R L^-1 or G L^-1 of a block's front. */
enum class Quotient { factor, next, behind };
TRIFOLD_DEVICE View quotient_of(const trifold_args& args, trifold_int member, trifold_int block, Quotient which) {
    return {buffer<real>(args, offset_quotients(args)) + (block_index(args, member, block) * 3 + static_cast<int>(which)) * storage,
            block_size, 1};
}

/* A warp's part of a tile by tensor instructions: 16 rows by some squares of 16 columns. */
template <class T> /* a template, so that it need not make sense without tensor instructions */
struct TensorPart {
    static constexpr int quads =
        sizeof(T) == 8 ? 2 : 4; /* columns of an instruction by four: in double precision few, for want of registers */
    static constexpr int count = square * square / 256 / (inverse_threads / warp_lanes);
    Square squares[count];
    TRIFOLD_METHOD static int first_row() { return thread_index() / warp_lanes % (square / 16) * 16; }
    TRIFOLD_METHOD static int first_column() { return thread_index() / warp_lanes / (square / 16) * (count * 16); }
    template <int Depth, int Columns>
    TRIFOLD_METHOD void multiply(const T (&a)[Depth][operand_line], const T (&b)[Depth][operand_line]) {
#pragma unroll
        for (int s = 0; s < count; ++s)
            if (first_column() + s * 16 < Columns)
                multiply_square<quads>(squares[s], a[0] + first_row(), b[0] + first_column() + s * 16, true, true, operand_line, Depth);
    }
    template <class Use>
    TRIFOLD_METHOD void each(const Use& use) {
        each_index<count, tensor_columns, square_vectors * 2>([&](int s, int c, int e) {
            const int q = e / 2, v = e % 2;
            use(squares[s].at[c][q][v], first_row() + square_row(q) + v, first_column() + s * 16 + square_column(c));
        });
    }
};
template <bool Tensor>
struct TilePart {
    typedef Quad type;
};
template <>
struct TilePart<true> {
    typedef TensorPart<real> type;
};
typedef TilePart<use_tensor>::type Sum;

/* Rows `row` .. of L^-1, in bands of columns from the last to the first: M_j = (I - M_k L_kj) L_jj^-1, where k stands for the columns
 * behind. */
TRIFOLD_DEVICE void invert_rows(InverseShared& shared, const trifold_args& args, trifold_int member, trifold_int block, int row) {
    const real* factor = factor_of(args, member, block);
    const View lower{const_cast<real*>(factor), 1, padded, true}, inverse = quotient_of(args, member, block, Quotient::factor);
    const int end = row + square < block_size ? row + square : block_size;
#pragma unroll 1
    for (int j = (end - 1) / band * band; j >= 0; j -= band) {
        invert_band(shared, factor, j);
        Sum sum{}, quotient{};
        multiply_views(sum, shared.operands, inverse, lower, row, j, j + band, end);
        sum.each([&](real value, int r, int c) {
            if (c < band) shared.result[c][r] = (row + r == j + c ? real(1) : real(0)) - value;
        });
        block_sync();
        quotient.template multiply<band, band>(shared.result, shared.inverse);
        quotient.each([&](real value, int r, int c) {
            if (c < band && row + r < block_size && j + c < block_size) inverse(row + r, j + c) = value;
        });
        block_sync();
    }
}

#ifdef TRIFOLD_KERNEL_INVERT_FACTOR
TRIFOLD_KERNEL(inverse_threads, 1)
void TRIFOLD_KERNEL_INVERT_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    const trifold_int block = group_x() / tiles_along;
    const int row = (tiles_along - 1 - static_cast<int>(group_x() % tiles_along)) * square; /* the longest first */
    each_member(args, [&](trifold_int member) {
        if (group_x() == 0 && thread_index() == 0) begin_result(args, member, Result::inverse);
        invert_rows(*static_cast<InverseShared*>(shared_memory()), args, member, block, row);
    });
}
#endif

/* A tile of R L^-1 or G L^-1 for every front of a chain. */
TRIFOLD_DEVICE void invert_panel_tile(const trifold_args& args, const trifold_level& level, trifold_int group, trifold_int member) {
    InverseOperands& shared = *static_cast<InverseOperands*>(shared_memory());
    const Chain chain = find_chain(args, level, group / (2 * whole_tiles), member);
    const int part = static_cast<int>(group % (2 * whole_tiles)), at = part % whole_tiles;
    const int row = at / tiles_along * square, column = at % tiles_along * square;
    const Quotient which = part < whole_tiles ? Quotient::next : Quotient::behind;
    if (which == Quotient::behind && chain.behind < 0) return;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        if (which == Quotient::next && k + 1 == chain.length && chain.ahead < 0) break;
        const trifold_int block = block_at(level, chain.first + k * chain.step);
        const View panel{which == Quotient::next ? next_of(args, member, block) : behind_of(args, member, block), 1, padded, true};
        Sum sum{};
        multiply_views(sum, shared, panel, quotient_of(args, member, block, Quotient::factor), row, column, column, block_size);
        const View to = quotient_of(args, member, block, which);
        sum.each([&](real value, int r, int c) {
            if (row + r < block_size && column + c < block_size) to(row + r, column + c) = value;
        });
    }
}

#ifdef TRIFOLD_KERNEL_INVERT_PANELS
TRIFOLD_KERNEL(inverse_threads, 2)
void TRIFOLD_KERNEL_INVERT_PANELS(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { invert_panel_tile(args, level, group_x(), member); });
}
#endif

/* The last front of a chain, as far as it is still there. */
struct InverseFront {
    trifold_int number, position, block;
    Chain chain;
    TRIFOLD_METHOD bool exists() const { return chain.length > 0; } /* otherwise all fronts of the chain have been treated */
    TRIFOLD_METHOD bool has_next() const { return exists() && chain.ahead >= 0; }
    TRIFOLD_METHOD bool has_behind() const { return exists() && chain.behind >= 0; }
};
TRIFOLD_DEVICE InverseFront find_front(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    const Chain chain = find_chain(args, level, number, member);
    const trifold_int position = chain.first + (chain.length - 1) * chain.step;
    return {number, position, block_at(level, position), chain};
}

/* S between a front and its next neighbour or the one behind, as (neighbour, front). */
TRIFOLD_DEVICE View inverse_adjacent(const trifold_args& args, const trifold_level& level, trifold_int member, const InverseFront& front,
                                     bool next) {
    const Chain& chain = front.chain;
    if (!next && chain.length > 1) return inverse_scratch(args, member, front.number, chain.length - 1);
    return inverse_coupling_of(args, level, member, next ? chain.ahead : chain.behind, front.position);
}

/* Whether a block is there at the next level. */
TRIFOLD_DEVICE bool remains(const trifold_level& level, trifold_int block) {
    if (level.next_size == 0 || block < level.next_base || (block - level.next_base) % level.next_scale != 0) return false;
    return (block - level.next_base) / level.next_scale < level.next_size;
}

/* S between the two neighbours, as (next, behind). Where the chain has been shortened, its next front has left it. */
TRIFOLD_DEVICE View inverse_between(const trifold_args& args, const trifold_level& level, trifold_int member, const InverseFront& front) {
    if (remains(level, block_at(level, front.chain.ahead))) return inverse_across(args, level, member, front.chain);
    return inverse_scratch(args, member, front.number, front.chain.length).transposed();
}

/* A tile of S_bi = -S_bb Q. */
TRIFOLD_DEVICE void inverse_coupling_tile(const trifold_args& args, const trifold_level& level, trifold_int group, trifold_int member) {
    InverseOperands& shared = *static_cast<InverseOperands*>(shared_memory());
    const int part = static_cast<int>(group % (2 * whole_tiles)), at = part % whole_tiles;
    const int row = at / tiles_along * square, column = at % tiles_along * square;
    const bool to_next = part < whole_tiles;
    const InverseFront front = find_front(args, level, group / (2 * whole_tiles), member);
    if (!(to_next ? front.has_next() : front.has_behind())) return;
    const bool both = front.has_next() && front.has_behind();
    const View own = inverse_diagonal_of(args, member, block_at(level, to_next ? front.chain.ahead : front.chain.behind)).transposed();
    View between{};
    if (both) between = inverse_between(args, level, member, front);
    if (!to_next) between = between.transposed();
    const View to = inverse_adjacent(args, level, member, front, to_next);
    Sum sum{};
#pragma unroll 1
    for (int term = 0; term < (both ? 2 : 1); ++term) { /* the neighbour's own row of S_bb, then the coupling of the two */
        const bool with_next = to_next == (term == 0);
        const View quotient = quotient_of(args, member, front.block, with_next ? Quotient::next : Quotient::behind);
        multiply_views(sum, shared, term == 0 ? own : between, quotient, row, column, 0, block_size);
    }
    sum.each([&](real value, int r, int c) {
        if (row + r >= block_size || column + c >= block_size) return;
        to(row + r, column + c) = -value;
        watch(args, member, Result::inverse, value);
    });
}

#ifdef TRIFOLD_KERNEL_INVERSE_COUPLING
TRIFOLD_KERNEL(inverse_threads, 2)
void TRIFOLD_KERNEL_INVERSE_COUPLING(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { inverse_coupling_tile(args, level, group_x(), member); });
}
#endif

/* M' with the signs of M's diagonal, which are those of the pivots. */
struct Signed : View {
    TRIFOLD_METHOD real operator()(int r, int k) const { return by_sign(View::operator()(r, k), View::operator()(k, k)); }
};

/* A tile of S_ii = M' M - Q' S_bi, and its mirror image. Where pivots have both signs, M' M has them in between. */
TRIFOLD_DEVICE void inverse_diagonal_tile(const trifold_args& args, const trifold_level& level, trifold_int group, trifold_int member) {
    InverseOperands& shared = *static_cast<InverseOperands*>(shared_memory());
    int row = 0, column = static_cast<int>(group % lower_tiles);
    while (column > row) column -= ++row;
    row *= square, column *= square;
    const InverseFront front = find_front(args, level, group / lower_tiles, member);
    if (!front.exists()) return;
    Sum sum{};
#pragma unroll 1
    for (int term = 0; term < 2; ++term) {
        const bool next = term == 0;
        if (!(next ? front.has_next() : front.has_behind())) continue;
        const View quotient = quotient_of(args, member, front.block, next ? Quotient::next : Quotient::behind);
        multiply_views(sum, shared, quotient.transposed(), inverse_adjacent(args, level, member, front, next), row, column, 0, block_size);
    }
    sum.each([](real& value, int, int) { value = -value; });
    const View inverse = quotient_of(args, member, front.block, Quotient::factor), to = inverse_diagonal_of(args, member, front.block);
    multiply_views(sum, shared, Signed{inverse.transposed()}, inverse, row, column, row, block_size);
    sum.each([&](real value, int r, int c) {
        r += row, c += column;
        if (r >= block_size || r < c) return;
        to(r, c) = value, to(c, r) = value;
        if (closes_ring(level)) {
            const View again = inverse_coupling_of(args, level, member, 0, 1);
            again(r, c) = value, again(c, r) = value;
        }
        watch(args, member, Result::inverse, value);
    });
}

#ifdef TRIFOLD_KERNEL_INVERSE_DIAGONAL
TRIFOLD_KERNEL(inverse_threads, 2)
void TRIFOLD_KERNEL_INVERSE_DIAGONAL(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { inverse_diagonal_tile(args, level, group_x(), member); });
}
#endif
