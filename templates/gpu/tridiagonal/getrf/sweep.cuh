/* Variant getrf: sweeps by teams, with A or (Turned) A'. Forward: y = L^-1 P b, and the next block gets - R y; backward: x = U^-1 (y - Z x
 * of the next block). With A' the two triangles and the two panels trade places. A lane has its row of each, or with A' its column. */
#include "gpu/tridiagonal/getrf/factors.cuh"
#include "gpu/tridiagonal/team/team.cuh"

constexpr int block_leading = static_cast<int>(lu_leading(padded, vector_width));

struct SweepShared {
    Task task;
    struct {
        alignas(16) real panel[panels][padded * block_leading]; /* column-major */
        RhsStage rhs;
        alignas(16) real order[padded]; /* numbers of rows, as ints */
    } stage[depth];
    alignas(16) real adjacent[2][riders * padded]; /* on the way back: the solutions of the next block and of that behind the chain */
};
static_assert(sizeof(SweepShared) == lu_sweep_bytes(padded, riders, panels, has_slots, depth, sizeof(real)), "host and device disagree");
static_assert(pitch<SweepShared> * teams == SharedBytes::sweep, "host and device disagree");

template <bool Forward, bool Turned>
TRIFOLD_DEVICE void fetch_factors(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                  trifold_int number, Columns columns) {
    const trifold_int k = front_number<Forward>(task.chain, number);
    if (k >= 0) {
        auto& to = shared.stage[number % depth];
        const trifold_int block = block_at(level, position_of(task.chain, k)), panel = Forward != Turned ? 0 : storage;
        constexpr int vectors = padded / vector_width;
#pragma unroll
        for (int p = 0; p < panels; ++p) {
            const real* from = p == 0   ? factor_of(args, task.member, block)
                               : p == 1 ? next_of(args, task.member, block) + panel
                                        : behind_of(args, task.member, block) + panel;
            const bool exists = p == 0 || (p == 1 ? has_next(task.chain, k) : task.chain.behind >= 0);
#pragma unroll 2
            for (int e = team_lane(); e < vectors * padded; e += team) {
                real* place = to.panel[p] + e % vectors * vector_width + e / vectors * block_leading;
                const real zeros[vector_width] = {};
                if (exists)
                    copy_async(place, from + e * vector_width);
                else
                    store_vector(place, zeros);
            }
        }
        if (team_lane() < padded)
            copy_element_async(reinterpret_cast<int*>(to.order) + team_lane(), order_of(args, task.member, block) + team_lane());
        if (Forward)
            fetch_running(to.rhs, args, level, task.member, block, columns);
        else
            fetch_columns(to.rhs.b, args.b, args.b_strides, task.member, block, columns, block_size);
    }
    end_copies();
}

/* This lane's line of every panel. */
template <bool Turned>
TRIFOLD_DEVICE void load_lines(real (&a)[panels][padded], const SweepShared& shared, trifold_int number) {
    const int line = team_lane() < padded ? team_lane() : 0;
#pragma unroll
    for (int p = 0; p < panels; ++p) {
        const real* from = shared.stage[number % depth].panel[p] + (Turned ? line * block_leading : line);
#pragma unroll
        for (int k = 0; k < padded; ++k) a[p][k] = from[Turned ? k : k * block_leading];
    }
}

/* Substitution: y turns into the solution; on the way forward -R y and -G y come with it. L has ones on its diagonal. */
template <bool Forward, bool Turned>
TRIFOLD_DEVICE void substitute(const real (&a)[panels][padded], real (&y)[panels][riders]) {
    const int row = team_lane();
#pragma unroll
    for (int step = 0; step < block_size; ++step) {
        const int j = Forward ? step : block_size - 1 - step;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const real solved = value_of_lane(Forward != Turned ? y[0][c] : y[0][c] * a[0][j], j);
            const bool after = Forward ? row > j : row < j;
            y[0][c] = row == j ? solved : after ? y[0][c] - a[0][j] * solved : y[0][c];
            if (Forward) {
#pragma unroll
                for (int p = 1; p < panels; ++p) y[p][c] -= a[p][j] * solved;
            }
        }
    }
}

template <bool Forward, bool Turned>
TRIFOLD_DEVICE void sweep_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, Columns columns) {
    const Task& task = shared.task;
#pragma unroll
    for (int number = 0; number < depth; ++number) fetch_factors<Forward, Turned>(shared, args, level, task, number, columns);
    if (!Forward) load_adjacent(shared, args, level, task, columns);
    real y[panels][riders] = {};
#pragma unroll 1
    for (trifold_int number = 0; number < task.steps; ++number) {
        const trifold_int k = front_number<Forward>(task.chain, number);
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        real a[panels][padded];
        load_lines<Turned>(a, shared, number);
        const auto& stage = shared.stage[number % depth];
        const int lane = team_lane() < padded ? team_lane() : 0;
        const int given = k < 0 ? lane : reinterpret_cast<const int*>(stage.order)[lane];
        const int row =
            static_cast<unsigned>(given) < static_cast<unsigned>(padded) ? given : lane; /* it means nothing if never factored */
        const int from = Forward && !Turned ? row : lane;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const real carried = value_of_lane(y[1][c], from);
            y[0][c] = Forward ? carried + running_value(args, stage.rhs, level, task.member, block, c * padded + from)
                              : stage.rhs.b[c * padded + from];
            y[1][c] = 0;
        }
        if (!Forward) subtract_adjacent(a, y, shared);
        warp_sync();
        fetch_factors<Forward, Turned>(shared, args, level, task, number + depth, columns);
        substitute<Forward, Turned>(a, y);
        const int to = !Forward && Turned ? row : lane;
        if (!Forward && team_lane() < padded) {
#pragma unroll
            for (int c = 0; c < riders; ++c) shared.adjacent[0][c * padded + to] = y[0][c];
        }
        if (k < 0) continue;
        if (team_lane() < padded && to < block_size) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                if (c >= columns.count) continue;
                static_cast<real*>(args.x)[rhs_at(args.x_strides, task.member, block, to, columns.first + c)] = y[0][c];
                if (!Forward) watch(args, task.member, Result::solution, y[0][c]);
            }
        }
        if (Forward && has_slots && k + 1 == task.chain.length) leave_rhs(y, args, level, task, columns);
    }
    wait_copies<0>();
    warp_sync();
}

template <bool Forward, bool Turned>
TRIFOLD_DEVICE void sweep_chain(SweepShared& shared, const trifold_args& args, const trifold_level& level) {
    if (!Forward && begins_descent(level) && exists(shared.task) && team_lane() == 0)
        begin_result(args, shared.task.member, Result::solution);
#pragma unroll 1
    for (int first = 0; first < args.columns; first += riders)
        sweep_columns<Forward, Turned>(shared, args, level, columns_from(args, first, riders));
}
