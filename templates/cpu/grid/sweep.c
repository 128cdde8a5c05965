/* Sweeps: forward from the leaf tiles to the last line, and backward. Vectors of a front have S or R elements a right-hand side. */
#include "cpu/grid/factor.c"

/* ---- products of strips and vectors ---- */

INLINE real sum_of(vec x) {
    real sum = 0;
    for (int i = 0; i < LANES; ++i) sum += x[i];
    return sum;
}

/* y(strip) -= sum over columns [first, end) of a(strip, k) x(k). Four sums, so that none waits for itself. */
INLINE void subtract_strip(real* y, const real* a, const real* x, integer first, integer end) {
    vec sum[4] = {load(y), {}, {}, {}};
    integer k = first;
    for (; k + 4 <= end; k += 4) UNROLL for (int u = 0; u < 4; ++u) sum[u] -= load(a + (k + u) * LANES) * spread(x[k + u]);
    store(y, (sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* y(k) -= sum over strips [first, end) of a(v, k)' x(v), for LANES columns from k on. */
INLINE void subtract_columns(real* y, const real* a, integer S, const real* x, integer first, integer end, integer k) {
    vec sum[LANES];
    UNROLL for (int u = 0; u < LANES; ++u) sum[u] = (vec){};
    for (integer v = first; v < end; ++v) {
        const vec rows = load(x + v * LANES);
        const real* strip = a + v * S * LANES + k * LANES;
        UNROLL for (int u = 0; u < LANES; ++u) sum[u] += load(strip + u * LANES) * rows;
    }
    UNROLL for (int u = 0; u < LANES; ++u) y[k + u] -= sum_of(sum[u]);
}

NOINLINE void subtract_rows(real* y, const real* a, const real* x, integer S, integer R) {
    for (integer v = 0; v < R / LANES; ++v) subtract_strip(y + v * LANES, a + v * S * LANES, x, 0, S);
}

NOINLINE void subtract_transposed(real* y, const real* a, const real* x, integer S, integer R) {
    for (integer k = 0; k < S; k += LANES) subtract_columns(y, a, S, x, 0, R / LANES, k);
}

/* ---- triangles of W; `inverses` of the diagonal, null where it is 1 ---- */

NOINLINE void solve_lower(real* x, const real* w, integer S, const real* inverses) {
    for (integer j = 0; j < S; j += LANES) {
        const real* strip = w + row_of(j, S);
        subtract_strip(x + j, strip, x, 0, j);
        for (integer i = 0; i < LANES; ++i) {
            if (inverses) x[j + i] *= inverses[j + i];
            for (integer l = i + 1; l < LANES; ++l) x[j + l] -= strip[(j + i) * LANES + l] * x[j + i];
        }
    }
}

NOINLINE void solve_upper(real* x, const real* w, integer S, const real* inverses) {
    for (integer j = S - LANES; j >= 0; j -= LANES) {
        const real* strip = w + row_of(j, S);
        subtract_strip(x + j, strip, x, j + LANES, S);
        for (integer i = LANES - 1; i >= 0; --i) {
            x[j + i] *= inverses[j + i];
            for (integer l = 0; l < i; ++l) x[j + l] -= strip[(j + i) * LANES + l] * x[j + i];
        }
    }
}

NOINLINE void solve_lower_transposed(real* x, const real* w, integer S, const real* inverses) {
    for (integer j = S - LANES; j >= 0; j -= LANES) {
        const real* tile = w + row_of(j, S) + j * LANES;
        subtract_columns(x, w, S, x, j / LANES + 1, S / LANES, j);
        for (integer i = LANES - 1; i >= 0; --i) {
            for (integer l = i + 1; l < LANES; ++l) x[j + i] -= tile[i * LANES + l] * x[j + l];
            if (inverses) x[j + i] *= inverses[j + i];
        }
    }
}

NOINLINE void solve_upper_transposed(real* x, const real* w, integer S, const real* inverses) {
    for (integer j = 0; j < S; j += LANES) {
        const real* tile = w + row_of(j, S) + j * LANES;
        subtract_columns(x, w, S, x, 0, j / LANES, j);
        for (integer i = 0; i < LANES; ++i) {
            for (integer l = 0; l < i; ++l) x[j + i] -= tile[i * LANES + l] * x[j + l];
            x[j + i] *= inverses[j + i];
        }
    }
}

/* ---- what the ring of data adds ---- */

INLINE const real* b_at(const context* c, integer member, integer pixel) {
    return (const real*)c->args->b + (member * c->launch->pixels + pixel) * c->args->columns + c->args->first_column;
}
INLINE real* x_at(const context* c, integer member, integer pixel) {
    return (real*)c->args->x + (member * c->launch->pixels + pixel) * c->args->columns + c->args->first_column;
}

/* b of a pixel, less the ring's values times their couplings. */
INLINE real right_hand_side(const context* c, integer member, integer x, integer y, integer column) {
    real value = b_at(c, member, pixel_at(c, x, y))[column];
    if (c->launch->transposed || !is_next_to_ring(c, x, y)) return value;
    const real* stencil = edge_of(c, member, x, y);
    for (integer k = 0; k < 9; ++k) {
        const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        if (!is_inside(c, to_x, to_y)) value -= stencil[k] * b_at(c, member, pixel_at(c, to_x, to_y))[column];
    }
    return value;
}

/* ---- what a solution comes to ---- */

INLINE trifold_grid_status* status_of(const context* c, integer member) {
    return (trifold_grid_status*)workspace_at(c, c->launch->status) + member;
}
/* Clears the mark that `watch` sets, before any element of a call's solution is written. */
INLINE void begin_solution(const context* c, const front* f, integer level) {
    if (level == 0 && f->place == 0 && c->args->begins) status_of(c, f->member)->left = 0;
}
/* Marks the member's solution as having left the range. Several tasks may write at the same time, and all write 1. */
INLINE void watch(const context* c, integer member, int finite) {
    if (!finite) __atomic_store_n(&status_of(c, member)->left, 1, __ATOMIC_RELAXED);
}
INLINE int all_finite(const real* x, integer count) {
    vec sum = {};
    for (integer k = 0; k < count; k += LANES) sum += load(x + k) - load(x + k);
    return sum_of(sum) == 0;
}

/* ---- a front ---- */

/* Each row of pixels that a box eliminates: `pixel` is the first, and k counts them. */
#define EACH_ROW(f)                                                                                \
    const integer width = (f)->box.ex1 - (f)->box.ex0 + 1, columns = c->args->columns;             \
    for (integer k = 0, y = (f)->box.ey0, pixel = pixel_at(c, (f)->box.ex0, y); y <= (f)->box.ey1; \
         ++y, k += width, pixel += c->launch->pitch)

/* Scales the vector by the powers of two of its rows: b before the sweeps, or with A' x = b the solution after them. */
INLINE void scale_eliminated(const context* c, const front* f, real* w) {
    const integer width = f->box.ex1 - f->box.ex0 + 1;
    for (integer y = f->box.ey0; y <= f->box.ey1; ++y, w += width) {
        const int* exponent = scale_of(c, f->member, f->box.ex0, y);
        for (integer i = 0; i < width; ++i) w[i] *= power_of_two(exponent[i]);
    }
}
INLINE void store_eliminated(const context* c, const front* f, const real* w, integer column) {
    EACH_ROW(f) {
        real* to = x_at(c, f->member, pixel) + column;
        for (integer i = 0; i < width; ++i) to[i * columns] = w[k + i];
    }
}
INLINE void fetch_eliminated(const context* c, const front* f, real* w, integer column) {
    EACH_ROW(f) {
        const real* from = x_at(c, f->member, pixel) + column;
        for (integer i = 0; i < width; ++i) w[k + i] = from[i * columns];
    }
}
INLINE void fetch_right_hand_side(const context* c, const front* f, real* w, integer column) {
    const int has_ring = c->launch->edge >= 0 && !c->launch->transposed;
    EACH_ROW(f) {
        const real* from = b_at(c, f->member, pixel) + column;
        for (integer i = 0; i < width; ++i)
            w[k + i] = has_ring ? right_hand_side(c, f->member, f->box.ex0 + i, y, column) : from[i * columns];
    }
}

INLINE void exchange(real* w, const int* pivots, integer a) {
    const real x = w[a];
    w[a] = w[pivots[a]];
    w[pivots[a]] = x;
}

/* Adds the vectors that the parts leave. The padding of `w` and `d` is zero. */
INLINE void add_vectors(const context* c, const front* f, real* w, real* d) {
    for (int second = 0; second < 2; ++second) {
        const front part = part_of(c, f, 1, second);
        run runs[MOST_RUNS];
        const integer count = runs_of(&part, f, runs);
        for (integer column = 0; column < c->args->used_columns; ++column) {
            const real* from = vector_of(c, &part) + column * part.R;
            for (integer a = 0; a < count; ++a) {
                real* to = runs[a].to < f->S ? w + column * f->S + runs[a].to : d + column * f->R + runs[a].to - f->S;
                for (integer k = 0; k < runs[a].count; ++k) to[k] += from[runs[a].from + k];
            }
        }
    }
}

INLINE void forward_front(const context* c, const front* f, integer level) {
    const integer columns = c->args->used_columns, S = f->S, R = f->R;
    real *w = (real*)c->scratch, *d = vector_of(c, f);
    begin_solution(c, f, level);
    clear(w, columns * S);
    clear(d, columns * R);
    const int transposed = c->launch->transposed && !SYMMETRIC;
    for (integer column = 0; column < columns; ++column) {
        fetch_right_hand_side(c, f, w + column * S, column);
        if (!SYMMETRIC && !transposed) scale_eliminated(c, f, w + column * S);
    }
    if (level > 0) add_vectors(c, f, w, d);
    for (integer column = 0; column < columns; ++column) {
        real* x = w + column * S;
#if SYMMETRIC
        solve_lower(x, w_of(c, f), S, inverses_of(c, f));
#else
        if (transposed) {
            solve_upper_transposed(x, w_of(c, f), S, inverses_of(c, f));
        } else {
            for (integer k = 0; k < f->s; ++k) exchange(x, pivots_of(c, f), k);
            solve_lower(x, w_of(c, f), S, 0);
        }
#endif
        subtract_rows(d + column * R, transposed ? z_of(c, f) : y_of(c, f), x, S, R);
        store_eliminated(c, f, x, column);
    }
}

/* The solution at `count` pixels from (x, y) on, upwards or to the right, as sweeps have it. */
INLINE real* fetch_line(const context* c, const front* f, real* to, integer x, integer y, integer count, int upwards, integer column,
                        int transposed) {
    const integer step = upwards ? c->launch->pitch * c->args->columns : c->args->columns;
    const real* from = x_at(c, f->member, pixel_at(c, x, y)) + column;
    for (integer i = 0; i < count; ++i) to[i] = from[i * step];
    if (!transposed) return to + count;
    const integer next = upwards ? c->launch->width : 1;
    const int* exponent = scale_of(c, f->member, x, y);
    for (integer i = 0; i < count; ++i) to[i] *= power_of_two(-exponent[i * next]);
    return to + count;
}
/* The solution at the pixels that a box keeps. */
INLINE void fetch_kept(const context* c, const front* f, real* to, integer column, int transposed) {
    const grid_box* b = &f->box;
    const integer width = grid_row(b), height = grid_column(b);
    if (b->bottom) to = fetch_line(c, f, to, b->x0, b->y0, width, 0, column, transposed);
    if (b->top) to = fetch_line(c, f, to, b->x0, b->y1, width, 0, column, transposed);
    if (b->left) to = fetch_line(c, f, to, b->x0, b->y0 + b->bottom, height, 1, column, transposed);
    if (b->right) fetch_line(c, f, to, b->x1, b->y0 + b->bottom, height, 1, column, transposed);
}

INLINE void backward_front(const context* c, const front* f) {
    const integer S = f->S, R = f->R;
    real *x = (real*)c->scratch, *kept = x + S;
    const int failed = f->r == 0 && grid_has_failed(&status_of(c, f->member)->record, c->args->accepts);
    const int transposed = c->launch->transposed && !SYMMETRIC;
    for (integer column = 0; column < c->args->used_columns; ++column) {
        clear(x, S + R);
        fetch_eliminated(c, f, x, column);
        for (integer k = 0; k < f->s && failed; ++k) x[k] = NOT_A_NUMBER;
        fetch_kept(c, f, kept, column, transposed);
        subtract_transposed(x, transposed ? y_of(c, f) : z_of(c, f), kept, S, R);
#if SYMMETRIC
        solve_lower_transposed(x, w_of(c, f), S, inverses_of(c, f));
#else
        if (transposed) {
            solve_lower_transposed(x, w_of(c, f), S, 0);
            for (integer k = f->s - 1; k >= 0; --k) exchange(x, pivots_of(c, f), k);
        } else
            solve_upper(x, w_of(c, f), S, inverses_of(c, f));
#endif
        if (transposed) scale_eliminated(c, f, x);
        watch(c, f->member, all_finite(x, S));
        store_eliminated(c, f, x, column);
    }
}
