/* Mixed precision: the kernels around those that factor and sweep in single precision. Tasks are blocks of members, or members. */
#include "cpu/tridiagonal/mixed_constants.c"
#include "cpu/tridiagonal/residual.c"

enum { AREA_OF_BLOCK = n * n };

_Static_assert(REAL_BYTES == 4, "the kernels factor in single precision");

INLINE float* floats_at(const trifold_args* args, integer offset, integer index) { return (float*)workspace_at(args, offset) + index; }
INLINE integer coupling_index(const trifold_args* args, integer member, integer block) { return member * (HORIZON - 1) + block; }
/* The index of a column of a block's right-hand sides, which are stored column by column. */
INLINE integer column_index(const trifold_args* args, integer member, integer block, integer column) {
    return (block_index(args, member, block) * MOST_COLUMNS + column) * n;
}
INLINE int* running_of(const trifold_args* args, integer member) { return (int*)workspace_at(args, OFFSET_RUNNING) + member; }
INLINE double* progress_of(const trifold_args* args, integer member) { return doubles_at(args, OFFSET_PROGRESS, member); }

/* ---- copies ---- */

INLINE double caller_coupling(const trifold_args* args, integer member, integer block, integer r, integer c) {
    return ((const double*)args->e)[member * CALLER_E_MEMBER + block * CALLER_E_STAGE + r * CALLER_E_ROW + c * CALLER_E_COLUMN];
}

/* Both halves of D, with the terms that are added to its diagonal. */
KERNEL_PART void narrow_diagonal(const trifold_args* args, integer member, integer block) {
    const integer at = block_index(args, member, block) * AREA_OF_BLOCK;
    const double* d = (const double*)args->d + member * CALLER_D_MEMBER + block * CALLER_D_STAGE;
    double* wide = doubles_at(args, OFFSET_WIDE_D, at);
    float* narrow = floats_at(args, OFFSET_NARROW_D, at);
    for (integer r = 0; r < n; ++r) {
        for (integer c = 0; c <= r; ++c) {
            double value = d[r * CALLER_D_ROW + c * CALLER_D_COLUMN];
            if (c == r && args->diagonal) value += ((const double*)args->diagonal)[block_index(args, member, block) * n + r];
            if (c == r && args->shift) value += ((const double*)args->shift)[member];
            wide[r * n + c] = wide[c * n + r] = value;
            narrow[r * n + c] = narrow[c * n + r] = narrowed(value);
        }
    }
}

KERNEL_PART void narrow_coupling(const trifold_args* args, integer member, integer block) {
    const integer at = coupling_index(args, member, block) * AREA_OF_BLOCK;
    double* wide = doubles_at(args, OFFSET_WIDE_E, at);
    float* narrow = floats_at(args, OFFSET_NARROW_E, at);
    for (integer r = 0; r < n; ++r) {
        for (integer c = 0; c < n; ++c) {
            wide[r * n + c] = caller_coupling(args, member, block, r, c);
            narrow[r * n + c] = narrowed(wide[r * n + c]);
        }
    }
}

/* ---- residuals ---- */

/* y -= (A x)(block); x is the member's solution, in column `column`. */
KERNEL_PART void subtract_a_times_x(const trifold_args* args, integer member, integer block, integer column, residual* to) {
    const double* x = doubles_at(args, OFFSET_SOLUTION, column_index(args, member, block, column));
    const integer next = (integer)n * MOST_COLUMNS;
    const double* d = doubles_at(args, OFFSET_WIDE_D, block_index(args, member, block) * AREA_OF_BLOCK);
    const double* e = doubles_at(args, OFFSET_WIDE_E, coupling_index(args, member, block) * AREA_OF_BLOCK);
    for (integer c = 0; c < n; ++c) subtract_row(to, d + c * n, x[c], n); /* D is symmetric */
    for (integer c = 0; c < n && block + 1 < HORIZON; ++c) subtract_row(to, e + c * n, x[next + c], n);
    for (integer r = 0; r < n && block > 0; ++r) subtract_dot(to, r, e - AREA_OF_BLOCK + r * n, x - next, n);
}

/* b - A x in one column of a block, to single precision, and its errors. The first round's x is zero. */
KERNEL_PART void take_residual(const trifold_args* args, integer member, integer block, integer column, integer round) {
    const trifold_strides* s = &args->b_strides;
    const double* b = (const double*)args->b + member * s->member + block * s->stage + column * s->column;
    double* x = doubles_at(args, OFFSET_SOLUTION, column_index(args, member, block, column));
    float* narrow = floats_at(args, OFFSET_NARROW_X, column_index(args, member, block, column));
    const double* d = doubles_at(args, OFFSET_WIDE_D, block_index(args, member, block) * AREA_OF_BLOCK);
    double* errors = errors_of(args, member, block, column);
    residual left;
    for (integer r = 0; r < n; ++r) {
        left.y[r] = b[r * s->row];
        left.size[r] = magnitude(left.y[r]);
        if (round == 0) x[r] = 0;
    }
    if (round > 0) subtract_a_times_x(args, member, block, column, &left);
    for (int k = 0; k < ERRORS; ++k) errors[k] = 0;
    for (integer r = 0; r < n; ++r) {
        add_row(errors, left.y[r], left.size[r], d[r * (n + 1)], b[r * s->row]);
        narrow[r] = narrowed(left.y[r]);
    }
}

/* ---- members ---- */

KERNEL_PART void judge_member(const trifold_args* args, integer member, integer round) {
    const trifold_status* status = (const trifold_status*)workspace_at(args, OFFSET_STATUS) + member;
    trifold_refined* result = (trifold_refined*)workspace_at(args, OFFSET_REFINED) + member;
    *running_of(args, member) =
        judge(result, progress_of(args, member), worst_error(args, member), round, args->first_column, status->block < 0);
}

KERNEL_PART void correct_column(const trifold_args* args, integer member, integer block, integer column) {
    double* x = doubles_at(args, OFFSET_SOLUTION, column_index(args, member, block, column));
    const float* correction = floats_at(args, OFFSET_NARROW_X, column_index(args, member, block, column));
    for (integer r = 0; r < n; ++r) x[r] += (double)correction[r];
}

KERNEL_PART void deliver_column(const trifold_args* args, integer member, integer block, integer column) {
    const double* from = doubles_at(args, OFFSET_SOLUTION, column_index(args, member, block, column));
    const trifold_strides* s = &args->x_strides;
    double* x = (double*)args->x + member * s->member + block * s->stage + column * s->column;
    const int given_up = *progress_of(args, member) < 0;
    for (integer r = 0; r < n; ++r) x[r * s->row] = given_up ? __builtin_nan("") : from[r];
}

/* ---- entry points ---- */

INLINE int is_running(const trifold_args* args, integer member, integer round) {
    return is_active(args, member) && (round == 0 || *running_of(args, member));
}

/* The kernels that factor skip members that do not run. */
INLINE void narrow_block(const trifold_args* args, integer member, integer block) {
    if (block == 0) *running_of(args, member) = is_active(args, member);
    if (!is_active(args, member)) return;
    narrow_diagonal(args, member, block);
    if (block + 1 < HORIZON) narrow_coupling(args, member, block);
}
#ifdef TRIFOLD_KERNEL_NARROW
BLOCK_KERNEL(TRIFOLD_KERNEL_NARROW, narrow_block(args, member, block))
#endif

INLINE void take_residuals(const trifold_args* args, integer member, integer block, integer round) {
    if (!is_running(args, member, round)) return;
    for (integer column = 0; column < columns_of(args); ++column) take_residual(args, member, block, column, round);
}
#ifdef TRIFOLD_KERNEL_RESIDUAL
BLOCK_KERNEL(TRIFOLD_KERNEL_RESIDUAL, take_residuals(args, member, block, refinement->round))
#endif

INLINE void correct_block(const trifold_args* args, integer member, integer block) {
    if (!is_active(args, member) || !*running_of(args, member)) return;
    for (integer column = 0; column < columns_of(args); ++column) correct_column(args, member, block, column);
}
#ifdef TRIFOLD_KERNEL_CORRECT
BLOCK_KERNEL(TRIFOLD_KERNEL_CORRECT, correct_block(args, member, block))
#endif

INLINE void deliver_block(const trifold_args* args, integer member, integer block) {
    for (integer column = 0; column < columns_of(args) && is_active(args, member); ++column) deliver_column(args, member, block, column);
}
#ifdef TRIFOLD_KERNEL_DELIVER
BLOCK_KERNEL(TRIFOLD_KERNEL_DELIVER, deliver_block(args, member, block))
#endif

#ifdef TRIFOLD_KERNEL_JUDGE
KERNEL TRIFOLD_KERNEL_JUDGE(const trifold_args* args, const trifold_refinement* refinement, trifold_int first_task, trifold_int last_task,
                            void* scratch) {
    (void)scratch;
    for (integer member = first_task; member < last_task; ++member) {
        if (is_running(args, member, refinement->round))
            judge_member(args, member, refinement->round);
        else
            *running_of(args, member) = 0;
    }
}
#endif
