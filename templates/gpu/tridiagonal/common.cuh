/* Names shared by all kernels: the geometry of chains, and where things stand in the workspace.
 *
 * A front eliminates one block, i. Its panel has n columns and these rows:
 *
 *                +------------+
 *       n rows   |  D   -> L  |   the pivot block, less the updates of earlier fronts: D = L L'
 *                +------------+
 *       n rows   |  E   -> R  |   the coupling to the next neighbour:   R = E L'^-1, in the workspace as `next`
 *                +------------+
 *       n rows   |  E'  -> G  |   the coupling to the neighbour behind: G = E' L'^-1, as `behind`; only in chains that have one
 *                +------------+
 *       m rows   |  b'  -> y' |   right-hand sides, where they ride along: y = L^-1 b
 *                +------------+
 *
 * It leaves its neighbours: - R R' and - R y for the next one, - G G' and - G y for the one behind, - R G' as the coupling between the
 * two. */
#include "gpu/tridiagonal/constants.cuh"
#include "tridiagonal/doubt.h"

/* The verdict on a block that did not fail, and on one whose inputs had failed. */
[[maybe_unused]] constexpr trifold_int sound = 0x7fffffffffffffffLL, fed_by_failure = sound - 1;

/* Kernels of all levels: each kind claims its fronts or tiles from a counter of its own. */
enum class Kind { factor, forward, backward, wide };

template <class T>
TRIFOLD_DEVICE T* buffer(const trifold_args& args, trifold_int offset) {
    return global_pointer(reinterpret_cast<T*>(static_cast<char*>(args.workspace) + offset));
}

/* The lengths of all members; and a member's number of blocks. */
TRIFOLD_DEVICE trifold_int* lengths_of(const trifold_args& args) {
    return buffer<trifold_int>(args, Offset::range(args) + batch_of(args) * static_cast<trifold_int>(sizeof(trifold_range)));
}
TRIFOLD_DEVICE trifold_int blocks_of(const trifold_args& args, trifold_int member) {
    if (!has_lengths) return horizon_of(args);
    const trifold_int length = lengths_of(args)[member];
    return length > 0 ? length : 0;
}

/* Rows of a block that B and X have, and those of D, E and B that are used: others have the identity. The latter is negative where the
 * caller's number was odd. */
TRIFOLD_DEVICE int stored_rows(const trifold_args& args, trifold_int block) {
    return has_tail && block + 1 == horizon_of(args) ? tail : block_size;
}
TRIFOLD_DEVICE int* size_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return reinterpret_cast<int*>(lengths_of(args) + (has_lengths ? 2 : 1) * batch_of(args)) + member * horizon_of(args) + block;
}
TRIFOLD_DEVICE int rows_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return has_sizes ? *size_of(args, member, block) : stored_rows(args, block);
}
/* Whether all of a block is one block of the caller's. */
TRIFOLD_DEVICE bool is_whole(const trifold_args& args, trifold_int member, trifold_int block) {
    return !is_band && rows_of(args, member, block) == block_size;
}
/* The number on the diagonal beyond them: NaN where the block shall fail. */
TRIFOLD_DEVICE real unit_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return has_sizes && rows_of(args, member, block) < 0 ? static_cast<real>(not_a_number()) : real(1);
}

/* Members by length, the longest first, so that those which end together share a processor: number k of them, where a factorization of as
 * many members has ordered them. */
TRIFOLD_DEVICE trifold_int* place_in_order(const trifold_args& args, trifold_int k) { return lengths_of(args) + batch_of(args) + k; }
constexpr trifold_int order_count = trifold_int(1) << 32; /* an entry has the number of members times this, and the member */
TRIFOLD_DEVICE trifold_int by_length(const trifold_args& args, trifold_int k) {
    if (!orders_members || k >= args.members) return k;
    const trifold_int entry = *place_in_order(args, k);
    return entry / order_count == args.members ? entry % order_count : k;
}

/* A chain and the positions on either side of it, -1 where the path ends. */
struct Chain {
    trifold_int first, step, length, ahead, behind;
};

/* Leaves a chain the blocks that a member with `blocks` of them has. One that runs backwards then begins at the last of these. */
TRIFOLD_DEVICE void clip(Chain& chain, const trifold_level& level, trifold_int blocks) {
    const trifold_int rest = blocks - level.base, there = rest > 0 ? (rest + level.scale - 1) / level.scale : 0;
    if (chain.step < 0 && chain.first >= there) {
        chain.length -= chain.first - (there - 1);
        chain.first = there - 1, chain.behind = -1;
    } else if (chain.first + chain.length > there && chain.step > 0) {
        chain.length = there - chain.first;
    }
    if (chain.ahead >= there) chain.ahead = -1;
    if (chain.length <= 0) chain = {0, chain.step, 0, -1, -1};
}

TRIFOLD_DEVICE Chain find_chain(const trifold_level& level, trifold_int number) {
    Chain chain{};
    bool found = false;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const trifold_run& run = level.run[k];
        if (!found && number < run.count) {
            found = true;
            chain.first = run.first + number * run.stride, chain.step = run.step, chain.length = run.length;
        }
        if (!found) number -= run.count;
    }
    chain.ahead = chain.first + chain.length * chain.step;
    chain.behind = chain.first - chain.step;
    if (chain.ahead >= level.size && (!is_ring || level.size == 1)) chain.ahead = -1;
    if (chain.behind >= level.size) chain.behind = -1;
    return chain;
}
/* A chain as far as a member has its blocks; its length is 0 where there are none. */
TRIFOLD_DEVICE Chain find_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    if constexpr (has_lengths) {
        Chain chain = find_chain(level, number);
        clip(chain, level, blocks_of(args, member));
        return chain;
    } else {
        return find_chain(level, number);
    }
}

TRIFOLD_DEVICE trifold_int block_at(const trifold_level& level, trifold_int position) {
    return level.base + level.scale * (is_ring && position == level.size ? 0 : position);
}

TRIFOLD_DEVICE trifold_int block_index(const trifold_args& args, trifold_int member, trifold_int block) {
    return member * horizon_of(args) + block;
}
TRIFOLD_DEVICE real* factor_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::factor(args)) + block_index(args, member, block) * factor_storage;
}
TRIFOLD_DEVICE real* next_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::next(args)) + block_index(args, member, block) * panel_storage;
}
TRIFOLD_DEVICE real* behind_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::behind(args)) + block_index(args, member, block) * panel_storage;
}

/* Blocks that are treated tile by tile are stored in tiles. Each tile is contiguous, column by column, so that one copy fetches it. The
 * order of a column's vectors differs from column to column, against bank conflicts on chip. */
TRIFOLD_DEVICE int turned(int column) { return use_tensor ? column % 4 * 2 * vector_width : 0; }
TRIFOLD_DEVICE int place_in_tile(int r, int c) { return c * tile + (r ^ turned(c)); }
TRIFOLD_DEVICE trifold_int place_of_tile(int row, int column) {
    return (static_cast<trifold_int>(column) * (padded / tile) + row) * (tile * tile);
}
/* The place of element (r, c) in a block of the workspace. */
TRIFOLD_DEVICE trifold_int place_in_block(int r, int c) {
    if (!in_tiles) return r + static_cast<trifold_int>(c) * padded;
    return place_of_tile(r / tile, c / tile) + place_in_tile(r % tile, c % tile);
}

/* Side 0 of a separator belongs to the chains at lower positions, side 1 to those at higher ones. */
TRIFOLD_DEVICE trifold_int slot_index(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return (side * batch_of(args) + member) * separators_of(args) + divided_by_scale(args, block - separator_base_of(args));
}
/* Every block but those at the ends of the path is updated from both sides at level 0. */
TRIFOLD_DEVICE bool has_side(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return is_ring || (side == 0 ? block > 0 : block < blocks_of(args, member) - 1);
}
TRIFOLD_DEVICE int side_ahead(const Chain& chain) { return chain.step > 0 ? 0 : 1; }
TRIFOLD_DEVICE int side_behind(const Chain& chain) { return chain.step > 0 ? 1 : 0; }

TRIFOLD_DEVICE real* update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::update(args)) + slot_index(args, member, block, side) * update_storage;
}
TRIFOLD_DEVICE real* rhs_update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::rhs_update(args)) + slot_index(args, member, block, side) * vector_storage;
}
TRIFOLD_DEVICE int& poison_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<int>(args, Offset::poison(args))[slot_index(args, member, block, side)];
}
TRIFOLD_DEVICE bool is_active(const trifold_args& args, trifold_int member) {
    return member < args.members && (args.active == nullptr || args.active[member] != 0);
}

/* Each block has a record of the largest diagonal entry over its pivot. Where pivots have both signs, the entry gives way to the sum of
 * its size and of the squares left of it in the factor; further records are the largest such sum and the largest diagonal entry, and there
 * is the number of negative pivots. */
[[maybe_unused]] constexpr int records = has_inertia ? 3 : 1;
TRIFOLD_DEVICE double* record_of(const trifold_args& args, int record) {
    return buffer<double>(args, Offset::reduction(args)) + record * fronts_of(args);
}
TRIFOLD_DEVICE int* negatives_of(const trifold_args& args) { return buffer<int>(args, Offset::floors(args)) + fronts_of(args); }
TRIFOLD_DEVICE void raise_to(double& most, double value) {
    if (value > most) most = value;
}

/* The outcome of a member's factorization from those of its blocks: the first failure, the pivots that were raised or, where they have both
 * signs, are negative, the first record, and the sum of the pivots' logarithms. Growth: the second record over the largest entry of A. By
 * one thread. */
TRIFOLD_DEVICE void report_member(const trifold_args& args, trifold_int member, trifold_int failure, trifold_int pivots, double reduction,
                                  double log_sum, double growth = 0) {
    constexpr double min_sound = static_cast<double>(trifold_nearly_singular) * (sizeof(real) == 8 ? 0x1p-52 : 0x1p-23);
    trifold_status status{-1, 0, has_inertia ? 0 : pivots, reduction > 1 ? 1 / reduction : 1, 0};
    if (failure != sound) {
        status.block = failure / block_size % horizon_of(args), status.row = failure % block_size;
        status.least_pivot = 0, log_sum = not_a_number();
        if (has_sizes && rows_of(args, member, status.block) < 0) status.row = trifold_odd_size;
    } else if (has_inertia ? is_doubtful(growth, status.least_pivot, sizeof(real)) != 0
                           : status.least_pivot < min_sound && !(args.pivot_floor > 0)) {
        status.nearly_singular = args.accept_nearly_singular == 0;
    }
    if (has_lengths && lengths_of(args)[member] < 0) status.block = 0, status.row = trifold_odd_length, log_sum = not_a_number();
    buffer<trifold_status>(args, Offset::status(args))[member] = status;
    if (has_inertia)
        reinterpret_cast<trifold_inertia*>(buffer<trifold_status>(args, Offset::status(args)) + batch_of(args))[member] = {pivots, growth};
    buffer<double>(args, Offset::log_determinant(args))[member] = log_sum;
}

/* Numbers far from one are scaled, so that products of them neither overflow nor vanish. */
TRIFOLD_DEVICE double tame(double value, int& scales) {
    if (value > 0x1p400) {
        value *= 0x1p-600;
        ++scales;
    } else if (value < 0x1p-400) {
        value *= 0x1p600;
        --scales;
    }
    return value;
}
[[maybe_unused]] constexpr double log_scale = 600 * 0.693147180559945309417; /* the logarithm of one scale */

/* ---- the range of the precision ---- */

/* Whether a result has left it: it is infinite or NaN, whose exponents have all bits set. */
TRIFOLD_DEVICE bool has_left(real x) {
    constexpr unsigned exponent = sizeof(real) == 8 ? 0x7ff00000u : 0x7f800000u;
    unsigned bits[sizeof(real) / 4];
    copy_bits(bits, x);
    return (bits[sizeof(real) / 4 - 1] & exponent) == exponent;
}
enum class Result { solution, inverse };
TRIFOLD_DEVICE void set_range(const trifold_args& args, trifold_int member, Result result, unsigned left) {
    trifold_range& range = buffer<trifold_range>(args, Offset::range(args))[member];
    store_word(reinterpret_cast<unsigned*>(result == Result::solution ? &range.solution : &range.inverse), left);
}
/* Looks at an element of a result that goes out: chains of a member say the same, side by side. */
TRIFOLD_DEVICE void watch(const trifold_args& args, trifold_int member, Result result, real value) {
    if (has_left(value)) set_range(args, member, result, 1);
}
/* Clears the mark of a result that has left the range. One thread of the last level's chain calls it, before any element of the result is
 * written, since all others wait for this chain. Later calls for other columns of the same result keep the mark. */
TRIFOLD_DEVICE void begin_result(const trifold_args& args, trifold_int member, Result result) {
    if (args.first_column == 0) set_range(args, member, result, 0);
}
/* Whether a level is the last one. It has one chain, with which backward sweeps and inverses begin. */
TRIFOLD_DEVICE bool begins_descent(const trifold_level& level) { return level.next_size == 0; }
/* Whether the level has the last block of a ring, which the levels before have left coupled to itself. */
TRIFOLD_DEVICE bool closes_ring(const trifold_level& level) { return is_ring && begins_descent(level); }

/* A term of b' A^-1 b, with the sign of its pivot. One that vanishes although its root does not counts as the least number of all, whatever
 * its sign, so that in_range sees that there was one. */
TRIFOLD_DEVICE double square_of(real y, real pivot = 1) {
    const double wide = static_cast<double>(y), square = by_sign(wide * wide, pivot);
    return sizeof(real) == 8 && square == 0 && wide != 0 ? 4.94065645841246544e-324 : square;
}
/* The sum as it is delivered: NaN where it is too large or too small for the normal numbers of double precision. */
TRIFOLD_DEVICE double in_range(double sum) {
    const double size = by_sign(sum, sum);
    return size == 0 || (size >= 2.2250738585072014e-308 && size <= 1.7976931348623157e308) ? sum : not_a_number();
}

/* The coupling that a chain leaves between the separators on its two sides. */
TRIFOLD_DEVICE trifold_int next_coupling_index(const trifold_args& args, const trifold_level& level, trifold_int member,
                                               const Chain& chain) {
    const trifold_int lower = block_at(level, chain.step > 0 ? chain.behind : chain.ahead);
    return member * couplings_of(args) + level.next_coupling + (lower - level.next_base) / level.next_scale;
}

/* The columns of a call that one pass treats. */
struct Columns {
    int first, count;
};
TRIFOLD_DEVICE Columns columns_from(const trifold_args& args, int first, int most) {
    const int rest = static_cast<int>(args.columns) - first;
    return {first, rest < most ? rest : most};
}

/* The stage of a band is that of its blocks, which are several of the caller's. */
TRIFOLD_DEVICE trifold_int rhs_at(const trifold_strides& s, trifold_int member, trifold_int block, int r, int column) {
    constexpr int n = block_size / bandwidth;
    if (is_band) return member * s.member + block * s.stage + r / n * (s.stage / bandwidth) + r % n * s.row + column * s.column;
    return member * s.member + block * s.stage + r * s.row + column * s.column;
}
