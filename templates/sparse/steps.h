/* Decisions of an iteration, after the sums of its launches. Both dialects name STEP, the kind of these functions, root_of, the square root
 * of a double, fabs_of, its absolute value, and bits_of and number_of, which copy the bits of a double to an integer and back.
 *
 * An iteration ends by a true residual alone. So what it has for a residual only makes it compute the true one: it `renews`, and goes on
 * from there unless it has ended.
 *
 * Rows of A may have any size, so residuals are measured by rows of equal size: row i of r counts 2^e_i r_i, where 2^e_i times the row's
 * largest entry is about 1. Rows are stored so scaled. Conjugate gradients keep them, and a transposed solution would have to scale
 * columns: both weigh the sums instead, which comes to the same. */

/* Reasons to renew. */
enum { renews_begin, renews_look, renews_claim, renews_breakdown, renews_far };
/* What becomes of x before: it gets its last steps, or becomes zero, or the x that was saved. */
enum { restores_none, restores_zero, restores_best };
enum { saves_best = METHOD != METHOD_GMRES };

STEP int is_finite_number(double x) { return x - x == 0; }

enum { no_exponent = -9999, max_exponent = 1022, mantissa_bits = 52, exponent_bias = 1023, exponent_mask = 2047 };
/* 2^e for |e| up to 1022. */
STEP double power_of_two(int e) { return number_of((long long)(e + exponent_bias) << mantissa_bits); }
/* x 2^e, where e beyond 2044 counts as that. */
STEP double times_power(double x, trifold_int e) {
    const int most = 2 * max_exponent, bounded = e > most ? most : e < -most ? -most : (int)e, half = bounded / 2;
    return x * power_of_two(half) * power_of_two(bounded - half);
}
STEP int biased_exponent(double x) { return (int)(bits_of(x) >> mantissa_bits) & exponent_mask; }
/* The whole part of log2 |x|; no_exponent for 0. */
STEP int exponent_of(double x) {
    if (x == 0) return no_exponent;
    return biased_exponent(x) > 0 ? biased_exponent(x) - exponent_bias : biased_exponent(x * 0x1p54) - exponent_bias - 54;
}
/* The exponent that brings a row to about 1, from its largest and its least entry that is not 0. A row whose least entry would leave the
 * normal range stays as it is, so that nothing is lost. */
STEP int row_exponent(double largest, double least) {
    const int most = sizeof(real) == 8 ? 1020 : 124, lowest = sizeof(real) == 8 ? -1022 : -126;
    if (!(largest > 0) || !is_finite_number(largest)) return 0;
    const int wanted = -exponent_of(largest), e = wanted > most ? most : wanted < -most ? -most : wanted;
    return e < 0 && exponent_of(least) + e < lowest ? 0 : e;
}
/* The exponent of a row's weight, over that of the row with the largest entry of all; bounded, so that squares stay in the range. */
STEP int weight_exponent(int row, double largest) {
    const int most = 480, e = row + exponent_of(largest);
    return e < 0 ? 0 : e > most ? most : e;
}

/* A power of two, times which a positive number is from 1 on and below 2, as far as `real` has its reciprocal too. */
STEP double scale_for(double number) {
    const int most = sizeof(real) == 8 ? 1022 : 126;
    if (!(number > 0) || !is_finite_number(number)) return 1;
    const int e = -exponent_of(number);
    return power_of_two(e > most ? most : e < -most ? -most : e);
}

/* A sum of products with about twice the digits of a double. Factors are cut into halves whose products are exact, so compilers may fuse
 * what they like. Source: Dekker 1971, Knuth's two-sum. */
typedef struct {
    double sum, rest;
} exact_sum;
STEP double top_of(double x) { return number_of(bits_of(x) & ~0x7ffffffLL); }
STEP void add_product(exact_sum* to, double a, double x) {
    if (sizeof(real) == 4) { /* a product of two floats is exact */
        to->sum += a * x;
        return;
    }
    const double a_top = top_of(a), x_top = top_of(x), product = a_top * x_top, sum = to->sum + product, back = sum - to->sum;
    to->rest += (to->sum - (sum - back)) + (product - back) + (a_top * (x - x_top) + (a - a_top) * x);
    to->sum = sum;
}
STEP double total_of_exact(const exact_sum* s) { return s->sum + s->rest; }

/* Number x of a first guess, as 2^-e x. One that leaves the range is too large to be of use, and will be dropped. */
STEP real guessed(double x, trifold_int e) {
    const double most = sizeof(real) == 8 ? 0x1p500 : 0x1p60, y = times_power(x, -e);
    return (real)(is_finite_number(x) && fabs_of(y) > most ? (y > 0 ? most : -most) : y);
}
/* Number y of an iteration as x has it, 2^e y, and back: what is handed over is what the true residual is computed of. What overflows
 * stays. */
STEP real deliverable(real y, trifold_int e) {
    const real x = (real)times_power((double)y, e);
    return is_finite_number((double)x) ? (real)times_power((double)x, -e) : y;
}
/* Whether x = 2^e y is beyond the range: 1 where it overflows, a small part of it where numbers as large as y is at least, of the size of b
 * over that of A, lose digits. */
STEP double beyond_range(real y, trifold_int e, double largest) {
    const int lowest = sizeof(real) == 8 ? -1022 + 53 : -126 + 24, usual = METHOD == METHOD_CG ? -exponent_of(largest) : 0;
    if (is_finite_number((double)y) && !is_finite_number((double)(real)times_power((double)y, e))) return 1;
    return e + usual < lowest ? 0x1p-40 : 0;
}

/* Numbers of the sums of a true residual: r'r; its product with the shadow residual; of b - A x as it stands; the first time the same two
 * of b; numbers of x beyond the range. */
enum { sum_of_residual, sum_of_shadow, sum_of_plain, sum_of_b, sum_of_plain_b, sum_beyond_range, renewal_sums };
/* The begin has the greatest exponents instead: of b as it is weighed, and as it stands; and whether it holds infinities or NaN. */
enum { greatest_weighed, greatest_plain, greatest_unsound, greatest_numbers };
STEP void look_at_b(double* greatest, double b, int weight) {
    const int e = exponent_of(b);
    if (!is_finite_number(b)) greatest[greatest_unsound] = 1;
    if (e > greatest[greatest_plain]) greatest[greatest_plain] = e;
    if (e > no_exponent && e + weight > greatest[greatest_weighed]) greatest[greatest_weighed] = e + weight;
}

/* history: null where another one writes it. It holds |b - A x|, between true residuals as the iteration has it. */
STEP void note_norm(trifold_sparse_state* s, double* history, const trifold_sparse_launch* launch, double norm) {
    s->norm = norm;
    if (history && s->iterations < launch->history_length) history[s->iterations] = norm * s->unit;
}

STEP void renew_for(trifold_sparse_state* s, int reason) {
    s->renews = 1;
    s->reason = reason;
}

/* Begins a solution. If b is zero, so is x. */
STEP void begin_step(trifold_sparse_state* s, const double* greatest, int sound, double* history, const trifold_sparse_launch* launch) {
    const int is_zero = greatest[greatest_plain] == no_exponent;
    const trifold_sparse_state none = {0};
    *s = none;
    s->rho = s->alpha = s->omega = 1;
    s->scale = is_zero ? 0 : -(trifold_int)greatest[greatest_weighed];
    s->plain_scale = is_zero ? 0 : -(trifold_int)greatest[greatest_plain];
    s->outcome = !sound                           ? trifold_sparse_singular
                 : greatest[greatest_unsound] > 0 ? trifold_sparse_not_a_number
                 : is_zero                        ? trifold_sparse_converged
                                                  : trifold_sparse_running;
    note_norm(s, history, launch, 0);
    renew_for(s, renews_begin);
}

/* Whether nothing was gained between two true residuals, and not for the first time. GMRES computes one after each cycle, and none of these
 * is larger than the one before but for rounding. Others may grow for a while. */
STEP int has_stalled(trifold_sparse_state* s) {
    const int looks = s->reason == renews_look;
    const double enough = looks ? 1 : 0.5;
    if (s->begun == 0 || (looks && METHOD != METHOD_GMRES)) return 0;
    s->stalls = s->norm >= enough * s->least ? s->stalls + 1 : 0;
    return s->stalls > 1;
}

/* How many times a norm is what it may be; 1: no more. */
STEP double excess(double norm, double most) { return norm <= most ? 1 : norm / most; }
STEP double larger_of(double a, double b) { return a > b ? a : b; }
/* That of a residual: by rows of equal size and as it stands, or as it stands by the absolute tolerance alone. */
STEP double excess_of(const trifold_sparse_state* s, const trifold_sparse_args* args) {
    const double relative = larger_of(excess(s->norm, args->rtol * s->measure), excess(s->plain, args->rtol * s->plain_b));
    const double absolute = excess(s->plain, times_power(args->atol, s->plain_scale));
    return absolute < relative ? absolute : relative;
}

/* How a solution ends that has not converged; running: it goes on. A residual this small is one of rounding, and another method would not
 * make it smaller. */
STEP trifold_int failure_of(trifold_sparse_state* s, const trifold_sparse_args* args, double beyond) {
    const double rounding = sizeof(real) == 8 ? 0x1p-26 : 0x1p-10;
    const int stalled = has_stalled(s);
    trifold_int end = trifold_sparse_running;
    if (s->ending)
        end = s->ending;
    else if (!is_finite_number(s->norm))
        end = trifold_sparse_not_a_number;
    else if (s->iterations >= args->maxiter)
        end = trifold_sparse_limit;
    else if (stalled)
        end = s->reason == renews_breakdown && s->norm > rounding * s->measure ? trifold_sparse_breakdown : trifold_sparse_stagnated;
    return end != trifold_sparse_running && beyond > 0 ? trifold_sparse_out_of_range : end;
}

/* The true residual and what follows from it: see the sums above. A first guess that is worse than none is dropped. A solution that fails
 * hands over the x of the least residual: the one saved, or zero where rounding has poisoned that one too. One more turn computes its own.
 */
STEP void renew_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                     double* history) {
    const double rho = sums[sum_of_shadow];
    const int restored = s->restores;
    if (!s->begun) {
        s->measure = root_of(sums[sum_of_b]);
        s->plain_b = root_of(sums[sum_of_plain_b]);
        s->norm_b = times_power(s->plain_b, -s->plain_scale);
    }
    s->plain = root_of(sums[sum_of_plain]);
    s->unit = times_power(s->plain, -s->plain_scale);
    note_norm(s, history, launch, 1);
    s->norm = root_of(sums[sum_of_residual]);
    if (s->norm > 0) s->unit /= s->norm;
    if (!s->begun && args->guesses && restored != restores_zero && s->norm > s->measure) {
        s->restores = restores_zero;
        return;
    }
    s->restores = restores_none;
    const double factor = excess_of(s, args);
    trifold_int end = factor == 1 ? (sums[sum_beyond_range] >= 1 ? trifold_sparse_out_of_range : trifold_sparse_converged)
                                  : failure_of(s, args, sums[sum_beyond_range]);
    const int has_best = saves_best && restored != restores_best;
    if (factor != 1 && end != trifold_sparse_running && s->begun && restored != restores_zero &&
        !(s->norm <= 1.1 * (has_best ? s->saved : s->measure))) {
        s->ending = end;
        s->restores = has_best ? restores_best : restores_zero;
        return;
    }
    s->outcome = end;
    s->target = (s->begun ? 0.5 : 1) * (s->norm / factor);
    s->beta = s->reason == renews_look ? rho / s->rho * (s->alpha / s->omega) : 0;
    if (METHOD == METHOD_BICGSTAB) s->rho = rho;
    if (METHOD != METHOD_CG || s->reason != renews_look) s->directed = 0;
    if (s->begun == 0 || restored == restores_best || (s->reason == renews_claim && s->saved < s->norm)) s->saved = s->norm;
    s->least = s->begun == 0 || s->norm < s->least ? s->norm : s->least;
    s->begun = 1;
    s->renews = s->pending = s->since = s->inner = s->saves = 0;
}

STEP void break_down(trifold_sparse_state* s) {
    ++s->breakdowns;
    renew_for(s, renews_breakdown);
}

/* Saves an x whose residual is an eighth of that of the last one saved: seldom, since x is copied. Where the residual has grown beyond all
 * digits, or BiCGSTAB has gained nothing for long, it begins from there. */
STEP void keep_best(trifold_sparse_state* s) {
    const double far = sizeof(real) == 8 ? 0x1p40 : 0x1p20;
    const trifold_int patience = 1000;
    s->saves = s->norm <= 0.125 * s->saved;
    if (s->saves) s->saved = s->norm;
    s->idle = s->saves ? 0 : s->idle + 1;
    const int is_lost = METHOD == METHOD_BICGSTAB && s->idle >= patience && s->norm > s->saved;
    if (s->norm <= far * s->saved && !is_lost) return;
    s->idle = 0;
    s->restores = restores_best;
    renew_for(s, renews_far);
}

/* The end of an iteration with its new norm. */
STEP void close_iteration(trifold_sparse_state* s, double norm, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                          double* history) {
    ++s->iterations;
    ++s->since;
    note_norm(s, history, launch, norm);
    if (METHOD == METHOD_BICGSTAB && s->pending) keep_best(s);
    if (s->renews) return;
    if (norm <= s->target || s->iterations >= args->maxiter)
        renew_for(s, renews_claim);
    else if (args->renew > 0 && s->since >= args->renew)
        renew_for(s, renews_look);
}

#if METHOD == METHOD_BICGSTAB
/* sums: (shadow, v). */
STEP void first_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                     double* history) {
    const double alpha = s->rho / sums[0];
    s->pending = s->saves = 0;
    if (sums[0] != 0 && is_finite_number(alpha) && alpha != 0) {
        s->alpha = alpha;
        return;
    }
    break_down(s);
    close_iteration(s, s->norm, args, launch, history);
}
/* sums: (t, s), (t, t), (shadow, s), (shadow, t), (s, s). */
STEP void second_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                      double* history) {
    const double omega = sums[1] > 0 ? sums[0] / sums[1] : 0;
    const double rho = sums[2] - omega * sums[3], squared = sums[4] - omega * (2 * sums[0] - omega * sums[1]);
    s->omega = is_finite_number(omega) ? omega : 0;
    s->beta = rho / s->rho * (s->alpha / omega);
    s->pending = 1;
    if (!is_finite_number(s->beta) || rho == 0 || omega == 0)
        break_down(s);
    else
        s->rho = rho;
    close_iteration(s, root_of(squared > 0 ? squared : squared == squared ? 0 : squared), args, launch, history);
}
#elif METHOD == METHOD_CG
/* sums: r'z, r'r. */
STEP void first_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                     double* history) {
    const int stepped = s->pending;
    s->pending = 0;
    s->beta = s->directed ? sums[0] / s->rho : 0;
    s->rho = sums[0];
    if (stepped) {
        note_norm(s, history, launch, root_of(sums[1]));
        keep_best(s);
    }
    if (s->renews) return;
    if (!(sums[0] > 0)) {
        break_down(s);
        close_iteration(s, s->norm, args, launch, history);
    } else if (stepped && s->norm <= s->target)
        renew_for(s, renews_claim);
}
/* sums: p'v. */
STEP void second_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                      double* history) {
    s->alpha = s->rho / sums[0];
    s->pending = s->directed = 1;
    s->saves = 0;
    if (!(sums[0] > 0) || !is_finite_number(s->alpha)) {
        s->alpha = s->pending = s->directed = 0;
        break_down(s);
    }
    close_iteration(s, s->norm, args, launch, history);
}
#elif METHOD == METHOD_GMRES
/* The small matrices of a system: a triangle by columns, then rotations, the right-hand side and its solution, all of restart + 1. While a
 * vector is made orthogonal, the last column has its products with the others. */
typedef struct {
    double *triangle, *cosines, *sines, *right, *solution;
    trifold_int length;
} small_matrices;
STEP small_matrices small_of(double* at, const trifold_sparse_launch* launch) {
    const trifold_int length = launch->restart + 1;
    double* behind = at + launch->restart * length;
    small_matrices m = {at, behind, behind + length, behind + 2 * length, behind + 3 * length, length};
    return m;
}

/* After a true residual. */
STEP void begin_cycle(trifold_sparse_state* s, const small_matrices* m) {
    s->alpha = 1 / s->norm;
    m->right[0] = s->norm;
}
/* sums: products of v with the vectors so far. */
STEP void first_step(trifold_sparse_state* s, const double* sums, const small_matrices* m) {
    for (trifold_int k = 0; k <= s->inner; ++k) m->solution[k] = m->triangle[s->inner * m->length + k] = sums[k];
}
/* sums: products that rounding left, to be subtracted once more. */
STEP void second_step(trifold_sparse_state* s, const double* sums, const small_matrices* m) {
    for (trifold_int k = 0; k <= s->inner; ++k) {
        m->solution[k] = sums[k];
        m->triangle[s->inner * m->length + k] += sums[k];
    }
}
STEP void rotate(double* a, double* b, double cosine, double sine) {
    const double x = *a, y = *b;
    *a = cosine * x + sine * y;
    *b = cosine * y - sine * x;
}
STEP void solve_triangle(trifold_sparse_state* s, const small_matrices* m) {
    for (trifold_int row = s->inner - 1; row >= 0; --row) {
        double sum = m->right[row];
        for (trifold_int k = row + 1; k < s->inner; ++k) sum -= m->triangle[k * m->length + row] * m->solution[k];
        m->solution[row] = sum / m->triangle[row * m->length + row];
    }
}
/* sums: v'v of what is left. */
STEP void third_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, const trifold_sparse_launch* launch,
                     double* history, const small_matrices* m) {
    const trifold_int j = s->inner;
    double *column = m->triangle + j * m->length, left = root_of(sums[0]);
    for (trifold_int k = 0; k < j; ++k) rotate(column + k, column + k + 1, m->cosines[k], m->sines[k]);
    const double length = root_of(column[j] * column[j] + left * left);
    s->alpha = 1 / left;
    if (length > 0) {
        m->cosines[j] = column[j] / length;
        m->sines[j] = left / length;
        column[j] = length;
        m->right[j + 1] = 0;
        rotate(m->right + j, m->right + j + 1, m->cosines[j], m->sines[j]);
        ++s->inner;
    } else
        break_down(s);
    close_iteration(s, length > 0 ? fabs_of(m->right[j + 1]) : s->norm, args, launch, history);
    if (!s->renews && !is_finite_number(s->alpha)) renew_for(s, renews_claim);
    if (!s->renews && s->inner == launch->restart) renew_for(s, renews_look);
    s->pending = s->inner > 0;
    if (s->renews) solve_triangle(s, m);
}
#endif
