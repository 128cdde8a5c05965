/* One front: the pivot block's tiles, the pivot test, and the loads of D and of couplings. */

/* A front's blocks, all column-major; null where it has no such neighbour. `previous_*` are those of the front before
 * in the chain, whose Schur update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
} front;

/* A pivot below the floor is raised to it; a NaN is not. */
INLINE real raise_pivot(real d, real floor) { return floor > d ? floor : d; }

/* Cholesky of the W by W tile at column j, after the updates from the front before and from columns < j. `raw` keeps the
 * pivots as they came, for the test afterwards: no branch stands in the chain of pivots. */
INLINE void pivot_tile(const int W, const front* f, integer j, real floor, real* raw) {
    real* l = f->factor;
    vec c[WIDTH];
    load_tile(1, W, c, l + j * LD + j);
    if (f->previous_next) multiply_add(1, W, -1, c, f->previous_next + j, f->previous_next + j, LD, 1, n);
    multiply_add(1, W, -1, c, l + j, l + j, LD, 1, j);
    UNROLL for (int k = 0; k < W; ++k) {
        const real d = raise_pivot(c[k][k], floor);
        const real reciprocal = square_root(d) / d;
        raw[j + k] = c[k][k];
        l[n * LD + j + k] = reciprocal;
        const vec scaled = c[k] * spread(reciprocal);
        UNROLL for (int w = k + 1; w < W; ++w) c[w] -= scaled * spread(scaled[w]);
        c[k] = scaled;
    }
    UNROLL for (int k = 0; k < W; ++k) { UNROLL for (int lane = 0; lane < k; ++lane) c[k][lane] = 0; }
    store_tile(1, W, c, l + j * LD + j);
}

NOINLINE void pivot_full(const front* f, integer j, real floor, real* raw) { pivot_tile(WIDTH, f, j, floor, raw); }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
NOINLINE void pivot_tail(const front* f, integer j, real floor, real* raw) { pivot_tile(TAIL, f, j, floor, raw); }
#endif

/* Factors the front and solves its panels, one column tile of all of them at a time: what does not wait for the tile's
 * pivots stands right behind them, so that an out-of-order core fills the chain of square roots with it. */
NOINLINE void factor_front(const front* f, real floor, real* raw) {
    for (integer j = 0; j < n; j += WIDTH) {
        int width = WIDTH;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
        if (j + WIDTH > n) {
            width = TAIL;
            pivot_tail(f, j, floor, raw);
        } else
#endif
            pivot_full(f, j, floor, raw);
        const panel_job below = {f->factor, f->previous_next, f->previous_next, f->factor, j};
        panel_rows(&below, width, (int)(j / LANES) + 1);
        if (f->next) {
            const panel_job job = {f->next, 0, 0, f->factor, j};
            panel_rows(&job, width, 0);
        }
        if (f->behind) {
            const panel_job job = {f->behind, f->previous_behind, f->previous_next, f->factor, j};
            panel_rows(&job, width, 0);
        }
    }
}

INLINE int passes(real d) { return d > 0 && d <= LARGEST; }

/* First row whose pivot fails, or -1. Pivots below the floor have been raised and are counted. */
INLINE integer test_pivots(const real* raw, real floor, int* floors) {
    integer failed = 0;
    int raised = 0;
    for (integer k = 0; k < n; ++k) {
        raised += floor > raw[k];
        failed |= !passes(raise_pivot(raw[k], floor));
    }
    *floors = raised;
    if (!failed) return -1;
    for (integer k = 0; k < n; ++k)
        if (!passes(raise_pivot(raw[k], floor))) return k;
    return -1;
}

NOINLINE void fill_not_a_number(real* target, integer count) {
    if (!target) return;
    for (integer i = 0; i < count; ++i) target[i] = NOT_A_NUMBER;
}

/* Whatever a failed front hands on is NaN, and so is all that follows from it. */
static void poison_front(const front* f) {
    fill_not_a_number(f->factor, TRIFOLD_STORAGE_FACTOR);
    fill_not_a_number(f->next, TRIFOLD_STORAGE_PANEL);
    fill_not_a_number(f->behind, TRIFOLD_STORAGE_PANEL);
}

/* ---- log determinant ---- */

/* log x for a normal x > 0: exponent and the series of atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)). */
INLINE double natural_logarithm(double x, integer exponent) {
    union {
        double value;
        integer bits;
    } u = {x};
    integer e = ((u.bits >> 52) & 0x7ff) - 1023;
    u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
    if (u.value > 1.41421356237309514547) {
        u.value *= 0.5;
        e += 1;
    }
    const double s = (u.value - 1) / (u.value + 1), q = s * s;
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * q;
    return (double)(exponent + e) * 0.693147180559945309417 + 2 * (s + s * sum);
}

/* Sum of the logarithms of the squared diagonal of L, one logarithm a block: mantissas are multiplied, exponents added. */
static double log_determinant(const real* raw, real floor) {
    double product = 1;
    integer exponent = 0;
    for (integer k = 0; k < n; ++k) {
        double d = (double)raise_pivot(raw[k], floor);
        union {
            double value;
            integer bits;
        } u = {d < 0x1p-1000 ? d * 0x1p100 : d};
        exponent += ((u.bits >> 52) & 0x7ff) - 1023 - (d < 0x1p-1000 ? 100 : 0);
        u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
        product *= u.value;
        if (k % 512 == 511) {
            exponent += 512;
            product *= 0x1p-512;
        }
    }
    return natural_logarithm(product, exponent);
}

/* ---- loads ---- */

/* target = A with element (r, c) at r row + c column; `lower` leaves out what stands above the diagonal. */
INLINE void load_block(real* target, const real* a, integer row, integer column, const int lower) {
    for (integer c = 0; c < n; ++c) {
        integer r = 0;
        if (lower) {
            for (; r < c; ++r) target[c * LD + r] = 0;
        }
        for (; r < n; ++r) target[c * LD + r] = a[r * row + c * column];
        for (; r < LD; ++r) target[c * LD + r] = 0;
    }
}

/* D with what is added to its diagonal, and its largest diagonal entry. */
NOINLINE real load_diagonal_block(const trifold_args* args, integer member, integer block, real* target) {
    load_block(target, d_of(args, member, block), TRIFOLD_D_ROW, TRIFOLD_D_COLUMN, 1);
    real largest = 0;
    for (integer k = 0; k < n; ++k) {
        real* entry = target + k * LD + k;
        *entry += diagonal_term(args, member, block, k);
        if (*entry > largest) largest = *entry;
    }
    return largest;
}

/* The updates that the chains on both sides of a separator have left for it. */
NOINLINE void subtract_updates(const trifold_args* args, integer member, integer block, real* target) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = update_of(args, side, member, block);
        for (integer c = 0; c < n; ++c) {
            for (integer r = c / LANES * LANES; r < LD; r += LANES)
                store(target + c * LD + r, load(target + c * LD + r) - load(update + c * LD + r));
        }
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
            load_block(target, a, LD, 1, 0);
        else
            load_block(target, a, 1, LD, 0);
        return;
    }
    const real* a = e_of(args, member, block_at(level, low));
    if (transposed)
        load_block(target, a, TRIFOLD_E_COLUMN, TRIFOLD_E_ROW, 0);
    else
        load_block(target, a, TRIFOLD_E_ROW, TRIFOLD_E_COLUMN, 0);
}
