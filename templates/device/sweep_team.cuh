/* Sweeps by teams: a lane has a row of [L; R] on the way forward, a column of L or of R on the way back. */
constexpr int block_leading = padded + vector_width;

struct SweepShared {
    struct {
        alignas(16) real factor[padded * block_leading], next[padded * block_leading]; /* column-major */
        alignas(16) real b[riders * padded];
    } stage[2]; /* of a block and the one after it on the way */
    alignas(16) real solved[riders * padded];
    alignas(16) real carried[riders * padded]; /* what the next block subtracts */
};
static_assert(sizeof(SweepShared) * teams == TRIFOLD_SHARED_SWEEP, "host and device disagree");

/* The order of a sweep's blocks: the number-th of them, or none. */
template <bool Forward>
TRIFOLD_DEVICE trifold_int block_number(trifold_int number) {
    if (number >= TRIFOLD_HORIZON) return -1;
    return Forward ? number : TRIFOLD_HORIZON - 1 - number;
}

template <bool Forward>
TRIFOLD_DEVICE void fetch_factors(SweepShared& shared, const trifold_args& args, const Member& member, trifold_int number, Columns columns) {
    const trifold_int block = block_number<Forward>(number);
    if (member.exists && block >= 0) {
        auto& to = shared.stage[number % 2];
        const real* factor = factor_of(args, member.index, block);
        const real* next = next_of(args, member.index, block);
        constexpr int vectors = padded / vector_width;
#pragma unroll 2
        for (int e = team_lane(); e < vectors * padded; e += team) {
            const int at = e % vectors * vector_width + e / vectors * block_leading;
            copy_async(to.factor + at, factor + e * vector_width);
            copy_async(to.next + at, next + e * vector_width);
        }
        fetch_columns(to.b, args.b, args.b_strides, member, block, columns);
    }
    end_copies();
}

/* Rows of [L; R], or columns of L and of R. */
template <bool Forward>
TRIFOLD_DEVICE void load_lines(real (&a)[row_sets][padded], const SweepShared& shared, trifold_int number) {
    const auto& stage = shared.stage[number % 2];
#pragma unroll
    for (int s = 0; s < row_sets; ++s) {
        const int row = row_of(s), line = row < padded ? row : row < panel_rows ? row - padded : 0;
        const real* from = (row < padded ? stage.factor : stage.next) + (Forward ? line : line * block_leading);
#pragma unroll
        for (int k = 0; k < padded; ++k) a[s][k] = from[Forward ? k * block_leading : k];
    }
}

/* Substitution: lanes of the pivot's rows turn y into the solution; those of R, on the way forward, into -R y. */
template <bool Forward>
TRIFOLD_DEVICE void substitute(const real (&a)[row_sets][padded], real (&y)[row_sets][riders]) {
#pragma unroll
    for (int step = 0; step < padded; ++step) {
        const int j = Forward ? step : padded - 1 - step;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            real own[row_sets];
#pragma unroll
            for (int s = 0; s < row_sets; ++s) own[s] = y[s][c] * a[s][j];
            const real solved = value_of_row(own, j);
#pragma unroll
            for (int s = 0; s < row_sets; ++s) {
                const int row = row_of(s);
                const bool after = Forward ? row > j : row < j;
                y[s][c] = row == j ? solved : after ? y[s][c] - a[s][j] * solved : y[s][c];
            }
        }
    }
}

/* On the way back: R' x of the block before it on the way, to where the pivot's rows find it. */
TRIFOLD_DEVICE void carry_back(const real (&a)[row_sets][padded], SweepShared& shared) {
#pragma unroll
    for (int s = 0; s < row_sets; ++s) {
        const int row = row_of(s);
        if (row < padded || row >= panel_rows) continue;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            real sum[2] = {};
#pragma unroll
            for (int k = 0; k < padded; ++k) sum[k % 2] += a[s][k] * shared.solved[c * padded + k];
            shared.carried[c * padded + row - padded] = -(sum[0] + sum[1]);
        }
    }
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_columns(SweepShared& shared, const trifold_args& args, const Member& member, Columns columns) {
    double squares[riders] = {};
    fetch_factors<Forward>(shared, args, member, 0, columns);
    fetch_factors<Forward>(shared, args, member, 1, columns);
#pragma unroll 1
    for (trifold_int number = 0; number < TRIFOLD_HORIZON; ++number) {
        const trifold_int block = block_number<Forward>(number);
        wait_copies<1>();
        warp_sync();
        real a[row_sets][padded], y[row_sets][riders];
        load_lines<Forward>(a, shared, number);
        if (!Forward && number > 0) {
            carry_back(a, shared);
            warp_sync();
        }
#pragma unroll
        for (int s = 0; s < row_sets; ++s)
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                const int row = row_of(s), at = c * padded + row;
                y[s][c] = row < padded ? shared.stage[number % 2].b[at] + (number > 0 ? shared.carried[at] : real(0)) : real(0);
            }
        warp_sync();
        fetch_factors<Forward>(shared, args, member, number + 2, columns);
        substitute<Forward>(a, y);
#pragma unroll
        for (int s = 0; s < row_sets; ++s)
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                const int row = row_of(s);
                if (Forward && row >= padded && row < panel_rows) shared.carried[c * padded + row - padded] = y[s][c];
                if (!Forward && row < padded) shared.solved[c * padded + row] = y[s][c];
                if (row >= block_size) continue;
                if (Forward) squares[c] += static_cast<double>(y[s][c]) * static_cast<double>(y[s][c]);
                if (member.exists && c < columns.count)
                    static_cast<real*>(args.x)[rhs_at(args.x_strides, member.index, block, row, columns.first + c)] = y[s][c];
            }
    }
    wait_copies<0>();
    warp_sync();
    if (Forward) store_quadratic(squares, args, member, columns);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_member(const trifold_args& args, const Member& member) {
    SweepShared& shared = shared_of_team<SweepShared>();
#pragma unroll 1
    for (int first = 0; first < args.columns; first += riders) sweep_columns<Forward>(shared, args, member, columns_from(args, first, riders));
}
