/* The caller's D and E. Only this file knows their layout. Kernels that copy in their own order take a block from D_OF or E_OF, and its
 * strides from D and E. */
#include "gpu/tridiagonal/common.cuh"

/* A block of the caller's D, and the block of E that couples `block` to the one after it. BLOCK_OF_D takes a block from a pointer to D.
 * These are macros, since compilers made other machine code of functions. */
#define BLOCK_OF_D(d, number, block) ((d) + (number) * D::member(args) + (block) * D::stage)
#define CALLERS_D_OF(args, number, block) BLOCK_OF_D(global_pointer(static_cast<const real*>((args).d)), number, block)
#define E_OF(args, number, block) (global_pointer(static_cast<const real*>((args).e)) + (number) * E::member(args) + (block) * E::stage)
/* The block of U that couples `block` of a general matrix to the one after it. */
#define U_OF(args, number, block) \
    (global_pointer(static_cast<const real*>((args).inverse_coupling)) + (number) * E::member(args) + (block) * E::stage)
/* Element (r, c) of a block of D: of its lower triangle, which is all of D that is read. And entry r of its diagonal. */
#define ELEMENT_OF_D(d, r, c) (d)[(r) * D::row + (c) * D::column]
#if TRIFOLD_LOADS /* the diagonal is all that is left of D when a factorization begins */
#define D_OF(args, number, block) (factor_of(args, number, block) + storage)
#define ENTRY_OF_D(d, r) (d)[r]
#else
#define D_OF(args, number, block) CALLERS_D_OF(args, number, block)
#define ENTRY_OF_D(d, r) (d)[(r) * (D::row + D::column)]
#endif

/* The number that is added to diagonal entry r of a block of D. */
TRIFOLD_DEVICE real diagonal_term(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    real term = 0;
    if (has_views && r >= rows_of(args, member, block)) return term;
    if (args.diagonal != nullptr)
        term += global_pointer(static_cast<const real*>(
            args.diagonal))[block_index(args, member, block) * block_size - (has_tail ? member * (block_size - tail) : 0) + r];
    if (args.shift != nullptr) term += global_pointer(static_cast<const real*>(args.shift))[member];
    return term;
}

/* Elements from one line of a block to the next. The elements of a line are next to each other. */
[[maybe_unused]] constexpr trifold_int d_pitch = D::row > D::column ? D::row : D::column, e_pitch = E::row > E::column ? E::row : E::column;

/* Prefetches a block to the cache, by `count` threads. */
TRIFOLD_DEVICE void prefetch_block(const real* from, trifold_int pitch, int size, int thread, int count) {
    constexpr int line = 128 / static_cast<int>(sizeof(real)), lines = (padded + line - 1) / line;
    for (int e = thread; e < size * lines; e += count)
        if (e % lines * line < size) prefetch(from + e / lines * pitch + e % lines * line);
}

/* The caller's elements of a block of D on and below the diagonal, or of the coupling A(block + 1, block), where blocks are parts of the
 * caller's, or several of a band. at() is null where the block has the identity, or the coupling zeros. */
struct Given {
    const real *d, *e;
    int rows, columns, ahead;
    TRIFOLD_METHOD const real* at(int r, int c) const {
        constexpr int n = block_size / bandwidth;
        const int distance = ahead + r / n - c / n;
        if (r >= rows || c >= columns || distance > bandwidth) return nullptr;
        if (distance == 0) return d + c / n * D::stage + r % n * D::row + c % n * D::column;
        return e + c / n * E::stage + (distance - 1) * E::next + r % n * E::row + c % n * E::column;
    }
    TRIFOLD_METHOD real value(int r, int c) const {
        const real* from = at(r, c);
        return from != nullptr ? *from : real(0);
    }
};
TRIFOLD_DEVICE Given given_diagonal(const trifold_args& args, trifold_int member, trifold_int block) {
    const int rows = rows_of(args, member, block);
    return {D_OF(args, member, block * bandwidth), E_OF(args, member, block * bandwidth), rows, rows, 0};
}
TRIFOLD_DEVICE Given given_coupling(const trifold_args& args, trifold_int member, trifold_int block) {
    return {nullptr, E_OF(args, member, block * bandwidth), rows_of(args, member, block + 1), rows_of(args, member, block), bandwidth};
}

/* Diagonal entry r of a block as the caller gave it, with the terms that options add. */
TRIFOLD_DEVICE double given_entry(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    if constexpr (has_views) {
        const real* own = given_diagonal(args, member, block).at(r, r);
        return static_cast<double>(own != nullptr ? *own + diagonal_term(args, member, block, r) : real(1));
    } else {
        return static_cast<double>(ENTRY_OF_D(D_OF(args, member, block), r) + diagonal_term(args, member, block, r));
    }
}

/* Whether sums of rows have grown so far that it matters what they are compared with: the largest entry of A, not of its diagonal. */
TRIFOLD_DEVICE bool has_grown(double sum, double entry) { return sum > 0x1p10 * entry; }
/* The part of one of `count` threads in the largest entry of A. Diagonal entries have been looked at. */
TRIFOLD_DEVICE double largest_entry(const trifold_args& args, trifold_int member, int thread, int count) {
    double most = 0;
    for (trifold_int block = 0; block < blocks_of(args, member); ++block) {
        const bool coupled = is_ring || block + 1 < blocks_of(args, member);
        const Given own = given_diagonal(args, member, block), next = coupled ? given_coupling(args, member, block) : Given{};
        for (int e = thread; e < block_size * block_size; e += count) {
            const int r = e / block_size, c = e % block_size;
            const real entry = c < r ? own.value(r, c) : real(0), coupling = next.value(r, c);
            raise_to(most, by_sign(entry, entry)), raise_to(most, by_sign(coupling, coupling));
        }
    }
    return most;
}

/* The coupling of positions p and q = p +- 1 of a level, A(higher, lower): E at level 0, a block of the workspace above it. */
TRIFOLD_DEVICE const real* coupling_at(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                       trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    if (level.index == 0) return E_OF(args, member, lower);
    return buffer<real>(args, Offset::coupling(args)) + (member * couplings_of(args) + level.coupling + lower) * storage;
}

/* Element (r, c) of what the coupling H of the last block of a ring to itself adds to its D: H + H'. */
TRIFOLD_DEVICE real own_coupling(const trifold_args& args, const trifold_level& level, trifold_int member, int r, int c) {
    if (is_band && level.index == 0) {
        const Given given = given_coupling(args, member, 0);
        return given.value(r, c) + given.value(c, r);
    }
    const real* h = global_pointer(coupling_at(args, level, member, 0, 1));
    const trifold_int row = level.index > 0 ? 1 : E::row, column = level.index > 0 ? trifold_int(padded) : E::column;
    return h[r * row + c * column] + h[c * row + r * column];
}

/* The indices of element e of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the
 * other. A warp then reads whole sectors and writes shared memory of leading dimension 4 modulo 8 without conflicts. */
struct Place {
    int u, v;
};
TRIFOLD_DEVICE Place place(int e) { return {e % strip + e / (strip * padded) * strip, e / strip % padded}; }

/* A(p, q) into column-major `to`, zeros in the padding, from the couplings A(higher, lower). */
TRIFOLD_DEVICE void load_coupling(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  trifold_int p, trifold_int q) {
    const real* from = global_pointer(coupling_at(args, level, member, p, q));
    const bool by_rows = (level.index > 0 || E::row < E::column) == (p > q);
    if (is_band && level.index == 0) {
        const Given given = given_coupling(args, member, p < q ? p : q);
#pragma unroll 4
        for (int e = thread_opaque(); e < padded * padded; e += threads) {
            const Place at = place(e);
            const int r = by_rows ? at.u : at.v, c = by_rows ? at.v : at.u;
            to[r + c * leading] = p > q ? given.value(r, c) : given.value(c, r);
        }
        return;
    }
    const trifold_int step = level.index > 0 ? padded : e_pitch;
    const int du = by_rows ? 1 : leading, dv = by_rows ? leading : 1;
    int last_u = block_size, last_v = block_size;
    if (has_sizes && level.index == 0) last_u = rows_of(args, member, by_rows ? p : q), last_v = rows_of(args, member, by_rows ? q : p);
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        to[at.u * du + at.v * dv] =
            at.u < (has_sizes ? last_u : block_size) && at.v < (has_sizes ? last_v : block_size) ? from[at.u + at.v * step] : real(0);
    }
}

/* Loads the lower triangle of a diagonal block with the updates of earlier levels, and the identity in the padding. Elements above the
 * diagonal are not touched. */
TRIFOLD_DEVICE void load_diagonal(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  trifold_int block) {
    const real* from = D_OF(args, member, block);
    Given given{};
    if (is_band) given = given_diagonal(args, member, block);
    const int rows = rows_of(args, member, block);
    const real unit = unit_of(args, member, block);
    const real* low = level.index > 0 && has_side(args, member, block, 0) ? update_of(args, member, block, 0) : nullptr;
    const real* high = level.index > 0 && has_side(args, member, block, 1) ? update_of(args, member, block, 1) : nullptr;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int r = D::row == 1 ? at.u : at.v, c = D::row == 1 ? at.v : at.u;
        real value = r == c ? (has_sizes ? unit : real(1)) : real(0);
        if (r < (has_views ? rows : block_size) && c <= r) {
            value = is_band ? *given.at(r, c) : ELEMENT_OF_D(from, r, c);
            if (r == c) value += diagonal_term(args, member, block, r);
            if (low != nullptr) value -= low[r + c * padded];
            if (high != nullptr) value -= high[r + c * padded];
            if (closes_ring(level)) value += own_coupling(args, level, member, r, c);
        }
        if (c <= r) to[r + c * leading] = value;
    }
}
