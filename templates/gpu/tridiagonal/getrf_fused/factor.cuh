/* Variant getrf-fused: factorization of one chain by one thread block, the whole front in shared memory. */
#include "gpu/tridiagonal/getrf_fused/panel.cuh"
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/verdict.cuh"

/* Starts the copy of a block of A, or of zeros, to rows `row` .. of the panel, or of its transpose. */
TRIFOLD_DEVICE void load_block(real* panel, int row, bool transposed, const Stored& from, bool exists = true) {
    const bool by_columns = from.row == 1; /* columns are contiguous */
    const trifold_int pitch = by_columns ? from.column : from.row;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        real& to = panel[row + (by_columns != transposed ? at.u + at.v * panel_leading : at.v + at.u * panel_leading)];
        if (exists && at.u < block_size && at.v < block_size)
            copy_element_async(&to, from.first + at.u + at.v * pitch);
        else
            to = 0;
    }
    end_copies();
}

/* The largest entry of row r of a block of the front, from column `first` on. */
TRIFOLD_DEVICE int largest_of_row(const real* panel, int part, int r, int first = 0) {
    const int step = part >= right_part ? 1 : panel_leading;
    const real* at = panel + part * padded + r * (part >= right_part ? panel_leading : 1);
    int most = 0;
#pragma unroll 8
    for (int c = first; c < block_size; ++c) raise_word(most, at[c * step]);
    return most;
}

/* D less the updates of earlier levels, and what closes a ring. */
TRIFOLD_DEVICE void adjust_diagonal(real* panel, const trifold_args& args, const trifold_level& level, trifold_int member,
                                    trifold_int block) {
    const bool low = has_side(args, member, block, 0), high = has_side(args, member, block, 1);
    const real *below = update_of(args, member, block, 0), *above = update_of(args, member, block, 1);
    Stored lower{}, upper{};
    if (closes_ring(level)) lower = stored_coupling(args, level, member, 1, 0), upper = stored_coupling(args, level, member, 0, 1);
#pragma unroll 1
    for (int e = thread_index(); e < block_size * padded; e += threads) {
        const int r = e % padded, c = e / padded;
        if (r >= block_size) continue;
        real value = panel[r + c * panel_leading];
        if (level.index > 0 && low) value -= below[e];
        if (level.index > 0 && high) value -= above[e];
        if (closes_ring(level)) value += lower.first[r * lower.row + c * lower.column] + upper.first[r * upper.row + c * upper.column];
        panel[r + c * panel_leading] = value;
    }
}

/* Loads the front of position `position`: the blocks of its level, less the updates that the chain's previous front left there. The sums
 * of its rows begin with their largest entries, and with what earlier fronts have added. */
TRIFOLD_DEVICE void load_front(FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               const Chain& chain, trifold_int position, bool has_next) {
    real* panel = shared.panel;
    const bool first = position == chain.first, fill = has_fill && chain.behind >= 0;
    const trifold_int block = block_at(level, position), next = position + chain.step;
#pragma unroll 1
    for (int part = 0; part < 2 && fill && !first; ++part) /* - G Z, - H' R' */
        multiply_fill(panel, nullptr, part == 0 ? behind_row : far_row, part == 0 ? right_row : next_row);
    load_block(panel, 0, false, {D_OF(args, member, block), D::row, D::column});
    if (thread_index() == 0) shared.failed_row = -1, shared.interchanges = 0;
    wait_copies<0>();
    block_sync();
    for (int r = thread_index(); r < padded; r += threads) {
        real& entry = panel[r * (panel_leading + 1)];
        entry = r < block_size ? entry + diagonal_term(args, member, block, r) : real(1);
        shared.most[0][r] = largest_of_row(panel, 0, r);
        shared.order[r] = r;
    }
    block_sync();
    if (level.index > 0 || closes_ring(level)) adjust_diagonal(panel, args, level, member, block);
    block_sync();
    if (!first) update_pivot(panel, nullptr, next_row, right_row, false);
    block_sync();
#pragma unroll 1
    for (int part = 1; part < blocks; ++part) {
        const bool along = part == 1 || part == right_part, transposed = part >= right_part, exists = !along || has_next;
        if (!along && !(fill && first)) continue;
        const trifold_int other = along ? next : chain.behind, to = transposed ? position : other, from = transposed ? other : position;
        load_block(panel, part * padded, transposed, exists ? stored_coupling(args, level, member, to, from) : Stored{}, exists);
    }
    wait_copies<0>();
    block_sync();
    for (int t = padded + thread_index(); t < blocks * padded; t += threads) {
        const int part = t / padded;
        const bool exists = part == 1 || part == right_part || (fill && first);
        shared.most[part][t % padded] = exists ? largest_of_row(panel, part, t % padded) : 0;
    }
    block_sync();
    for (int r = thread_index(); r < padded; r += threads) {
        int own = shared.most[0][r], entry = own;
        for (int part = right_part; part < blocks; ++part) own = larger(own, shared.most[part][r]);
        for (int part = 1; part < blocks && level.index == 0; ++part) entry = larger(entry, shared.most[part][r]);
        real sum = number_of_word(own) + (first ? real(0) : shared.next_sums[r]);
        for (int side = 0; side < 2; ++side)
            if (level.index > 0 && has_side(args, member, block, side)) sum += update_of(args, member, block, side)[storage + r];
        shared.sums[r] = sum, shared.entries[r] = number_of_word(entry);
    }
}

/* Prefetches the blocks of front k of a chain. */
TRIFOLD_DEVICE void prefetch_front(const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain,
                                   trifold_int k) {
    if (k >= chain.length) return;
    const trifold_int position = chain.first + k * chain.step, next = position + chain.step;
    const auto fetch = [&](const real* from, trifold_int pitch) { prefetch_block(from, pitch, block_size, thread_index(), threads); };
    fetch(D_OF(args, member, block_at(level, position)), d_pitch);
    if (k + 1 == chain.length && chain.ahead < 0) return;
    const trifold_int pitch = level.index > 0 ? trifold_int(padded) : e_pitch;
    fetch(stored_coupling(args, level, member, next, position).first, pitch);
    fetch(stored_coupling(args, level, member, position, next).first, pitch);
}

/* Adds sums of rows, or sets them. */
TRIFOLD_DEVICE void leave_sum(real* slot, bool add, int r, real sum) { slot[storage + r] = (add ? slot[storage + r] : real(0)) + sum; }

/* Sums of the front's rows, from its factors, for the verdict; those that go to the next block; and those to the slot of the one behind. */
TRIFOLD_DEVICE void weigh(FrontShared& shared, const Ends& ends, const trifold_args& args, trifold_int index, real* behind, bool add) {
    const real* panel = shared.panel;
    for (int t = thread_index(); t < ends.right; t += threads) {
        const int part = t / padded, k = t % padded;
        if (part == 0 || part >= right_part) shared.most[part][k] = largest_of_row(panel, part, k, part == 0 ? k + 1 : 0);
    }
    block_sync();
    for (int k = thread_index(); k < padded; k += threads) {
        const int own = larger(size_word(shared.pivots[k]), shared.most[0][k]);
        shared.top[k] = number_of_word(larger(own, larger(shared.most[right_part][k], shared.most[ends.right / padded - 1][k])));
    }
    block_sync();
    for (int t = thread_index(); t < ends.below; t += threads) {
        real sum = 0;
#pragma unroll 4
        for (int k = 0; k < (t < padded ? t : block_size); ++k) sum += size_of_number(panel[t + k * panel_leading]) * shared.top[k];
        if (t < padded)
            shared.totals[t] = shared.sums[shared.order[t]] + sum;
        else if (t < next_row + padded)
            shared.next_sums[t - next_row] = sum;
        else
            leave_sum(behind, add, t - behind_row, sum);
    }
    block_sync();
    if (thread_index() >= warp_lanes) return;
    report_rows(args, index, block_size, [&](int r) -> Weights {
        return {static_cast<double>(shared.pivots[r]), static_cast<double>(shared.totals[r]),
                static_cast<double>(shared.totals[r] + shared.top[r]), static_cast<double>(shared.entries[r])};
    });
    if (thread_index() == 0) negatives_of(args)[index] += shared.interchanges;
}

/* The factors of a front to the workspace. */
TRIFOLD_DEVICE void store_front(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block, bool has_next,
                                bool fill) {
    const real* panel = shared.panel;
    store_rows(factor_of(args, member, block), panel, 0);
    for (int r = thread_index(); r < padded; r += threads) order_of(args, member, block)[r] = shared.order[r];
    for (int pair = 0; pair < 2; ++pair) {
        if (has_next) store_rows(next_of(args, member, block) + pair * storage, panel, pair == 0 ? next_row : right_row);
        if (fill) store_rows(behind_of(args, member, block) + pair * storage, panel, pair == 0 ? behind_row : far_row);
    }
}

/* Writes the chain's updates of the separator ahead, and the couplings that it leaves between its ends. */
TRIFOLD_DEVICE void leave_chain(const FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                                const Chain& chain) {
    if (chain.ahead < 0) return;
    const bool add = level.index > 0, up = chain.step > 0;
    real* slot = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
    for (int r = thread_index(); r < padded; r += threads) leave_sum(slot, add, r, shared.next_sums[r]);
#pragma unroll 1
    for (int part = 0; part < (has_fill && chain.behind >= 0 ? 3 : 1); ++part) {
        Product product{part == 2 ? behind_row : next_row, part == 1 ? far_row : right_row, slot, false, part == 0 && add, part > 0};
        if (part > 0)
            product.to = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, member, chain) * panel_storage +
                         ((part == 1) == up ? 0 : storage);
        multiply_out(shared.panel, nullptr, product);
    }
}

TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    if (thread_index() == 0) shared.chain = find_chain(args, level, number, member);
    block_sync();
    const Chain& chain = shared.chain;
    const bool fill = has_fill && chain.behind >= 0;
    const Ends ends{fill ? right_row : behind_row, fill ? blocks * padded : far_row};
    real* behind = fill ? update_of(args, member, block_at(level, chain.behind), side_behind(chain)) : nullptr;
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool has_next = k + 1 < chain.length || chain.ahead >= 0, add = level.index > 0 || k > 0;
        load_front(shared, args, level, member, chain, position, has_next);
        prefetch_front(args, level, member, chain, k + 1);
        factor_front(shared, ends);
        weigh(shared, ends, args, block_index(args, member, block), behind, add);
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
