/* Decisions of an iteration, after the sums of its launches. Both dialects name STEP, the kind of these functions, root_of, the square root
 * of a double, and fabs_of, its absolute value.
 *
 * An iteration ends by a true residual alone. So what it has for a residual only makes it compute the true one: it `renews`, and goes on
 * from there unless it has ended. */

/* Reasons to renew. */
enum { renews_begin, renews_look, renews_claim, renews_breakdown };

STEP int is_finite_number(double x) { return x - x == 0; }

/* The nearest power of two of which `real` has the reciprocal, too. */
STEP double bounded_scale(double scale) {
    const double most = sizeof(real) == 8 ? 0x1p1022 : 0x1p126;
    return scale > most ? most : scale < 1 / most ? 1 / most : scale;
}
/* A power of two, times which a positive number is from 1 on and below 2, as far as the range allows. */
STEP double scale_for(double number) {
    const double steps[] = {0x1p512, 0x1p256, 0x1p128, 0x1p64, 0x1p32, 0x1p16, 0x1p8, 0x1p4, 0x1p2, 0x1p1};
    double scale = 1;
    if (!(number > 0) || !is_finite_number(number)) return 1;
    for (unsigned k = 0; k < sizeof steps / sizeof steps[0]; ++k) {
        if (number * scale >= steps[k]) scale /= steps[k];
        if (number * scale * steps[k] < 2) scale *= steps[k];
    }
    return bounded_scale(scale);
}

/* The norm of b is summed in three parts, by the size of numbers, since squares of large and of small ones leave the range. */
enum { usual_squares, small_squares, large_squares };
STEP void add_square(double* sums, double x) {
    const double size = fabs_of(x);
    if (size > 0x1p500)
        sums[large_squares] += size * 0x1p-600 * (size * 0x1p-600);
    else if (size < 0x1p-500)
        sums[small_squares] += size * 0x1p600 * (size * 0x1p600);
    else
        sums[usual_squares] += size * size;
}

/* history: null where another one writes it. */
STEP void note_norm(trifold_sparse_state* s, double* history, double norm) {
    s->norm = norm;
    if (history) history[s->iterations] = norm / s->scale;
}

STEP void renew_for(trifold_sparse_state* s, int reason) {
    s->renews = 1;
    s->reason = reason;
}

/* sums: squares of b, by their size, for its scale. Where b is zero, so is x. */
STEP void begin_step(trifold_sparse_state* s, const double* sums, int sound, double* history) {
    const int is_large = sums[large_squares] > 0, is_small = !is_large && sums[usual_squares] == 0;
    const double unit = is_large ? 0x1p600 : is_small ? 0x1p-600 : 1;
    const double squares = is_large   ? sums[large_squares] + sums[usual_squares] * 0x1p-600 * 0x1p-600
                           : is_small ? sums[small_squares]
                                      : sums[usual_squares] + sums[small_squares] * 0x1p-600 * 0x1p-600;
    const double root = root_of(squares), scale = bounded_scale(scale_for(root) / unit);
    s->rho = s->alpha = s->omega = 1;
    s->beta = 0;
    s->scale = scale;
    s->norm_b = root * unit;
    s->target = 0;
    s->last_true = s->least = root * (unit * scale);
    s->iterations = s->since = s->begun = s->breakdowns = s->pending = s->inner = s->stalls = 0;
    note_norm(s, history, s->last_true);
    s->outcome = !sound                       ? trifold_sparse_singular
                 : !is_finite_number(s->norm) ? trifold_sparse_not_a_number
                 : s->norm_b == 0             ? trifold_sparse_converged
                                              : trifold_sparse_running;
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

/* norm: that of b, in its scale. */
STEP void aim_at(trifold_sparse_state* s, double norm, const trifold_sparse_args* args) {
    const double relative = args->relative * norm, absolute = args->absolute * s->scale;
    s->norm_b = norm / s->scale;
    s->target = relative > absolute ? relative : absolute;
}

/* sums: r'r of the true residual, and its product with the shadow residual; the first time also b'b, added up like r'r. */
STEP void renew_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    const double rho = sums[1];
    if (!s->begun) aim_at(s, root_of(sums[2]), args);
    note_norm(s, history, root_of(sums[0]));
    s->last_true = s->norm;
    const int stalled = has_stalled(s);
    if (!is_finite_number(s->norm))
        s->outcome = trifold_sparse_not_a_number;
    else if (s->norm <= s->target)
        s->outcome = trifold_sparse_converged;
    else if (s->iterations >= args->most_iterations)
        s->outcome = trifold_sparse_limit;
    else if (stalled)
        s->outcome = s->reason == renews_breakdown ? trifold_sparse_breakdown : trifold_sparse_stagnated;
    s->beta = s->reason == renews_look ? rho / s->rho * (s->alpha / s->omega) : 0;
    s->rho = rho;
    s->least = s->begun == 0 || s->norm < s->least ? s->norm : s->least;
    s->begun = 1;
    s->renews = s->pending = s->since = s->inner = 0;
}

STEP void break_down(trifold_sparse_state* s) {
    ++s->breakdowns;
    renew_for(s, renews_breakdown);
}

/* What follows an iteration with its new norm. */
STEP void close_iteration(trifold_sparse_state* s, double norm, const trifold_sparse_args* args, double* history) {
    ++s->iterations;
    ++s->since;
    note_norm(s, history, norm);
    if (s->renews) return;
    if (norm <= s->target || s->iterations >= args->most_iterations)
        renew_for(s, renews_claim);
    else if (args->renew > 0 && s->since >= args->renew)
        renew_for(s, renews_look);
}

#if METHOD == METHOD_BICGSTAB
/* sums: (shadow, v). */
STEP void first_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    const double alpha = s->rho / sums[0];
    s->pending = 0;
    if (sums[0] != 0 && is_finite_number(alpha) && alpha != 0) {
        s->alpha = alpha;
        return;
    }
    break_down(s);
    close_iteration(s, s->norm, args, history);
}
/* sums: (t, s), (t, t), (shadow, s), (shadow, t), (s, s). */
STEP void second_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    const double omega = sums[1] > 0 ? sums[0] / sums[1] : 0;
    const double rho = sums[2] - omega * sums[3], squared = sums[4] - omega * (2 * sums[0] - omega * sums[1]);
    s->omega = is_finite_number(omega) ? omega : 0;
    s->beta = rho / s->rho * (s->alpha / omega);
    s->pending = 1;
    if (!is_finite_number(s->beta) || rho == 0 || omega == 0)
        break_down(s);
    else
        s->rho = rho;
    close_iteration(s, root_of(squared > 0 ? squared : squared == squared ? 0 : squared), args, history);
}
#elif METHOD == METHOD_CG
/* sums: r'z, r'r. */
STEP void first_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    const int fresh = s->pending == 0;
    s->pending = 0;
    s->beta = fresh ? 0 : sums[0] / s->rho;
    s->rho = sums[0];
    if (!fresh) note_norm(s, history, root_of(sums[1]));
    if (!(sums[0] > 0)) {
        break_down(s);
        close_iteration(s, s->norm, args, history);
    } else if (!fresh && s->norm <= s->target)
        renew_for(s, renews_claim);
}
/* sums: p'v. */
STEP void second_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    s->alpha = s->rho / sums[0];
    s->pending = 1;
    if (!(sums[0] > 0) || !is_finite_number(s->alpha)) {
        s->alpha = s->pending = 0;
        break_down(s);
    }
    close_iteration(s, s->norm, args, history);
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
/* Those that rounding left: what is to be subtracted once more. */
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
    close_iteration(s, length > 0 ? fabs_of(m->right[j + 1]) : s->norm, args, history);
    if (!s->renews && !is_finite_number(s->alpha)) renew_for(s, renews_claim);
    if (!s->renews && s->inner == launch->restart) renew_for(s, renews_look);
    s->pending = s->inner > 0;
    if (s->renews) solve_triangle(s, m);
}
#endif
