/* Sweeps with many right-hand sides, which are products of matrices: slices of LANES of them, whose columns are in vector lanes. Elements
 * of W, Y and Z are broadcast. Row k of a slice is LANES reals. A column's sums have one order, whatever its neighbours are. */
#include "cpu/grid/sweep.c"

enum { MANY_COLUMNS = 2 }; /* from this number on a slice takes less time than one column after another; measured */

INLINE void load_slice_rows(vec* c, const real* x) { UNROLL for (int i = 0; i < LANES; ++i) c[i] = load(x + i * LANES); }
INLINE void store_slice_rows(const vec* c, real* x) { UNROLL for (int i = 0; i < LANES; ++i) store(x + i * LANES, c[i]); }

/* c(i) -= sum over k, first <= k < end, of a(i, k) x(k), for the rows of one strip. */
INLINE void subtract_slice_rows(vec* c, const real* a, const real* x, integer first, integer end) {
    for (integer k = first; k < end; ++k) {
        const vec row = load(x + k * LANES);
        UNROLL for (int i = 0; i < LANES; ++i) c[i] -= spread(a[k * LANES + i]) * row;
    }
}

/* c(i) -= sum over the rows of strips [first, end) of a(row, i) x(row), for LANES columns. */
INLINE void subtract_slice_columns(vec* c, const real* a, integer S, const real* x, integer first, integer end) {
    for (integer v = first; v < end; ++v)
        for (integer l = 0; l < LANES; ++l) {
            const real* element = a + v * S * LANES + l;
            const vec row = load(x + (v * LANES + l) * LANES);
            UNROLL for (int i = 0; i < LANES; ++i) c[i] -= spread(element[i * LANES]) * row;
        }
}

/* Solves with a triangle of W, or with its transpose. `downwards`: from the first row on. `inverses` of the diagonal, null where it is 1.
 */
INLINE void solve_slice(real* x, const real* w, integer S, const real* inverses, const int downwards, const int transposed) {
    for (integer done = 0; done < S; done += LANES) {
        const integer j = downwards ? done : S - LANES - done, first = downwards ? 0 : j + LANES, end = downwards ? j : S;
        const real* tile = w + row_of(j, S) + j * LANES;
        vec c[LANES];
        load_slice_rows(c, x + j * LANES);
        if (transposed)
            subtract_slice_columns(c, w + j * LANES, S, x, first / LANES, end / LANES);
        else
            subtract_slice_rows(c, w + row_of(j, S), x, first, end);
        UNROLL for (int step = 0; step < LANES; ++step) {
            const int i = downwards ? step : LANES - 1 - step;
            if (inverses) c[i] *= spread(inverses[j + i]);
            UNROLL for (int l = 0; l < LANES; ++l) {
                if (downwards ? l > i : l < i) c[l] -= spread(transposed ? tile[l * LANES + i] : tile[i * LANES + l]) * c[i];
            }
        }
        store_slice_rows(c, x + j * LANES);
    }
}
#define TRIANGLE(NAME, DOWNWARDS, TRANSPOSED) \
    NOINLINE void NAME(real* x, const real* w, integer S, const real* inverses) { solve_slice(x, w, S, inverses, DOWNWARDS, TRANSPOSED); }
TRIANGLE(solve_lower_slice, 1, 0)
TRIANGLE(solve_upper_slice, 0, 0)
TRIANGLE(solve_lower_transposed_slice, 0, 1)
TRIANGLE(solve_upper_transposed_slice, 1, 1)

NOINLINE void subtract_product_of_slice(real* y, const real* a, const real* x, integer S, integer R) {
    for (integer v = 0; v < R / LANES; ++v) {
        vec c[LANES];
        load_slice_rows(c, y + v * LANES * LANES);
        subtract_slice_rows(c, a + v * S * LANES, x, 0, S);
        store_slice_rows(c, y + v * LANES * LANES);
    }
}

NOINLINE void subtract_transposed_of_slice(real* y, const real* a, const real* x, integer S, integer R) {
    for (integer k = 0; k < S; k += LANES) {
        vec c[LANES];
        load_slice_rows(c, y + k * LANES);
        subtract_slice_columns(c, a + k * LANES, S, x, 0, R / LANES);
        store_slice_rows(c, y + k * LANES);
    }
}

/* ---- the user's arrays ---- */

typedef struct {
    integer first, count; /* columns of the call's panel, at most LANES */
} slice;

INLINE void slice_row_in(real* to, const real* from, integer count) {
    if (count == LANES)
        store(to, *(const loose*)from);
    else
        for (integer i = 0; i < LANES; ++i) to[i] = i < count ? from[i] : 0;
}
INLINE void slice_row_out(real* to, const real* from, integer count) {
    if (count == LANES)
        *(loose*)to = load(from);
    else
        for (integer i = 0; i < count; ++i) to[i] = from[i];
}

INLINE void store_eliminated_slice(const context* c, const front* f, const real* w, const slice* s) {
    EACH_ROW(f)
    for (integer i = 0; i < width; ++i) slice_row_out(x_at(c, f->member, pixel) + s->first + i * columns, w + (k + i) * LANES, s->count);
}
INLINE void fetch_eliminated_slice(const context* c, const front* f, real* w, const slice* s) {
    EACH_ROW(f)
    for (integer i = 0; i < width; ++i) slice_row_in(w + (k + i) * LANES, x_at(c, f->member, pixel) + s->first + i * columns, s->count);
}
INLINE void fetch_right_hand_sides(const context* c, const front* f, real* w, const slice* s) {
    const int has_ring = c->launch->edge >= 0 && !c->launch->transposed;
    EACH_ROW(f) for (integer i = 0; i < width; ++i) {
        real* to = w + (k + i) * LANES;
        slice_row_in(to, b_at(c, f->member, pixel) + s->first + i * columns, s->count);
        for (integer column = 0; has_ring && column < s->count; ++column)
            to[column] = right_hand_side(c, f->member, f->box.ex0 + i, y, s->first + column);
    }
}

INLINE void scale_eliminated_slice(const context* c, const front* f, real* w) {
    for (integer k = 0; k < f->s; ++k, w += LANES) {
        const int exponent = *scale_of(c, f->member, eliminated_x(&f->box, k), eliminated_y(&f->box, k));
        store(w, load(w) * spread(power_of_two(exponent)));
    }
}

INLINE void exchange_in_slice(real* w, const int* pivots, integer a) {
    const vec x = load(w + a * LANES);
    store(w + a * LANES, load(w + pivots[a] * LANES));
    store(w + pivots[a] * LANES, x);
}

INLINE real* fetch_line_of_slice(const context* c, const front* f, real* to, integer x, integer y, integer count, int upwards,
                                 const slice* s, int transposed) {
    const integer step = upwards ? c->launch->pitch * c->args->columns : c->args->columns;
    const real* from = x_at(c, f->member, pixel_at(c, x, y)) + s->first;
    const integer next = upwards ? c->launch->width : 1;
    for (integer i = 0; i < count; ++i, to += LANES) {
        slice_row_in(to, from + i * step, s->count);
        if (transposed) store(to, load(to) * spread(power_of_two(-scale_of(c, f->member, x, y)[i * next])));
    }
    return to;
}
INLINE void fetch_kept_slice(const context* c, const front* f, real* to, const slice* s, int transposed) {
    const grid_box* b = &f->box;
    const integer width = grid_row(b), height = grid_column(b);
    if (b->bottom) to = fetch_line_of_slice(c, f, to, b->x0, b->y0, width, 0, s, transposed);
    if (b->top) to = fetch_line_of_slice(c, f, to, b->x0, b->y1, width, 0, s, transposed);
    if (b->left) to = fetch_line_of_slice(c, f, to, b->x0, b->y0 + b->bottom, height, 1, s, transposed);
    if (b->right) fetch_line_of_slice(c, f, to, b->x1, b->y0 + b->bottom, height, 1, s, transposed);
}

/* ---- a front ---- */

INLINE real* vector_slice(const context* c, const front* f, const slice* s) { return vector_of(c, f) + s->first * f->R; }

INLINE void add_vectors_of_slice(const context* c, const front* f, real* w, real* d, const slice* s) {
    for (int second = 0; second < 2; ++second) {
        const front part = part_of(c, f, 1, second);
        run runs[MOST_RUNS];
        const integer count = runs_of(&part, f, runs);
        const real* from = vector_slice(c, &part, s);
        for (integer a = 0; a < count; ++a) {
            real* to = runs[a].to < f->S ? w + runs[a].to * LANES : d + (runs[a].to - f->S) * LANES;
            for (integer k = 0; k < runs[a].count; ++k)
                store(to + k * LANES, load(to + k * LANES) + load(from + (runs[a].from + k) * LANES));
        }
    }
}

#define SLICES_OF_CALL(s)                                                                       \
    for (slice s = {0, smaller(c->args->used_columns, LANES)}; s.first < c->args->used_columns; \
         s.first += LANES, s.count = smaller(c->args->used_columns - s.first, LANES))

NOINLINE void forward_front_of_many(const context* c, const front* f, integer level) {
    const integer S = f->S, R = f->R;
    const int transposed = c->launch->transposed && !SYMMETRIC;
    real* w = (real*)c->scratch;
    begin_solution(c, f, level);
    SLICES_OF_CALL(s) {
        real* d = vector_slice(c, f, &s);
        clear(w, S * LANES);
        clear(d, R * LANES);
        fetch_right_hand_sides(c, f, w, &s);
        if (!SYMMETRIC && !transposed) scale_eliminated_slice(c, f, w);
        if (level > 0) add_vectors_of_slice(c, f, w, d, &s);
#if SYMMETRIC
        solve_lower_slice(w, w_of(c, f), S, inverses_of(c, f));
#else
        if (transposed) {
            solve_upper_transposed_slice(w, w_of(c, f), S, inverses_of(c, f));
        } else {
            for (integer k = 0; k < f->s; ++k) exchange_in_slice(w, pivots_of(c, f), k);
            solve_lower_slice(w, w_of(c, f), S, 0);
        }
#endif
        subtract_product_of_slice(d, transposed ? z_of(c, f) : y_of(c, f), w, S, R);
        store_eliminated_slice(c, f, w, &s);
    }
}

NOINLINE void backward_front_of_many(const context* c, const front* f) {
    const integer S = f->S, R = f->R;
    real *x = (real*)c->scratch, *kept = x + S * LANES;
    const int failed = f->r == 0 && grid_has_failed(&status_of(c, f->member)->record, c->args->accepts);
    const int transposed = c->launch->transposed && !SYMMETRIC;
    SLICES_OF_CALL(s) {
        clear(x, (S + R) * LANES);
        fetch_eliminated_slice(c, f, x, &s);
        for (integer k = 0; k < f->s * LANES && failed; ++k) x[k] = NOT_A_NUMBER;
        fetch_kept_slice(c, f, kept, &s, transposed);
        subtract_transposed_of_slice(x, transposed ? y_of(c, f) : z_of(c, f), kept, S, R);
#if SYMMETRIC
        solve_lower_transposed_slice(x, w_of(c, f), S, inverses_of(c, f));
#else
        if (transposed) {
            solve_lower_transposed_slice(x, w_of(c, f), S, 0);
            for (integer k = f->s - 1; k >= 0; --k) exchange_in_slice(x, pivots_of(c, f), k);
        } else
            solve_upper_slice(x, w_of(c, f), S, inverses_of(c, f));
#endif
        if (transposed) scale_eliminated_slice(c, f, x);
        watch(c, f->member, all_finite(x, S * LANES));
        store_eliminated_slice(c, f, x, &s);
    }
}

/* Whether a call's right-hand sides are treated in slices, for which the vectors must have room. */
INLINE int are_many(const context* c) { return c->args->columns >= MANY_COLUMNS && c->launch->task.columns >= MANY_COLUMNS; }

INLINE void sweep_forward(const context* c, const front* f, integer level) {
    if (are_many(c))
        forward_front_of_many(c, f, level);
    else
        forward_front(c, f, level);
}
INLINE void sweep_backward(const context* c, const front* f) {
    if (are_many(c))
        backward_front_of_many(c, f);
    else
        backward_front(c, f);
}
