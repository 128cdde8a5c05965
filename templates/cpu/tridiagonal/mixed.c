/* Mixed precision: what stands around the kernels that factor and sweep in single precision. Tasks are blocks of members, or members. */
#include "cpu/tridiagonal/mixed_constants.c"
#include "cpu/tridiagonal/common.c"
#include "mixed.h"

typedef double doubles __attribute__((vector_size(32), aligned(8), may_alias));
enum { WIDE = 4, AREA_OF_BLOCK = n * n };

_Static_assert(REAL_BYTES == 4, "the kernels factor in single precision");

INLINE double* doubles_at(const trifold_args* args, integer offset, integer index) { return (double*)workspace_at(args, offset) + index; }
INLINE float* floats_at(const trifold_args* args, integer offset, integer index) { return (float*)workspace_at(args, offset) + index; }
INLINE integer coupling_index(integer member, integer block) { return member * (HORIZON - 1) + block; }
/* Of column `column` of a block of right-hand sides, which stand column by column. */
INLINE integer column_index(integer member, integer block, integer column) { return (front_index(member, block) * MOST_COLUMNS + column) * n; }
INLINE int* running_of(const trifold_args* args, integer member) { return (int*)workspace_at(args, OFFSET_RUNNING) + member; }
INLINE double* progress_of(const trifold_args* args, integer member) { return doubles_at(args, OFFSET_PROGRESS, member); }

INLINE double magnitude(double x) { return __builtin_fabs(x); }

/* In single precision, infinity beyond its range. Only what fits is converted, so that nothing overflows. */
INLINE float narrowed(double x) {
    const double largest = 3.40282346638528859811704183484516925e+38, within = magnitude(x) <= largest ? x : 0;
    return within == x ? (float)within : x > 0 ? __builtin_inff() : x < 0 ? -__builtin_inff() : __builtin_nanf("");
}

/* ---- copies ---- */

INLINE double caller_coupling(const trifold_args* args, integer member, integer block, integer r, integer c) {
    return ((const double*)args->e)[member * CALLER_E_MEMBER + block * CALLER_E_STAGE + r * CALLER_E_ROW +
                                    c * CALLER_E_COLUMN];
}

/* D whole, with what is added to its diagonal. */
KERNEL_PART void narrow_diagonal(const trifold_args* args, integer member, integer block) {
    const integer at = front_index(member, block) * AREA_OF_BLOCK;
    const double* d = (const double*)args->d + member * CALLER_D_MEMBER + block * CALLER_D_STAGE;
    double* wide = doubles_at(args, OFFSET_WIDE_D, at);
    float* narrow = floats_at(args, OFFSET_NARROW_D, at);
    for (integer r = 0; r < n; ++r) {
        for (integer c = 0; c <= r; ++c) {
            double value = d[r * CALLER_D_ROW + c * CALLER_D_COLUMN];
            if (c == r && args->diagonal) value += ((const double*)args->diagonal)[front_index(member, block) * n + r];
            if (c == r && args->shift) value += ((const double*)args->shift)[member];
            wide[r * n + c] = wide[c * n + r] = value;
            narrow[r * n + c] = narrow[c * n + r] = narrowed(value);
        }
    }
}

KERNEL_PART void narrow_coupling(const trifold_args* args, integer member, integer block) {
    const integer at = coupling_index(member, block) * AREA_OF_BLOCK;
    double* wide = doubles_at(args, OFFSET_WIDE_E, at);
    float* narrow = floats_at(args, OFFSET_NARROW_E, at);
    for (integer r = 0; r < n; ++r) {
        for (integer c = 0; c < n; ++c) {
            wide[r * n + c] = caller_coupling(args, member, block, r, c);
            narrow[r * n + c] = narrowed(wide[r * n + c]);
        }
    }
}

KERNEL_PART void sum_rows(const trifold_args* args, integer member, integer block) {
    const double* d = doubles_at(args, OFFSET_WIDE_D, front_index(member, block) * AREA_OF_BLOCK);
    double largest = 0;
    for (integer r = 0; r < n; ++r) {
        double sum = 0;
        for (integer c = 0; c < n; ++c) {
            sum += magnitude(d[r * n + c]);
            if (block > 0) sum += magnitude(caller_coupling(args, member, block - 1, r, c));
            if (block + 1 < HORIZON) sum += magnitude(caller_coupling(args, member, block, c, r));
        }
        raise(&largest, sum);
    }
    *doubles_at(args, OFFSET_ROW_SUM, front_index(member, block)) = largest;
}

/* ---- residuals ---- */

/* y -= x a, over a row. */
INLINE void subtract_row(double* y, const double* a, double x) {
    integer c = 0;
    for (; c + WIDE <= n; c += WIDE) *(doubles*)(y + c) -= *(const doubles*)(a + c) * x;
    for (; c < n; ++c) y[c] -= a[c] * x;
}

INLINE double dot(const double* a, const double* x) {
    doubles sums = {};
    double sum = 0;
    integer c = 0;
    for (; c + WIDE <= n; c += WIDE) sums += *(const doubles*)(a + c) * *(const doubles*)(x + c);
    for (; c < n; ++c) sum += a[c] * x[c];
    return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* y -= (A x)(block); x is the member's solution, in column `column`. */
KERNEL_PART void subtract_a_times_x(const trifold_args* args, integer member, integer block, integer column, double* y) {
    const double* x = doubles_at(args, OFFSET_SOLUTION, column_index(member, block, column));
    const integer next = (integer)n * MOST_COLUMNS;
    const double* d = doubles_at(args, OFFSET_WIDE_D, front_index(member, block) * AREA_OF_BLOCK);
    const double* e = doubles_at(args, OFFSET_WIDE_E, coupling_index(member, block) * AREA_OF_BLOCK);
    for (integer c = 0; c < n; ++c) subtract_row(y, d + c * n, x[c]); /* D is symmetric */
    for (integer c = 0; c < n && block + 1 < HORIZON; ++c) subtract_row(y, e + c * n, x[next + c]);
    for (integer r = 0; r < n && block > 0; ++r) y[r] -= dot(e - AREA_OF_BLOCK + r * n, x - next);
}

/* b - A x in one column of a block, to single precision, and the largest entries of it, x and b. The first round's x is zero. */
KERNEL_PART void take_residual(const trifold_args* args, integer member, integer block, integer column, integer round) {
    const trifold_strides* s = &args->b_strides;
    const double* b = (const double*)args->b + member * s->member + block * s->stage + column * s->column;
    double* x = doubles_at(args, OFFSET_SOLUTION, column_index(member, block, column));
    float* narrow = floats_at(args, OFFSET_NARROW_X, column_index(member, block, column));
    double* norms = doubles_at(args, OFFSET_NORMS, (front_index(member, block) * MOST_COLUMNS + column) * 3);
    double y[n];
    norms[0] = norms[1] = norms[2] = 0;
    for (integer r = 0; r < n; ++r) {
        y[r] = b[r * s->row];
        raise(&norms[2], magnitude(y[r]));
        if (round == 0) x[r] = 0;
        raise(&norms[1], magnitude(x[r]));
    }
    if (round > 0) subtract_a_times_x(args, member, block, column, y);
    for (integer r = 0; r < n; ++r) {
        raise(&norms[0], magnitude(y[r]));
        narrow[r] = narrowed(y[r]);
    }
}

/* ---- members ---- */

KERNEL_PART void judge_member(const trifold_args* args, integer member, integer round) {
    double a = 0, worst = 0;
    for (integer block = 0; block < HORIZON; ++block) raise(&a, *doubles_at(args, OFFSET_ROW_SUM, front_index(member, block)));
    for (integer column = 0; column < columns_of(args); ++column) {
        double largest[3] = {0, 0, 0};
        for (integer block = 0; block < HORIZON; ++block) {
            const double* norms = doubles_at(args, OFFSET_NORMS, (front_index(member, block) * MOST_COLUMNS + column) * 3);
            for (int k = 0; k < 3; ++k) raise(&largest[k], norms[k]);
        }
        raise(&worst, backward_error(largest[0], a, largest[1], largest[2]));
    }
    const trifold_status* status = (const trifold_status*)workspace_at(args, OFFSET_STATUS) + member;
    trifold_refined* result = (trifold_refined*)workspace_at(args, OFFSET_REFINED) + member;
    *running_of(args, member) = judge(result, progress_of(args, member), worst, round, args->first_column, status->block < 0);
}

KERNEL_PART void correct_column(const trifold_args* args, integer member, integer block, integer column) {
    double* x = doubles_at(args, OFFSET_SOLUTION, column_index(member, block, column));
    const float* correction = floats_at(args, OFFSET_NARROW_X, column_index(member, block, column));
    for (integer r = 0; r < n; ++r) x[r] += (double)correction[r];
}

KERNEL_PART void deliver_column(const trifold_args* args, integer member, integer block, integer column) {
    const double* from = doubles_at(args, OFFSET_SOLUTION, column_index(member, block, column));
    const trifold_strides* s = &args->x_strides;
    double* x = (double*)args->x + member * s->member + block * s->stage + column * s->column;
    const int given_up = *progress_of(args, member) < 0;
    for (integer r = 0; r < n; ++r) x[r * s->row] = given_up ? __builtin_nan("") : from[r];
}

/* ---- entry points ---- */

/* Launches of refinement have no level; its index is their round. */
INLINE integer round_of(const trifold_level* level) { return level->index; }

INLINE int is_running(const trifold_args* args, integer member, integer round) {
    return is_active(args, member) && (round == 0 || *running_of(args, member));
}

#define BLOCK_KERNEL(NAME, CALL)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const integer member = task / HORIZON, block = task % HORIZON;                                            \
            CALL;                                                                                                                     \
        }                                                                                                                             \
        (void)level, (void)scratch;                                                                                                   \
    }

/* The kernels that factor skip members that do not run. */
INLINE void narrow_block(const trifold_args* args, integer member, integer block) {
    if (block == 0) *running_of(args, member) = is_active(args, member);
    if (!is_active(args, member)) return;
    narrow_diagonal(args, member, block);
    if (block + 1 < HORIZON) narrow_coupling(args, member, block);
    sum_rows(args, member, block);
}
#ifdef TRIFOLD_KERNEL_NARROW
BLOCK_KERNEL(TRIFOLD_KERNEL_NARROW, narrow_block(args, member, block))
#endif

INLINE void take_residuals(const trifold_args* args, integer member, integer block, integer round) {
    if (!is_running(args, member, round)) return;
    for (integer column = 0; column < columns_of(args); ++column) take_residual(args, member, block, column, round);
}
#ifdef TRIFOLD_KERNEL_RESIDUAL
BLOCK_KERNEL(TRIFOLD_KERNEL_RESIDUAL, take_residuals(args, member, block, round_of(level)))
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
KERNEL TRIFOLD_KERNEL_JUDGE(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) {
    (void)scratch;
    for (integer member = first_task; member < last_task; ++member) {
        if (is_running(args, member, round_of(level)))
            judge_member(args, member, round_of(level));
        else
            *running_of(args, member) = 0;
    }
}
#endif
