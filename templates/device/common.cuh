/* Names shared by all kernels: sizes, the geometry of chains, and where things stand in the workspace. */
typedef TRIFOLD_REAL real;

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else
 * by zeros. Workspace blocks are column-major with that leading dimension, or tile by tile (below). The diagonal tiles of a factor, `tile` wide,
 * are stored inverted, so that every triangular solve is a sequence of products. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;
[[maybe_unused]] constexpr int tile = TRIFOLD_TILE;
constexpr int vector_width = 16 / static_cast<int>(sizeof(real));
constexpr int strip = padded < 8 ? padded : 8;  /* columns of a product that one thread takes */
constexpr int threads = TRIFOLD_THREADS;
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
constexpr bool use_tensor = TRIFOLD_TENSOR; /* tensor instructions for products */
constexpr trifold_int sound = 0x7fffffffffffffffLL, fed_by_failure = sound - 1;

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_args) == 176, "host and device disagree");
static_assert(TRIFOLD_STORAGE_FACTOR == storage && TRIFOLD_STORAGE_PANEL == storage && TRIFOLD_STORAGE_UPDATE == storage &&
                  TRIFOLD_STORAGE_COUPLING == storage && TRIFOLD_STORAGE_VECTOR == static_cast<trifold_int>(padded) * TRIFOLD_RHS,
              "host and device disagree");

/* Kernels of all levels: each kind claims its fronts or tiles from a counter of its own. */
enum class Kind { factor, forward, backward, wide };

/* A chain and the positions on either side of it, -1 where the path ends. */
struct Chain {
    trifold_int first, step, length, ahead, behind;
};

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
    if (chain.ahead >= level.size) chain.ahead = -1;
    if (chain.behind >= level.size) chain.behind = -1;
    return chain;
}

TRIFOLD_DEVICE trifold_int block_at(const trifold_level& level, trifold_int position) { return level.base + level.scale * position; }

template <class T>
TRIFOLD_DEVICE T* buffer(const trifold_args& args, trifold_int offset) {
    return global_pointer(reinterpret_cast<T*>(static_cast<char*>(args.workspace) + offset));
}

TRIFOLD_DEVICE trifold_int block_index(trifold_int member, trifold_int block) { return member * TRIFOLD_HORIZON + block; }
TRIFOLD_DEVICE real* factor_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_FACTOR) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* next_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_NEXT) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* behind_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_BEHIND) + block_index(member, block) * storage;
}

/* Tiles of blocks that are treated tile by tile lie in one piece, column by column, so that a tile's columns are fetched by one copy; the
 * vectors of a column stand in another order from column to column, so that operands and results meet no bank conflicts on chip. */
constexpr bool in_tiles = TRIFOLD_IN_TILES;
TRIFOLD_DEVICE int turned(int column) { return use_tensor ? column % 4 * 2 * vector_width : 0; }
TRIFOLD_DEVICE int place_in_tile(int r, int c) { return c * tile + (r ^ turned(c)); }
TRIFOLD_DEVICE trifold_int place_of_tile(int row, int column) {
    return (static_cast<trifold_int>(column) * (padded / tile) + row) * (tile * tile);
}
/* Where element (r, c) of a block of the workspace stands. */
TRIFOLD_DEVICE trifold_int place_in_block(int r, int c) {
    if (!in_tiles) return r + static_cast<trifold_int>(c) * padded;
    return place_of_tile(r / tile, c / tile) + place_in_tile(r % tile, c % tile);
}

/* Side 0 of a separator belongs to the chains at lower positions, side 1 to those at higher ones. */
TRIFOLD_DEVICE trifold_int slot_index(trifold_int member, trifold_int block, int side) {
    return (side * TRIFOLD_BATCH + member) * TRIFOLD_SEPARATORS + (block - TRIFOLD_SEPARATOR_BASE) / TRIFOLD_SEPARATOR_SCALE;
}
/* Every block but those at the ends of the path is updated from both sides at level 0. */
TRIFOLD_DEVICE bool has_side(trifold_int block, int side) { return side == 0 ? block > 0 : block < TRIFOLD_HORIZON - 1; }
TRIFOLD_DEVICE int side_ahead(const Chain& chain) { return chain.step > 0 ? 0 : 1; }
TRIFOLD_DEVICE int side_behind(const Chain& chain) { return chain.step > 0 ? 1 : 0; }

TRIFOLD_DEVICE real* update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, TRIFOLD_OFFSET_UPDATE) + slot_index(member, block, side) * storage;
}
TRIFOLD_DEVICE real* rhs_update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, TRIFOLD_OFFSET_RHS_UPDATE) + slot_index(member, block, side) * TRIFOLD_STORAGE_VECTOR;
}
TRIFOLD_DEVICE int& poison_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<int>(args, TRIFOLD_OFFSET_POISON)[slot_index(member, block, side)];
}
TRIFOLD_DEVICE bool is_active(const trifold_args& args, trifold_int member) {
    return member < args.members && (args.active == nullptr || args.active[member] != 0);
}

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
    trifold_range& range = buffer<trifold_range>(args, TRIFOLD_OFFSET_RANGE)[member];
    store_word(reinterpret_cast<unsigned*>(result == Result::solution ? &range.solution : &range.inverse), left);
}
/* Looks at an element of a result that goes out: chains of a member say the same, side by side. */
TRIFOLD_DEVICE void watch(const trifold_args& args, trifold_int member, Result result, real value) {
    if (has_left(value)) set_range(args, member, result, 1);
}
/* By one thread of the last level's chain, for which all others wait, before any element of the result is there. Later calls for other columns of
 * the same result add to what the first has found. */
TRIFOLD_DEVICE void begin_result(const trifold_args& args, trifold_int member, Result result) {
    if (args.first_column == 0) set_range(args, member, result, 0);
}
/* The last level has one chain, with which what goes down the levels begins. */
TRIFOLD_DEVICE bool begins_descent(const trifold_level& level) { return level.next_size == 0; }

/* A term of b' A^-1 b. One that vanishes although its root does not counts as the least number of all, so that in_range sees that there was one. */
TRIFOLD_DEVICE double square_of(real y) {
    const double wide = static_cast<double>(y), square = wide * wide;
    return sizeof(real) == 8 && square == 0 && wide != 0 ? 4.94065645841246544e-324 : square;
}
/* The sum as it is delivered: NaN where it is too large or too small for the normal numbers of double precision. */
TRIFOLD_DEVICE double in_range(double sum) {
    return sum == 0 || (sum >= 2.2250738585072014e-308 && sum <= 1.7976931348623157e308) ? sum : not_a_number();
}

/* The coupling of positions p and q = p +- 1 of a level, A(higher, lower): E at level 0, a block of the workspace above it. */
TRIFOLD_DEVICE const real* coupling_at(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p, trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    if (level.index == 0) return global_pointer(static_cast<const real*>(args.e)) + member * TRIFOLD_E_MEMBER + lower * TRIFOLD_E_STAGE;
    return buffer<real>(args, TRIFOLD_OFFSET_COUPLING) + (member * TRIFOLD_COUPLINGS + level.coupling + lower) * storage;
}
/* The coupling that a chain leaves between the separators on its two sides. */
TRIFOLD_DEVICE trifold_int next_coupling_index(const trifold_level& level, trifold_int member, const Chain& chain) {
    const trifold_int lower = block_at(level, chain.step > 0 ? chain.behind : chain.ahead);
    return member * TRIFOLD_COUPLINGS + level.next_coupling + (lower - level.next_base) / level.next_scale;
}

/* The columns of a call that one pass treats. */
struct Columns {
    int first, count;
};
TRIFOLD_DEVICE Columns columns_from(const trifold_args& args, int first, int most) {
    const int rest = static_cast<int>(args.columns) - first;
    return {first, rest < most ? rest : most};
}

TRIFOLD_DEVICE trifold_int rhs_at(const trifold_strides& s, trifold_int member, trifold_int block, int r, int column) {
    return member * s.member + block * s.stage + r * s.row + column * s.column;
}

/* The indices of element e of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the
 * other. A warp then reads whole sectors and writes shared memory of leading dimension 4 modulo 8 without conflicts. */
struct Place {
    int u, v;
};
TRIFOLD_DEVICE Place place(int e) { return {e % strip + e / (strip * padded) * strip, e / strip % padded}; }

/* A(p, q) into column-major `to`, zeros in the padding, from the couplings A(higher, lower). */
TRIFOLD_DEVICE void load_coupling(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                  trifold_int q) {
    const real* from = global_pointer(coupling_at(args, level, member, p, q));
    constexpr trifold_int pitch = TRIFOLD_E_ROW > TRIFOLD_E_COLUMN ? TRIFOLD_E_ROW : TRIFOLD_E_COLUMN;
    const bool by_rows = (level.index > 0 || TRIFOLD_E_ROW < TRIFOLD_E_COLUMN) == (p > q);
    const trifold_int step = level.index > 0 ? padded : pitch;
    const int du = by_rows ? 1 : leading, dv = by_rows ? leading : 1;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        to[at.u * du + at.v * dv] = at.u < block_size && at.v < block_size ? from[at.u + at.v * step] : real(0);
    }
}

/* What is added to diagonal entry r of a block of D. */
TRIFOLD_DEVICE real diagonal_term(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    real term = 0;
    if (args.diagonal != nullptr) term += global_pointer(static_cast<const real*>(args.diagonal))[block_index(member, block) * block_size + r];
    if (args.shift != nullptr) term += global_pointer(static_cast<const real*>(args.shift))[member];
    return term;
}

/* The lower triangle of a block's diagonal as its level finds it, the identity in the padding; `to` may have rubbish above. */
TRIFOLD_DEVICE void load_diagonal(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    const real* from = global_pointer(static_cast<const real*>(args.d)) + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
    const real* low = level.index > 0 && has_side(block, 0) ? update_of(args, member, block, 0) : nullptr;
    const real* high = level.index > 0 && has_side(block, 1) ? update_of(args, member, block, 1) : nullptr;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int r = TRIFOLD_D_ROW == 1 ? at.u : at.v, c = TRIFOLD_D_ROW == 1 ? at.v : at.u;
        real value = r == c ? real(1) : real(0);
        if (r < block_size && c <= r) {
            value = from[r * TRIFOLD_D_ROW + c * TRIFOLD_D_COLUMN];
            if (r == c) value += diagonal_term(args, member, block, r);
            if (low != nullptr) value -= low[r + c * padded];
            if (high != nullptr) value -= high[r + c * padded];
        }
        if (c <= r) to[r + c * leading] = value;
    }
}
