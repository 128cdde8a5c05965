/* Variant getrf-fused: factorization of one chain by one thread block, the whole front in shared memory. */
#include "gpu/tridiagonal/getrf_fused/panel.cuh"
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/verdict.cuh"

/* Element (r, c) of a block of A, or zero, to to[r * row + c * column]. */
TRIFOLD_DEVICE void load_block(real* to, int row, int column, const Stored& from, bool exists = true) {
    const bool by_columns = from.row == 1; /* columns are contiguous */
    const trifold_int pitch = by_columns ? from.column : from.row;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const bool inside = exists && at.u < block_size && at.v < block_size;
        to[at.u * (by_columns ? row : column) + at.v * (by_columns ? column : row)] = inside ? from.first[at.u + at.v * pitch] : real(0);
    }
}
/* A(to, from) of neighbouring positions, as rows `row` .. of the panel, or its transpose. */
TRIFOLD_DEVICE void load_coupling(FrontShared& shared, int row, bool transposed, const trifold_args& args, const trifold_level& level,
                                  trifold_int member, trifold_int to, trifold_int from, bool exists = true) {
    const Stored block = exists ? stored_coupling(args, level, member, to, from) : Stored{};
    load_block(shared.panel + row, transposed ? panel_leading : 1, transposed ? 1 : panel_leading, block, exists);
}

/* The largest of a line of a block. */
TRIFOLD_DEVICE int largest_word(const real* at, int step) {
    int most = 0;
#pragma unroll 8
    for (int k = 0; k < block_size; ++k) raise_word(most, at[k * step]);
    return most;
}

/* D less the updates of earlier levels, and what closes a ring. */
TRIFOLD_DEVICE void adjust_diagonal(real* panel, const trifold_args& args, const trifold_level& level, trifold_int member,
                                    trifold_int block) {
    if (level.index == 0 && !closes_ring(level)) return;
    const real* slot[2];
    for (int side = 0; side < 2; ++side)
        slot[side] = level.index > 0 && has_side(args, member, block, side) ? update_of(args, member, block, side) : nullptr;
    Stored lower{}, upper{};
    if (closes_ring(level)) lower = stored_coupling(args, level, member, 1, 0), upper = stored_coupling(args, level, member, 0, 1);
#pragma unroll 1
    for (int e = thread_index(); e < block_size * padded; e += threads) {
        const int r = e % padded, c = e / padded;
        if (r >= block_size) continue;
        real value = panel[r + c * panel_leading];
        if (slot[0] != nullptr) value -= slot[0][e];
        if (slot[1] != nullptr) value -= slot[1][e];
        if (closes_ring(level)) value += lower.first[r * lower.row + c * lower.column] + upper.first[r * upper.row + c * upper.column];
        panel[r + c * panel_leading] = value;
    }
    block_sync();
}

/* Loads the front of position `position`: the blocks of its level, less the updates that the chain's previous front left there, and the
 * sums of its rows: their largest entries, and what fronts before have added. */
TRIFOLD_DEVICE void load_front(FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               const Chain& chain, trifold_int position, bool has_next) {
    real* panel = shared.panel;
    const bool first = position == chain.first, fill = has_fill && chain.behind >= 0;
    const trifold_int block = block_at(level, position);
    if (fill && !first) {
        multiply_fill(panel, nullptr, behind_row, right_row); /* - G Z */
        multiply_fill(panel, nullptr, far_row, next_row);     /* - H' R' */
    }
    load_block(panel, 1, panel_leading, {D_OF(args, member, block), D::row, D::column});
    if (thread_index() == 0) shared.failed_row = -1, shared.interchanges = 0;
    block_sync();
    for (int r = thread_index(); r < padded; r += threads) {
        real& entry = panel[r * (panel_leading + 1)];
        entry = r < block_size ? entry + diagonal_term(args, member, block, r) : real(1);
        shared.most[0][r] = largest_word(panel + r, panel_leading);
        shared.order[r] = r;
    }
    block_sync();
    adjust_diagonal(panel, args, level, member, block);
    if (!first) update_pivot(panel, nullptr, next_row, right_row, false);
    block_sync();
    const trifold_int next = position + chain.step;
    load_coupling(shared, next_row, false, args, level, member, next, position, has_next);
    load_coupling(shared, right_row, true, args, level, member, position, next, has_next);
    if (fill && first) {
        load_coupling(shared, behind_row, false, args, level, member, chain.behind, position);
        load_coupling(shared, far_row, true, args, level, member, position, chain.behind);
    }
    block_sync();
    for (int t = thread_index(); t < 4 * padded; t += threads) {
        const int part = t / padded, r = t % padded, row = part == 0 ? right_row : part == 1 ? far_row : part == 2 ? next_row : behind_row;
        const bool exists = part % 2 == 0 || (fill && first);
        shared.most[1 + part][r] = !exists    ? 0
                                   : part < 2 ? largest_word(panel + row + r * panel_leading, 1)
                                              : largest_word(panel + row + r, panel_leading);
    }
    block_sync();
}

/* The largest entry of A in a row, as far as it is known at this level; and what a row's sum begins with: the largest entry of D, Z and H.
 */
TRIFOLD_DEVICE int entry_of_row(const FrontShared& shared, const trifold_level& level, int r) {
    int most = shared.most[0][r];
    for (int part = 1; part < 5; ++part)
        if (level.index == 0) most = larger(most, shared.most[part][r]);
    return most;
}
TRIFOLD_DEVICE void start_sums(FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               trifold_int block, bool first) {
    for (int r = thread_index(); r < padded; r += threads) {
        real sum = number_of_word(larger(shared.most[0][r], larger(shared.most[1][r], shared.most[2][r])));
        if (!first) sum += shared.next_sums[r];
        for (int side = 0; side < 2; ++side)
            if (level.index > 0 && has_side(args, member, block, side)) sum += update_of(args, member, block, side)[storage + r];
        shared.sums[r] = sum;
        shared.totals[r] = number_of_word(entry_of_row(shared, level, r));
    }
}

/* The verdict's numbers of a front, from its factors: the sums of its rows, and those that go to the next block and to the one behind. */
struct Weights {
    double log_sum = 0, most[3] = {};
    int pivots = 0;
};
TRIFOLD_DEVICE void weigh(FrontShared& shared, const trifold_args& args, trifold_int index, real* behind, bool add) {
    const real* panel = shared.panel;
    double entry = 0; /* of A */
    if (thread_index() < warp_lanes)
        for (int r = thread_index(); r < block_size; r += warp_lanes) raise_to(entry, static_cast<double>(shared.totals[r]));
    const bool fill = behind != nullptr;
    for (int t = thread_index(); t < (fill ? 3 : 2) * padded; t += threads) {
        const int part = t / padded, k = t % padded;
        int most = 0;
        if (part == 0) {
            raise_word(most, shared.pivots[k]);
            for (int c = k + 1; c < padded; ++c) raise_word(most, panel[k + c * panel_leading]);
        } else {
            most = largest_word(panel + (part == 1 ? right_row : far_row) + k * panel_leading, 1);
        }
        shared.most[part][k] = most;
    }
    block_sync();
    for (int k = thread_index(); k < padded; k += threads)
        shared.top[k] = number_of_word(larger(larger(shared.most[0][k], shared.most[1][k]), fill ? shared.most[2][k] : 0));
    block_sync();
    for (int t = thread_index(); t < (fill ? 3 : 2) * padded; t += threads) {
        real sum = 0;
#pragma unroll 4
        for (int k = 0; k < (t < padded ? t : block_size); ++k) sum += size_of_number(panel[t + k * panel_leading]) * shared.top[k];
        if (t < padded)
            shared.totals[t] = shared.sums[shared.order[t]] + sum;
        else if (t < behind_row)
            shared.next_sums[t - next_row] = sum;
        else
            behind[storage + t - behind_row] = (add ? behind[storage + t - behind_row] : real(0)) + sum;
    }
    block_sync();
    if (thread_index() >= warp_lanes) return;
    Weights own;
    raise_to(own.most[2], entry);
    for (int r = thread_index(); r < block_size; r += warp_lanes) {
        const double pivot = static_cast<double>(size_of_number(shared.pivots[r])), total = static_cast<double>(shared.totals[r]);
        own.log_sum += natural_log(pivot);
        own.pivots += static_cast<int>(shared.pivots[r] < 0);
        raise_to(own.most[0], total / pivot), raise_to(own.most[1], total + static_cast<double>(shared.top[r]));
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        own.log_sum += shuffle_xor(own.log_sum, mask), own.pivots += shuffle_xor(own.pivots, mask);
        for (int k = 0; k < records; ++k) raise_to(own.most[k], shuffle_xor(own.most[k], mask));
    }
    if (thread_index() != 0) return;
    buffer<double>(args, Offset::block_log_determinant(args))[index] = own.log_sum;
    negatives_of(args)[index] = own.pivots + shared.interchanges;
    for (int k = 0; k < records; ++k) record_of(args, k)[index] = own.most[k];
}

/* The factors of a front to the workspace. */
TRIFOLD_DEVICE void store_front(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block, bool has_next,
                                bool fill) {
    const real* panel = shared.panel;
    store_rows(lu_of(args, member, block), panel, 0);
    for (int r = thread_index(); r < padded; r += threads) order_of(args, member, block)[r] = shared.order[r];
    for (int part = 0; part < 2; ++part) {
        if (has_next) store_rows(below_of(args, member, block) + part * storage, panel, part == 0 ? next_row : right_row);
        if (fill) store_rows(behind_panels_of(args, member, block) + part * storage, panel, part == 0 ? behind_row : far_row);
    }
}

/* Writes the chain's updates of the separator ahead, and the couplings that it leaves between its ends. */
TRIFOLD_DEVICE void leave_chain(const FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                                const Chain& chain) {
    if (chain.ahead < 0) return;
    const bool add = level.index > 0, up = chain.step > 0;
    real* slot = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
    multiply_out(shared.panel, nullptr, {next_row, right_row, slot, false, add, false});
    for (int r = thread_index(); r < padded; r += threads) slot[storage + r] = (add ? slot[storage + r] : real(0)) + shared.next_sums[r];
    if (!has_fill || chain.behind < 0) return;
    real* coupling = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, member, chain) * panel_storage;
    multiply_out(shared.panel, nullptr, {next_row, far_row, coupling + (up ? 0 : storage), false, false, true});
    multiply_out(shared.panel, nullptr, {behind_row, right_row, coupling + (up ? storage : 0), false, false, true});
}

TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    if (thread_index() == 0) shared.chain = find_chain(args, level, number, member);
    block_sync();
    const Chain& chain = shared.chain;
    const bool fill = has_fill && chain.behind >= 0;
    const Ends ends{fill ? behind_row + padded : behind_row, fill ? far_row + padded : far_row};
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool has_next = k + 1 < chain.length || chain.ahead >= 0, add = level.index > 0 || k > 0;
        load_front(shared, args, level, member, chain, position, has_next);
        start_sums(shared, args, level, member, block, k == 0);
        factor_front(shared, ends);
        real* behind = fill ? update_of(args, member, block_at(level, chain.behind), side_behind(chain)) : nullptr;
        weigh(shared, args, block_index(args, member, block), behind, add);
        const bool fed = failed || is_poisoned(args, level, member, block);
        if (thread_index() == 0) report_verdict(args, level.index, member, block, fed, {0, 0, shared.failed_row, 0});
        failed = fed || shared.failed_row >= 0;
        block_sync();
        if (failed) poison(shared.panel);
        store_front(shared, args, member, block, has_next, fill);
        if (fill) multiply_out(shared.panel, nullptr, {behind_row, far_row, behind, false, add, false});
        block_sync();
    }
    leave_chain(shared, args, level, member, chain);
    if (thread_index() == 0) pass_poison(args, level, member, chain, failed);
}
