/* Products with A, and what is done row by row. */
#include "gpu/sparse/apply.cuh"

/* Component i of row `row` of A x. */
TRIFOLD_DEVICE real row_product(const Context& c, trifold_int row, int i, const real* x) {
    const int slots = slots_of(c, row);
    const trifold_int first = first_slot(c, row);
    const int* column = at<const int>(c, c.launch.column) + first * sparse_chunk + row % sparse_chunk;
    const real* a = matrix_of(c) + first * (sparse_chunk * square) + row % sparse_chunk * block + i;
    real sum = 0;
#pragma unroll 4
    for (int s = 0; s < slots; ++s) {
        const real* from = x + static_cast<trifold_int>(column[s * sparse_chunk]) * block;
#pragma unroll
        for (int j = 0; j < block; ++j) sum += a[s * (sparse_chunk * square) + j * (block * sparse_chunk)] * from[j];
    }
    return sum;
}
/* Component i of a row's product with A'. */
TRIFOLD_DEVICE real transposed_row_product(const Context& c, trifold_int row, int i, const real* x) {
    const trifold_int* starts = at<const trifold_int>(c, c.launch.transposed_starts) + row;
    const int *rows = at<const int>(c, c.launch.transposed_rows), *entries = at<const int>(c, c.launch.transposed_entries);
    const real* matrix = matrix_of(c);
    real sum = 0;
#pragma unroll 2
    for (trifold_int k = starts[0]; k < starts[1]; ++k) {
        const real *from = x + static_cast<trifold_int>(rows[k]) * block,
                   *a = matrix + entry_place(entries[k]) + i * (block * sparse_chunk);
#pragma unroll
        for (int j = 0; j < block; ++j) sum += a[j] * from[j];
    }
    return sum;
}
TRIFOLD_DEVICE real product_at(const Context& c, const Part& part, int k, const real* x) {
    const trifold_int row = part.first + k / block;
    return c.launch.transposed ? transposed_row_product(c, row, k % block, x) : row_product(c, row, k % block, x);
}

TRIFOLD_DEVICE void order_b(const Context& c, const Part& part) {
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        real* b = vector_of(c, system_of(c, column), trifold_sparse_b) + part.first * block;
        for (int k = thread_index(); k < part.count(); k += sparse_threads)
            b[k] = static_cast<const real*>(c.args.b)[outer_place(c, part, k, column)];
    }
}
/* The stored A has its rows scaled: A = 2^-e A, and A' = A' 2^-e. */
TRIFOLD_DEVICE real unscaling(const Context& c, const Part& part, int k, bool wanted) {
    if (!scales_rows || !wanted) return 1;
    return static_cast<real>(power_of_two(-exponents_at(c, c.launch.scales)[part.first * block + k]));
}
TRIFOLD_DEVICE void order_factor(const Context& c) {
    const Part part = slice_of(c);
    order_b(c, part);
    for (trifold_int column = 0; c.launch.transposed && column < c.args.used_columns; ++column) {
        real* b = vector_of(c, system_of(c, column), trifold_sparse_b) + part.first * block;
        for (int k = thread_index(); k < part.count(); k += sparse_threads) b[k] *= unscaling(c, part, k, true);
    }
}
TRIFOLD_DEVICE void multiply_arrays(const Context& c, const Part& part) {
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const real* x = vector_of(c, system_of(c, column), trifold_sparse_b);
        for (int k = thread_index(); k < part.count(); k += sparse_threads)
            static_cast<real*>(c.args.x)[outer_place(c, part, k, column)] =
                unscaling(c, part, k, !c.launch.transposed) * product_at(c, part, k, x);
    }
}

/* The beginning of a solution: b and its greatest exponents. */
TRIFOLD_DEVICE void begin_rows(const Context& c, double* room) {
    const Part part = slice_of(c);
    order_b(c, part);
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const Pieces w = pieces_of(c, part, system);
        double greatest[greatest_numbers] = {no_exponent, no_exponent, 0};
        for (int k = thread_index(); k < part.count(); k += sparse_threads) {
            const trifold_int number = part.first * block + k;
            look_at_b(greatest, static_cast<double>(w.b[k]), left_exponent(c, number) + weight_at(c, number));
        }
#pragma unroll
        for (int n = 0; n < greatest_numbers; ++n) {
            const double all = block_greatest(greatest[n], room);
            if (thread_index() == 0) sums_of(c, system, n)[part_number(c)] = all;
        }
    }
}
/* The first guess, in the scale of b. */
TRIFOLD_DEVICE void guess_rows(const Context& c, const Part& part, const trifold_sparse_state& s, const Pieces& w, trifold_int column) {
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        const double guess = c.args.guesses ? static_cast<double>(static_cast<const real*>(c.args.x)[outer_place(c, part, k, column)]) : 0;
        w.x[k] = guessed(guess, exponent_of_x(c, part, s, k));
        if (saves_best) best_of(c, part, system_of(c, column))[k] = w.x[k];
    }
}

/* The number that a thread has at k of a vector that a launch computes, and the sums that it takes at the same time. */
template <int threads, int Sums, class Value>
TRIFOLD_DEVICE void compute(const Context& c, const Part& part, trifold_int system, real* to, double* room, const Value& value) {
    double sums[Sums] = {};
    for (int k = thread_index(); k < part.count(); k += threads) to[k] = value(k, sums);
    leave_sums<Sums, threads>(c, system, sums, room);
}

/* Number i of a row of b - A x, with about twice the digits of a double; `together` entries at a time. */
template <int together>
TRIFOLD_DEVICE double exact_residual(const Context& c, trifold_int row, int i, double b, const real* x) {
    const real* a = matrix_of(c);
    exact_sum sum = {b, 0};
    const trifold_int* transposed = at<const trifold_int>(c, c.launch.transposed_starts) + row;
    const trifold_int first = c.launch.transposed ? transposed[0] : first_slot(c, row) * sparse_chunk + row % sparse_chunk;
    const int count = c.launch.transposed ? static_cast<int>(transposed[1] - transposed[0]) : slots_of(c, row);
#pragma unroll together
    for (int s = 0; s < count; ++s) {
        const trifold_int entry =
            c.launch.transposed ? at<const int>(c, c.launch.transposed_entries)[first + s] : first + s * trifold_int(sparse_chunk);
        const trifold_int other =
            c.launch.transposed ? at<const int>(c, c.launch.transposed_rows)[first + s] : at<const int>(c, c.launch.column)[entry];
        const int row_step = c.launch.transposed ? block * sparse_chunk : 1, column_step = c.launch.transposed ? 1 : block * sparse_chunk;
#pragma unroll 1
        for (int j = 0; j < block; ++j)
            add_product(&sum, -static_cast<double>(a[entry_place(entry) + i * row_step + j * column_step]),
                        static_cast<double>(x[other * block + j]));
    }
    return total_of_exact(&sum);
}
TRIFOLD_DEVICE double times(real a, real b) { return static_cast<double>(a) * static_cast<double>(b); }
/* r = b - A x, and the sums that are taken of it: in several loops, so that within a kernel that iterates it takes few registers. */
template <int threads = sparse_threads, int together = 4>
TRIFOLD_DEVICE void true_residual(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w,
                                  double* room) {
    const real* x = vector_of(c, system, trifold_sparse_x);
    const bool is_zero = !s.begun && (!c.args.guesses || s.restores == restores_zero);
    double sums[renewal_sums] = {};
#pragma unroll 1
    for (int k = thread_index(); k < part.count(); k += threads) {
        const double b = times_power(static_cast<double>(w.b[k]), left_exponent(c, part.first * block + k) + s.scale);
        w.r[k] = static_cast<real>(is_zero ? b : exact_residual<together>(c, part.first + k / block, k % block, b, x));
        if (METHOD == METHOD_BICGSTAB && s.reason != renews_look) w.shadow[k] = w.r[k];
    }
#pragma unroll 1
    for (int k = thread_index(); k < part.count(); k += threads) {
        const trifold_int number = part.first * block + k, left = left_exponent(c, number) + s.scale;
        const double r = static_cast<double>(w.r[k]), weight = weight_of(c, number), plain = times_power(r, s.plain_scale - left);
        sums[sum_of_residual] += weight * r * r;
        sums[sum_of_plain] += plain * plain;
        if (METHOD == METHOD_BICGSTAB) sums[sum_of_shadow] += weight * r * static_cast<double>(w.shadow[k]);
        sums[sum_beyond_range] += beyond_range(w.x[k], exponent_of_x(c, part, s, k), record_of(c, group_y(), c.launch.parts)->largest);
    }
#pragma unroll 1
    for (int k = thread_index(); !s.begun && k < part.count(); k += threads) {
        const trifold_int number = part.first * block + k;
        const double outer = static_cast<double>(w.b[k]), b = times_power(outer, left_exponent(c, number) + s.scale);
        const double plain = times_power(outer, s.plain_scale);
        sums[sum_of_b] += weight_of(c, number) * b * b;
        sums[sum_of_plain_b] += plain * plain;
    }
    leave_sums<renewal_sums, threads>(c, system, sums, room);
}

/* x has its last steps by then, and is saved where it is the best. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE void save_x(const Context& c, const Part& part, trifold_int system, const Pieces& w) {
    real* best = best_of(c, part, system);
#pragma unroll 1 /* it is seldom, and must not take registers from an iteration */
    for (int k = thread_index(); k < part.count(); k += threads) best[k] = w.x[k];
}
#if METHOD == METHOD_BICGSTAB
/* v = A z, or t = A y. Here and below product(k, x) is number k of the part's A x, and weight(k) that of its residual. */
template <int threads = sparse_threads, class Product, class Weight>
TRIFOLD_DEVICE void next_product(const Context& c, const Part& part, trifold_int system, bool saves, const Pieces& w, double* room,
                                 const Product& product, const Weight& weight) {
    if (c.step == trifold_sparse_first) {
        const real* z = vector_of(c, system, trifold_sparse_z);
        if (saves) save_x<threads>(c, part, system, w);
        compute<threads, 1>(c, part, system, w.v, room, [&](int k, double* sums) {
            const real v = product(k, z);
            sums[0] += weight(k) * times(w.shadow[k], v);
            return v;
        });
        return;
    }
    const real* y = vector_of(c, system, trifold_sparse_y);
    compute<threads, 5>(c, part, system, w.t, room, [&](int k, double* sums) {
        const real t = product(k, y), s = w.r[k], shadow = w.shadow[k];
        const double by = weight(k);
        sums[0] += by * times(t, s);
        sums[1] += by * times(t, t);
        sums[2] += by * times(shadow, s);
        sums[3] += by * times(shadow, t);
        sums[4] += by * times(s, s);
        return t;
    });
}
#elif METHOD == METHOD_CG
/* v = A p. */
template <int threads = sparse_threads, class Product, class Weight>
TRIFOLD_DEVICE void next_product(const Context& c, const Part& part, trifold_int system, bool, const Pieces& w, double* room,
                                 const Product& product, const Weight&) {
    const real* p = vector_of(c, system, trifold_sparse_p);
    compute<threads, 1>(c, part, system, w.v, room, [&](int k, double* sums) {
        const real v = product(k, p);
        sums[0] += times(w.p[k], v);
        return v;
    });
}
#elif METHOD == METHOD_GMRES
TRIFOLD_DEVICE void products_with_basis(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s,
                                        const real* v, double* room) {
    for (trifold_int k = 0; k <= s.inner; ++k) leave_sum(c, system, k, weighed_dot(c, part, basis_of(c, system, k, part), v), room);
}
/* v = A z. */
template <class Product, class Weight>
TRIFOLD_DEVICE void next_product(const Context& c, const Part& part, trifold_int system, bool, const Pieces& w, double* room,
                                 const Product& product, const Weight&) {
    const real* z = vector_of(c, system, trifold_sparse_z);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) w.v[k] = product(k, z);
    products_with_basis(c, part, system, *state_of(c, system), w.v, room);
}
/* v without its parts along the vectors so far; twice, since rounding leaves some. */
TRIFOLD_DEVICE void make_orthogonal(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w,
                                    double* room) {
    const small_matrices m = small_at(c, system);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        real left = w.v[k];
        for (trifold_int j = 0; j <= s.inner; ++j) left -= static_cast<real>(m.solution[j]) * basis_of(c, system, j, part)[k];
        w.v[k] = left;
    }
    if (c.step == trifold_sparse_second)
        products_with_basis(c, part, system, s, w.v, room);
    else
        leave_sum(c, system, 0, weighed_dot(c, part, w.v, w.v), room);
}
#endif

#if METHOD != METHOD_GMRES
/* x before its true residual is computed. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE void complete_x(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w) {
    real* best = best_of(c, part, system);
    for (int k = thread_index(); k < part.count(); k += threads) {
        real x = s.restores == restores_zero ? real(0) : s.restores == restores_best ? best[k] : w.x[k];
#if METHOD == METHOD_CG
        if (s.restores == restores_none && s.pending) x += static_cast<real>(s.alpha) * w.p[k];
#else
        if (s.restores == restores_none && s.pending) x += static_cast<real>(s.alpha) * w.z[k] + static_cast<real>(s.omega) * w.y[k];
#endif
        w.x[k] = x = deliverable(x, exponent_of_x(c, part, s, k));
        if (s.saves || s.restores == restores_zero) best[k] = x;
    }
}
#endif
#if METHOD == METHOD_CG
/* The next direction. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE void turn_direction(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w) {
    if (s.saves) save_x<threads>(c, part, system, w);
    for (int k = thread_index(); k < part.count(); k += threads)
        w.p[k] = s.beta == 0 ? w.z[k] : w.z[k] + static_cast<real>(s.beta) * w.p[k];
}
#endif

/* Updates of vectors between products and preconditioners. */
TRIFOLD_DEVICE void update_rows(const Context& c, double* room) {
    const Part part = slice_of(c);
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state s = *state_of(c, system);
        const Pieces w = pieces_of(c, part, system);
        if (c.step == trifold_sparse_plain) {
            guess_rows(c, part, s, w, column);
            continue;
        }
#if METHOD == METHOD_GMRES
        if (is_at_work(s)) make_orthogonal(c, part, system, s, w, room);
#else
        if (c.step == trifold_sparse_renews && is_renewing(s)) complete_x(c, part, system, s, w);
#if METHOD == METHOD_CG
        if (c.step != trifold_sparse_renews && is_at_work(s)) turn_direction(c, part, system, s, w);
#endif
#endif
    }
}

TRIFOLD_DEVICE void product_rows(const Context& c, double* room) {
    const Part part = slice_of(c);
    if (c.step == trifold_sparse_plain) {
        multiply_arrays(c, part);
        return;
    }
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state s = *state_of(c, system);
        const Pieces w = pieces_of(c, part, system);
        if (!is_at_work(s)) continue;
        if (c.launch.transposed) /* then alone residuals have weights here */
            next_product(
                c, part, system, s.saves != 0, w, room,
                [&](int k, const real* x) { return transposed_row_product(c, part.first + k / block, k % block, x); },
                [&](int k) { return weight_of(c, part.first * block + k); });
        else
            next_product(
                c, part, system, s.saves != 0, w, room,
                [&](int k, const real* x) { return row_product(c, part.first + k / block, k % block, x); }, [](int) { return 1.0; });
    }
}
TRIFOLD_DEVICE void residual_rows(const Context& c, double* room) {
    const Part part = slice_of(c);
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state s = *state_of(c, system);
        if (is_renewing(s)) true_residual(c, part, system, s, pieces_of(c, part, system), room);
    }
}

/* The next decision about a system, by one thread. */
TRIFOLD_DEVICE void judge(const Context& c, trifold_int member, trifold_int system, trifold_sparse_state* s, const double* sums) {
    const trifold_int step = c.step;
    double* history = history_of(c, system);
    if (step == trifold_sparse_plain) {
        const trifold_sparse_record& record = *record_of(c, member, c.launch.parts);
        begin_step(s, sums, record.zero_pivots == 0 && record.not_finite == 0 && record.unequal == 0, history, &c.launch);
        return;
    }
    if (step == trifold_sparse_renews) renew_step(s, sums, &c.args, &c.launch, history);
#if METHOD == METHOD_GMRES
    const small_matrices m = small_at(c, system);
    if (step == trifold_sparse_renews) begin_cycle(s, &m);
    if (step == trifold_sparse_first) first_step(s, sums, &m);
    if (step == trifold_sparse_second) second_step(s, sums, &m);
    if (step == trifold_sparse_third) third_step(s, sums, &c.args, &c.launch, history, &m);
#else
    if (step == trifold_sparse_first) first_step(s, sums, &c.args, &c.launch, history);
    if (step == trifold_sparse_second) second_step(s, sums, &c.args, &c.launch, history);
#endif
}

/* Decides for all systems, and whether there is another turn. One thread block. */
TRIFOLD_DEVICE void judge_systems(const Context& c, double* room) {
    const trifold_int step = c.step;
    const trifold_int parts = METHOD == METHOD_CG && step == trifold_sparse_first ? c.launch.tiles : c.launch.slices;
    trifold_int running = 0;
    for (trifold_int number = 0; number < c.args.members * c.args.used_columns; ++number) {
        const trifold_int member = number / c.args.used_columns, system = member * c.launch.systems + number % c.args.used_columns;
        trifold_sparse_state* s = state_of(c, system);
        const bool wanted = step == trifold_sparse_plain || (step == trifold_sparse_renews ? is_renewing(*s) : is_at_work(*s));
        const int count = METHOD == METHOD_GMRES && step >= trifold_sparse_first ? static_cast<int>(s->inner) + 1 : renewal_sums;
        double* sums = room + sparse_threads / warp_lanes;
        for (int k = 0; wanted && k < count; ++k) {
            const double* all = sums_of(c, system, k);
            const bool greatest = step == trifold_sparse_plain;
            double sum = greatest ? no_exponent : 0;
            for (trifold_int part = thread_index(); part < parts; part += sparse_threads)
                sum = greatest ? larger_of(sum, all[part]) : sum + all[part];
            sum = greatest ? block_greatest(sum, room) : block_sum(sum, room);
            if (thread_index() == 0) sums[k] = sum;
        }
        block_sync(); /* all have read the state */
        if (thread_index() == 0) {
            if (wanted) judge(c, member, system, s, sums);
            running += s->outcome == trifold_sparse_running;
        }
        block_sync();
    }
    if (thread_index() == 0) *at<trifold_int>(c, c.launch.flag) = running != 0;
}

TRIFOLD_DEVICE void deliver_rows(const Context& c) {
    const Part part = slice_of(c);
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state& s = *state_of(c, system);
        const bool is_zero = s.outcome == trifold_sparse_converged && s.begun == 0;
        const Pieces w = pieces_of(c, part, system);
        for (int k = thread_index(); k < part.count(); k += sparse_threads)
            static_cast<real*>(c.args.x)[outer_place(c, part, k, column)] =
                is_zero ? real(0) : static_cast<real>(times_power(static_cast<double>(w.x[k]), exponent_of_x(c, part, s, k)));
    }
}

/* dE/dA_ij = -lam_i x_j', on the pattern; b holds lam. A thread has a component of a row. */
TRIFOLD_DEVICE void gradient_rows(const Context& c) {
    const Part part = slice_of(c);
    const int *columns = at<const int>(c, c.launch.column), *sources = at<const int>(c, c.launch.source);
    real* values = static_cast<real*>(c.args.gradient) + group_y() * c.launch.values * square;
    const real *lam = static_cast<const real*>(c.args.b), *x = static_cast<const real*>(c.args.x);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        const trifold_int row = part.first + k / block;
        for (int s = 0; s < slots_of(c, row); ++s) {
            const trifold_int entry = (first_slot(c, row) + s) * sparse_chunk + row % sparse_chunk;
            if (sources[entry] < 0) continue;
            const Part other = {columns[entry], columns[entry] + 1};
            for (int j = 0; j < block; ++j) {
                real sum = 0;
                for (trifold_int column = 0; column < c.args.used_columns; ++column)
                    sum += lam[outer_place(c, part, k, column)] * x[outer_place(c, other, j, column)];
                real* to = values + static_cast<trifold_int>(sources[entry]) * square + k % block * block + j;
                *to = c.args.first_column == 0 ? -sum : *to - sum;
            }
        }
    }
}
