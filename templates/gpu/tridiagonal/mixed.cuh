/* Mixed precision: the kernels around those that factor and sweep in single precision. Matrices in the workspace are row-major; right-hand
 * sides and the solution are stored column by column. */
#include "gpu/tridiagonal/mixed_constants.cuh"
#include "gpu/tridiagonal/residual.cuh"

namespace mixed {

constexpr trifold_int area = static_cast<trifold_int>(block_size) * block_size;

static_assert(sizeof(real) == 4, "the kernels factor in single precision");

TRIFOLD_DEVICE trifold_int coupling_index(const trifold_args& args, trifold_int member, trifold_int block) {
    return member * (horizon_of(args) - 1) + block;
}
TRIFOLD_DEVICE trifold_int column_index(const trifold_args& args, trifold_int member, trifold_int block, int column) {
    return (block_index(args, member, block) * max_columns + column) * block_size;
}
TRIFOLD_DEVICE int& running_of(const trifold_args& args, trifold_int member) {
    return buffer<int>(args, MixedOffset::running(args))[member];
}
TRIFOLD_DEVICE double& progress_of(const trifold_args& args, trifold_int member) {
    return buffer<double>(args, MixedOffset::progress(args))[member];
}
TRIFOLD_DEVICE bool is_running(const trifold_args& args, trifold_int member, trifold_int round) {
    return is_active(args, member) && (round == 0 || running_of(args, member) != 0);
}
/* ---- copies ---- */

TRIFOLD_DEVICE double caller_diagonal(const trifold_args& args, trifold_int member, trifold_int block, int r, int c) {
    const double* d = global_pointer(static_cast<const double*>(args.d)) + member * CallerD::member(args) + block * CallerD::stage;
    const int row = r > c ? r : c, column = r > c ? c : r;
    double value = d[row * CallerD::row + column * CallerD::column];
    if (r == c && args.diagonal != nullptr)
        value += global_pointer(static_cast<const double*>(args.diagonal))[block_index(args, member, block) * block_size + r];
    if (r == c && args.shift != nullptr) value += global_pointer(static_cast<const double*>(args.shift))[member];
    return value;
}

TRIFOLD_DEVICE double caller_coupling(const trifold_args& args, trifold_int member, trifold_int block, int r, int c) {
    return global_pointer(static_cast<const double*>(
        args.e))[member * CallerE::member(args) + block * CallerE::stage + r * CallerE::row + c * CallerE::column];
}

/* A part's rows of D, with the terms that are added to its diagonal, and of E. */
TRIFOLD_DEVICE void narrow_rows(const trifold_args& args, trifold_int member, const Row& at) {
    const int rows = rows_of(at);
    const trifold_int d = block_index(args, member, at.block) * area, e = coupling_index(args, member, at.block) * area;
    for (int k = at.row - at.first; k < rows * block_size; k += rows) {
        const int r = at.first + k / block_size, c = k % block_size, element = r * block_size + c;
        const double diagonal = caller_diagonal(args, member, at.block, r, c);
        buffer<double>(args, MixedOffset::wide_d(args))[d + element] = diagonal;
        buffer<float>(args, MixedOffset::narrow_d(args))[d + element] = static_cast<float>(diagonal);
        if (at.block + 1 == horizon_of(args)) continue;
        const double coupling = caller_coupling(args, member, at.block, r, c);
        buffer<double>(args, MixedOffset::wide_e(args))[e + element] = coupling;
        buffer<float>(args, MixedOffset::narrow_e(args))[e + element] = static_cast<float>(coupling);
    }
}

/* ---- residuals ---- */

/* Subtracts (A x) of a row, in one column. D is symmetric, and is read by columns, so that neighbouring threads read neighbours in memory.
 */
TRIFOLD_DEVICE void subtract_a_times_x(Residual& residual, const trifold_args& args, trifold_int member, const Row& at, int column) {
    const double* x = buffer<double>(args, MixedOffset::solution(args)) + column_index(args, member, at.block, column);
    const trifold_int neighbour = static_cast<trifold_int>(block_size) * max_columns;
    const double* d = buffer<double>(args, MixedOffset::wide_d(args)) + block_index(args, member, at.block) * area;
    const double* e = buffer<double>(args, MixedOffset::wide_e(args)) + coupling_index(args, member, at.block) * area;
#pragma unroll 4
    for (int c = 0; c < block_size; ++c) residual.subtract(d[c * block_size + at.row], x[c]);
    if (at.block + 1 < horizon_of(args)) {
#pragma unroll 4
        for (int c = 0; c < block_size; ++c) residual.subtract(e[c * block_size + at.row], x[neighbour + c]);
    }
    if (at.block > 0) {
#pragma unroll 4
        for (int c = 0; c < block_size; ++c) residual.subtract(e[at.row * block_size + c - area], x[c - neighbour]);
    }
}

/* b - A x in one column, to single precision, and its errors. The first round's x is zero. */
TRIFOLD_DEVICE void take_residual(const trifold_args& args, trifold_int member, const Row& at, int column, trifold_int round) {
    double errors[ERRORS] = {};
    if (at.exists) {
        const trifold_int index = column_index(args, member, at.block, column) + at.row;
        const double b = global_pointer(static_cast<const double*>(args.b))[rhs_at(args.b_strides, member, at.block, at.row, column)];
        Residual residual{b, magnitude(b)};
        if (round == 0)
            buffer<double>(args, MixedOffset::solution(args))[index] = 0;
        else
            subtract_a_times_x(residual, args, member, at, column);
        buffer<float>(args, MixedOffset::narrow_x(args))[index] = static_cast<float>(residual.value);
        const double entry =
            buffer<double>(args, MixedOffset::wide_d(args))[block_index(args, member, at.block) * area + at.row * (block_size + 1)];
        add_row(errors, residual.value, residual.size, entry, b);
    }
    store_errors(args, member, at, column, errors);
}

/* ---- members ---- */

TRIFOLD_DEVICE void judge_member(const trifold_args& args, trifold_int member, trifold_int round) {
    const double worst = worst_error(args, member);
    if (thread_index() != 0) return;
    const bool factored = buffer<trifold_status>(args, Offset::status(args))[member].block < 0;
    running_of(args, member) = judge(buffer<trifold_refined>(args, MixedOffset::refined(args)) + member, &progress_of(args, member), worst,
                                     round, args.first_column, factored);
}

/* ---- entry points. Grid: parts, or one, by groups of members ---- */

#ifdef TRIFOLD_KERNEL_NARROW
/* The kernels that factor skip members that do not run. */
TRIFOLD_KERNEL(mixed_threads, 4) void TRIFOLD_KERNEL_NARROW(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        if (group_x() == 0 && thread_index() == 0) running_of(args, member) = is_active(args, member) ? 1 : 0;
        if (at.exists && is_active(args, member)) narrow_rows(args, member, at);
    });
}
#endif

#ifdef TRIFOLD_KERNEL_RESIDUAL
TRIFOLD_KERNEL(mixed_threads, 4)
void TRIFOLD_KERNEL_RESIDUAL(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        if (!is_running(args, member, refinement.round)) return;
        for (int column = 0; column < args.columns; ++column) take_residual(args, member, at, column, refinement.round);
    });
}

TRIFOLD_KERNEL(mixed_threads, 4)
void TRIFOLD_KERNEL_JUDGE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement refinement) {
    each_of_group(args, [&](trifold_int member) {
        if (is_running(args, member, refinement.round))
            judge_member(args, member, refinement.round);
        else if (refinement.round == 0 && thread_index() == 0)
            running_of(args, member) = 0;
    });
}

TRIFOLD_KERNEL(mixed_threads, 4) void TRIFOLD_KERNEL_CORRECT(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        if (!at.exists || !is_active(args, member) || running_of(args, member) == 0) return;
        for (int column = 0; column < args.columns; ++column) {
            const trifold_int index = column_index(args, member, at.block, column) + at.row;
            buffer<double>(args, MixedOffset::solution(args))[index] +=
                static_cast<double>(buffer<float>(args, MixedOffset::narrow_x(args))[index]);
        }
    });
}

TRIFOLD_KERNEL(mixed_threads, 4) void TRIFOLD_KERNEL_DELIVER(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_refinement) {
    const Row at = find_row(args);
    each_of_group(args, [&](trifold_int member) {
        if (!at.exists || !is_active(args, member)) return;
        const bool given_up = progress_of(args, member) < 0;
        for (int column = 0; column < args.columns; ++column) {
            const double solution =
                buffer<double>(args, MixedOffset::solution(args))[column_index(args, member, at.block, column) + at.row];
            double* x = global_pointer(static_cast<double*>(args.x)) + rhs_at(args.x_strides, member, at.block, at.row, column);
            *x = given_up ? not_a_number() : solution;
        }
    });
}
#endif

}  // namespace mixed
