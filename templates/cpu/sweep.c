/* Forward and backward sweeps. Within a chain a right-hand side is a column of LD reals, rows n .. LD - 1 zero. */

INLINE void load_rhs(const real* b, const trifold_strides* strides, integer columns, real* target) {
    for (integer c = 0; c < columns; ++c) {
        for (integer r = 0; r < n; ++r) target[c * LD + r] = b[r * strides->row + c * strides->column];
        for (integer r = n; r < LD; ++r) target[c * LD + r] = 0;
    }
}

INLINE void store_rhs(const real* y, const trifold_strides* strides, integer columns, real* x) {
    for (integer c = 0; c < columns; ++c)
        for (integer r = 0; r < n; ++r) x[r * strides->row + c * strides->column] = y[c * LD + r];
}

INLINE void subtract_rhs_updates(const trifold_args* args, integer member, integer block, real* y) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = rhs_update_of(args, side, member, block);
        for (integer i = 0; i < args->columns * LD; i += LANES) store(y + i, load(y + i) - load(update + i));
    }
}

/* y = L^-1 y, tile by tile, after y -= R y_previous. */
NOINLINE void forward_column(const real* factor, const real* previous_next, const real* previous_y, real* y) {
    for (integer j = 0; j < n; j += WIDTH) {
        vec c = load(y + j);
        if (previous_next) c = vector_rows(-1, c, previous_next + j, previous_y, n);
        c = vector_rows(-1, c, factor + j, y, j);
        const int width = (int)smaller(WIDTH, n - j);
        for (int k = 0; k < width; ++k) {
            y[j + k] = c[k] * factor[n * LD + j + k];
            c -= load(factor + (j + k) * LD + j) * spread(y[j + k]);
        }
    }
}

/* y = L^-T y, from the last tile to the first. */
NOINLINE void backward_column(const real* factor, real* y) {
    for (integer j = (n - 1) / WIDTH * WIDTH; j >= 0; j -= WIDTH) {
        const integer end = smaller(j + WIDTH, n);
        for (integer k = end - 1; k >= j; --k) {
            vec sum = {};
            for (integer r = j + WIDTH; r < LD; r += LANES) sum += load(factor + k * LD + r) * load(y + r);
            real total = y[k];
            for (int lane = 0; lane < LANES; ++lane) total -= sum[lane];
            for (integer r = k + 1; r < end; ++r) total -= factor[k * LD + r] * y[r];
            y[k] = total * factor[n * LD + k];
        }
    }
}

INLINE double sum_of_squares(const real* y) {
    vec sum = {};
    for (integer r = 0; r < LD; r += LANES) sum += load(y + r) * load(y + r);
    double total = 0;
    for (int lane = 0; lane < LANES; ++lane) total += (double)sum[lane];
    return total;
}

/* The forward sweep over one front: y from b, out to x. `previous_y` belongs to `previous_next`, the panel before. */
INLINE void forward_front(const trifold_args* args, const trifold_level* level, integer member, integer block, const real* previous_next,
                          const real* previous_y, real* y) {
    load_rhs(b_of(args, member, block), &args->b_strides, args->columns, y);
    if (level->index > 0) subtract_rhs_updates(args, member, block, y);
    const real* factor = factor_of(args, member, block);
    for (integer c = 0; c < args->columns; ++c) forward_column(factor, previous_next, previous_y + c * LD, y + c * LD);
    store_rhs(y, &args->x_strides, args->columns, x_of(args, member, block));
    double* quadratic = block_quadratic_of(args, member, block);
    for (integer c = 0; c < args->columns; ++c) quadratic[c] = sum_of_squares(y + c * LD);
}

/* What a front leaves for a separator's right-hand side. */
INLINE void update_rhs(real* slot, integer columns, const real* panel, const real* y, int add) {
    for (integer c = 0; c < columns; ++c) vector_product(slot + c * LD, panel, y + c * LD, add);
}

/* One worker's room for two fronts' right-hand sides. */
INLINE real* rhs_scratch(void* scratch, integer which) { return (real*)scratch + which * TRIFOLD_STORAGE_VECTOR; }

static void forward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const real* previous_next = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
        forward_front(args, level, member, block, previous_next, previous_y, y);
        if (c->behind >= 0)
            update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), args->columns,
                       behind_of(args, member, block), y, k > 0 || level->index > 0);
        previous_next = next_of(args, member, block);
    }
    if (c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), args->columns, previous_next,
                   rhs_scratch(scratch, ~c->length & 1), level->index > 0);
}

static void backward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const integer columns = args->columns;
    real* behind = rhs_scratch(scratch, 2);
    if (c->behind >= 0) load_rhs(x_of(args, member, block_at(level, c->behind)), &args->x_strides, columns, behind);
    if (c->ahead >= 0)
        load_rhs(x_of(args, member, block_at(level, c->ahead)), &args->x_strides, columns, rhs_scratch(scratch, c->length & 1));
    for (integer k = c->length; k-- > 0;) {
        const integer block = block_at(level, c->first + k * c->step);
        real *x = rhs_scratch(scratch, k & 1), *next = rhs_scratch(scratch, ~k & 1);
        load_rhs(b_of(args, member, block), &args->b_strides, columns, x);
        for (integer i = 0; i < columns; ++i) {
            if (k + 1 < c->length || c->ahead >= 0) vector_product_transposed(x + i * LD, next_of(args, member, block), next + i * LD);
            if (c->behind >= 0) vector_product_transposed(x + i * LD, behind_of(args, member, block), behind + i * LD);
            backward_column(factor_of(args, member, block), x + i * LD);
        }
        store_rhs(x, &args->x_strides, columns, x_of(args, member, block));
    }
}
