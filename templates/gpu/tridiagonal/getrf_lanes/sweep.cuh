/* Variant getrf-lanes: sweeps with A or (Turned) A'. Forward: y = L^-1 P b, and the next block gets - R y; backward: x = U^-1 (y - Z x of
 * the next block). With A' the triangles and the panels trade places. */
#include "gpu/tridiagonal/getrf_lanes/members.cuh"

constexpr int lu_words = block_size > 1 ? area + 1 : area; /* with the order of rows */

struct SweepShared {
    real lu[depth][stage_blocks][area + 1][warp_lanes], panel[depth][stage_blocks][area][warp_lanes],
        b[depth][stage_blocks * block_size][row_places];
};
static_assert(sizeof(SweepShared) == lanes_sweep_bytes(warp_lanes, block_size, stage_blocks, depth, sizeof(real)) &&
                  sizeof(SweepShared) == SharedBytes::sweep,
              "host and device disagree");

/* The first block of a stage, where stages are counted in the order of the sweep; below 0 beyond the last. */
template <bool Forward>
TRIFOLD_DEVICE trifold_int first_block(const trifold_args& args, trifold_int stage) {
    const trifold_int stages = (horizon_of(args) + stage_blocks - 1) / stage_blocks;
    return stage >= stages ? -1 : (Forward ? stage : stages - 1 - stage) * stage_blocks;
}

template <bool Forward, bool Turned>
TRIFOLD_DEVICE void fetch_factors(SweepShared& shared, const trifold_args& args, trifold_int first_member, int column, trifold_int stage) {
    const trifold_int first = first_block<Forward>(args, stage), horizon = horizon_of(args), member = first_member + lane_index();
    const int to = static_cast<int>(stage % depth), lane = lane_index();
    for (int k = 0; k < stage_blocks; ++k) {
        if (first < 0 || first + k >= horizon) break;
        const real *lu = factor_words(args, member, first + k),
                   *panel = panel_words(args, member, first + k) + (Forward != Turned ? 0 : area) * warp_lanes;
#pragma unroll
        for (int w = 0; w < lu_words; ++w) copy_element_async(&shared.lu[to][k][w][lane], lu + w * warp_lanes);
#pragma unroll
        for (int w = 0; w < area; ++w) copy_element_async(&shared.panel[to][k][w][lane], panel + w * warp_lanes);
    }
    fetch_stage<block_size, 1>(shared.b[to], global_pointer(static_cast<const real*>(args.b)) + column * args.b_strides.column,
                               args.b_strides, args, first_member, first, horizon);
    end_copies();
}

/* L y = y, or (Turned) U' y = y. */
template <bool Turned>
TRIFOLD_DEVICE void descend(real (&y)[block_size], const real (&lu)[block_size][block_size]) {
#pragma unroll
    for (int j = 0; j < block_size; ++j) {
        if (Turned) y[j] *= lu[j][j];
#pragma unroll
        for (int r = j + 1; r < block_size; ++r) y[r] -= (Turned ? lu[j][r] : lu[r][j]) * y[j];
    }
}
/* U y = y, or (Turned) L' y = y. */
template <bool Turned>
TRIFOLD_DEVICE void ascend(real (&y)[block_size], const real (&lu)[block_size][block_size]) {
#pragma unroll
    for (int j = block_size - 1; j >= 0; --j) {
        if (!Turned) y[j] *= lu[j][j];
#pragma unroll
        for (int r = 0; r < j; ++r) y[r] -= (Turned ? lu[j][r] : lu[r][j]) * y[j];
    }
}
/* to -= M x, or (Turned) M' x. */
template <bool Turned>
TRIFOLD_DEVICE void subtract_product(real (&to)[block_size], const real (&m)[block_size][block_size], const real (&x)[block_size]) {
#pragma unroll
    for (int r = 0; r < block_size; ++r)
#pragma unroll
        for (int c = 0; c < block_size; ++c) to[r] -= (Turned ? m[c][r] : m[r][c]) * x[c];
}

/* One block. `carry` comes from the block before in the order of the sweep: what is subtracted on the way forward, x on the way back. */
template <bool Forward, bool Turned>
TRIFOLD_DEVICE void sweep_block(real (&carry)[block_size], const SweepShared& shared, int stage, int k, const trifold_args& args,
                                trifold_int member, trifold_int block, int column) {
    const int lane = lane_index();
    real lu[block_size][block_size], panel[block_size][block_size], given[block_size], y[block_size];
#pragma unroll
    for (int e = 0; e < area; ++e) {
        lu[e / block_size][e % block_size] = shared.lu[stage][k][e][lane];
        panel[e / block_size][e % block_size] = shared.panel[stage][k][e][lane];
    }
    const int order = block_size > 1 ? *reinterpret_cast<const int*>(&shared.lu[stage][k][order_word][lane]) : 0;
#pragma unroll
    for (int r = 0; r < block_size; ++r) given[r] = shared.b[stage][k * block_size + r][lane] + (Forward ? carry[r] : real(0));
#pragma unroll
    for (int r = 0; r < block_size; ++r) {
        y[r] = given[r];
        if (Forward && !Turned)
#pragma unroll
            for (int from = 0; from < block_size; ++from)
                if (row_at(order, r) == from) y[r] = given[from];
    }
    if (Forward) {
        descend<Turned>(y, lu);
#pragma unroll
        for (int r = 0; r < block_size; ++r) carry[r] = 0;
        subtract_product<Turned>(carry, panel, y);
    } else {
        subtract_product<Turned>(y, panel, carry);
        ascend<Turned>(y, lu);
#pragma unroll
        for (int r = 0; r < block_size; ++r) {
            carry[r] = y[r];
            if (Turned)
#pragma unroll
                for (int from = 0; from < block_size; ++from)
                    if (row_at(order, from) == r) carry[r] = y[from];
        }
    }
#pragma unroll
    for (int r = 0; r < block_size; ++r) {
        const real value = Forward ? y[r] : carry[r];
        static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, column)] = value;
        if (!Forward) watch(args, member, Result::solution, value);
    }
}

/* Sweeps over the members of a warp, from `first_member` on, one column after another. */
template <bool Forward, bool Turned>
TRIFOLD_DEVICE void sweep_members(const trifold_args& args, trifold_int first_member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const trifold_int member = first_member + lane_index();
    const bool exists = is_active(args, member);
    if (!Forward && exists) begin_result(args, member, Result::solution);
#pragma unroll 1
    for (int column = 0; column < args.columns; ++column) {
        real carry[block_size] = {};
        for (int stage = 0; stage < depth; ++stage) fetch_factors<Forward, Turned>(shared, args, first_member, column, stage);
#pragma unroll 1
        for (trifold_int stage = 0; first_block<Forward>(args, stage) >= 0; ++stage) {
            const trifold_int first = first_block<Forward>(args, stage);
            wait_copies<depth - 1>();
            warp_sync();
#pragma unroll 4
            for (int step = 0; step < stage_blocks && exists; ++step) {
                const int k = Forward ? step : stage_blocks - 1 - step;
                if (first + k < horizon_of(args))
                    sweep_block<Forward, Turned>(carry, shared, static_cast<int>(stage % depth), k, args, member, first + k, column);
            }
            warp_sync();
            fetch_factors<Forward, Turned>(shared, args, first_member, column, stage + depth);
        }
        wait_copies<0>();
        warp_sync();
    }
}
