/* Forward and backward sweeps, one right-hand side at a time. */
#include "cpu/tridiagonal/tile/load.c"

INLINE void subtract_rhs_updates(const trifold_args* args, integer member, integer block, real* y) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(args, member, block, side)) continue;
        const real* update = rhs_update_of(args, side, member, block);
        for (integer i = 0; i < columns_of(args) * LD; i += LANES) store(y + i, load(y + i) - load(update + i));
    }
}

/* Sum over `count` pivot columns of strip(k) y(k), in four sums for their latency. */
INLINE vec strip_times(const real* strip, const real* y, integer count) {
    vec sum[4] = {{}, {}, {}, {}};
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        UNROLL for (int u = 0; u < 4; ++u) sum[u] += load(strip + (k + u) * LANES) * spread(y[k + u]);
    }
    for (; k < count; ++k) sum[0] += load(strip + k * LANES) * spread(y[k]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* target (+)= panel y. */
NOINLINE void vector_product(real* target, const real* panel, const real* y, int add) {
    for (int v = 0; v < VECTORS; ++v) {
        const vec product = strip_times(panel + v * STRIP, y, n);
        store(target + v * LANES, add ? load(target + v * LANES) + product : product);
    }
}

/* y(tile) = L(tile)^-1 c, in scalars and before the division by the diagonal: a step of the chain is one multiply-add. */
INLINE void forward_tile(const int W, const real* l, const real* reciprocal, vec c, real* y) {
    real t[LANES];
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = 0; k < W; ++k) {
        UNROLL for (int w = k + 1; w < W; ++w) t[w] -= l[k * LANES + w] * reciprocal[k] * t[k];
        y[k] = t[k] * reciprocal[k];
    }
}

/* y = L^-1 (y - previous_next previous_y). */
NOINLINE void forward_column(const real* factor, const real* previous_next, const real* previous_y, real* y) {
    for (integer j = 0; j < n; j += LANES) {
        vec c = load(y + j);
        if (previous_next) c -= strip_times(previous_next + at(j, 0), previous_y, n);
        if (j > 0) c -= strip_times(factor + at(j, 0), y, j);
        const real *tile = factor + at(j, j), *reciprocal = factor + n * LD + j;
#if BLOCK % VECTOR_LANES
        if (j + LANES > n) {
            forward_tile(PIVOT_TAIL, tile, reciprocal, c, y + j);
            return;
        }
#endif
        forward_tile(LANES, tile, reciprocal, c, y + j);
    }
}

/* sum[w] += panel(rows, w) x(rows), W pivot columns, strips first .. VECTORS - 1 from the last down. */
INLINE void transposed_products(const int W, vec* sum, const real* panel, const real* x, int first) {
    for (int v = VECTORS - 1; v >= first; --v) {
        const vec rows = load(x + v * LANES);
        UNROLL for (int w = 0; w < W; ++w) sum[w] += load(panel + v * STRIP + w * LANES) * rows;
    }
}

/* x(tile) = L(tile)^-T c. */
INLINE vec backward_tile(const int W, const real* l, const real* reciprocal, vec c) {
    real t[LANES];
    vec x = {};
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = W - 1; k >= 0; --k) {
        UNROLL for (int w = 0; w < k; ++w) t[w] -= l[w * LANES + k] * reciprocal[k] * t[k];
        x[k] = t[k] * reciprocal[k];
    }
    return x;
}

/* x = L^-T (x - next' x_next - behind' x_behind); panels are null where there is no such neighbour. */
INLINE void backward_columns(const int W, integer j, const real* factor, const real* next, const real* behind, const real* x_next,
                             const real* x_behind, real* x) {
    vec sum[LANES];
    UNROLL for (int w = 0; w < LANES; ++w) sum[w] = (vec){};
    if (next) transposed_products(W, sum, next + at(0, j), x_next, 0);
    if (behind) transposed_products(W, sum, behind + at(0, j), x_behind, 0);
    transposed_products(W, sum, factor + at(0, j), x, (int)(j / LANES) + 1);
    const vec c = load(x + j) - sum_lanes(sum);
    store(x + j, backward_tile(W, factor + at(j, j), factor + n * LD + j, c));
}

NOINLINE void backward_column(const real* factor, const real* next, const real* behind, const real* x_next, const real* x_behind, real* x) {
    integer j = n / LANES * LANES;
#if BLOCK % VECTOR_LANES
    backward_columns(PIVOT_TAIL, j, factor, next, behind, x_next, x_behind, x);
#endif
    while ((j -= LANES) >= 0) backward_columns(LANES, j, factor, next, behind, x_next, x_behind, x);
}

/* In f64, whatever the precision: squares have twice the exponents of their roots. */
typedef double squares __attribute__((vector_size(VECTOR_LANES * 8)));
INLINE double sum_of_squares(const real* y, const real* factor) {
    squares sum = {};
    for (integer r = 0; r < LD; r += LANES) {
        const squares wide = __builtin_convertvector(load(y + r), squares);
#if HAS_SIGNS
        sum += wide * __builtin_convertvector(with_sign_of(load(y + r), load(reciprocals_of(factor) + r)), squares);
#else
        sum += wide * wide;
#endif
    }
    (void)factor;
    double total = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) total += sum[lane];
    return sizeof(real) == 8 && __builtin_expect(is_tiny(total), 0) ? tiny_square(total, y, n) : total;
}

/* S y, and y of it again: the rows of a column with the signs of the front's pivots. */
INLINE void turn_column(real* y, const real* factor) {
    for (integer r = 0; r < LD; r += LANES) store(y + r, with_sign_of(load(y + r), load(reciprocals_of(factor) + r)));
}

/* The forward sweep over one front: y from b, out to x. `previous_y` belongs to `previous_next`, the panel before. */
INLINE void forward_front(const trifold_args* args, const trifold_level* level, integer member, integer block, const real* previous_next,
                          const real* previous_y, real* y) {
    load_rhs(b_of(args, member, block), &args->b_strides, rows_of(args, member, block), columns_of(args), y);
    if (level->index > 0) subtract_rhs_updates(args, member, block, y);
    const real* factor = factor_of(args, member, block);
    for (integer c = 0; c < columns_of(args); ++c) forward_column(factor, previous_next, previous_y + c * LD, y + c * LD);
    for (integer c = 0; HAS_SIGNS && c < columns_of(args); ++c) turn_column(y + c * LD, factor);
    store_rhs(y, &args->x_strides, stored_rows(args, block), columns_of(args), x_of(args, member, block));
    for (integer c = 0; HAS_SIGNS && c < columns_of(args); ++c) turn_column(y + c * LD, factor);
    double* quadratic = block_quadratic_of(args, member, block);
    for (integer c = 0; c < columns_of(args); ++c) quadratic[c] = sum_of_squares(y + c * LD, factor);
}

/* Writes the update that a front leaves to a separator's right-hand side, or adds it (`add`). */
INLINE void update_rhs(real* slot, integer columns, const real* panel, const real* y, int add) {
    for (integer c = 0; c < columns; ++c) vector_product(slot + c * LD, panel, y + c * LD, add);
}

/* One worker's room: the right-hand sides of two fronts and of the separator behind. */
INLINE real* rhs_scratch(void* scratch, integer which) { return (real*)scratch + which * STORAGE_VECTOR; }

KERNEL_PART void forward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const real* previous_next = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
        forward_front(args, level, member, block, previous_next, previous_y, y);
        if (c->behind >= 0)
            update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), columns_of(args),
                       behind_of(args, member, block), y, k > 0 || level->index > 0);
        previous_next = next_of(args, member, block);
    }
    if (c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), columns_of(args), previous_next,
                   rhs_scratch(scratch, ~c->length & 1), level->index > 0);
}

/* Adds NaN if x has an infinity or NaN, otherwise zeros. */
INLINE vec add_trouble(vec trouble, const real* x, integer count) {
    for (integer r = 0; r < count; r += LANES) trouble += load(x + r) * 0;
    return trouble;
}
INLINE int is_trouble(vec trouble) {
    int any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= trouble[lane] != 0;
    return any;
}

KERNEL_PART void backward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const integer columns = columns_of(args);
    real* x_behind = rhs_scratch(scratch, 2);
    vec trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, member)->solution, 0);
    if (c->behind >= 0)
        load_rhs(x_of(args, member, block_at(level, c->behind)), &args->x_strides, stored_rows(args, block_at(level, c->behind)), columns,
                 x_behind);
    if (c->ahead >= 0)
        load_rhs(x_of(args, member, block_at(level, c->ahead)), &args->x_strides, stored_rows(args, block_at(level, c->ahead)), columns,
                 rhs_scratch(scratch, c->length & 1));
    for (integer k = c->length; k-- > 0;) {
        const integer block = block_at(level, c->first + k * c->step);
        real *x = rhs_scratch(scratch, k & 1), *x_next = rhs_scratch(scratch, ~k & 1);
        load_rhs(b_of(args, member, block), &args->b_strides, rows_of(args, member, block), columns, x);
        const real* next = k + 1 < c->length || c->ahead >= 0 ? next_of(args, member, block) : 0;
        const real* behind = c->behind >= 0 ? behind_of(args, member, block) : 0;
        for (integer i = 0; i < columns; ++i)
            backward_column(factor_of(args, member, block), next, behind, x_next + i * LD, x_behind + i * LD, x + i * LD);
        store_rhs(x, &args->x_strides, stored_rows(args, block), columns, x_of(args, member, block));
        trouble = add_trouble(trouble, x, columns * LD);
    }
    if (__builtin_expect(is_trouble(trouble), 0)) set_range(&range_of(args, member)->solution, 1);
}
