/* Loads of D and of couplings into stored blocks, and of right-hand sides. */
#include "cpu/tridiagonal/tile/tile.c"

/* target = A, whose element (r, c) is at r row + c column. With `lower`, elements above the diagonal may be loaded or not, and nothing uses
 * them. */
INLINE void load_block(real* target, const real* a, integer row, integer column, const int lower) {
    for (integer r = 0; r < n; r += LANES) {
        real* strip = target + at(r, 0);
        const integer end = lower ? smaller(r + LANES, n) : n;
        if (BLOCK >= VECTOR_LANES && row == 1) {
            for (integer c = 0; c < end; ++c) store(strip + c * LANES, load_rows(a + c * column, r));
        } else if (BLOCK >= VECTOR_LANES && column == 1) { /* transposed in registers; the last tile overlaps the one before it */
            for (integer c = 0; c < end; c += LANES) {
                const integer from = smaller(c, n - LANES);
                vec v[LANES];
                UNROLL for (int k = 0; k < LANES; ++k) {
                    v[k] = (vec){};
                    if (n % LANES == 0 || r + k < n) v[k] = *(const loose*)(a + (r + k) * row + from);
                }
                transpose(v);
                UNROLL for (int k = 0; k < LANES; ++k) store(strip + (from + k) * LANES, v[k]);
            }
        } else {
            for (integer c = 0; c < end; ++c)
                for (integer k = 0; k < LANES; ++k) strip[c * LANES + k] = r + k < n ? a[(r + k) * row + c * column] : 0;
        }
    }
}

/* target = D or, `ahead`, the coupling to the next block, where blocks are several of the caller's, or parts of them. */
NOINLINE void load_view(const trifold_args* args, integer member, integer block, int ahead, int transposed, real* target) {
    enum { EACH = n / BANDWIDTH };
    const integer rows = rows_of(args, member, block + ahead), columns = rows_of(args, member, block);
    for (integer k = 0; k < n * LD; k += LANES) store(target + k, (vec){});
    for (integer q = 0; q < BANDWIDTH; ++q)
        for (integer p = 0; p < BANDWIDTH; ++p) {
            const given from = given_block(args, member, block, ahead, p, q);
            const integer last_row = smaller(rows - p * EACH, EACH), last_column = smaller(columns - q * EACH, EACH);
            for (integer c = 0; from.first && c < last_column; ++c)
                for (integer r = 0; r < last_row; ++r) {
                    const integer row = p * EACH + r, column = q * EACH + c;
                    target[transposed ? at(column, row) : at(row, column)] = from.first[r * from.row + c * from.column];
                }
        }
    for (integer k = rows; !ahead && k < n; ++k) target[at(k, k)] = 1;
}
/* Whether a block of the caller's is one whole. */
INLINE int is_whole(const trifold_args* args, integer member, integer block) {
    return !HAS_VIEWS || (BANDWIDTH == 1 && rows_of(args, member, block) == n);
}

/* target = a stored block, transposed. */
NOINLINE void load_transposed(real* target, const real* a) {
    for (integer c = 0; c < n; ++c)
        for (integer r = 0; r < LD; ++r) target[at(r, c)] = r < n ? a[at(c, r)] : 0;
}

/* Loads D with the terms that are added to its diagonal. */
NOINLINE void load_diagonal_block(const trifold_args* args, integer member, integer block, real* target) {
    if (is_whole(args, member, block))
        load_block(target, d_of(args, member, block), D_ROW, D_COLUMN, 1);
    else
        load_view(args, member, block, 0, 0, target);
    if (!args->diagonal && !args->shift) return;
    for (integer k = 0; k < n; ++k) target[at(k, k)] += diagonal_term(args, member, block, k);
}

/* The floor that smaller pivots are raised to: a multiple of the largest magnitude on the diagonal, with the terms that are added to it. */
INLINE real pivot_floor(const trifold_args* args, integer member, integer block) {
    if (__builtin_expect(!(args->pivot_floor > 0), 1)) return -(real)__builtin_inf();
    real largest = 0;
    for (integer k = 0; k < rows_of(args, member, block); ++k) {
        const real entry = given_entry(args, member, block, k) + diagonal_term(args, member, block, k), size = entry < 0 ? -entry : entry;
        if (size > largest && size <= LARGEST) largest = size;
    }
    return (real)args->pivot_floor * largest;
}

/* The updates that the chains on both sides of a separator have left for it: minus the sum of their products. */
NOINLINE void add_updates(const trifold_args* args, integer member, integer block, real* target) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(args, member, block, side)) continue;
        const real* update = update_of(args, side, member, block);
        for (integer r = 0; r < LD; r += LANES)
            for (integer i = at(r, 0); i < at(r, smaller(r + LANES, n)); i += LANES) store(target + i, load(target + i) + load(update + i));
    }
}

/* A(row position, column position) of two neighbours among the blocks that remain. */
NOINLINE void load_coupling(const trifold_args* args, const trifold_level* level, integer member, integer rows, integer columns,
                            real* target) {
    const integer low = smaller(rows, columns);
    const int transposed = rows < columns;
    if (level->index > 0) {
        const real* a = coupling_of(args, member, level->coupling + low);
        if (transposed)
            load_transposed(target, a);
        else
            for (integer i = 0; i < n * LD; i += LANES) store(target + i, load(a + i));
        return;
    }
    const integer block = block_at(level, low);
    const real* a = e_of(args, member, block);
    if (!is_whole(args, member, block) || !is_whole(args, member, block + 1))
        load_view(args, member, block, 1, transposed, target);
    else if (transposed)
        load_block(target, a, E_COLUMN, E_ROW, 0);
    else
        load_block(target, a, E_ROW, E_COLUMN, 0);
}

/* Adds the coupling H of the last block of a ring to itself: H + H'. `room` is a stored block. */
COLD void add_own_coupling(const trifold_args* args, const trifold_level* level, integer member, real* target, real* room) {
    load_coupling(args, level, member, 1, 0, room);
    for (integer c = 0; c < n; ++c)
        for (integer r = c; r < n; ++r) target[at(r, c)] += room[at(r, c)] + room[at(c, r)];
}

/* ---- right-hand sides: one column of LD reals each, rows n .. LD - 1 zero ---- */

/* n contiguous reals; the last vector overlaps the one before it. */
INLINE void copy_column(real* to, const real* from) {
    if (BLOCK < VECTOR_LANES) {
        for (integer r = 0; r < n; ++r) to[r] = from[r];
        return;
    }
    const vec last = *(const loose*)(from + n - LANES);
    for (integer r = 0; r + LANES <= n; r += LANES) *(loose*)(to + r) = *(const loose*)(from + r);
    if (n % LANES) *(loose*)(to + n - LANES) = last;
}

/* The first `rows` rows of a block's right-hand sides; the others are zero. */
INLINE void load_rhs(const real* b, const trifold_strides* strides, integer rows, integer columns, real* target) {
    for (integer c = 0; c < columns; ++c, target += LD) {
        const real* from = b + c * strides->column;
        if (LD > n) store(target + LD - LANES, (vec){});
        if (BANDWIDTH > 1 || (HAS_SIZES && rows < n))
            for (integer r = 0; r < n; ++r) target[r] = r < rows ? from[row_at(strides, r)] : 0;
        else if (strides->row == 1)
            copy_column(target, from);
        else
            for (integer r = 0; r < n; ++r) target[r] = from[r * strides->row];
    }
}

INLINE void store_rhs(const real* y, const trifold_strides* strides, integer rows, integer columns, real* x) {
    for (integer c = 0; c < columns; ++c, y += LD) {
        real* to = x + c * strides->column;
        if (BANDWIDTH > 1 || (HAS_SIZES && rows < n))
            for (integer r = 0; r < rows; ++r) to[row_at(strides, r)] = y[r];
        else if (strides->row == 1)
            copy_column(to, y);
        else
            for (integer r = 0; r < n; ++r) to[r * strides->row] = y[r];
    }
}
