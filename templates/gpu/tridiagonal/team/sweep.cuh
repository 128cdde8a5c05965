/* Sweeps by teams: a lane has its row of L, R and G on the way forward, its column of each on the way back. */
#include "gpu/tridiagonal/team/team.cuh"

constexpr int block_leading = padded + vector_width;

struct SweepShared {
    Task task;
    struct {
        alignas(16) real panel[panels][padded * block_leading]; /* column-major */
        RhsStage rhs;
    } stage[depth];
    alignas(16) real adjacent[2][riders * padded]; /* on the way back: the solutions of the next block and of that behind the chain */
};
static_assert(sizeof(SweepShared) == sweep_bytes(padded, riders, panels, has_slots, depth, sizeof(real)), "host and device disagree");
static_assert(pitch<SweepShared> * teams == SharedBytes::sweep, "host and device disagree");

template <bool Forward>
TRIFOLD_DEVICE void fetch_factors(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                  trifold_int number, Columns columns) {
    const trifold_int k = front_number<Forward>(task.chain, number);
    if (k >= 0) {
        auto& to = shared.stage[number % depth];
        const trifold_int block = block_at(level, position_of(task.chain, k));
        constexpr int vectors = padded / vector_width;
#pragma unroll
        for (int p = 0; p < panels; ++p) {
            const real* from = p == 0   ? factor_of(args, task.member, block)
                               : p == 1 ? next_of(args, task.member, block)
                                        : behind_of(args, task.member, block);
#pragma unroll 2
            for (int e = team_lane(); e < vectors * padded; e += team)
                if (p > 0 || (e % vectors + 1) * vector_width > e / vectors) /* elements above L's diagonal are not read */
                    copy_async(to.panel[p] + e % vectors * vector_width + e / vectors * block_leading, from + e * vector_width);
        }
        if (Forward)
            fetch_running(to.rhs, args, level, task.member, block, columns);
        else
            fetch_columns(to.rhs.b, args.b, args.b_strides, task.member, block, columns, rows_of(args, task.member, block));
    }
    end_copies();
}

/* This lane's row of every panel, or column. */
template <bool Forward>
TRIFOLD_DEVICE void load_lines(real (&a)[panels][padded], const SweepShared& shared, trifold_int number) {
    const int line = team_lane() < padded ? team_lane() : 0;
#pragma unroll
    for (int p = 0; p < panels; ++p) {
        const real* from = shared.stage[number % depth].panel[p] + (Forward ? line : line * block_leading);
#pragma unroll
        for (int k = 0; k < padded; ++k) a[p][k] = from[Forward ? k * block_leading : k];
    }
}

/* This lane's entry of L's diagonal, from its row. */
TRIFOLD_DEVICE real diagonal_of(const real (&line)[padded]) {
    real entry = 1;
#pragma unroll
    for (int k = 0; k < padded; ++k) entry = team_lane() == k ? line[k] : entry;
    return entry;
}

/* Substitution: y turns into the solution; on the way forward, with signs S, and -R y and -G y come with it. */
template <bool Forward>
TRIFOLD_DEVICE void substitute(const real (&a)[panels][padded], real (&y)[panels][riders]) {
    const int row = team_lane();
#pragma unroll
    for (int step = 0; step < padded; ++step) {
        const int j = Forward ? step : padded - 1 - step;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const real solved = value_of_lane(y[0][c] * a[0][j], j);
            const bool after = Forward ? row > j : row < j;
            y[0][c] = row == j ? Forward ? by_sign(solved, a[0][j]) : solved : after ? y[0][c] - a[0][j] * solved : y[0][c];
            if (Forward) {
#pragma unroll
                for (int p = 1; p < panels; ++p) y[p][c] -= a[p][j] * solved;
            }
        }
    }
}

template <bool Forward>
TRIFOLD_DEVICE void store_solution(const real (&y)[riders], const trifold_args& args, trifold_int member, trifold_int block,
                                   Columns columns) {
    if (team_lane() >= (has_tail ? stored_rows(args, block) : block_size)) return;
#pragma unroll
    for (int c = 0; c < riders; ++c) {
        if (c >= columns.count) continue;
        static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, team_lane(), columns.first + c)] = y[c];
        if (!Forward) watch(args, member, Result::solution, y[c]);
    }
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, Columns columns) {
    const Task& task = shared.task;
    const int row = team_lane();
    double squares[riders] = {};
#pragma unroll
    for (int number = 0; number < depth; ++number) fetch_factors<Forward>(shared, args, level, task, number, columns);
    if (Forward && has_slots) gather_quadratic(squares, args, level, task, columns);
    if (!Forward) load_adjacent(shared, args, level, task, columns);
    real y[panels][riders] = {};
#pragma unroll 1
    for (trifold_int number = 0; number < task.steps; ++number) {
        const trifold_int k = front_number<Forward>(task.chain, number);
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        real a[panels][padded];
        load_lines<Forward>(a, shared, number);
        const RhsStage& rhs = shared.stage[number % depth].rhs;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const int at = c * padded + (row < padded ? row : 0);
            y[0][c] = Forward ? y[1][c] + running_value(args, rhs, level, task.member, block, at) : rhs.b[at];
            y[1][c] = 0;
        }
        if (!Forward) subtract_adjacent(a, y, shared);
        warp_sync();
        fetch_factors<Forward>(shared, args, level, task, number + depth, columns);
        substitute<Forward>(a, y);
        if (!Forward && row < padded) {
#pragma unroll
            for (int c = 0; c < riders; ++c) shared.adjacent[0][c * padded + row] = y[0][c];
        }
        if (k < 0) continue;
        store_solution<Forward>(y[0], args, task.member, block, columns);
        if (Forward && row < block_size) {
#pragma unroll
            for (int c = 0; c < riders; ++c) squares[c] += square_of(y[0][c], diagonal_of(a[0]));
        }
        if (Forward && has_slots && k + 1 == task.chain.length) leave_rhs(y, args, level, task, columns);
    }
    wait_copies<0>();
    warp_sync();
    if (Forward) leave_quadratic(squares, args, level, task, columns);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_chain(SweepShared& shared, const trifold_args& args, const trifold_level& level) {
    if (!Forward && begins_descent(level) && exists(shared.task) && team_lane() == 0)
        begin_result(args, shared.task.member, Result::solution);
#pragma unroll 1
    for (int first = 0; first < args.columns; first += riders)
        sweep_columns<Forward>(shared, args, level, columns_from(args, first, riders));
}
