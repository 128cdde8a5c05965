/* Products with A, and what is done row by row. */
#include "cpu/sparse/apply.c"

/* y = A x or A' x for some rows; x has all rows, y these. */
NOINLINE void multiply_rows(const context* c, part rows, const real* x, real* y) {
    const integer* starts = starts_of(c);
    const int* columns = columns_of(c);
    const real* a = matrix_of(c, rows.member);
    for (integer row = rows.first; row < rows.end; ++row, y += block) {
        row_sum sum = no_sum();
        for (integer k = starts[row]; k < starts[row + 1]; ++k) add_block(&sum, a + k * block_elements, x + (integer)columns[k] * block);
        store_block(y, total_of(&sum));
    }
}
NOINLINE void multiply_transposed_rows(const context* c, part rows, const real* x, real* y) {
    const integer* starts = transposed_starts_of(c);
    const int *others = transposed_rows_of(c), *entries = transposed_entries_of(c);
    const real* a = matrix_of(c, rows.member);
    for (integer row = rows.first; row < rows.end; ++row, y += block) {
        UNROLL for (int j = 0; j < block; ++j) y[j] = 0;
        for (integer k = starts[row]; k < starts[row + 1]; ++k)
            add_transposed(y, a + (integer)entries[k] * block_elements, x + (integer)others[k] * block);
    }
}
INLINE void product_of_rows(const context* c, part rows, const real* x, real* y) {
    if (c->launch->transposed)
        multiply_transposed_rows(c, rows, x, y);
    else
        multiply_rows(c, rows, x, y);
}

/* Arrays of a call: the first vector of each system holds b in the order of the subdomains. */
NOINLINE void order_b(const context* c, part rows) {
    for (integer column = 0; column < c->args->used_columns; ++column) {
        real* b = vector_of(c, system_of(c, rows.member, column), trifold_sparse_b);
        for (integer row = rows.first; row < rows.end; ++row)
            take_row(c, (const real*)c->args->b, outer_place(c, rows.member, order_of(c)[row], column), b + row * block);
    }
}
/* The stored A has its rows scaled: A = 2^-e A, and A' = A' 2^-e. */
NOINLINE void order_factor(const context* c, part rows) {
    order_b(c, rows);
    if (!scales_rows || !c->launch->transposed) return;
    for (integer column = 0; column < c->args->used_columns; ++column)
        scale_rows_by(c, rows, vector_of(c, system_of(c, rows.member, column), trifold_sparse_b) + rows.first * block, -1);
}
NOINLINE void multiply_arrays(const context* c, part rows) {
    real* y = (real*)c->scratch;
    for (integer column = 0; column < c->args->used_columns; ++column) {
        product_of_rows(c, rows, vector_of(c, system_of(c, rows.member, column), trifold_sparse_b), y);
        if (scales_rows && !c->launch->transposed) scale_rows_by(c, rows, y, -1);
        for (integer row = rows.first; row < rows.end; ++row)
            give_row(c, y + (row - rows.first) * block, (real*)c->args->x, outer_place(c, rows.member, order_of(c)[row], column));
    }
}

/* The beginning of a solution: b and its greatest exponents. */
NOINLINE void begin_rows(const context* c, part rows) {
    order_b(c, rows);
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const pieces w = pieces_of(c, rows, column);
        double* greatest = sums_of(c, system_of(c, rows.member, column), rows.number);
        greatest[greatest_weighed] = greatest[greatest_plain] = no_exponent;
        greatest[greatest_unsound] = 0;
        for (integer k = 0; k < w.count; ++k) {
            const integer number = rows.first * block + k;
            look_at_b(greatest, (double)w.b[k], left_exponent(c, rows.member, number) + weight_at(c, rows.member, number));
        }
    }
}
/* The first guess, in the scale of b. */
INLINE void guess_rows(const context* c, part rows, const pieces* w, integer column) {
    for (integer row = rows.first; row < rows.end; ++row) {
        real* x = w->x + (row - rows.first) * block;
        if (c->args->guesses) take_row(c, (const real*)c->args->x, outer_place(c, rows.member, order_of(c)[row], column), x);
        for (int k = 0; k < block; ++k)
            x[k] = guessed(c->args->guesses ? (double)x[k] : 0, exponent_of_x(c, rows, w, (row - rows.first) * block + k));
    }
    if (saves_best) copy_numbers(w->best, w->x, w->count);
}

#if METHOD == METHOD_BICGSTAB
INLINE void add_pending(const pieces* w) {
    const real alpha = (real)w->state->alpha, omega = (real)w->state->omega;
    for (integer k = 0; k < w->count; ++k) w->x[k] += alpha * w->z[k] + omega * w->y[k];
}
INLINE void keep_shadow(const pieces* w) {
    if (w->state->reason != renews_look) copy_numbers(w->shadow, w->r, w->count);
}
INLINE double shadow_product(const context* c, part rows, const pieces* w) { return weighed_dot(c, rows, w->shadow, w->r, w->count); }
/* v = A z. x has its last steps by then, and is saved where it is the best. */
INLINE void first_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    if (w->state->saves) copy_numbers(w->best, w->x, w->count);
    product_of_rows(c, rows, vector_of(c, system, trifold_sparse_z), w->v);
    sums[0] = weighed_dot(c, rows, w->shadow, w->v, w->count);
}
/* t = A y. */
INLINE void second_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    product_of_rows(c, rows, vector_of(c, system, trifold_sparse_y), w->t);
    sums[0] = weighed_dot(c, rows, w->t, w->r, w->count);
    sums[1] = weighed_dot(c, rows, w->t, w->t, w->count);
    sums[2] = weighed_dot(c, rows, w->shadow, w->r, w->count);
    sums[3] = weighed_dot(c, rows, w->shadow, w->t, w->count);
    sums[4] = weighed_dot(c, rows, w->r, w->r, w->count);
}
#elif METHOD == METHOD_CG
INLINE void add_pending(const pieces* w) {
    const real alpha = (real)w->state->alpha;
    for (integer k = 0; k < w->count; ++k) w->x[k] += alpha * w->p[k];
}
INLINE void keep_shadow(const pieces* w) { (void)w; }
INLINE double shadow_product(const context* c, part rows, const pieces* w) {
    (void)c;
    (void)rows;
    (void)w;
    return 0;
}
INLINE void first_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    (void)c;
    (void)rows;
    (void)w;
    (void)system;
    (void)sums;
}
/* v = A p. */
INLINE void second_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    product_of_rows(c, rows, vector_of(c, system, trifold_sparse_p), w->v);
    sums[0] = dot(w->p, w->v, w->count);
}
#elif METHOD == METHOD_GMRES
INLINE void keep_shadow(const pieces* w) { (void)w; }
INLINE double shadow_product(const context* c, part rows, const pieces* w) {
    (void)c;
    (void)rows;
    (void)w;
    return 0;
}
INLINE void products_with_basis(const context* c, part rows, const pieces* w, integer system, double* sums) {
    for (integer k = 0; k <= w->state->inner; ++k) sums[k] = weighed_dot(c, rows, basis_of(c, system, k, rows), w->v, w->count);
}
/* v = A z. */
INLINE void first_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    product_of_rows(c, rows, vector_of(c, system, trifold_sparse_z), w->v);
    products_with_basis(c, rows, w, system, sums);
}
INLINE void second_product(const context* c, part rows, const pieces* w, integer system, double* sums) {
    (void)c;
    (void)rows;
    (void)w;
    (void)system;
    (void)sums;
}
/* v without its parts along the vectors so far; twice, since rounding leaves some. */
INLINE void make_orthogonal(const context* c, part rows, const pieces* w, integer system) {
    const small_matrices m = small_at(c, system);
    double* sums = sums_of(c, system, rows.number);
    for (integer j = 0; j <= w->state->inner; ++j) {
        const real weight = (real)m.solution[j], *from = basis_of(c, system, j, rows);
        for (integer k = 0; k < w->count; ++k) w->v[k] -= weight * from[k];
    }
    if (c->launch->step == trifold_sparse_second)
        products_with_basis(c, rows, w, system, sums);
    else
        sums[0] = weighed_dot(c, rows, w->v, w->v, w->count);
}
#endif

#if METHOD != METHOD_GMRES
/* x before its true residual is computed. */
INLINE void complete_x(const context* c, part rows, const pieces* w) {
    if (w->state->restores == restores_zero)
        for (integer k = 0; k < w->count; ++k) w->x[k] = 0;
    else if (w->state->restores == restores_best)
        copy_numbers(w->x, w->best, w->count);
    else if (w->state->pending)
        add_pending(w);
    for (integer k = 0; k < w->count; ++k) w->x[k] = deliverable(w->x[k], exponent_of_x(c, rows, w, k));
    if (w->state->saves || w->state->restores == restores_zero) copy_numbers(w->best, w->x, w->count);
}
#endif

/* Updates of vectors between products and preconditioners. */
NOINLINE void update_rows(const context* c, part rows) {
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const pieces w = pieces_of(c, rows, column);
        if (c->launch->step == trifold_sparse_plain) {
            guess_rows(c, rows, &w, column);
            continue;
        }
#if METHOD == METHOD_GMRES
        if (is_at_work(w.state)) make_orthogonal(c, rows, &w, system_of(c, rows.member, column));
#else
        if (c->launch->step == trifold_sparse_renews && is_renewing(w.state)) complete_x(c, rows, &w);
#endif
#if METHOD == METHOD_CG
        if (c->launch->step == trifold_sparse_renews || !is_at_work(w.state)) continue;
        if (w.state->saves) copy_numbers(w.best, w.x, w.count);
        const real beta = (real)w.state->beta;
        if (w.state->beta == 0)
            copy_numbers(w.p, w.z, w.count);
        else
            for (integer k = 0; k < w.count; ++k) w.p[k] = w.z[k] + beta * w.p[k];
#endif
    }
}

/* Number i of a row of b - A x, with about twice the digits of a double. */
INLINE double exact_residual(const context* c, integer member, integer row, int i, double b, const real* x) {
    const real* a = matrix_of(c, member);
    exact_sum sum = {b, 0};
    if (c->launch->transposed) {
        const integer* starts = transposed_starts_of(c);
        const int *others = transposed_rows_of(c), *entries = transposed_entries_of(c);
        for (integer k = starts[row]; k < starts[row + 1]; ++k)
            for (int j = 0; j < block; ++j)
                add_product(&sum, -(double)a[(integer)entries[k] * block_elements + i * block + j],
                            (double)x[(integer)others[k] * block + j]);
    } else {
        const integer* starts = starts_of(c);
        const int* columns = columns_of(c);
        for (integer k = starts[row]; k < starts[row + 1]; ++k)
            for (int j = 0; j < block; ++j)
                add_product(&sum, -(double)a[k * block_elements + j * block + i], (double)x[(integer)columns[k] * block + j]);
    }
    return total_of_exact(&sum);
}
/* r = b - A x, and the sums that are taken of it. */
NOINLINE void true_residual(const context* c, part rows, const pieces* w, integer system, double* sums) {
    const real* x = vector_of(c, system, trifold_sparse_x);
    const trifold_sparse_state* s = w->state;
    const double largest = record_of(c, rows.member, c->launch->parts)->largest;
    const int is_zero = !s->begun && (!c->args->guesses || s->restores == restores_zero);
    sums[sum_of_residual] = sums[sum_of_plain] = sums[sum_of_b] = sums[sum_of_plain_b] = sums[sum_beyond_range] = 0;
    for (integer k = 0; k < w->count; ++k) {
        const integer number = rows.first * block + k;
        const trifold_int left = left_exponent(c, rows.member, number) + s->scale;
        const double weight = weight_of(c, rows.member, number), b = times_power((double)w->b[k], left);
        const double r = is_zero ? b : exact_residual(c, rows.member, rows.first + k / block, (int)(k % block), b, x);
        const double plain = times_power(r, s->plain_scale - left), plain_b = times_power((double)w->b[k], s->plain_scale);
        w->r[k] = (real)r;
        sums[sum_of_residual] += weight * r * (weight * r);
        sums[sum_of_plain] += plain * plain;
        sums[sum_of_b] += weight * b * (weight * b);
        sums[sum_of_plain_b] += plain_b * plain_b;
        sums[sum_beyond_range] += beyond_range(w->x[k], exponent_of_x(c, rows, w, k), largest);
    }
    keep_shadow(w);
    sums[sum_of_shadow] = shadow_product(c, rows, w);
}

NOINLINE void product_rows(const context* c, part rows) {
    if (c->launch->step == trifold_sparse_plain) {
        multiply_arrays(c, rows);
        return;
    }
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const integer system = system_of(c, rows.member, column);
        const pieces w = pieces_of(c, rows, column);
        double* sums = sums_of(c, system, rows.number);
        if (!is_at_work(w.state)) continue;
        if (c->launch->step == trifold_sparse_first)
            first_product(c, rows, &w, system, sums);
        else
            second_product(c, rows, &w, system, sums);
    }
}
NOINLINE void residual_rows(const context* c, part rows) {
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const integer system = system_of(c, rows.member, column);
        const pieces w = pieces_of(c, rows, column);
        if (is_renewing(w.state)) true_residual(c, rows, &w, system, sums_of(c, system, rows.number));
    }
}

/* The sum of numbers that lie `apart`, by halves: always the same tree. */
NOINLINE double sum_of(const double* numbers, integer apart, integer count) {
    if (count < 8) {
        double sum = 0;
        for (integer k = 0; k < count; ++k) sum += numbers[k * apart];
        return sum;
    }
    return sum_of(numbers, apart, count / 2) + sum_of(numbers + count / 2 * apart, apart, count - count / 2);
}

/* The greatest of numbers that lie `apart`. */
INLINE double greatest_of(const double* numbers, integer apart, integer count) {
    double greatest = numbers[0];
    for (integer k = 1; k < count; ++k) greatest = larger_of(greatest, numbers[k * apart]);
    return greatest;
}

/* The next decision about a system. */
INLINE void judge(const context* c, integer member, integer system, trifold_sparse_state* s, const double* sums) {
    const trifold_sparse_launch* launch = c->launch;
    double* history = history_of(c, system);
    if (launch->step == trifold_sparse_plain) {
        const trifold_sparse_record* record = record_of(c, member, launch->parts);
        begin_step(s, sums, record->zero_pivots == 0 && record->not_finite == 0 && record->unequal == 0, history, launch);
        return;
    }
    if (launch->step == trifold_sparse_renews) renew_step(s, sums, c->args, launch, history);
#if METHOD == METHOD_GMRES
    const small_matrices m = small_at(c, system);
    if (launch->step == trifold_sparse_renews) begin_cycle(s, &m);
    if (launch->step == trifold_sparse_first) first_step(s, sums, &m);
    if (launch->step == trifold_sparse_second) second_step(s, sums, &m);
    if (launch->step == trifold_sparse_third) third_step(s, sums, c->args, launch, history, &m);
#else
    if (launch->step == trifold_sparse_first) first_step(s, sums, c->args, launch, history);
    if (launch->step == trifold_sparse_second) second_step(s, sums, c->args, launch, history);
#endif
}

/* Decides for all systems, and whether there is another turn. */
NOINLINE void judge_systems(const context* c) {
    const trifold_sparse_launch* launch = c->launch;
    integer running = 0;
    const integer parts = METHOD == METHOD_CG && launch->step == trifold_sparse_first ? launch->tiles : launch->slices;
    for (integer member = 0; member < c->args->members; ++member)
        for (integer column = 0; column < c->args->used_columns; ++column) {
            const integer system = system_of(c, member, column);
            trifold_sparse_state* s = state_of(c, system);
            const int wanted =
                launch->step == trifold_sparse_plain || (launch->step == trifold_sparse_renews ? is_renewing(s) : is_at_work(s));
            if (wanted) {
                double sums[trifold_sparse_sums];
                const integer count = METHOD == METHOD_GMRES && launch->step >= trifold_sparse_first ? s->inner + 1 : renewal_sums;
                for (integer k = 0; k < count; ++k) {
                    const double* numbers = sums_of(c, system, 0) + k;
                    sums[k] = launch->step == trifold_sparse_plain ? greatest_of(numbers, trifold_sparse_sums, parts)
                                                                   : sum_of(numbers, trifold_sparse_sums, parts);
                }
                judge(c, member, system, s, sums);
            }
            running += s->outcome == trifold_sparse_running;
        }
    *(integer*)workspace_at(c, launch->flag) = running != 0;
}

NOINLINE void deliver_rows(const context* c, part rows) {
    for (integer column = 0; column < c->args->used_columns; ++column) {
        const pieces w = pieces_of(c, rows, column);
        const int is_zero = w.state->outcome == trifold_sparse_converged && w.state->begun == 0;
        for (integer row = rows.first; row < rows.end; ++row) {
            real x[block];
            for (int k = 0; k < block; ++k) {
                const integer at = (row - rows.first) * block + k;
                x[k] = is_zero ? 0 : (real)times_power((double)w.x[at], exponent_of_x(c, rows, &w, at));
            }
            give_row(c, x, (real*)c->args->x, outer_place(c, rows.member, order_of(c)[row], column));
        }
    }
}

/* dE/dA_ij = -lam_i x_j', on the pattern; b holds lam. */
NOINLINE void gradient_rows(const context* c, part rows) {
    const integer* starts = starts_of(c);
    const int *columns = columns_of(c), *sources = sources_of(c), *order = order_of(c);
    real* values = (real*)c->args->gradient + rows.member * c->launch->values * block_elements;
    const real *lam = (const real*)c->args->b, *x = (const real*)c->args->x;
    for (integer row = rows.first; row < rows.end; ++row)
        for (integer k = starts[row]; k < starts[row + 1]; ++k)
            for (int i = 0; i < block; ++i)
                for (int j = 0; j < block; ++j) {
                    real sum = 0;
                    for (integer column = 0; column < c->args->used_columns; ++column)
                        sum += lam[outer_place(c, rows.member, order[row], column) + i * c->args->columns] *
                               x[outer_place(c, rows.member, order[columns[k]], column) + j * c->args->columns];
                    real* to = values + (integer)sources[k] * block_elements + i * block + j;
                    *to = c->args->first_column == 0 ? -sum : *to - sum;
                }
}
