/* [R; G] in registers. A warp of the stack has two bands of 16 rows, with a patch for each column tile. Results of products are operands of
 * the next products as they are. So shared memory is needed for L alone, and there are no more than two products between the pivots and R
 * and G. */
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"
#include "gpu/tridiagonal/dataflow/message.cuh"

struct Band {
    bool ahead, whole; /* ahead: the band is part of R, not G; whole: it is not half padding */
    int row;           /* within R or G */
    Patch columns[tiles];
};
struct Stack {
    Band bands[2];
};
static_assert(!in_registers || (use_tensor && results_are_operands && has_room && bands == stacked_warps && strip_columns == 8),
              "two bands a warp");

TRIFOLD_DEVICE Stack empty_stack() {
    Stack stack{};
#pragma unroll
    for (int band = 0; band < 2; ++band) {
        const int unit = 2 * (front_thread() / warp_lanes - pivot_warps) + band;
        stack.bands[band].ahead = unit < bands;
        stack.bands[band].row = unit % bands * 16;
        stack.bands[band].whole = stack.bands[band].row + 8 < padded;
    }
    return stack;
}
TRIFOLD_DEVICE bool exists(const Band& band, const Front& front) { return (band.ahead ? front.next : front.behind) >= 0; }

/* The places that this lane's elements of a band are stored to, given as those of its first one; null: nowhere. */
struct Outbox {
    Mail* mail;
    real* to;
};
TRIFOLD_DEVICE Outbox outbox_of(const Band& band, const trifold_args& args, trifold_int member, const Front& front) {
    if (!exists(band, front)) return {};
    const int row = band.row + patch_row(0), column = patch_column(0);
    real* to = band.ahead ? next_of(args, member, front.block) : behind_of(args, member, front.block);
    Mail* mail = sends_messages(front) ? message_of(args, member, front.block, band.ahead ? row : padded + row, column) : nullptr;
    return {mail, to + row + column * padded};
}

/* use(value, row, column) for the elements of column tile t that are no padding, rows and columns from the first one's place on. */
template <class Use>
TRIFOLD_DEVICE void each_of(const real (&values)[4], bool whole, int t, const Use& use) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (k < 2 || whole) use(values[k], k / 2 * 8, t * 8 + k % 2);
}

/* The original couplings. */
TRIFOLD_DEVICE void load_stack(Stack& stack, const FrontShared& shared) {
#pragma unroll
    for (Band& band : stack.bands)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                element(band.columns[t], k) =
                    static_cast<product>(shared.stacked[(band.ahead ? 0 : padded) + band.row + patch_row(k) % (band.whole ? 16 : 8) +
                                                        (t * 8 + patch_column(k)) * stacked_leading]);
}

/* -R_k G_k' and -G_j R_j', of their columns from `first` on. */
TRIFOLD_DEVICE void multiply_stack(Stack& stack, FrontShared& shared, int first, int depth) {
#pragma unroll
    for (Band& band : stack.bands) {
        const real* own = shared.stacked + (band.ahead ? 0 : padded) + band.row + first * stacked_leading;
        const real* other = (band.ahead ? right_of(shared) : left_of(shared)) + first * pulled_leading;
        multiply_band<-1, 2, strip_columns>(band.columns, own, stacked_leading, other, pulled_leading, band.whole, strips, depth);
    }
}

/* The couplings when the last pair has updated them. */
TRIFOLD_DEVICE void start_stack(Stack& stack, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front.level == 0)
        load_stack(stack, shared);
    else if (gets_messages(front))
        receive_tiles(shared, inbox_of<Receiver::stack>(shared, args, member, front),
                      [&](int t) { multiply_stack(stack, shared, t * 8, 8); });
    else
        multiply_stack(stack, shared, 0, padded);
}

/* sum += Sign times a times eight rows, transposed. */
template <int Sign, class P> /* a template, since other platforms cannot */
TRIFOLD_DEVICE void multiply_patch(P& sum, const P& a, const product (&b)[2]) {
    product lines[tensor_columns][2], others[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int c = 0; c < tensor_columns; ++c) lines[c][i] = a.at[c][0][i];
        others[i] = Sign * b[i];
    }
    tensor_multiply<2>(sum.at, lines, others);
}
TRIFOLD_DEVICE void load_operand(product (&b)[2], const real* at, int row_step, int column_step) {
#pragma unroll
    for (int i = 0; i < 2; ++i) b[i] = static_cast<product>(at[tensor_row() * row_step + (result_row(0) + i) * column_step]);
}

/* The sum of eight products, a row's with a right-hand side's. */
TRIFOLD_DEVICE real sum_of_eight(const real* row, int row_step, const real* values, int step) {
    real sum[2] = {};
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k % 2] += row[k * row_step] * values[k * step];
    return sum[0] + sum[1];
}

/* Solves right-hand sides, dealt out to the warps of the stack, a row a lane. All lanes read a tile's results in shared memory. */
TRIFOLD_DEVICE bool owns_rider_row() { return thread_index() % warp_lanes < padded; }
TRIFOLD_DEVICE int first_rider() { return front_thread() / warp_lanes - pivot_warps; }
TRIFOLD_DEVICE RiderLook look_at_rider(const trifold_args& args, trifold_int member, const Front& front, int c) {
    if (!gets_messages(front) || !owns_rider_row() || c >= args.columns) return {};
    return look_at_rider(args, member, front, thread_index() % warp_lanes, c);
}
/* A warp waits for all that the fronts of the first `pairs` pairs leave. */
TRIFOLD_DEVICE void await_pairs(const trifold_args& args, trifold_int member, const Front& front, int pairs) {
    const int lane = thread_index() % warp_lanes, pair = lane % 16;
    const Pair both = pair_of(args, front, pair);
    const trifold_int other = lane < 16 ? both.left : both.right;
    if (pair < pairs && other < path_of(args) && (!is_ring || other >= 0)) await_everything(args, member, other, front.run);
    warp_sync();
}
/* Subtracts the updates that these fronts have for row r of right-hand side c. */
TRIFOLD_DEVICE void pull_rider(real& value, const trifold_args& args, trifold_int member, const Front& front, int pairs, int r, int c) {
#pragma unroll 4
    for (int k = 0; k < pairs; ++k) {
        const Pair pair = pair_of(args, front, k);
        if (!is_ring || pair.left >= 0) value -= neighbour_rhs_of(args, member, pair.left, 1)[c * padded + r];
        if (pair.right < path_of(args)) value -= neighbour_rhs_of(args, member, pair.right, 0)[c * padded + r];
    }
}
/* Solves tile t of the right-hand side at `at`, whose elements are `step` apart: first the tile's own lanes, then the lanes of other tiles
 * subtract its contribution. */
template <class Solve, class Take>
TRIFOLD_DEVICE void ride_tile(real& value, real* at, int step, int t, bool others, const Solve& solve, const Take& take) {
    const int row = thread_index() % warp_lanes;
    const bool mine = owns_rider_row() && row / 8 == t;
    real* const tile_at = at + t * 8 * step;
    if (mine) at[row * step] = value;
    warp_sync();
    if (mine) value = solve(tile_at);
    warp_sync();
    if (mine) at[row * step] = value;
    warp_sync();
    if (owns_rider_row() && others) value -= take(tile_at);
}
/* The last front's part of the backward sweep. If it has failed, so has every solution. */
TRIFOLD_DEVICE void end_sweep(real value, int c, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                              bool failed) {
    const int row = thread_index() % warp_lanes;
#pragma unroll 1
    for (int t = tiles - 1; t >= 0; --t)
        ride_tile(
            value, shared.stacked + c, stacked_leading, t, row < t * 8,
            [&](const real* v) { return sum_of_eight(inverse_of(shared, t) + row % 8, lower_leading, v, stacked_leading); },
            [&](const real* v) { return sum_of_eight(shared.lower + t * 8 + row * lower_leading, 1, v, stacked_leading); });
    if (!owns_rider_row()) return;
    if (failed) value = static_cast<real>(not_a_number());
    send(solution_words(args, member, front.block) + (c * padded + row) * message_words, value, early_run(front.run));
    if (row >= stored_rows(args, front.block)) return;
    static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, c)] = value;
    watch(args, member, Result::solution, value);
}
/* The last front has nothing else to do, so that the first column follows its tiles. */
TRIFOLD_DEVICE void ride(RiderLook look, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool fed,
                         bool ends) {
    const int row = thread_index() % warp_lanes;
    bool follows = is_last(front);
    const int pairs = front.level - static_cast<int>(gets_messages(front));
    if (first_rider() < args.columns) await_pairs(args, member, front, pairs);
#pragma unroll 1
    for (int c = first_rider(); c < args.columns || follows; c += stacked_warps) {
        real* const at = shared.lower + padded + (c < args.columns ? c : 0);
        real value = 0;
        const bool exists = c < args.columns, owns = exists && owns_rider_row();
        if (owns) {
            value = at[row * lower_leading];
            pull_rider(value, args, member, front, pairs, row, c);
        }
        if (owns && gets_messages(front)) value -= receive_rider(look, args, member, front, row, c);
        look = look_at_rider(args, member, front, c + stacked_warps);
#pragma unroll 1
        for (int t = 0; t < tiles; ++t) {
            if (follows) meet(shared, tile_barriers, t);
            if (!exists) continue;
            ride_tile(
                value, at, lower_leading, t, row >= t * 8 + 8,
                [&](const real* v) { return sum_of_eight(inverse_of(shared, t) + row % 8 * lower_leading, 1, v, lower_leading); },
                [&](const real* v) { return sum_of_eight(shared.lower + row + t * 8 * lower_leading, lower_leading, v, lower_leading); });
        }
        follows = false;
        if (owns) value = by_sign(value, shared.diagonal, row);
        if (exists && ends && is_last(front))
            end_sweep(value, c, shared, args, member, front, fed || shared.pivots.failed_row >= 0);
        else if (owns && row < stored_rows(args, front.block))
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, c)] = value;
        warp_sync();
    }
}

TRIFOLD_DEVICE real square_of_pair(const Patch& patch, int half) {
    const real a = static_cast<real>(element(patch, 2 * half)), b = static_cast<real>(element(patch, 2 * half + 1));
    return a * a + b * b;
}
/* R and G, tile after tile as L's are there, out to whoever waits for them and to the workspace. The bands have products with the inverse,
 * R S and G S. */
template <bool Riders>
TRIFOLD_DEVICE void solve_stack(Stack& stack, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                RiderLook& look) {
    const Outbox out[2] = {outbox_of(stack.bands[0], args, member, front), outbox_of(stack.bands[1], args, member, front)};
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
        if (Riders && t + 1 == tiles) look = look_at_rider(args, member, front, first_rider());
        meet(shared, tile_barriers, t);
        product b[2];
        load_operand(b, inverse_of(shared, t), lower_leading, 1);
        real values[2][4];
#pragma unroll
        for (int band = 0; band < 2; ++band) {
            Patch solved{};
            multiply_patch<1>(solved, stack.bands[band].columns[t], b);
            stack.bands[band].columns[t] = solved;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                values[band][k] = has_signs ? panel_entry(static_cast<real>(element(solved, k)), shared.diagonal[t * 8 + patch_column(k)])
                                            : static_cast<real>(element(solved, k));
        }
#pragma unroll
        for (int band = 0; band < 2; ++band)
            if (out[band].mail != nullptr)
                each_of(values[band], stack.bands[band].whole, t,
                        [&](real value, int r, int c) { post(out[band].mail + r + c * stacked_rows, value); });
#pragma unroll
        for (int s = t + 1; s < tiles; ++s) {
            load_operand(b, shared.lower + s * 8 + t * 8 * lower_leading, 1, lower_leading);
#pragma unroll
            for (Band& band : stack.bands) multiply_patch<-1>(band.columns[s], band.columns[t], b);
        }
#pragma unroll
        for (int band = 0; band < 2; ++band)
            if (out[band].to != nullptr)
                each_of(values[band], stack.bands[band].whole, t, [&](real value, int r, int c) { out[band].to[r + c * padded] = value; });
    }
    if constexpr (has_signs)
        each_index<2, 2, 1>([&](int band, int half, int) {
            const Band& of = stack.bands[band];
            real sum = 0;
#pragma unroll
            for (const Patch& patch : of.columns) sum += square_of_pair(patch, half);
            sum = sum_of_row(sum);
            if (out[band].to != nullptr && tensor_depth() == 0 && (half == 0 || of.whole))
                squares_of(args, member, front.block, of.ahead ? 1 : 0)[of.row + half * 8 + tensor_column()] = sum;
        });
}

/* use(value, row, c) for R y and G y, which the neighbours subtract from their right-hand sides c. */
template <class Use>
TRIFOLD_DEVICE void each_rider(const Stack& stack, const FrontShared& shared, const trifold_args& args, const Front& front,
                               const Use& use) {
#pragma unroll 1
    for (int c = 0; c < args.columns; ++c)
#pragma unroll
        for (const Band& band : stack.bands) {
            if (!exists(band, front)) continue;
            real sum[2] = {};
#pragma unroll
            for (int t = 0; t < tiles; ++t)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    sum[k / 2] += static_cast<real>(element(band.columns[t], k)) *
                                  by_sign(shared.lower[padded + c + (t * 8 + patch_column(k)) * lower_leading], shared.diagonal,
                                          t * 8 + patch_column(k));
#pragma unroll
            for (int i = 0; i < 2; ++i) sum[i] += shuffle_xor(sum[i], 1), sum[i] += shuffle_xor(sum[i], 2);
            if (tensor_depth() < 2 && (band.whole || tensor_depth() == 0))
                use(band.ahead, tensor_depth() == 0 ? sum[0] : sum[1], band.row + tensor_row() + tensor_depth() * 8, c);
        }
}
