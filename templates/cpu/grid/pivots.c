/* The pivot block W of a front: P W = L U, or W = L L'. */
#include "cpu/grid/products.c"

INLINE trifold_grid_record new_record(void) { return (trifold_grid_record){.least = 1, .sign = 1}; }

/* Notes a problem at the k-th eliminated pixel, unless the record has one already. */
INLINE void note_problem(const context* c, const front* f, trifold_grid_record* record, integer problem, integer k) {
    if (record->problem != trifold_grid_sound) return;
    record->problem = problem;
    record->pixel = eliminated_y(&f->box, k) * c->launch->width + eliminated_x(&f->box, k);
}

/* Adds pivot k to a record. `before`: the diagonal entry that it began with. A negative pivot that rounding can make is no proof
 * of an indefinite matrix: it is nearly singular. */
INLINE void note_pivot(const context* c, const front* f, trifold_grid_record* record, integer k, double pivot, double before) {
    const double size = size_of(pivot), least = SYMMETRIC ? size / size_of(before) : size;
    const int fails = !(size > 0 && size <= (double)LARGEST) || (SYMMETRIC && pivot < 0);
    if (fails) note_problem(c, f, record, SYMMETRIC && least < c->launch->negligible ? trifold_grid_nearly : trifold_grid_pivot, k);
    if (fails || !(least >= record->least)) record->least = fails ? 0 : least;
    if (size > record->largest) record->largest = size;
    if (pivot < 0) record->sign = -record->sign;
    record->log_determinant += __builtin_log(size);
}

#if SYMMETRIC
/* Factors the diagonal tile of columns j .. j + LANES - 1. Products are subtracted already. */
INLINE void factor_tile(const context* c, const front* f, real* tile, real* inverses, trifold_grid_record* record, integer j) {
    for (integer k = 0; k < LANES; ++k) {
        const real d = tile[k * LANES + k];
        if (j + k < f->s) note_pivot(c, f, record, j + k, (double)d, (double)inverses[j + k]);
        const real root = square_root(d), inverse = 1 / root;
        tile[k * LANES + k] = root;
        inverses[j + k] = inverse;
        for (integer i = k + 1; i < LANES; ++i) tile[k * LANES + i] *= inverse;
        for (integer l = k + 1; l < LANES; ++l)
            for (integer i = l; i < LANES; ++i) tile[l * LANES + i] -= tile[k * LANES + i] * tile[k * LANES + l];
    }
}

NOINLINE void factor_pivots(const context* c, const front* f, real* unused, trifold_grid_record* record) {
    real *w = w_of(c, f), *inverses = inverses_of(c, f);
    const integer S = f->S, strip = S * LANES;
    (void)unused;
    for (integer k = 0; k < f->s; ++k) inverses[k] = stencil_of(c, f->member, eliminated_x(&f->box, k), eliminated_y(&f->box, k))[4];
    for (integer j = 0; j < S; j += LANES) {
        real* rows = w + row_of(j, S);
        for (integer k = j; k < j + LANES; k += TILE_COLUMNS) product_1(rows + k * LANES, strip, LANES, rows, strip, w + row_of(k, S), j);
        factor_tile(c, f, rows + j * LANES, inverses, record, j);
        solve_rows(w, j + LANES, S, S, w, inverses, j, j + LANES);
    }
}
#else
INLINE void exchange_rows(real* w, integer S, integer a, integer b, integer left, integer right) {
    real *p = w + row_of(a, S), *q = w + row_of(b, S);
    for (integer j = left; j < right; ++j) {
        const real x = p[j * LANES];
        p[j * LANES] = q[j * LANES];
        q[j * LANES] = x;
    }
}

INLINE integer find_pivot(const real* w, integer S, integer s, integer k) {
    integer best = k;
    real most = 0;
    for (integer v = k / LANES; v * LANES < s; ++v) {
        const real* column = w + v * S * LANES + k * LANES;
        const integer first = v == k / LANES ? k % LANES : 0, end = smaller(LANES, s - v * LANES);
        for (integer i = first; i < end; ++i) {
            const real size = column[i] < 0 ? -column[i] : column[i];
            if (size > most) {
                most = size;
                best = v * LANES + i;
            }
        }
    }
    return best;
}

/* Factors columns j0 .. j1 - 1 of W, from row j0 on. */
NOINLINE void factor_band(const context* c, const front* f, trifold_grid_record* record, integer j0, integer j1) {
    real *w = w_of(c, f), *inverses = inverses_of(c, f);
    int* pivots = pivots_of(c, f);
    const integer S = f->S, strip = S * LANES;
    for (integer k = j0; k < j1; ++k) {
        const integer p = PIVOTING && k < f->s ? find_pivot(w, S, f->s, k) : k, lane = k % LANES;
        pivots[k] = (int)p;
        if (p != k) {
            exchange_rows(w, S, k, p, j0, j1);
            record->sign = -record->sign;
        }
        const real d = w[row_of(k, S) + k * LANES];
        if (k < f->s) note_pivot(c, f, record, k, (double)d, 1);
        inverses[k] = 1 / d;
        const vec inverse = spread(inverses[k]);
        for (integer v = k / LANES; v < S / LANES; ++v) {
            real* rows = w + v * strip;
            vec l = load(rows + k * LANES) * inverse;
            if (v == k / LANES) {
                for (integer i = lane + 1; i < LANES; ++i) rows[k * LANES + i] = l[i];
                for (integer i = 0; i <= lane; ++i) l[i] = 0;
            } else
                store(rows + k * LANES, l);
            const real* u = w + row_of(k, S);
            for (integer j = k + 1; j < j1; ++j) store(rows + j * LANES, load(rows + j * LANES) - l * spread(u[j * LANES]));
        }
    }
}

/* Solves for rows j0 .. j1 - 1 of column j: multiplies by L(tile)^-1, and copies the result to U'. */
INLINE void solve_column(real* w, real* transposed_pivots, integer S, integer j0, integer j1, integer j) {
    const integer strip = S * LANES;
    for (integer k = j0; k < j1; k += LANES) {
        real* x = w + row_of(k, S) + j * LANES;
        const real* tile = w + row_of(k, S) + k * LANES;
        for (integer i = 0; i < LANES; ++i)
            for (integer l = i + 1; l < LANES; ++l) x[l] -= tile[i * LANES + l] * x[i];
        for (integer v = k / LANES + 1; v < j1 / LANES; ++v) {
            vec y = load(w + v * strip + j * LANES);
            UNROLL for (int i = 0; i < LANES; ++i) y -= load(w + v * strip + (k + i) * LANES) * spread(x[i]);
            store(w + v * strip + j * LANES, y);
        }
        real* to = transposed_pivots + row_of(j, S) + k * LANES;
        for (integer i = 0; i < LANES; ++i) to[i * LANES] = x[i];
    }
}

/* Applies the band of columns j0 .. j1 - 1 to columns left .. right - 1, which all lie on one side of it: exchanges rows, and behind the
 * band computes rows of U and subtracts products. */
NOINLINE void update_columns(const context* c, const front* f, real* transposed_pivots, integer j0, integer j1, integer left,
                             integer right) {
    real* w = w_of(c, f);
    const int* pivots = pivots_of(c, f);
    const integer S = f->S, strip = S * LANES;
    for (integer k = j0; k < j1; ++k)
        if (pivots[k] != k) exchange_rows(w, S, k, pivots[k], left, right);
    if (left < j1) return;
    for (integer j = left; j < right; ++j) solve_column(w, transposed_pivots, S, j0, j1, j);
    for (integer j = left; j < right; j += TILE_COLUMNS)
        for (integer v = j1 / LANES, height; v < S / LANES; v += height) {
            height = tile_height(S / LANES - v);
            product_of_height(height, w + v * strip + j * LANES, strip, LANES, w + v * strip + j0 * LANES, strip,
                              transposed_pivots + row_of(j, S) + j0 * LANES, j1 - j0);
        }
}

/* Factors W. `transposed_pivots` receives U'. */
NOINLINE void factor_pivots(const context* c, const front* f, real* transposed_pivots, trifold_grid_record* record) {
    real* w = w_of(c, f);
    const integer S = f->S;
    for (integer j0 = 0; j0 < S; j0 += BAND) {
        const integer j1 = smaller(j0 + BAND, S);
        factor_band(c, f, record, j0, j1);
        for (integer j = j0; j < j1; ++j)
            for (integer k = j0; k <= j; ++k) transposed_pivots[row_of(j, S) + k * LANES] = w[row_of(k, S) + j * LANES];
        update_columns(c, f, transposed_pivots, j0, j1, 0, j0);
        update_columns(c, f, transposed_pivots, j0, j1, j1, S);
    }
}

/* Computes P Z: rows of Z are columns of Z'. */
INLINE void exchange_columns(const context* c, const front* f, integer first, integer end) {
    const int* pivots = pivots_of(c, f);
    for (integer v = first / LANES; v < end / LANES; ++v) {
        real* strip = z_of(c, f) + v * f->S * LANES;
        for (integer k = 0; k < f->s; ++k)
            if (pivots[k] != k) {
                const vec x = load(strip + k * LANES);
                store(strip + k * LANES, load(strip + pivots[k] * LANES));
                store(strip + pivots[k] * LANES, x);
            }
    }
}
#endif

/* Solves for rows first .. end - 1 of Y and, unless the matrix is symmetric, of Z'. */
INLINE void solve_panel(const context* c, const front* f, const real* transposed_pivots, integer first, integer end) {
#if SYMMETRIC
    (void)transposed_pivots;
    solve_rows(y_of(c, f), first, end, f->S, w_of(c, f), inverses_of(c, f), 0, f->S);
#else
    solve_rows(y_of(c, f), first, end, f->S, transposed_pivots, inverses_of(c, f), 0, f->S);
    exchange_columns(c, f, first, end);
    solve_rows(z_of(c, f), first, end, f->S, w_of(c, f), 0, 0, f->S);
#endif
}
