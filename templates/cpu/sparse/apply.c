/* The preconditioner of a subdomain: x = (L D U)^-1 b, or of the transposed matrices. The vector is in a worker's scratch. */
#include "cpu/sparse/factor.c"

/* y = L^-1 y. */
INLINE void solve_lower(const triangles* t, real* y) {
    const factor* a = t->lower;
    const local* column = t->lower_columns;
    for (integer row = 0; row < t->rows; ++row) {
        row_sum sum = no_sum();
        for (integer k = t->lower_starts[row]; k < t->lower_starts[row + 1]; ++k, a += block_elements)
            add_factor(&sum, a, y + (integer)*column++ * block);
        store_block(y + row * block, load_loose(y + row * block) - total_of(&sum));
    }
}

/* y = U^-1 D^-1 y. */
INLINE void solve_upper(const triangles* t, real* y) {
    for (integer row = t->rows - 1; row >= 0; --row) {
        const integer first = t->upper_starts[row], end = t->upper_starts[row + 1];
        row_sum scaled = no_sum(), sum = no_sum();
        add_factor(&scaled, t->upper + first * block_elements, y + row * block);
        for (integer k = first + 1; k < end; ++k) add_factor(&sum, t->upper + k * block_elements, y + (integer)t->upper_columns[k] * block);
        store_block(y + row * block, total_of(&scaled) - total_of(&sum));
    }
}

/* to -= a' x. */
INLINE void subtract_transposed(real* to, const factor* a, const real* x) {
    UNROLL for (int j = 0; j < block; ++j) {
        real sum = 0;
        UNROLL for (int i = 0; i < block; ++i) sum += (real)a[j * block + i] * x[i];
        to[j] -= sum;
    }
}

/* y = D'^-1 U'^-1 y. */
INLINE void solve_upper_transposed(const triangles* t, real* y) {
    for (integer row = 0; row < t->rows; ++row) {
        const integer first = t->upper_starts[row], end = t->upper_starts[row + 1];
        real scaled[block], *own = y + row * block;
        for (integer k = first + 1; k < end; ++k)
            subtract_transposed(y + (integer)t->upper_columns[k] * block, t->upper + k * block_elements, own);
        UNROLL for (int j = 0; j < block; ++j) scaled[j] = 0;
        subtract_transposed(scaled, t->upper + first * block_elements, own);
        UNROLL for (int j = 0; j < block; ++j) own[j] = -scaled[j];
    }
}

/* y = L'^-1 y. */
INLINE void solve_lower_transposed(const triangles* t, real* y) {
    for (integer row = t->rows - 1; row >= 0; --row)
        for (integer k = t->lower_starts[row]; k < t->lower_starts[row + 1]; ++k)
            subtract_transposed(y + (integer)t->lower_columns[k] * block, t->lower + k * block_elements, y + row * block);
}

NOINLINE void solve_tile(const context* c, part rows, real* y) {
    if (!HAS_FACTORS) return;
    const triangles t = triangles_of(c, rows);
    if (c->launch->transposed) {
        solve_upper_transposed(&t, y);
        solve_lower_transposed(&t, y);
    } else {
        solve_lower(&t, y);
        solve_upper(&t, y);
    }
}

INLINE void copy_scaled(real* to, const real* from, real scale, integer count) {
    for (integer k = 0; k < count; ++k) to[k] = scale * from[k];
}

/* Numbers of some rows times 2^e, or 2^-e, of the rows' exponents. */
INLINE void scale_rows_by(const context* c, part rows, real* y, int sign) {
    const int* scales = exponents_at(c, c->launch->scales, rows.member, rows.first);
    for (integer k = 0; k < (rows.end - rows.first) * block; ++k) y[k] *= (real)power_of_two(sign * scales[k]);
}

/* Arrays of a call: x = M^-1 b. Factors are those of the scaled A times its scale. Without factors M is 1. */
NOINLINE void apply_to_arrays(const context* c, part rows) {
    const int *order = order_of(c), scales = scales_rows && HAS_FACTORS;
    real* y = (real*)c->scratch;
    const real scale = HAS_FACTORS ? scale_of(c, rows.member) : 1;
    for (integer column = 0; column < c->args->used_columns; ++column) {
        for (integer row = rows.first; row < rows.end; ++row)
            take_row(c, (const real*)c->args->b, outer_place(c, rows.member, order[row], column), y + (row - rows.first) * block);
        if (scales && !c->launch->transposed) scale_rows_by(c, rows, y, 1);
        solve_tile(c, rows, y);
        copy_scaled(y, y, scale, (rows.end - rows.first) * block);
        if (scales && c->launch->transposed) scale_rows_by(c, rows, y, 1);
        for (integer row = rows.first; row < rows.end; ++row)
            give_row(c, y + (row - rows.first) * block, (real*)c->args->x, outer_place(c, rows.member, order[row], column));
    }
}

/* a'b, where residuals weigh as the launch says. */
INLINE double weighed_dot(const context* c, part rows, const real* a, const real* b, integer count) {
    double sum = 0;
    if (c->launch->weights == 0) return dot(a, b, count);
    for (integer k = 0; k < count; ++k) {
        const double weight = weight_of(c, rows.member, rows.first * block + k);
        sum += weight * (double)a[k] * (weight * (double)b[k]);
    }
    return sum;
}

INLINE void copy_numbers(real* to, const real* from, integer count) { __builtin_memcpy(to, from, (unsigned long)count * sizeof(real)); }

/* The vectors of a system that a part of the rows has. */
typedef struct {
    trifold_sparse_state* state;
    integer count; /* numbers */
    real *b, *x, *r, *z, *p, *v, *best, *y, *t, *shadow;
} pieces;
INLINE pieces pieces_of(const context* c, part rows, integer column) {
    const integer system = system_of(c, rows.member, column), at = rows.first * block;
    return (pieces){state_of(c, system),
                    (rows.end - rows.first) * block,
                    vector_of(c, system, trifold_sparse_b) + at,
                    vector_of(c, system, trifold_sparse_x) + at,
                    vector_of(c, system, trifold_sparse_r) + at,
                    vector_of(c, system, trifold_sparse_z) + at,
                    vector_of(c, system, trifold_sparse_p) + at,
                    vector_of(c, system, trifold_sparse_v) + at,
                    vector_of(c, system, trifold_sparse_best) + at,
                    vector_of(c, system, trifold_sparse_y) + at,
                    vector_of(c, system, trifold_sparse_t) + at,
                    vector_of(c, system, trifold_sparse_shadow) + at};
}

/* Without factors M is 1 / scale, so that numbers stay in the range. */
INLINE real* solved_of(const context* c, part rows, const real* from, real* to, integer count) {
    real* y = (real*)c->scratch;
    copy_numbers(y, from, count);
    solve_tile(c, rows, y);
    copy_scaled(to, y, scale_of(c, rows.member), count);
    return to;
}

/* Number k of a part is 2^e times that of x which the caller gets. */
INLINE trifold_int exponent_of_x(const context* c, part rows, const pieces* w, integer k) {
    return right_exponent(c, rows.member, rows.first * block + k) - w->state->scale;
}

#if METHOD == METHOD_BICGSTAB
/* x += alpha z + omega y; r = s - omega t, where the last turn left that to do. p = r + beta (p - omega v); z = M^-1 p. */
INLINE void first_of_tile(const context* c, part rows, const pieces* w) {
    const trifold_sparse_state s = *w->state;
    const real alpha = (real)s.alpha, omega = (real)s.omega, beta = (real)s.beta;
    if (s.pending)
        for (integer k = 0; k < w->count; ++k) {
            w->x[k] += alpha * w->z[k] + omega * w->y[k];
            w->r[k] -= omega * w->t[k];
        }
    if (s.beta == 0)
        copy_numbers(w->p, w->r, w->count);
    else
        for (integer k = 0; k < w->count; ++k) w->p[k] = w->r[k] + beta * (w->p[k] - omega * w->v[k]);
    solved_of(c, rows, w->p, w->z, w->count);
}
/* s = r - alpha v, in the place of r; y = M^-1 s. */
INLINE void second_of_tile(const context* c, part rows, const pieces* w) {
    const real alpha = (real)w->state->alpha;
    for (integer k = 0; k < w->count; ++k) w->r[k] -= alpha * w->v[k];
    solved_of(c, rows, w->r, w->y, w->count);
}
#elif METHOD == METHOD_CG
/* x += alpha p; r -= alpha v, where the last turn left that to do. z = M^-1 r. */
INLINE void first_of_tile(const context* c, part rows, const pieces* w) {
    const real alpha = (real)w->state->alpha;
    if (w->state->pending)
        for (integer k = 0; k < w->count; ++k) {
            w->x[k] += alpha * w->p[k];
            w->r[k] -= alpha * w->v[k];
        }
    solved_of(c, rows, w->r, w->z, w->count);
}
INLINE void second_of_tile(const context* c, part rows, const pieces* w) {
    (void)c;
    (void)rows;
    (void)w;
}
#elif METHOD == METHOD_GMRES
INLINE real* basis_of(const context* c, integer system, integer k, part rows) {
    return vector_of(c, system, trifold_sparse_basis + k) + rows.first * block;
}
/* The next vector is r or what was left of v, scaled; z = M^-1 of it. */
INLINE void first_of_tile(const context* c, part rows, const pieces* w) {
    const real alpha = (real)w->state->alpha;
    const real* from = w->state->inner == 0 ? w->r : w->v;
    real* to = basis_of(c, w->state - state_of(c, 0), w->state->inner, rows);
    for (integer k = 0; k < w->count; ++k) to[k] = alpha * from[k];
    solved_of(c, rows, to, w->z, w->count);
}
INLINE void second_of_tile(const context* c, part rows, const pieces* w) {
    (void)c;
    (void)rows;
    (void)w;
}
/* The end of a cycle: x += M^-1 V y. Or a first guess is dropped. */
INLINE void renew_tile(const context* c, part rows, const pieces* w) {
    const integer system = w->state - state_of(c, 0);
    const small_matrices m = small_at(c, system);
    for (integer k = 0; k < w->count; ++k) w->z[k] = 0;
    if (w->state->restores == restores_zero) {
        copy_numbers(w->x, w->z, w->count);
        return;
    }
    for (integer j = 0; j < w->state->inner; ++j) {
        const real weight = (real)m.solution[j], *from = basis_of(c, system, j, rows);
        for (integer k = 0; k < w->count; ++k) w->z[k] += weight * from[k];
    }
    solved_of(c, rows, w->z, w->z, w->count);
    for (integer k = 0; k < w->count; ++k) w->x[k] = deliverable(w->x[k] + w->z[k], exponent_of_x(c, rows, w, k));
}
#endif

INLINE int is_at_work(const trifold_sparse_state* s) { return s->outcome == trifold_sparse_running && !s->renews; }
INLINE int is_renewing(const trifold_sparse_state* s) { return s->outcome == trifold_sparse_running && s->renews; }

NOINLINE void precondition_tile(const context* c, part rows) {
    if (c->launch->step == trifold_sparse_plain) {
        apply_to_arrays(c, rows);
        return;
    }
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const pieces w = pieces_of(c, rows, column);
#if METHOD == METHOD_GMRES
        if (c->launch->step == trifold_sparse_renews && is_renewing(w.state) && (w.state->pending || w.state->restores == restores_zero))
            renew_tile(c, rows, &w);
#endif
        if (!is_at_work(w.state) || c->launch->step == trifold_sparse_renews) continue;
        if (c->launch->step == trifold_sparse_first)
            first_of_tile(c, rows, &w);
        else
            second_of_tile(c, rows, &w);
        if (METHOD == METHOD_CG) {
            double* sums = sums_of(c, system_of(c, rows.member, column), rows.number);
            sums[0] = dot(w.r, w.z, w.count);
            sums[1] = weighed_dot(c, rows, w.r, w.r, w.count);
        }
    }
}
