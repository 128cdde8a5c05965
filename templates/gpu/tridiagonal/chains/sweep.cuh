/* Sweeps of a chain by one warp, for schedules without fill. Blocks of L and R come one after another, into a ring of places in shared
 * memory: copies fill a place again as soon as its block is done with. They are the warp's own, or another's.
 *
 *      forward      L of front 0, R, L of front 1, R, ...      y = L^-1 (b - R y of the front before)
 *      backward     ..., R, L of front 1, R, L of front 0      x = L'^-1 (y - R' x of the front behind it) */
#include "gpu/tridiagonal/chains/rows.cuh"
#include "gpu/tridiagonal/chains/shared.h"
#include "gpu/tridiagonal/members.cuh"

/* The blocks that a sweep of a chain takes, in its order. */
template <bool Forward>
struct Pieces {
    int length, skipped, count;
    TRIFOLD_METHOD explicit Pieces(const Chain& chain) {
        length = static_cast<int>(chain.length);
        const int whole = chain.ahead >= 0 ? 1 : 0; /* the last front has an R */
        count = 2 * length - 1 + whole;
        skipped = Forward ? 0 : 1 - whole;
    }
    TRIFOLD_METHOD bool is_panel(int p) const { return (p + skipped) % 2 == (Forward ? 1 : 0); }
    /* Its front's number in the chain. */
    TRIFOLD_METHOD int front(int p) const { return Forward ? p / 2 : length - 1 - (p + skipped) / 2; }
};

TRIFOLD_DEVICE trifold_int block_of_front(const Chain& chain, const trifold_level& level, int front) {
    return block_at(level, chain.first + front * chain.step);
}

/* Starts the copies of a block; of L without what is above its diagonal tiles. */
TRIFOLD_DEVICE void fetch_block(real* to, const real* from, bool whole) {
    constexpr int vectors = padded / vector_width, together = warp_lanes / vectors; /* columns at once */
    const auto copy = [&](int r, int c) {
        if (whole || r / 8 >= c / 8) copy_async(to + r + c * factor_leading, from + r + c * padded);
    };
    if constexpr (together > 0 && warp_lanes % vectors == 0) {
        const int r = lane_index() % vectors * vector_width, first = lane_index() / vectors;
#pragma unroll 8
        for (int c = 0; c < padded; c += together) copy(r, c + first);
    } else {
#pragma unroll 4
        for (int e = lane_index(); e < vectors * padded; e += warp_lanes) copy(e % vectors * vector_width, e / vectors);
    }
}

/* Named barriers: a place of the ring has a block; it is free again. */
constexpr int full_barrier = 1, free_barrier = full_barrier + ring;
static_assert(free_barrier + ring <= 16, "a thread block has 16");

/* Data of a sweep. */
template <bool Forward>
struct Sweep {
    SweepShared& shared;
    const trifold_args& args;
    const trifold_level& level;
    trifold_int member;
    Columns columns;

    TRIFOLD_METHOD trifold_int block(int front) const { return block_of_front(shared.chain, level, front); }
    TRIFOLD_METHOD void fetch(const Pieces<Forward>& pieces, int p) const {
        if (p < pieces.count) {
            const trifold_int of = block(pieces.front(p));
            const bool is_panel = pieces.is_panel(p);
            fetch_block(shared.blocks[p % ring], is_panel ? next_of(args, member, of) : factor_of(args, member, of), is_panel);
        }
        end_copies();
    }
    /* The warp that sweeps may take block p when it has begun it, and is done with it when it ends it. */
    TRIFOLD_METHOD void begin(int p) const {
        if (has_copier) {
            meet(full_barrier + p % ring);
        } else {
            wait_copies<ring - 1>();
            warp_sync();
        }
    }
    TRIFOLD_METHOD void end(const Pieces<Forward>& pieces, int p) const {
        warp_sync();
        if (has_copier)
            pass(free_barrier + p % ring);
        else
            fetch(pieces, p + ring);
    }
    TRIFOLD_METHOD void meet(int barrier) const { named_sync(shared.arrivals[barrier], barrier, sweep_threads); }
    TRIFOLD_METHOD void pass(int barrier) const { named_arrive(shared.arrivals[barrier], barrier, sweep_threads); }
    TRIFOLD_METHOD void load(Rows& rows, int front) const {
        load_rows(rows, args.b, args.b_strides, member, block(front), columns, rows_of(args, member, block(front)));
    }
};

/* All copies of a sweep, by the warp that has nothing else to do. A block is fetched while the ones before it are used. */
template <bool Forward>
TRIFOLD_DEVICE void copy_pieces(const Sweep<Forward>& sweep) {
    const Pieces<Forward> pieces(sweep.shared.chain);
    for (int p = 0; p + 1 < ring; ++p) sweep.fetch(pieces, p);
#pragma unroll 1
    for (int p = 0; p < pieces.count; ++p) {
        wait_copies<ring - 2>();
        warp_sync();
        sweep.pass(full_barrier + p % ring);
        if (p > 0) sweep.meet(free_barrier + (p - 1) % ring);
        sweep.fetch(pieces, p + ring - 1);
    }
    sweep.meet(free_barrier + (pieces.count - 1) % ring);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_columns(const Sweep<Forward>& sweep) {
    SweepShared& shared = sweep.shared;
    const Chain& chain = shared.chain;
    const Pieces<Forward> pieces(chain);
    if (!has_copier)
        for (int p = 0; p < ring; ++p) sweep.fetch(pieces, p);
    Rows coming, product{}, rows;
    sweep.load(coming, Forward ? 0 : pieces.length - 1);
    if (!Forward && chain.ahead >= 0) {
        const trifold_int ahead = block_at(sweep.level, chain.ahead);
        load_rows(rows, sweep.args.x, sweep.args.x_strides, sweep.member, ahead, sweep.columns, stored_rows(sweep.args, ahead));
        store_rows(shared.solved, rows);
        warp_sync();
    }
    double squares[row_sets][columns_at_once] = {};
#pragma unroll 1
    for (int p = 0; p < pieces.count; ++p) {
        const int front = pieces.front(p);
        const real* block = shared.blocks[p % ring];
        sweep.begin(p);
        if (pieces.is_panel(p)) {
            multiply_vectors<!Forward>(product, block, factor_leading, shared.solved);
        } else {
            each_row([&](int q, int) {
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) rows.at[q][c] = coming.at[q][c] - product.at[q][c];
            });
            if (Forward && has_separators && sweep.level.index > 0)
                subtract_updates(rows, sweep.args, sweep.member, sweep.block(front), sweep.columns);
            const int next = Forward ? front + 1 : front - 1;
            if (next >= 0 && next < pieces.length) sweep.load(coming, next);
            const auto load_lines = [&](TileLines& of, int step) {
                load_tile_lines<Forward>(of, Forward ? step : tiles - 1 - step, block, factor_leading, [&](real(&line)[8], int t, int j) {
                    const real* at = block + t * 8 * (factor_leading + 1);
                    if constexpr (Forward) {
#pragma unroll
                        for (int k = 0; k < 8; ++k) line[k] = at[j + k * factor_leading];
                    } else {
                        load_line(line, at + j * factor_leading);
                    }
                });
            };
            TileLines lines[2];
            load_lines(lines[0], 0);
#pragma unroll unrolled_tiles
            for (int step = 0; step < tiles; ++step) {
                if (!has_copier && step > 0) load_lines(lines[0], step);
                if (has_copier && step + 1 < tiles) load_lines(lines[1], step + 1); /* in flight while a tile is solved */
                solve_tile<Forward>(Forward ? step : tiles - 1 - step, rows, lines[0], shared.running, shared.solved);
                if (has_copier) lines[0] = lines[1];
            }
            warp_sync();
            const auto pivot = [&](int row) { return block[row * (factor_leading + 1)]; };
            store_solved<Forward>(shared.solved, sweep.args, sweep.member, sweep.block(front), sweep.columns, pivot);
            if (Forward)
                each_row([&](int q, int row) {
#pragma unroll
                    for (int c = 0; c < columns_at_once; ++c)
                        if (row < block_size) squares[q][c] += square_of(shared.solved[c][row], has_signs ? pivot(row) : real(1));
                });
        }
        sweep.end(pieces, p);
    }
    if (!Forward) return;
    const trifold_int last = sweep.block(pieces.length - 1);
    store_quadratics(sweep.args, sweep.member, last, sweep.columns, [&](int q, int, int c) {
        double value = 0;
#pragma unroll
        for (int k = 0; k < columns_at_once; ++k)
            if (k == c) value = squares[q][k];
        return value;
    });
    if (has_separators && chain.ahead >= 0) leave_update(product, sweep.args, sweep.level, sweep.member, chain, sweep.columns);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const auto sync = [] {
        if (has_copier)
            block_sync();
        else
            warp_sync();
    };
    if (thread_index() < 16) shared.arrivals[thread_index()] = 0;
    if (thread_index() == 0) shared.chain = find_chain(args, level, number, member);
    if (!Forward && thread_index() == 0 && begins_descent(level)) begin_result(args, member, Result::solution);
    sync();
    if (has_lengths && shared.chain.length == 0) return;
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const Sweep<Forward> sweep{shared, args, level, member, columns_from(args, first, columns_at_once)};
        if (!has_copier || thread_index() < warp_lanes)
            sweep_columns(sweep);
        else
            copy_pieces(sweep);
        sync();
    }
}
