/* Variant getrf-lanes: factorization, with the forward sweep of one right-hand side along with it. */
#include "gpu/pivots.cuh"
#include "gpu/tridiagonal/getrf_lanes/members.cuh"

struct FactorShared {
    real d[depth][stage_blocks * area][row_places], below[depth][stage_blocks * area][row_places],
        right[depth][stage_blocks * area][row_places], b[depth][stage_blocks * block_size][row_places];
};
static_assert(sizeof(FactorShared) == lanes_factor_bytes(warp_lanes, block_size, stage_blocks, depth, sizeof(real)) &&
                  sizeof(FactorShared) == SharedBytes::factor,
              "host and device disagree");

/* The outcome of a lane's member so far. */
struct Outcome {
    trifold_int failure = sound;
    int negative = 0, scales = 0;
    double reduction = 0, grown = 0, entry = 0; /* the largest sum of a row over its pivot, such sum, and entry of A */
    double product = 1;                         /* the product of the pivots' reciprocals, times 2^(600 scales) */
};
/* The updates that a front leaves to the next one: R Z, sums of its rows, and - R y. */
struct Carry {
    real update[block_size][block_size] = {}, sums[block_size] = {}, y[block_size] = {};
};
/* A front: D, the block right of it and the one below, and the right-hand side. */
struct Front {
    real d[block_size][block_size], z[block_size][block_size], r[block_size][block_size], y[block_size];
    int order[block_size];
};

TRIFOLD_DEVICE void swap_if(bool swaps, real& a, real& b) {
    const real first = swaps ? b : a;
    b = swaps ? a : b;
    a = first;
}

/* Loads the front's rows. Returns in `sums` the largest entry of D's and Z's row, with what the front before adds. */
template <bool Riders>
TRIFOLD_DEVICE void load_front(Front& a, real (&sums)[block_size], const Carry& carry, const FactorShared& shared, int stage, int k,
                               bool is_last, const trifold_args& args, trifold_int member, trifold_int block, Outcome& outcome) {
    const int lane = lane_index();
#pragma unroll
    for (int r = 0; r < block_size; ++r) {
        int most = 0, below = 0;
#pragma unroll
        for (int c = 0; c < block_size; ++c) {
            const int e = (k * block_size + r) * block_size + c;
            real value = shared.d[stage][e][lane];
            if (c == r && (args.diagonal != nullptr || args.shift != nullptr)) value += diagonal_term(args, member, block, r);
            a.z[r][c] = is_last ? real(0) : shared.right[stage][e][lane];
            a.r[r][c] = is_last ? real(0) : shared.below[stage][e][lane];
            raise_word(most, value), raise_word(most, a.z[r][c]), raise_word(below, a.r[r][c]);
            a.d[r][c] = value - carry.update[r][c];
        }
        sums[r] = number_of_word(most) + carry.sums[r];
        raise_to(outcome.entry, static_cast<double>(number_of_word(larger(most, below))));
        a.order[r] = r;
        if (Riders) a.y[r] = carry.y[r] + shared.b[stage][k * block_size + r][lane];
    }
}

/* Brings the row with the largest entry of column j to place j; of equals that which was the highest in A. */
template <bool Riders>
TRIFOLD_DEVICE void choose_pivot(Front& a, real (&sums)[block_size], int j, Outcome& outcome) {
#pragma unroll
    for (int r = j + 1; r < block_size; ++r) {
        const unsigned own = size_key(a.d[r][j]), best = size_key(a.d[j][j]);
        const bool swaps = own > best || (own == best && a.order[r] < a.order[j]);
#pragma unroll
        for (int c = 0; c < block_size; ++c) swap_if(swaps, a.d[j][c], a.d[r][c]), swap_if(swaps, a.z[j][c], a.z[r][c]);
        swap_if(swaps, sums[j], sums[r]);
        if (Riders) swap_if(swaps, a.y[j], a.y[r]);
        const int first = swaps ? a.order[r] : a.order[j];
        a.order[r] = swaps ? a.order[j] : a.order[r];
        a.order[j] = first;
        outcome.negative += static_cast<int>(swaps); /* an interchange each */
    }
}

/* Eliminates the front's columns, one after another. */
template <bool Riders>
TRIFOLD_DEVICE void factor_front(Front& a, real (&sums)[block_size], Carry& carry, trifold_int block, Outcome& outcome) {
    carry = {};
    real top[block_size];
#pragma unroll
    for (int j = 0; j < block_size; ++j) {
        choose_pivot<Riders>(a, sums, j, outcome);
        const real pivot = a.d[j][j], inverse = may_divide(pivot) ? reciprocal(pivot) : static_cast<real>(not_a_number());
        if (!(inverse == inverse) && outcome.failure == sound) outcome.failure = block * block_size + j;
        int largest_of_row = size_word(pivot);
#pragma unroll
        for (int c = 0; c < block_size; ++c) {
            if (c > j) raise_word(largest_of_row, a.d[j][c]);
            raise_word(largest_of_row, a.z[j][c]);
        }
        top[j] = number_of_word(largest_of_row);
        outcome.product *= static_cast<double>(size_of_number(inverse));
        outcome.product = tame(outcome.product, outcome.scales);
        outcome.negative += static_cast<int>(pivot < 0);
        raise_to(outcome.reduction, static_cast<double>(sums[j] * size_of_number(inverse)));
        raise_to(outcome.grown, static_cast<double>(sums[j] + top[j]));
        a.d[j][j] = inverse;
#pragma unroll
        for (int r = 0; r < block_size; ++r) {
            const bool after = r > j;
            const real m = after ? a.d[r][j] * inverse : real(0), below = a.r[r][j] * inverse;
            if (after) a.d[r][j] = m, sums[r] += size_of_number(m) * top[j];
            a.r[r][j] = below;
            carry.sums[r] += size_of_number(below) * top[j];
#pragma unroll
            for (int c = 0; c < block_size; ++c) {
                if (c > j && after) a.d[r][c] -= m * a.d[j][c];
                if (c > j) a.r[r][c] -= below * a.d[j][c];
                if (after) a.z[r][c] -= m * a.z[j][c];
                carry.update[r][c] += below * a.z[j][c];
            }
            if (Riders && after) a.y[r] -= m * a.y[j];
            if (Riders) carry.y[r] -= below * a.y[j];
        }
    }
}

template <bool Riders>
TRIFOLD_DEVICE void store_front(const Front& a, const trifold_args& args, trifold_int member, trifold_int block) {
    real *lu = factor_words(args, member, block), *panel = panel_words(args, member, block);
    int order = 0;
#pragma unroll
    for (int r = 0; r < block_size; ++r) {
        order |= a.order[r] << r * order_bits;
#pragma unroll
        for (int c = 0; c < block_size; ++c) {
            const int e = r * block_size + c;
            lu[e * warp_lanes] = a.d[r][c];
            panel[e * warp_lanes] = a.r[r][c];
            panel[(area + e) * warp_lanes] = a.z[r][c];
        }
        if (Riders) static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, 0)] = a.y[r];
    }
    if (block_size > 1) *reinterpret_cast<int*>(lu + order_word * warp_lanes) = order;
}

template <bool Riders>
TRIFOLD_DEVICE void fetch_given(FactorShared& shared, const trifold_args& args, trifold_int first_member, trifold_int stage) {
    const trifold_int first = stage * stage_blocks, horizon = horizon_of(args);
    const int to = static_cast<int>(stage % depth);
    const trifold_strides d{D::row, D::column, D::stage, D::member(args)}, e{E::row, E::column, E::stage, E::member(args)};
    const auto array = [](const void* from) { return global_pointer(static_cast<const real*>(from)); };
    fetch_stage<block_size, block_size>(shared.d[to], array(args.d), d, args, first_member, first, horizon);
    fetch_stage<block_size, block_size>(shared.below[to], array(args.e), e, args, first_member, first, horizon - 1);
    fetch_stage<block_size, block_size>(shared.right[to], array(args.inverse_coupling), e, args, first_member, first, horizon - 1);
    if (Riders) fetch_stage<block_size, 1>(shared.b[to], array(args.b), args.b_strides, args, first_member, first, horizon);
    end_copies();
}

/* Factors the members of a warp, from `first_member` on. */
template <bool Riders>
TRIFOLD_DEVICE void factor_members(const trifold_args& args, trifold_int first_member) {
    FactorShared& shared = *static_cast<FactorShared*>(shared_memory());
    const trifold_int member = first_member + lane_index(), horizon = horizon_of(args);
    const bool exists = is_active(args, member);
    Outcome outcome;
    Carry carry;
    for (int stage = 0; stage < depth; ++stage) fetch_given<Riders>(shared, args, first_member, stage);
#pragma unroll 1
    for (trifold_int stage = 0; stage * stage_blocks < horizon; ++stage) {
        wait_copies<depth - 1>();
        warp_sync();
#pragma unroll 4
        for (int k = 0; k < stage_blocks; ++k) {
            const trifold_int block = stage * stage_blocks + k;
            if (!exists || block >= horizon) break;
            Front a;
            real sums[block_size];
            load_front<Riders>(a, sums, carry, shared, static_cast<int>(stage % depth), k, block + 1 == horizon, args, member, block,
                               outcome);
            factor_front<Riders>(a, sums, carry, block, outcome);
            store_front<Riders>(a, args, member, block);
        }
        warp_sync();
        fetch_given<Riders>(shared, args, first_member, stage + depth);
    }
    wait_copies<0>();
    warp_sync();
    if (!exists) return;
    const double log_sum = -(natural_log(outcome.product) + outcome.scales * log_scale);
    report_member(args, member, outcome.failure, outcome.negative, outcome.reduction, log_sum,
                  outcome.grown > 0 ? outcome.grown / outcome.entry : 0);
}
