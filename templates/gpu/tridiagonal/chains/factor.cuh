/* Factorization of a chain by one thread block, for schedules without fill. What a front leaves to the next never goes through memory: R
 * stays in shared memory, and the next front's D takes the product R R' in registers. Up to blocks of 32 a chain has one warp, so that it
 * waits for no other; larger ones have a warp for 16 rows.
 *
 *      D of the first front in registers
 *      for each front:   start copying E, and the next right-hand sides
 *                        D = L L', out to the workspace                E is on its way
 *                        y = L^-1 b, by the first warp
 *                        E to registers; start loading the next D
 *                        R = E L'^-1, out to the workspace             the next D is on its way
 *                        next D -= R R', next b -= R y
 */
#include "gpu/tridiagonal/bands/bands.cuh"
#include "gpu/tridiagonal/chains/rows.cuh"
#include "gpu/tridiagonal/chains/shared.h"
#include "gpu/tridiagonal/members.cuh"
#include "gpu/tridiagonal/verdict.cuh"

/* A multiprocessor has registers for two blocks of bands; larger ones load D when R is done. */
constexpr bool loads_early = padded <= 64;

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
        if (!has_side(args, block, side)) continue;
        const real* from = update_of(args, member, block, side);
        each_lower(bands, [&](double& value, int r, int c) { value -= static_cast<double>(from[r + c * padded]); });
    }
}
/* The update of the separator ahead, which the bands have with the opposite sign. */
TRIFOLD_DEVICE void leave_updates(Bands& bands, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  const Chain& chain) {
    real* to = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
    each_lower(bands, [&](double& value, int r, int c) { to[r + c * padded] = static_cast<real>(-value); });
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

/* A call, so that its registers are not added to those of the bands. */
TRIFOLD_FUNCTION void report_front(const ChainShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    report_diagonal(args, member, block, shared.diagonal, shared.entry);
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
            for (int k = 0; k < 4; ++k) item(bands.at[band][t], k) = not_a_number();
}

/* y of a front, by the first warp. */
TRIFOLD_DEVICE void ride(ChainShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block,
                         Columns columns, bool failed) {
    Rows rows;
    each_row([&](int q, int row) {
#pragma unroll
        for (int c = 0; c < columns_at_once; ++c) rows.at[q][c] = failed ? static_cast<real>(not_a_number()) : shared.running[c][row];
    });
    if (has_separators && level.index > 0) subtract_updates(rows, args, member, block, columns);
    solve_rows<true>(rows, shared.running, shared.solved, shared.lower, lower_leading,
                     [&](int t, int j, int k) { return shared.inverse[t][j * 8 + k]; });
    store_solved<true>(shared.solved, args, member, block, columns);
    store_quadratics(shared.solved, args, member, block, columns);
}
/* R y goes to the next front, or to the separator ahead. */
TRIFOLD_DEVICE void pass_on(ChainShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                            const Chain& chain, Columns columns, bool last) {
    Rows product;
    multiply_vectors<false>(product, shared.pulled, lower_leading, shared.solved);
    if (last)
        leave_update(product, args, level, member, chain, columns);
    else
        each_row([&](int q, int row) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.running[c][row] = shared.coming[c][row] - product.at[q][c];
        });
}

/* E to registers, and from there R to shared memory and the workspace; the next D, less R R'. */
TRIFOLD_DEVICE void make_next(Bands& diagonal, ChainShared& shared, const trifold_args& args, trifold_int member, trifold_int block,
                              trifold_int next, bool last, bool failed) {
    Bands coupling;
    if (next > block)
        take_original<true>(coupling, shared);
    else
        take_original<false>(coupling, shared);
    if (failed) spoil_bands(coupling);
    band_sync(); /* R takes E's place */
    const auto load_next = [&] {
        diagonal = Bands{};
        if (!last) load_bands(diagonal, args, member, next);
    };
    if (loads_early) load_next();
    real* const out = next_of(args, member, block) + patch_place(padded);
    real* const near = shared.pulled + patch_place(lower_leading);
    solve_bands(coupling, shared, [&](int r, int c, real value) {
        out[r + c * padded] = value;
        near[r + c * lower_leading] = value;
    });
    if (!loads_early) load_next();
    band_sync();
    subtract_square(diagonal, shared);
}

template <bool Riders>
TRIFOLD_DEVICE void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    ChainShared& shared = *static_cast<ChainShared*>(shared_memory());
    const Columns columns = columns_from(args, 0, columns_at_once);
    const bool rides = Riders && band_thread() < warp_lanes;
    if (band_thread() == 0) shared.chain = find_chain(level, number);
    if (rides) clear_vectors(shared.running), clear_vectors(shared.coming);
    band_sync();
    const Chain& chain = shared.chain;
    Bands diagonal;
    load_bands(diagonal, args, member, block_at(level, chain.first));
    if (has_separators && level.index > 0) take_updates(diagonal, args, member, block_at(level, chain.first));
    if (rides) fetch_vectors(shared.running, args.b, args.b_strides, member, block_at(level, chain.first), columns);
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position), next = block + level.scale * chain.step;
        const bool last = k + 1 == chain.length, has_next = !last || chain.ahead >= 0;
        if (has_next) pull_original(shared, args, member, block < next ? block : next);
        if (band_thread() >= band_threads - warp_lanes) fetch_entries(shared.entry, args, member, block, lane_index(), warp_lanes);
        if (rides && !last) fetch_vectors(shared.coming, args.b, args.b_strides, member, next, columns);
        end_copies();
        start_pivots(shared.pivots, args, member, block);
        factor_diagonal(diagonal, shared, factor_of(args, member, block));
        wait_copies<0>();
        band_sync();
        const bool fed = failed || (has_separators && is_poisoned(args, level, member, block));
        failed = fed || shared.pivots.failed_row >= 0;
        if (failed) spoil_factor(factor_of(args, member, block));
        if (band_thread() == 0) report_verdict(args, level.index, member, block, fed, shared.pivots);
        if (band_thread() >= band_threads - warp_lanes) report_front(shared, args, member, block);
        if (rides) ride(shared, args, level, member, block, columns, failed);
        if (has_next) {
            make_next(diagonal, shared, args, member, block, next, last, failed);
            if (rides) pass_on(shared, args, level, member, chain, columns, last);
        }
        band_sync(); /* L, E and what the front has reported make room for those of the next one */
    }
    if (!has_separators) return;
    if (chain.ahead >= 0) leave_updates(diagonal, args, level, member, chain);
    if (band_thread() == 0) pass_poison(args, level, member, chain, failed);
}
