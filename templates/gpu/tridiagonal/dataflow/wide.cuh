/* Factorization of the fronts of wide levels, in a launch before that of all others. Wide levels have many fronts. Each front gets as few
 * warps as possible, so that many fronts share a multiprocessor. Warps keep bands of D, R and G in registers (bands/bands.cuh). */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/dataflow/wide_constants.cuh"
#include "gpu/tridiagonal/dataflow/wide_shared.h"
#include "gpu/tridiagonal/bands/bands.cuh"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/verdict.cuh"
#include "gpu/tridiagonal/dataflow/message.cuh"
#include "gpu/tridiagonal/dataflow/panel.cuh"

/* Starts the copy of a block to shared memory, by all threads of a front; waits for all such copies. */
TRIFOLD_DEVICE void pull_block(real* to, const real* from) { copy_block(to, lower_leading, from, band_thread(), band_threads); }
TRIFOLD_DEVICE void pulled_all() {
    end_copies();
    wait_copies<0>();
    band_sync();
}

/* Whether E still is the coupling to the next one, above level 0: that of a ring's last front but the tip. */
TRIFOLD_DEVICE bool has_original_ahead(const trifold_args& args, const Front& front) {
    return lacks_right_child(args, front) && ahead_child(args, front) < 0;
}

/* Starts the loads that are needed after D: of the original couplings, of which shared memory has room for one, or of the blocks that other
 * fronts left. */
TRIFOLD_DEVICE void start_couplings(WideShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front.level == 0) {
        if (front.next >= 0) pull_original(shared, args, member, front.block);
        if (front.behind >= 0 && !is_band) prefetch_block(coupling_of(args, member, front.behind), e_pitch, block_size);
    } else {
        if (is_ring && has_original_ahead(args, front))
            pull_original(shared, args, member, front.block);
        else if (front.next >= 0)
            prefetch_block(next_of(args, member, ahead_child(args, front)), padded, padded);
        if (front.behind >= 0) prefetch_block(behind_of(args, member, left_child(front)), padded, padded);
    }
}

/* D's updates by the fronts of the levels below, pair after pair. Returns whether one of those fronts failed. */
TRIFOLD_DEVICE bool pull_diagonal(Bands& bands, WideShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    bool fed = false;
#pragma unroll 1
    for (int level = 0; level < front.level; ++level) {
        const trifold_int distance = trifold_int(1) << level, left = front.block - distance;
        const trifold_int right = front.block + distance < path_of(args) ? front.block + distance : -1;
        if (await_fronts(args, member, front.run, left, right)) fed = true;
        band_sync();
        pull_block(shared.lower, next_of(args, member, left));
        if (right >= 0) pull_block(shared.pulled, behind_of(args, member, right));
        pulled_all();
        const int line = lines_place(lower_leading), row = rows_place();
#pragma unroll 2
        for (int k = 0; k < padded; k += 8) {
            BandLines lines;
            load_lines(lines, shared.lower + k * lower_leading + line, lower_leading);
            subtract_tiles(bands, lines, shared.lower + k * lower_leading + row, reached_tiles);
            if (right < 0) continue;
            load_lines(lines, shared.pulled + k * lower_leading + line, lower_leading);
            subtract_tiles(bands, lines, shared.pulled + k * lower_leading + row, reached_tiles);
        }
    }
    return fed;
}

/* -R_k G_k' or -G_j R_j', the second operand in shared memory. */
TRIFOLD_DEVICE void multiply_coupling(Bands& bands, const WideShared& shared, const real* own) {
    bands = Bands{};
    const int line = lines_place(padded), row = rows_place();
#pragma unroll /* their loads are in flight together */
    for (int k = 0; k < padded; k += 8) {
        BandLines lines;
        load_lines(lines, global_pointer(own) + k * padded + line, padded);
        subtract_tiles(bands, lines, shared.pulled + k * lower_leading + row, [](int) { return tiles; });
    }
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void spoil_front(const trifold_args& args, trifold_int member, const Front& front) {
    const real nan = static_cast<real>(not_a_number());
    for (int e = band_thread(); e < padded * padded; e += band_threads) {
        factor_of(args, member, front.block)[e] = nan;
        if (front.next >= 0) next_of(args, member, front.block)[e] = nan;
        if (front.behind >= 0) behind_of(args, member, front.block)[e] = nan;
    }
}

/* Computes R or G, out to a block of the workspace, and the squares of its rows. */
TRIFOLD_DEVICE void leave_panel(Bands& bands, const WideShared& shared, real* to, real* squares_to) {
    to += patch_place(padded);
    real squares[2 * warp_bands] = {};
    solve_bands(bands, shared, [&](int r, int c, real value) {
        to[r + c * padded] = value;
        if (has_signs) squares[r / 8] += value * value;
    });
#pragma unroll
    for (int k = 0; has_signs && k < 2 * warp_bands; ++k) {
        const real sum = sum_of_row(squares[k]);
        if (band_thread() % 4 == 0 && (k % 2 == 0 || is_whole(k / 2))) squares_to[band_row(0) + tensor_column() + k * 8] = sum;
    }
}

/* Computes R and G. R's operand is in shared memory already: the original coupling, or G_k of R_k G_k', which D's last update from the
 * right has left there. G's operand takes its place while R is computed. */
TRIFOLD_DEVICE void solve_couplings(Bands& bands, WideShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front.next >= 0) {
        if (front.level == 0 || (is_ring && has_original_ahead(args, front)))
            take_original<true, lower_leading>(bands, shared);
        else
            multiply_coupling(bands, shared, next_of(args, member, ahead_child(args, front)));
    }
    if (front.behind >= 0) {
        band_sync();
        if (front.level == 0)
            pull_original(shared, args, member, front.behind);
        else
            pull_block(shared.pulled, next_of(args, member, left_child(front)));
    }
    if (front.next >= 0) leave_panel(bands, shared, next_of(args, member, front.block), squares_of(args, member, front.block, 1));
    if (front.behind < 0) return;
    pulled_all();
    if (front.level == 0)
        take_original<false, lower_leading>(bands, shared);
    else
        multiply_coupling(bands, shared, behind_of(args, member, left_child(front)));
    leave_panel(bands, shared, behind_of(args, member, front.block), squares_of(args, member, front.block, 0));
}

/* Fetches D's diagonal, and the terms that are added to it, for the warp that reports it in the end. */
TRIFOLD_DEVICE void fetch_report(WideShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    if (band_thread() < band_threads - warp_lanes) return;
    fetch_entries(shared.entry, args, member, block, band_thread() % warp_lanes, warp_lanes);
    if (padded <= 16 || band_thread() % warp_lanes != 0) return;
    shared.terms =
        args.diagonal != nullptr ? static_cast<const real*>(args.diagonal) + block_index(args, member, block) * block_size : nullptr;
    shared.shift = args.shift != nullptr ? static_cast<double>(global_pointer(static_cast<const real*>(args.shift))[member]) : 0;
}
/* A call, so that its registers are not added to those of the bands; without the arguments of the kernel, which a call would copy. */
TRIFOLD_FUNCTION void report_wide(const WideShared& shared, double* log_sum, double* reduction) {
    const auto entry = [&](int r) {
        const real term = shared.terms != nullptr ? global_pointer(shared.terms)[r] : real(0);
        return static_cast<double>(shared.entry[r] + (term + static_cast<real>(shared.shift)));
    };
    sum_up(block_size, shared.diagonal, entry, log_sum, reduction);
}
/* Up to blocks of 16 the kernel has no register left for that call's arguments; a copy of the kernel's own takes some time, and none. */
TRIFOLD_FUNCTION void report_small(const WideShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    report_diagonal(args, member, block, shared.diagonal, shared.entry);
}

TRIFOLD_FUNCTION void report_signs(const WideShared& shared, const trifold_args& args, trifold_int member, trifold_int block, int level) {
    const Front front{block, 0, 0, 0, level, 0};
    report_signed(args, member, block, shared.diagonal, [&](int r) {
        double sum = sum_of_squares(shared, r);
#pragma unroll 4
        for (int k = 0; k < level; ++k) sum += pair_squares(args, member, pair_of(args, front, k), r);
        return sum;
    });
}

/* D is needed first. Where ptxas finds few registers, those that wait for D make those of the copies spill; then the couplings come
 * first. */
TRIFOLD_DEVICE void factor_wide(const trifold_args& args, trifold_int member) {
    WideShared& shared = *static_cast<WideShared*>(shared_memory());
    const Front claimed = claim_front(args, member, Kind::wide, shared.ticket);
    if (shares_front) {
        if (band_thread() == 0) shared.front = claimed;
        block_sync();
    }
    const Front& front = shares_front ? shared.front : claimed;
    start_dependents(); /* when these begin, every front of this launch is resident */
    fetch_report(shared, args, member, front.block);
    for (int r = band_thread(); has_signs && r < padded; r += band_threads) shared.diagonal[padded + r] = 0;
    Bands bands;
    if (!diagonal_first && front.level == 0) start_couplings(shared, args, member, front);
    load_bands(bands, args, member, front.block);
    if (diagonal_first && front.level == 0) start_couplings(shared, args, member, front);
    start_pivots(shared.pivots, args, member, front.block);
    const bool fed = pull_diagonal(bands, shared, args, member, front);
    if (front.level > 0) start_couplings(shared, args, member, front);
    band_sync();
    factor_diagonal(bands, shared, factor_of(args, member, front.block), [](int) {}, [](int) {});
    pulled_all();
    const bool failed = fed || shared.pivots.failed_row >= 0;
    if (band_thread() == 0) {
        report_verdict(args, front.level, member, front.block, fed, shared.pivots);
        shared.failed = failed;
    }
    if (failed)
        spoil_front(args, member, front);
    else
        solve_couplings(bands, shared, args, member, front);
    band_sync();
    if (band_thread() / warp_lanes == band_warps - 1) { /* while stores are in flight */
        if constexpr (has_signs)
            report_signs(shared, args, member, front.block, front.level);
        else if (padded > 16 && !(has_views && (args.diagonal != nullptr || args.shift != nullptr)))
            report_wide(shared, buffer<double>(args, Offset::block_log_determinant(args)) + block_index(args, member, front.block),
                        buffer<double>(args, Offset::reduction(args)) + block_index(args, member, front.block));
        else
            report_small(shared, args, member, front.block);
    }
    if (band_thread() == 0) release_front(args, member, front, Left::everything, shared.failed);
}

#ifdef TRIFOLD_KERNEL_FACTOR_WIDE
TRIFOLD_KERNEL(band_threads, wide_blocks)
void TRIFOLD_KERNEL_FACTOR_WIDE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    each_factored_member(args, [&](trifold_int member) { factor_wide(args, member); });
}
#endif
