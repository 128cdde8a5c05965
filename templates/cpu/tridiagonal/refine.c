/* Refinement: x += A^-1 (b - A x) around the kernels that sweep, by A as the caller has it. Residuals stand in the workspace, as right-hand
 * sides of the caller's blocks, column by column; the corrections take their places. */
#include "cpu/tridiagonal/residual.c"

INLINE trifold_strides correction_strides(const trifold_args* args) {
    return (trifold_strides){1, n / BANDWIDTH, (integer)n * MOST_COLUMNS, ((HORIZON - 1) * n + TAIL_ROWS) * MOST_COLUMNS};
}
/* A block's rows of a correction in one column, from their first. */
INLINE real* correction_of(const trifold_args* args, const trifold_strides* s, integer member, integer block, integer column) {
    return (real*)workspace_at(args, OFFSET_NARROW_X) + member * s->member + block * s->stage + column * s->column;
}

INLINE integer length_of(const trifold_args* args, integer member) { return HAS_LENGTHS ? lengths_of(args)[member] : HORIZON; }
/* Rows of a block that are those of A; none beyond the member's length. */
INLINE integer rows_there(const trifold_args* args, integer member, integer block) {
    return block < length_of(args, member) ? rows_of(args, member, block) : 0;
}

/* Element (r, c) of a block of D, of which a general matrix alone has all, or, `ahead`, of the coupling A(block + 1, block), or of the
 * coupling A(block, block + 1) of a general matrix. */
enum { BELOW = 1, ABOVE = 2 };
INLINE double entry_of(const trifold_args* args, integer member, integer block, int ahead, integer r, integer c) {
    if (IS_GENERAL && ahead == ABOVE)
        return ((const real*)args->inverse_coupling)[member * E_MEMBER + block * E_STAGE + r * E_ROW + c * E_COLUMN];
    if (BANDWIDTH == 1)
        return ahead ? e_of(args, member, block)[r * E_ROW + c * E_COLUMN] : d_of(args, member, block)[r * D_ROW + c * D_COLUMN];
    const integer m = n / BANDWIDTH;
    const given at = given_block(args, member, block, ahead, r / m, c / m);
    return at.first ? at.first[r % m * at.row + c % m * at.column] : 0;
}

/* x in the rows of a block that are there. */
INLINE void load_x(const trifold_args* args, integer member, integer block, integer column, double* to) {
    const real* x = x_of(args, member, block) + column * args->x_strides.column;
    for (integer r = 0; r < rows_there(args, member, block); ++r) to[r] = x[row_at(&args->x_strides, r)];
}

/* y -= (A x)(block) in one column. */
KERNEL_PART void subtract_a_times_x(const trifold_args* args, integer member, integer block, integer column, residual* to) {
    const integer rows = rows_there(args, member, block), end = length_of(args, member);
    double a[n], x[n];
    load_x(args, member, block, column, x);
    for (integer r = 0; r < rows; ++r) {
        const integer count = IS_GENERAL ? rows : r + 1;
        for (integer c = 0; c < count; ++c) a[c] = entry_of(args, member, block, 0, r, c);
        a[r] += diagonal_term(args, member, block, r);
        subtract_dot(to, r, a, x, count);
        if (!IS_GENERAL) subtract_row(to, a, x[r], r); /* above the diagonal */
    }
    if (IS_RING || block + 1 < end) {
        const integer next = block + 1 < end ? block + 1 : 0, others = rows_there(args, member, next);
        load_x(args, member, next, column, x);
        for (integer r = 0; !IS_GENERAL && r < others; ++r) {
            for (integer c = 0; c < rows; ++c) a[c] = entry_of(args, member, block, BELOW, r, c);
            subtract_row(to, a, x[r], rows);
        }
        for (integer r = 0; IS_GENERAL && r < rows; ++r) {
            for (integer c = 0; c < others; ++c) a[c] = entry_of(args, member, block, ABOVE, r, c);
            subtract_dot(to, r, a, x, others);
        }
    }
    if (IS_RING || block > 0) {
        const integer behind = block > 0 ? block - 1 : end - 1, others = rows_there(args, member, behind);
        load_x(args, member, behind, column, x);
        for (integer r = 0; r < rows; ++r) {
            for (integer c = 0; c < others; ++c) a[c] = entry_of(args, member, behind, BELOW, r, c);
            subtract_dot(to, r, a, x, others);
        }
    }
}

/* b - A x in one column of a block, zero in rows that are not there, and its errors. */
KERNEL_PART void take_residual(const trifold_args* args, integer member, integer block, integer column) {
    const trifold_strides s = correction_strides(args);
    const integer rows = rows_there(args, member, block);
    const real* b = b_of(args, member, block) + column * args->b_strides.column;
    real* correction = correction_of(args, &s, member, block, column);
    double* errors = errors_of(args, member, block, column);
    residual left;
    for (integer r = 0; r < rows; ++r) {
        left.y[r] = b[row_at(&args->b_strides, r)];
        left.size[r] = magnitude(left.y[r]);
    }
    subtract_a_times_x(args, member, block, column, &left);
    for (int k = 0; k < ERRORS; ++k) errors[k] = 0;
    for (integer r = 0; r < stored_rows(args, block); ++r) {
        correction[row_at(&s, r)] = r < rows ? narrowed(left.y[r]) : 0;
        if (r < rows) add_row(errors, left.y[r], left.size[r], entry_of(args, member, block, 0, r, r), b[row_at(&args->b_strides, r)]);
    }
}
INLINE void take_residuals(const trifold_args* args, integer member, integer block) {
    for (integer column = 0; column < columns_of(args) && is_active(args, member); ++column) take_residual(args, member, block, column);
}
BLOCK_KERNEL(TRIFOLD_KERNEL_RESIDUAL, take_residuals(args, member, block))

INLINE void correct_block(const trifold_args* args, integer member, integer block) {
    const trifold_strides s = correction_strides(args);
    for (integer column = 0; column < columns_of(args) && is_active(args, member); ++column) {
        const real* correction = correction_of(args, &s, member, block, column);
        real* x = x_of(args, member, block) + column * args->x_strides.column;
        for (integer r = 0; r < rows_there(args, member, block); ++r) x[row_at(&args->x_strides, r)] += correction[row_at(&s, r)];
    }
}
BLOCK_KERNEL(TRIFOLD_KERNEL_CORRECT, correct_block(args, member, block))

KERNEL TRIFOLD_KERNEL_JUDGE(const trifold_args* args, const trifold_refinement* refinement, trifold_int first_task, trifold_int last_task,
                            void* scratch) {
    for (integer member = first_task; member < last_task; ++member) {
        const int active = is_active(args, member);
        const trifold_status* status = (const trifold_status*)workspace_at(args, OFFSET_STATUS) + member;
        const double error = !active ? 0 : status->block >= 0 ? __builtin_nan("") : worst_error(args, member);
        report_step((trifold_refined*)workspace_at(args, OFFSET_REFINED), MEMBERS, member, active, error, args->first_column);
    }
    (void)refinement, (void)scratch;
}
