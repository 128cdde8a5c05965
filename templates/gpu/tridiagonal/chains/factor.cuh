/* Factorization of a chain by one thread block, for schedules without fill. What a front leaves to the next never goes through memory: R
 * stays in shared memory, and the next front's D takes the product R R' in registers. Some warps have the bands of D and R. Right-hand
 * sides and reports are the helper's, a warp of its own; where many chains share a multiprocessor, the first warp does its work too.
 *
 *      warps with bands        E comes         D = L L', out      R = E L'^-1, out    next D -= R R'
 *                                              tile by tile       next D comes
 *      helper                  next b          y, tile by tile    reports             next b -= R y */
#include "gpu/tridiagonal/bands/bands.cuh"
#include "gpu/tridiagonal/chains/report.cuh"
#include "gpu/tridiagonal/chains/rows.cuh"
#include "gpu/tridiagonal/chains/shared.h"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/verdict.cuh"

/* A multiprocessor has registers for two blocks of bands; larger ones load D when R is done. */
constexpr bool loads_early = padded <= 64;
static_assert(threads == band_teams * band_threads + (has_helper ? warp_lanes : 0), "host and device disagree");

/* Named barriers: a team's warps that have bands meet at one; at one for each column tile the first of them arrives, and who follows waits.
 * Where teams take turns, R is complete at another, and at the last one a warp hands right-hand sides over. */
constexpr bool takes_turns = band_teams > 1;
constexpr int team_barrier = 1, panel_barrier = 3, hand_over_barrier = 4,
              tile_barrier = (takes_turns ? hand_over_barrier : team_barrier) + 1;
static_assert(tile_barrier + tiles <= 16, "a thread block has 16");
TRIFOLD_DEVICE void chain_sync(int barrier, int warps) { named_sync(chain_shared()->arrivals[barrier], barrier, warps * warp_lanes); }
TRIFOLD_DEVICE void chain_arrive(int barrier, int warps) { named_arrive(chain_shared()->arrivals[barrier], barrier, warps * warp_lanes); }
TRIFOLD_DEVICE int team_index() { return takes_turns ? thread_of_teams() / band_threads : 0; }
TRIFOLD_DEVICE void sync_band_warps() {
    if (has_helper || takes_turns)
        chain_sync(team_barrier + team_index(), band_warps);
    else
        block_sync();
}
TRIFOLD_DEVICE void sync_chain() {
    if (threads == warp_lanes)
        warp_sync();
    else
        block_sync();
}

/* State of a chain that is eliminated. */
struct Walk {
    trifold_int member, number, block, next; /* number: of the front in its chain; next: the block that it leads to */
    bool last, has_next, fed, failed;
    Columns columns;
};

/* use(item, row, column) for the items of the lower part of D. */
template <class Use>
TRIFOLD_DEVICE void each_lower(Bands& bands, const Use& use) {
    const int first = band_row(0) + tensor_column(), column = result_row(0);
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int r = first + band * 16 + down(k), c = column + t * 8 + k % 2;
                if (r >= c && (k < 2 || is_whole(band))) use(item(bands.at[band][t], k), r, c);
            }
}

/* The updates that the chains of level 0 left in a separator's slots. */
TRIFOLD_DEVICE void take_updates(Bands& bands, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int side = 0; side < 2; ++side) {
        if (!has_side(args, member, block, side)) continue;
        const real* from = update_of(args, member, block, side);
        each_lower(bands, [&](band_real& value, int r, int c) { value -= static_cast<band_real>(from[r + c * padded]); });
    }
}
/* The sums of rows that a chain begins with, those that chains of level 0 left. */
TRIFOLD_DEVICE void start_sums(double* sums, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    for (int r = band_thread(); has_signs && r < padded; r += band_threads) {
        sums[r] = 0;
        for (int side = 0; has_separators && level.index > 0 && side < 2; ++side)
            if (has_side(args, member, block, side)) sums[r] += update_of(args, member, block, side)[storage + r];
    }
}
/* The squares of the rows of R. */
TRIFOLD_DEVICE void leave_squares(const real* panel, double* sums) {
    for (int r = band_thread(); has_signs && r < padded; r += band_threads) sums[r] = squares_of_row(panel + r, lower_leading, padded);
}
/* The update of the separator ahead, which the bands have with the opposite sign, and the sums of its rows. */
TRIFOLD_DEVICE void leave_updates(Bands& bands, const double* sums, const trifold_args& args, const trifold_level& level,
                                  trifold_int member, const Chain& chain) {
    real* to = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
    for (int r = band_thread(); has_signs && r < padded; r += band_threads) to[storage + r] = static_cast<real>(sums[r]);
    each_lower(bands, [&](band_real& value, int r, int c) { to[r + c * padded] = static_cast<real>(-value); });
}

/* D -= R R'. */
TRIFOLD_DEVICE void subtract_square(Bands& bands, const ChainShared& shared) {
    const int line = lines_place(lower_leading), row = rows_place();
#pragma unroll 2
    for (int k = 0; k < padded; k += 8) {
        BandLines lines;
        load_lines(lines, shared.pulled + k * lower_leading + line, lower_leading);
        subtract_tiles(bands, lines, shared.pulled + k * lower_leading + row, reached_tiles);
    }
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void spoil_factor(real* to) {
    for (int e = band_thread(); e < padded * padded; e += band_threads) to[e] = static_cast<real>(not_a_number());
}
TRIFOLD_DEVICE void spoil_bands(Bands& bands) {
#pragma unroll
    for (int band = 0; band < warp_bands; ++band)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; ++k) item(bands.at[band][t], k) = static_cast<band_real>(not_a_number());
}

/* ---- the helper ---- */

TRIFOLD_DEVICE void start_riding(ChainShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    store_rows(shared.running, {}), store_rows(shared.coming, {});
    warp_sync();
    fetch_rows(shared.running, args.b, args.b_strides, member, block, columns, rows_of(args, member, block));
}

/* Starts the loads of what a front's helper needs. */
template <bool Riders>
TRIFOLD_DEVICE void fetch_helped(ChainShared& shared, const trifold_args& args, const Walk& walk) {
    fetch_entries(shared.entry, args, walk.member, walk.block, lane_index(), warp_lanes);
    if (Riders && !walk.last)
        fetch_rows(shared.coming, args.b, args.b_strides, walk.member, walk.next, walk.columns, rows_of(args, walk.member, walk.next));
    end_copies();
}
TRIFOLD_DEVICE void take_running(Rows& rows, const ChainShared& shared, const trifold_args& args, const trifold_level& level,
                                 const Walk& walk) {
    each_row([&](int q, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) rows.at[q][c] = shared.running[c][row];
    });
    if (has_separators && level.index > 0) subtract_updates(rows, args, walk.member, walk.block, walk.columns);
}
TRIFOLD_DEVICE void ride_tile(Rows& rows, ChainShared& shared, int t) {
    TileLines lines;
    load_tile_lines<true>(lines, t, shared.lower, lower_leading,
                          [&](real(&line)[8], int at, int j) { load_line(line, shared.inverse[at] + j * 8); });
    solve_tile<true>(t, rows, lines, shared.running, shared.solved);
}
/* y out to X, and what is told of the front. */
template <bool Riders>
TRIFOLD_DEVICE void report(ChainShared& shared, const trifold_args& args, const trifold_level& level, const Walk& walk) {
    if (Riders) {
        warp_sync();
        each_row([&](int, int row) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) {
                if (walk.failed) shared.solved[c][row] = static_cast<real>(not_a_number());
                if (row < block_size)
                    shared.squares[c][row] +=
                        square_of(shared.solved[c][row], has_signs ? static_cast<real>(shared.diagonal[row]) : real(1));
            }
        });
        store_solved<true>(shared.solved, args, walk.member, walk.block, walk.columns, [&](int row) { return shared.diagonal[row]; });
    }
    report_front(shared, args, walk.member, walk.block);
    if (has_lengths && lane_index() == 0) clear_sums(args, walk.member, walk.block);
    if (has_signs && lane_index() == 0) negatives_of(args)[block_index(args, walk.member, walk.block)] = 0;
    if (lane_index() == 0) report_verdict(args, level.index, walk.member, walk.block, walk.fed, shared.pivots);
}
/* R y goes to the next front, whose team has R, or to the separator ahead. */
TRIFOLD_DEVICE void pass_on(const ChainShared& shared, ChainShared& next, const trifold_args& args, const trifold_level& level,
                            const Walk& walk) {
    Rows product;
    multiply_vectors<false>(product, next.pulled, lower_leading, shared.solved);
    if (walk.last)
        leave_update(product, args, level, walk.member, shared.chain, walk.columns);
    else
        each_row([&](int q, int row) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) next.running[c][row] = shared.coming[c][row] - product.at[q][c];
        });
}
template <bool Riders>
TRIFOLD_DEVICE void end_help(const ChainShared& shared, const trifold_args& args, const trifold_level& level, const Walk& walk) {
    report_chain(args, walk.member, walk.block);
    if (Riders)
        store_quadratics(args, walk.member, walk.block, walk.columns, [&](int, int row, int c) {
            double sum = 0;
            for (int team = 0; team < band_teams; ++team) sum += chain_shared()[team].squares[c][row];
            return sum;
        });
    if (has_separators && lane_index() == 0) pass_poison(args, level, walk.member, shared.chain, walk.failed);
}

/* ---- the warps with bands ---- */

/* An original coupling in shared memory. Lines of whole vectors are as far apart as in memory, so that one copy brings all. */
constexpr int coupling_leading = (block_size + vector_width - 1) / vector_width * vector_width;

/* Starts the copy of an original coupling, by `count` threads. One copy arrives at the gate; where the caller's array does not allow it,
 * many do without. */
TRIFOLD_DEVICE void fetch_coupling(ChainShared& shared, const trifold_args& args, trifold_int member, trifold_int block, int thread,
                                   int count) {
    if (has_views && !(is_whole(args, member, block) && is_whole(args, member, block + 1))) {
        if (thread == 0) gate_arrive(&shared.gate);
        pull_views(shared.pulled, coupling_leading, given_coupling(args, member, block), thread, count);
        return;
    }
    constexpr bool in_one = e_pitch == coupling_leading && E::step % vector_width == 0;
    const real* from = coupling_of(args, member, block);
    if (in_one && reinterpret_cast<unsigned long long>(args.e) % 16 == 0) {
        constexpr int bytes = block_size * coupling_leading * static_cast<int>(sizeof(real));
        if (thread != 0) return;
        copy_range(shared.pulled, from, bytes, &shared.gate);
        gate_arrive_with(&shared.gate, bytes);
    } else {
        if (thread == 0) gate_arrive(&shared.gate);
#pragma unroll 1
        for (int e = thread; e < block_size * block_size; e += count) {
            const int u = e % block_size, v = e / block_size;
            copy_element_async(shared.pulled + u + v * coupling_leading, from + u + v * e_pitch);
        }
    }
}

/* E to registers, and from there R to shared memory and the workspace; the next D. */
TRIFOLD_DEVICE void make_next(Bands& diagonal, ChainShared& shared, const trifold_args& args, const Walk& walk) {
    Bands coupling;
    if (walk.next > walk.block)
        take_original<true, coupling_leading>(coupling, shared);
    else
        take_original<false, coupling_leading>(coupling, shared);
    if (walk.failed) spoil_bands(coupling);
    band_sync(); /* R takes E's place */
    const auto load_next = [&] {
        if (!walk.last) load_bands(diagonal, args, walk.member, walk.next);
    };
    if (loads_early) load_next();
    real* const out = next_of(args, walk.member, walk.block) + patch_place(padded);
    real* const near = shared.pulled + patch_place(lower_leading);
    solve_bands(coupling, shared, [&](int r, int c, real value) {
        out[r + c * padded] = value;
        near[r + c * lower_leading] = value;
    });
    if (!loads_early) load_next();
}

/* ---- chains ---- */

/* Goes along a chain: use(walk) for each front. */
template <class Use>
TRIFOLD_DEVICE Walk each_front(const ChainShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               const Use& use) {
    const Chain& chain = shared.chain;
    Walk walk{member, 0, block_at(level, chain.first), 0, false, false, false, false, columns_from(args, 0, columns_at_once)};
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        if (k > 0) walk.block = walk.next;
        walk.number = k;
        walk.next = walk.block + level.scale * chain.step;
        walk.last = k + 1 == chain.length, walk.has_next = !walk.last || chain.ahead >= 0;
        use(walk);
    }
    return walk;
}
/* Whether the front has failed, once its pivots are known. */
TRIFOLD_DEVICE void judge(Walk& walk, const ChainShared& shared, const trifold_args& args, const trifold_level& level) {
    walk.fed = walk.failed || (has_separators && is_poisoned(args, level, walk.member, walk.block));
    walk.failed = walk.fed || shared.pivots.failed_row >= 0;
}

template <bool Riders>
TRIFOLD_DEVICE void help_chain(ChainShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member) {
    start_report(shared);
    if (Riders) start_riding(shared, args, member, block_at(level, shared.chain.first), columns_from(args, 0, columns_at_once));
    const Walk end = each_front(shared, args, level, member, [&](Walk& walk) {
        fetch_helped<Riders>(shared, args, walk);
        Rows rows;
        wait_copies<0>();
        warp_sync();
        if (Riders) take_running(rows, shared, args, level, walk);
#pragma unroll unrolled_tiles
        for (int t = 0; t < tiles; ++t) {
            chain_sync(tile_barrier + t, 2);
            if (Riders) ride_tile(rows, shared, t);
        }
        judge(walk, shared, args, level);
        report<Riders>(shared, args, level, walk);
        if (walk.has_next) {
            block_sync(); /* R is there */
            if (Riders) pass_on(shared, shared, args, level, walk);
        }
        block_sync();
    });
    end_help<Riders>(shared, args, level, end);
}

/* `turn`: couplings that the thread block has waited for. */
template <bool Riders>
TRIFOLD_DEVICE void walk_chain(ChainShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               unsigned& turn) {
    const Chain& chain = shared.chain;
    const trifold_int first = block_at(level, chain.first);
    const bool helps = !has_helper && band_thread() < warp_lanes;
    if (helps) {
        start_report(shared);
        if (Riders) start_riding(shared, args, member, first, columns_from(args, 0, columns_at_once));
    }
    Bands diagonal;
    load_bands(diagonal, args, member, first);
    if (has_separators && level.index > 0) take_updates(diagonal, args, member, first);
    start_sums(shared.diagonal + (has_signs ? 2 * padded : 0), args, level, member, first);
    const Walk end = each_front(shared, args, level, member, [&](Walk& walk) {
        for (int r = band_thread(); has_signs && r < padded; r += band_threads)
            shared.diagonal[padded + r] = shared.diagonal[2 * padded + r];
        if (walk.has_next)
            fetch_coupling(shared, args, member, walk.block < walk.next ? walk.block : walk.next, band_thread(), band_threads);
        if (helps) fetch_helped<Riders>(shared, args, walk);
        end_copies();
        start_pivots(shared.pivots, args, member, walk.block);
        const auto leave = [&](int t) {
            if (has_helper && band_thread() < warp_lanes) chain_arrive(tile_barrier + t, 2);
        };
        factor_diagonal(diagonal, shared, factor_of(args, member, walk.block), leave, [](int) {});
        diagonal = Bands{}; /* until make_next() registers are free */
        if (walk.has_next) gate_wait(&shared.gate, turn++);
        wait_copies<0>();
        band_sync();
        judge(walk, shared, args, level);
        if (walk.failed) spoil_factor(factor_of(args, member, walk.block));
        if (helps) {
            if (Riders) {
                Rows rows;
                take_running(rows, shared, args, level, walk);
#pragma unroll unrolled_tiles
                for (int t = 0; t < tiles; ++t) ride_tile(rows, shared, t);
            }
            report<Riders>(shared, args, level, walk);
        }
        if (walk.has_next) {
            make_next(diagonal, shared, args, walk);
            sync_chain();
            leave_squares(shared.pulled, shared.diagonal + (has_signs ? 2 * padded : 0));
            subtract_square(diagonal, shared);
            if (Riders && helps) pass_on(shared, shared, args, level, walk);
        }
        fence_shared_copies(); /* the next coupling takes R's place */
        sync_chain();
    });
    if (helps) end_help<Riders>(shared, args, level, end);
    if (has_separators && chain.ahead >= 0)
        leave_updates(diagonal, shared.diagonal + (has_signs ? 2 * padded : 0), args, level, member, chain);
}

/* ---- teams that take turns ---- */

/* The warp of a team that has no tile to eliminate where there are others, and right-hand sides and reports instead. */
TRIFOLD_DEVICE bool is_helping() { return band_thread() >= band_threads - warp_lanes; }

/* Starts the copy of the coupling of a front, by its number in the chain, where R is needed no more: by one warp. */
TRIFOLD_DEVICE void fetch_ahead(ChainShared& own, const trifold_args& args, const trifold_level& level, trifold_int member,
                                trifold_int number) {
    const Chain& chain = own.chain;
    if (number + (chain.ahead < 0 ? 1 : 0) < chain.length) {
        const trifold_int block = block_at(level, chain.first) + number * level.scale * chain.step, next = block + level.scale * chain.step;
        fence_shared_copies();
        fetch_coupling(own, args, member, block < next ? block : next, lane_index(), warp_lanes);
    }
    end_copies();
}

/* D = L L', by one team. Its last warp has right-hand sides and reports, a tile behind. */
template <bool Riders>
TRIFOLD_DEVICE void lead(Bands& diagonal, ChainShared& own, ChainShared& other, const trifold_args& args, const trifold_level& level,
                         Walk& walk) {
    real* const out = factor_of(args, walk.member, walk.block);
    Rows rows;
    start_pivots(own.pivots, args, walk.member, walk.block, band_thread());
    const auto leave = [&](int t) {
        if (walk.has_next && band_thread() < warp_lanes) chain_arrive(tile_barrier + t, band_warps + 1);
    };
    const auto help = [&](int t) {
        if (!is_helping()) return;
        if (t == 0) return fetch_helped<Riders>(own, args, walk);
        if (t == 1) {
            wait_copies<0>();
            warp_sync();
            if (walk.number > 0) chain_sync(hand_over_barrier, 2);
            fetch_ahead(own, args, level, walk.member, walk.number + 1);
            if (Riders) take_running(rows, own, args, level, walk);
        }
        if (Riders) ride_tile(rows, own, t - 1);
    };
    constexpr int most = tiles < 2 * row_sets ? tiles : 2 * row_sets; /* tiles of the rows of warps that eliminate some */
    if (band_thread() < row_sets * warp_lanes)
        factor_diagonal<most, true>(diagonal, own, out, leave, [](int) {});
    else
        factor_diagonal<tiles, false>(diagonal, own, out, leave, help);
    judge(walk, own, args, level);
    if (walk.failed) {
        band_sync();
        spoil_factor(out);
    }
    if (!is_helping()) return;
    if (Riders) ride_tile(rows, own, tiles - 1);
    report<Riders>(own, args, level, walk);
    if (!walk.has_next) return;
    chain_sync(panel_barrier, band_warps + 1);
    if (Riders) pass_on(own, other, args, level, walk);
    if (!walk.last) chain_arrive(hand_over_barrier, 2);
}

/* R = E L'^-1 and the next D less R R' by the other team, a column tile behind. */
TRIFOLD_DEVICE void follow(Bands& diagonal, ChainShared& own, const ChainShared& other, const trifold_args& args,
                           const trifold_level& level, Walk& walk, unsigned& turn) {
    if (walk.last)
        diagonal = Bands{};
    else
        load_bands(diagonal, args, walk.member, walk.next);
    gate_wait(&own.gate, turn++);
    wait_copies<0>();
    band_sync();
    Bands coupling;
    if (walk.next > walk.block)
        take_original<true, coupling_leading>(coupling, own);
    else
        take_original<false, coupling_leading>(coupling, own);
    real* const out = next_of(args, walk.member, walk.block);
    real* const far = out + patch_place(padded);
    real* const near = own.pulled + patch_place(lower_leading);
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
        BandLines lines;
        chain_sync(tile_barrier + t, band_warps + 1); /* R takes E's place */
        solve_column(coupling, lines, other, t, [&](int r, int c, real value) { near[r + c * lower_leading] = value; });
        band_sync();
        subtract_results(diagonal, lines, own.pulled, t, [&](int s) { return s < reached_tiles(warp_bands - 1); });
        subtract_results(coupling, lines, other.lower, t, [&](int s) { return s > t; });
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (k < 2 || is_whole(0)) far[down(k) + (t * 8 + k % 2) * padded] = entry_of(other, -lines.at[0][k / 2][k % 2], t * 8 + k % 2);
    }
    leave_squares(own.pulled, own.diagonal + (has_signs ? padded : 0));
    chain_arrive(panel_barrier, band_warps + 1);
    judge(walk, other, args, level);
    if (walk.failed) {
        band_sync();
        spoil_factor(out);
    }
}

/* While one team leads, the other follows; then it has the next D, and leads. `turn`: couplings that the team has waited for. */
template <bool Riders>
TRIFOLD_DEVICE void take_turns(const trifold_args& args, const trifold_level& level, trifold_int member, unsigned& turn) {
    const int team = team_index();
    ChainShared &own = chain_shared()[team], &other = chain_shared()[1 - team];
    const Chain& chain = own.chain;
    const trifold_int first = block_at(level, chain.first);
    bool leads = team == 0;
    Bands diagonal;
    if (leads) {
        if (is_helping()) {
            start_report(own), start_report(other);
            if (Riders) {
                store_rows(other.running, {}), store_rows(other.coming, {});
                start_riding(own, args, member, first, columns_from(args, 0, columns_at_once));
            }
        }
        load_bands(diagonal, args, member, first);
        if (has_separators && level.index > 0) take_updates(diagonal, args, member, first);
        start_sums(own.diagonal + (has_signs ? padded : 0), args, level, member, first);
    } else if (is_helping()) {
        fetch_ahead(own, args, level, member, 0);
    }
    const Walk end = each_front(own, args, level, member, [&](Walk& walk) {
        if (leads)
            lead<Riders>(diagonal, own, other, args, level, walk);
        else if (walk.has_next)
            follow(diagonal, own, other, args, level, walk, turn);
        leads = !leads;
    });
    if (leads) {
        if (has_separators && chain.ahead >= 0) leave_updates(diagonal, own.diagonal + padded, args, level, member, chain);
    } else if (is_helping()) {
        end_help<Riders>(own, args, level, end);
    }
}

TRIFOLD_DEVICE void start_chains() {
    ChainShared* const shared = chain_shared();
    if (thread_index() < 16) shared->arrivals[thread_index()] = 0;
    if (thread_index() < band_teams) make_gate(&shared[thread_index()].gate, 1);
    fence_shared_copies();
}
template <bool Riders>
TRIFOLD_DEVICE void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member,
                                 unsigned& turn) {
    ChainShared& shared = *chain_shared();
    if (thread_index() < band_teams) chain_shared()[thread_index()].chain = find_chain(args, level, number, member);
    sync_chain();
    if (has_lengths && shared.chain.length == 0) return;
    if constexpr (takes_turns)
        take_turns<Riders>(args, level, member, turn);
    else if (has_helper && band_thread() >= band_threads)
        help_chain<Riders>(shared, args, level, member);
    else
        walk_chain<Riders>(shared, args, level, member, turn);
}
