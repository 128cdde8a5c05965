/* Decisions of an iteration, after the sums of its launches. Both dialects name STEP, the kind of these functions, and root_of, the square
 * root of a double.
 *
 * An iteration ends by a true residual alone. So what it has for a residual only makes it compute the true one: it `renews`, and goes on
 * from there unless it has ended. */

/* Reasons to renew. */
enum { renews_begin, renews_look, renews_claim, renews_breakdown };

STEP int is_finite_number(double x) { return x - x == 0; }

STEP void note_norm(trifold_sparse_state* s, double* history, double norm) {
    s->norm = norm;
    history[s->iterations] = norm;
}

STEP void renew_for(trifold_sparse_state* s, int reason) {
    s->renews = 1;
    s->reason = reason;
}

/* sums: b'b. */
STEP void begin_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, int sound) {
    const double relative = args->relative * root_of(sums[0]);
    s->rho = s->alpha = s->omega = 1;
    s->beta = 0;
    s->norm_b = root_of(sums[0]);
    s->target = relative > args->absolute ? relative : args->absolute;
    s->norm = s->last_true = s->least = s->norm_b;
    s->iterations = s->since = s->begun = s->breakdowns = s->pending = s->inner = s->stalls = 0;
    s->outcome = !sound ? trifold_sparse_singular : is_finite_number(s->norm_b) ? trifold_sparse_running : trifold_sparse_not_a_number;
    renew_for(s, renews_begin);
}

/* Whether nothing was gained between two true residuals, and not for the first time. */
STEP int has_stalled(trifold_sparse_state* s) {
    const double enough = 0.5;
    if (s->begun == 0 || s->reason == renews_look) return 0;
    s->stalls = s->norm > enough * s->least ? s->stalls + 1 : 0;
    return s->stalls > 1;
}

/* sums: r'r of the true residual, and its product with the shadow residual. */
STEP void renew_step(trifold_sparse_state* s, const double* sums, const trifold_sparse_args* args, double* history) {
    const double rho = sums[1];
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
#endif
