/* Chains of small blocks (variant team). A team of lanes has a chain, which may be a whole system of a batch, from its first front to its
 * last. A lane has a row of L, of R and, in schedules with fill, of G in registers. Numbers that other lanes need go through shared memory.
 * Only barriers of a warp are used, so a warp may hold several teams, and a thread block many. */
#include "gpu/tridiagonal/team/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/team/shared.h"

constexpr int teams = threads / team;
constexpr bool has_fill = panels > 2, has_slots = has_separators;
static_assert(tile == 1 && warp_lanes % team == 0 && threads % warp_lanes == 0 && padded <= team && padded % vector_width == 0,
              "host and device disagree");

template <class Shared>
constexpr int pitch = static_cast<int>(team_pitch(sizeof(Shared), team, sizeof(real)));
template <class Shared>
TRIFOLD_DEVICE Shared& shared_of_team() {
    return *reinterpret_cast<Shared*>(static_cast<char*>(shared_memory()) + thread_index() / team * pitch<Shared>);
}

/* A lane's place in its team, which is its row. */
TRIFOLD_DEVICE int team_lane() { return thread_index() % team; }
template <class T>
TRIFOLD_DEVICE T value_of_lane(T value, int lane) {
    return shuffle(value, thread_index() % warp_lanes / team * team + lane);
}
TRIFOLD_DEVICE double sum_of_team(double value) {
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
    return value;
}

/* A chain of a member; its length is 0 if there is none, or none of its blocks. Where members have lengths, `member` is -1 if there is
 * none. The teams of a warp go together, so a warp takes the steps of its longest chain. It is in shared memory, since rows need the
 * registers. */
struct Task {
    Chain chain;
    trifold_int member, steps;
};
TRIFOLD_DEVICE Task find_task(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    Task task{find_chain(level, number), member, 0};
    if (number >= level.chains || !is_active(args, member)) task.chain.length = 0;
    if constexpr (has_lengths) {
        if (task.chain.length == 0)
            task.member = -1;
        else
            clip(task.chain, level, blocks_of(args, member));
    }
    task.steps = task.chain.length;
#pragma unroll
    for (int mask = warp_lanes / 2; mask >= team; mask /= 2) {
        const trifold_int other = shuffle_xor(task.steps, mask);
        if (other > task.steps) task.steps = other;
    }
    return task;
}
/* Whether the chain is one of the schedule's, though its member may have none of its blocks. */
TRIFOLD_DEVICE bool exists(const Task& task) { return has_lengths ? task.member >= 0 : task.chain.length > 0; }
template <class Shared, class Use>
TRIFOLD_DEVICE void each_chain(const trifold_args& args, const trifold_level& level, const Use& use) {
    constexpr int chains = chains_per_group;
    const int place = thread_index() / team;
    const trifold_int number = group_x() * chains + place % chains, first = group_y() * members_per_group + place / chains;
    Shared& shared = shared_of_team<Shared>();
#pragma unroll 1
    for (trifold_int k = 0; k < members_per_group; k += teams / chains) {
        const Task task = find_task(args, level, number, first + k);
        if (team_lane() == 0) shared.task = task;
        warp_sync();
        use(shared);
        warp_sync();
    }
}

TRIFOLD_DEVICE trifold_int position_of(const Chain& chain, trifold_int k) { return chain.first + k * chain.step; }
TRIFOLD_DEVICE bool has_next(const Chain& chain, trifold_int k) { return k + 1 < chain.length || chain.ahead >= 0; }

/* Results of chains, such as failures and sums, go up from slot to slot to the chain of the last level. This visits the slots of a chain's
 * own blocks, which are shared out among the lanes. */
template <class Use>
TRIFOLD_DEVICE void each_slot_below(const trifold_args& args, const trifold_level& level, const Task& task, const Use& use) {
    if (level.index == 0) return;
#pragma unroll 1
    for (trifold_int e = team_lane(); e < 2 * task.chain.length; e += team) {
        const trifold_int block = block_at(level, position_of(task.chain, e / 2));
        if (has_side(args, task.member, block, e % 2)) use(slot_index(args, task.member, block, e % 2));
    }
}
/* Visits the slots of the separators at a chain's ends, by one lane. Sums go to the first of them only. */
template <class Use>
TRIFOLD_DEVICE void each_slot_above(const trifold_args& args, const trifold_level& level, const Task& task, const Use& use) {
    const Chain& chain = task.chain;
    if (chain.length == 0 || team_lane() != 0) return;
    if (chain.ahead >= 0) use(slot_index(args, task.member, block_at(level, chain.ahead), side_ahead(chain)), true);
    if (chain.behind >= 0) use(slot_index(args, task.member, block_at(level, chain.behind), side_behind(chain)), chain.ahead < 0);
}
TRIFOLD_DEVICE bool is_whole(const Chain& chain) { return chain.length > 0 && chain.ahead < 0 && chain.behind < 0; }

/* Starts a lane's part of the sums of squares, by column, for b' A^-1 b, with the sums of the chains below. */
TRIFOLD_DEVICE void gather_quadratic(double (&squares)[riders], const trifold_args& args, const trifold_level& level, const Task& task,
                                     Columns columns) {
    each_slot_below(args, level, task, [&](trifold_int slot) {
        const double* from = buffer<double>(args, Offset::block_quadratic(args)) + slot * max_columns + columns.first;
#pragma unroll
        for (int c = 0; c < riders; ++c)
            if (c < columns.count) squares[c] += from[c];
    });
}
TRIFOLD_DEVICE void leave_quadratic(const double (&squares)[riders], const trifold_args& args, const trifold_level& level, const Task& task,
                                    Columns columns) {
#pragma unroll
    for (int c = 0; c < riders; ++c) {
        const double sum = sum_of_team(squares[c]);
        if (c >= columns.count) continue;
        each_slot_above(args, level, task, [&](trifold_int slot, bool sums) {
            double& to = buffer<double>(args, Offset::block_quadratic(args))[slot * max_columns + columns.first + c];
            to = (level.index > 0 ? to : 0) + (sums ? sum : 0);
        });
        if (is_whole(task.chain) && team_lane() == 0)
            buffer<double>(args, Offset::quadratic(args))[task.member * quadratics_of(args) + columns.first + c] = in_range(sum);
    }
}

/* Starts the copies of a block's right-hand sides, or of its solved ones; those beyond `rows` are zero. */
TRIFOLD_DEVICE void fetch_columns(real* to, const void* from, const trifold_strides& strides, trifold_int member, trifold_int block,
                                  Columns columns, int rows) {
#pragma unroll 1
    for (int e = team_lane(); e < padded * riders; e += team) {
        const int r = e % padded, c = e / padded;
        if (r < rows && c < columns.count)
            copy_element_async(to + e, static_cast<const real*>(from) + rhs_at(strides, member, block, r, columns.first + c));
        else
            to[e] = 0;
    }
}

/* The right-hand sides of a block on the way up: the caller's and, above level 0, the updates of the chains next to it. */
struct RhsStage {
    alignas(16) real b[riders * padded];
    alignas(16) real slot[2][has_slots ? riders * padded : vector_width];
};
TRIFOLD_DEVICE void fetch_running(RhsStage& to, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block,
                                  Columns columns) {
    fetch_columns(to.b, args.b, args.b_strides, member, block, columns, rows_of(args, member, block));
    if (has_slots && level.index > 0) {
#pragma unroll
        for (int side = 0; side < 2; ++side)
            if (has_side(args, member, block, side))
                fetch_columns(to.slot[side], rhs_update_of(args, member, block, side), {1, padded, block_size, 0}, 0, 0, columns,
                              block_size);
    }
}
TRIFOLD_DEVICE real running_value(const trifold_args& args, const RhsStage& from, const trifold_level& level, trifold_int member,
                                  trifold_int block, int at) {
    real value = from.b[at];
    if (has_slots && level.index > 0) {
        if (has_side(args, member, block, 0)) value -= from.slot[0][at];
        if (has_side(args, member, block, 1)) value -= from.slot[1][at];
    }
    return value;
}

/* Writes the chain's updates of right-hand sides to the separators at its ends. `y` holds -R y and -G y of this lane's row. */
TRIFOLD_DEVICE void leave_rhs(real (&y)[panels][riders], const trifold_args& args, const trifold_level& level, const Task& task,
                              Columns columns) {
    const Chain& chain = task.chain;
#pragma unroll
    for (int p = 1; p < panels; ++p) {
        const trifold_int at = p == 1 ? chain.ahead : chain.behind;
        if (at < 0 || team_lane() >= padded) continue;
        real* to = rhs_update_of(args, task.member, block_at(level, at), p == 1 ? side_ahead(chain) : side_behind(chain)) + team_lane();
#pragma unroll
        for (int c = 0; c < riders; ++c)
            if (c < columns.count) {
                real& slot = to[(columns.first + c) * padded];
                slot = (level.index > 0 ? slot : real(0)) - y[p][c];
            }
    }
}

/* The order of a sweep's fronts: the number-th of them, or none. */
template <bool Forward>
TRIFOLD_DEVICE trifold_int front_number(const Chain& chain, trifold_int number) {
    if (number >= chain.length) return -1;
    return Forward ? number : chain.length - 1 - number;
}

/* On the way back: b less the products of panels with x of the next block and of that behind the chain. */
template <class Shared>
TRIFOLD_DEVICE void subtract_adjacent(const real (&a)[panels][padded], real (&y)[panels][riders], const Shared& shared) {
#pragma unroll
    for (int c = 0; c < riders; ++c)
#pragma unroll
        for (int p = 1; p < panels; ++p) {
            real sum[2] = {};
#pragma unroll
            for (int k = 0; k < padded; ++k) sum[k % 2] += a[p][k] * shared.adjacent[p - 1][c * padded + k];
            y[0][c] -= sum[0] + sum[1];
        }
}

/* Loads the solutions of the blocks at the chain's ends. */
template <class Shared>
TRIFOLD_DEVICE void load_adjacent(Shared& shared, const trifold_args& args, const trifold_level& level, const Task& task, Columns columns) {
    const int row = team_lane();
    if (row >= padded) return;
#pragma unroll
    for (int p = 0; p < panels - 1; ++p) {
        const trifold_int at = p == 0 ? task.chain.ahead : task.chain.behind;
        const bool exists = task.chain.length > 0 && at >= 0 && row < (has_tail ? stored_rows(args, block_at(level, at)) : block_size);
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            real value = 0;
            if (exists && c < columns.count)
                value = static_cast<const real*>(args.x)[rhs_at(args.x_strides, task.member, block_at(level, at), row, columns.first + c)];
            shared.adjacent[p][c * padded + row] = value;
        }
    }
}
