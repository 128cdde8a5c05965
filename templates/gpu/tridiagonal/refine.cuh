/* Refinement: x += A^-1 (b - A x) around the kernels that sweep, by A as the caller has it. Residuals stand in the workspace, as right-hand
 * sides of the caller's blocks, column by column; the corrections take their places. */
#include "gpu/tridiagonal/residual.cuh"
#include "gpu/tridiagonal/input.cuh"

namespace mixed {

TRIFOLD_DEVICE trifold_strides correction_strides(const trifold_args& args) {
    constexpr trifold_int n = block_size;
    const trifold_int rows = horizon_of(args) * n - (has_tail ? n - tail : 0);
    return {1, n / bandwidth, n * max_columns, rows * max_columns};
}
TRIFOLD_DEVICE real* correction_of(const trifold_args& args, trifold_int member, const Row& at, int column) {
    return buffer<real>(args, VectorOffset::narrow_x(args)) + rhs_at(correction_strides(args), member, at.block, at.row, column);
}

/* Rows of a block that are those of A; none beyond the member's length. */
TRIFOLD_DEVICE int rows_there(const trifold_args& args, trifold_int member, trifold_int block) {
    return block < blocks_of(args, member) ? ::rows_of(args, member, block) : 0;
}

/* Subtracts the product of a block's entries in the row and x. */
template <class Entry>
TRIFOLD_DEVICE void subtract_block(Residual& residual, const trifold_args& args, trifold_int member, trifold_int block, int column,
                                   const Entry& entry) {
    const int rows = rows_there(args, member, block);
    const real* x = global_pointer(static_cast<const real*>(args.x));
#pragma unroll 4
    for (int c = 0; c < rows; ++c) residual.subtract(entry(c), static_cast<double>(x[rhs_at(args.x_strides, member, block, c, column)]));
}

/* Subtracts (A x) of a row, in one column. */
TRIFOLD_DEVICE void subtract_a_times_x(Residual& residual, const trifold_args& args, trifold_int member, const Row& at, int column) {
    const trifold_int end = blocks_of(args, member);
    const Given own = given_diagonal(args, member, at.block);
    subtract_block(residual, args, member, at.block, column, [&](int c) {
        const bool is_lower = is_general || at.row > c;
        const double entry = static_cast<double>(own.value(is_lower ? at.row : c, is_lower ? c : at.row));
        return c == at.row ? entry + static_cast<double>(diagonal_term(args, member, at.block, c)) : entry;
    });
    if (is_ring || at.block + 1 < end) {
        Given ahead = given_coupling(args, member, at.block);
        if (is_general) ahead.e = U_OF(args, member, at.block);
        subtract_block(residual, args, member, at.block + 1 < end ? at.block + 1 : 0, column,
                       [&](int c) { return static_cast<double>(is_general ? ahead.value(at.row, c) : ahead.value(c, at.row)); });
    }
    if (is_ring || at.block > 0) {
        const trifold_int before = at.block > 0 ? at.block - 1 : end - 1;
        const Given behind = given_coupling(args, member, before);
        subtract_block(residual, args, member, before, column, [&](int c) { return static_cast<double>(behind.value(at.row, c)); });
    }
}

/* b - A x in one column, zero in rows that are not there, and its errors. */
TRIFOLD_DEVICE void take_residual(const trifold_args& args, trifold_int member, const Row& at, int column) {
    double errors[ERRORS] = {};
    const bool is_stored = at.exists && at.row < stored_rows(args, at.block);
    if (is_stored && at.row < rows_there(args, member, at.block)) {
        const double b =
            static_cast<double>(global_pointer(static_cast<const real*>(args.b))[rhs_at(args.b_strides, member, at.block, at.row, column)]);
        Residual residual{b, magnitude(b)};
        subtract_a_times_x(residual, args, member, at, column);
        *correction_of(args, member, at, column) = static_cast<real>(residual.value);
        add_row(errors, residual.value, residual.size, given_entry(args, member, at.block, at.row), b);
    } else if (is_stored) {
        *correction_of(args, member, at, column) = 0;
    }
    store_errors(args, member, at, column, errors);
}

TRIFOLD_KERNEL(mixed_threads, 4)
void TRIFOLD_KERNEL_RESIDUAL(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        for (int column = 0; column < args.columns && is_active(args, member); ++column) take_residual(args, member, at, column);
    });
}

TRIFOLD_KERNEL(mixed_threads, 4) void TRIFOLD_KERNEL_CORRECT(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        if (!at.exists || !is_active(args, member) || at.row >= rows_there(args, member, at.block)) return;
        for (int column = 0; column < args.columns; ++column)
            global_pointer(static_cast<real*>(args.x))[rhs_at(args.x_strides, member, at.block, at.row, column)] +=
                *correction_of(args, member, at, column);
    });
}

TRIFOLD_KERNEL(mixed_threads, 4) void TRIFOLD_KERNEL_JUDGE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    each_of_group(args, [&](trifold_int member) {
        const bool active = is_active(args, member), factored = buffer<trifold_status>(args, Offset::status(args))[member].block < 0;
        const double error = !active ? 0 : worst_error(args, member);
        if (thread_index() == 0)
            report_step(buffer<trifold_refined>(args, VectorOffset::refined(args)), batch_of(args), member, active ? 1 : 0,
                        factored || !active ? error : not_a_number(), args.first_column);
    });
}

}  // namespace mixed
