/* The values of A in chunks of rows, and the factorization of subdomains.
 *
 * A chunk has sparse_chunk rows, and as many slots as its longest row has entries. Slot s has entry s of each row, or a zero block.
 * Component (i, j) of the block of row t is at j (block sparse_chunk) + block t + i behind the slot's begin: so neighbouring lanes, each
 * with a component of a row, read neighbouring elements. */
#include "gpu/sparse/common.cuh"

TRIFOLD_DEVICE trifold_int entry_place(trifold_int entry) {
    return entry / sparse_chunk * (sparse_chunk * square) + entry % sparse_chunk * block;
}
TRIFOLD_DEVICE trifold_int first_slot(const Context& c, trifold_int row) {
    return at<const trifold_int>(c, c.launch.starts)[row / sparse_chunk];
}
TRIFOLD_DEVICE int slots_of(const Context& c, trifold_int row) {
    const trifold_int* starts = at<const trifold_int>(c, c.launch.starts) + row / sparse_chunk;
    return static_cast<int>(starts[1] - starts[0]);
}

/* Whether a record's first entry comes behind another one. */
TRIFOLD_DEVICE void keep_first(trifold_int count, trifold_int row, trifold_int column, trifold_int& all, trifold_int& first_row,
                               trifold_int& first_column) {
    if (count == 0) return;
    if (all == 0 || row < first_row || (row == first_row && column < first_column)) first_row = row, first_column = column;
    all += count;
}
TRIFOLD_DEVICE trifold_sparse_record no_record() { return {0, -1, 0, -1, -1, 0, -1, -1, 0}; }
TRIFOLD_DEVICE void add_record(trifold_sparse_record& to, const trifold_sparse_record& from) {
    trifold_int none = -1;
    keep_first(from.zero_pivots, from.zero_row, -1, to.zero_pivots, to.zero_row, none);
    keep_first(from.not_finite, from.bad_row, from.bad_column, to.not_finite, to.bad_row, to.bad_column);
    keep_first(from.unequal, from.unequal_row, from.unequal_column, to.unequal, to.unequal_row, to.unequal_column);
    if (from.largest > to.largest) to.largest = from.largest;
}
/* Adds up a record of each thread, for thread 0. */
TRIFOLD_DEVICE trifold_sparse_record block_record(const trifold_sparse_record& mine) {
    trifold_sparse_record* all = static_cast<trifold_sparse_record*>(shared_memory());
    all[thread_index()] = mine;
    block_sync();
    for (int apart = sparse_threads / 2; apart > 0; apart /= 2) {
        if (thread_index() < apart) add_record(all[thread_index()], all[thread_index() + apart]);
        block_sync();
    }
    return all[0];
}

/* Takes the values of some rows, and looks for those that are no numbers. A lane has a component of a row. */
TRIFOLD_DEVICE void gather_rows(const Context& c) {
    const Part part = slice_of(c);
    const int *sources = at<const int>(c, c.launch.source), *columns = at<const int>(c, c.launch.column), *order = order_of(c);
    const real* values = static_cast<const real*>(c.args.values) + group_y() * c.launch.values * square;
    real* matrix = matrix_of(c);
    trifold_sparse_record record = no_record();
    const int count = (part.rows() + sparse_chunk - 1) / sparse_chunk * sparse_chunk * block;
    for (int q = thread_index(); q < count; q += sparse_threads) {
        const trifold_int row = part.first + q / block;
        const int i = q % block, slots = slots_of(c, row);
        for (int s = 0; s < slots; ++s) {
            const trifold_int entry = (first_slot(c, row) + s) * sparse_chunk + row % sparse_chunk;
            const int source = sources[entry];
            real* to = matrix + entry_place(entry) + i;
            bool finite = true;
            for (int j = 0; j < block; ++j) {
                const real value = source < 0 ? real(0) : values[static_cast<trifold_int>(source) * square + i * block + j];
                to[j * (block * sparse_chunk)] = value;
                finite = finite && value - value == 0;
                if (static_cast<double>(size_of(value)) > record.largest) record.largest = static_cast<double>(size_of(value));
            }
            if (!finite) keep_first(1, order[row], order[columns[entry]], record.not_finite, record.bad_row, record.bad_column);
        }
    }
    const trifold_sparse_record all = block_record(record);
    if (thread_index() == 0) *record_of(c, group_y(), group_x()) = all;
}

/* Counts blocks that are not their counterparts, transposed. A thread has a row. */
TRIFOLD_DEVICE void compare_rows(const Context& c) {
    const Part part = slice_of(c);
    const trifold_int* turned = at<const trifold_int>(c, c.launch.turned_starts);
    const int *columns = at<const int>(c, c.launch.column), *sources = at<const int>(c, c.launch.source), *order = order_of(c);
    const int *turned_rows = at<const int>(c, c.launch.turned_rows), *entries = at<const int>(c, c.launch.turned_entries);
    const real* matrix = matrix_of(c);
    const double rounding = sizeof(real) == 4 ? 0x1p-18 : 0x1p-44;
    trifold_sparse_record record = no_record();
    for (trifold_int row = part.first + thread_index(); row < part.end; row += sparse_threads) {
        trifold_int other = turned[row];
        for (int s = 0; s < slots_of(c, row); ++s) {
            const trifold_int entry = (first_slot(c, row) + s) * sparse_chunk + row % sparse_chunk;
            if (sources[entry] < 0) continue;
            while (other < turned[row + 1] && turned_rows[other] < columns[entry]) ++other;
            const bool is_there = other < turned[row + 1] && turned_rows[other] == columns[entry];
            bool equal = true;
            for (int i = 0; i < block; ++i)
                for (int j = 0; j < block; ++j) {
                    const double a = static_cast<double>(matrix[entry_place(entry) + j * (block * sparse_chunk) + i]);
                    const double b =
                        is_there ? static_cast<double>(matrix[entry_place(entries[other]) + i * (block * sparse_chunk) + j]) : 0;
                    equal = equal && fabs_of(a - b) <= rounding * (fabs_of(a) + fabs_of(b));
                }
            if (!equal) keep_first(1, order[row], order[columns[entry]], record.unequal, record.unequal_row, record.unequal_column);
        }
    }
    const trifold_sparse_record all = block_record(record);
    if (thread_index() == 0) add_record(*record_of(c, group_y(), group_x()), all);
}

/* A subdomain's factors and the pattern of its shape. */
struct Tile {
    Part part;
    factor_real* stream;
    const trifold_sparse_schedule& schedule;
};
TRIFOLD_DEVICE Tile tile_at(const Context& c) {
    const trifold_sparse_tile& tile = tile_of(c);
    factor_real* factors = at<factor_real>(c, c.launch.factors + group_y() * c.launch.factor_stride);
    return {rows_of(tile), factors + tile.lower, at<const trifold_sparse_schedule>(c, c.launch.shape)[tile.shape]};
}
TRIFOLD_DEVICE const trifold_sparse_level& level_at(const Context& c, int level) {
    return at<const trifold_sparse_level>(c, c.launch.levels)[level];
}
TRIFOLD_DEVICE int row_at(const Context& c, const trifold_sparse_level& level, int t) {
    return at<const unsigned short>(c, c.launch.level_rows)[level.first_row + t];
}

/* The row and component of a lane in pass `pass` over a level; the row may be beyond it. */
struct Lane {
    int row, component;
    bool works;
};
template <int threads>
constexpr int rows_at_once = threads / warp_lanes * (warp_lanes / block); /* rows that a thread block takes */
template <int threads>
TRIFOLD_DEVICE Lane lane_at(int pass) {
    const int lane = lane_index();
    return {pass * rows_at_once<threads> + warp_index() * (warp_lanes / block) + lane / block, lane % block, lane < row_lanes};
}

/* Inverts a block in shared memory, by columns, with rows exchanged so that pivots are as large as can be. False where a pivot is not above
 * `least`. */
TRIFOLD_DEVICE bool invert(real* a, real least) {
    int rows[block];
    for (int k = 0; k < block; ++k) {
        int best = k;
        for (int i = k + 1; i < block; ++i)
            if (size_of(a[k * block + i]) > size_of(a[k * block + best])) best = i;
        rows[k] = best;
        const real pivot = a[k * block + best];
        if (!(size_of(pivot) > least) || pivot - pivot != 0) return false;
        for (int j = 0; j < block; ++j) {
            const real kept = a[j * block + k];
            a[j * block + k] = a[j * block + best];
            a[j * block + best] = kept;
        }
        a[k * block + k] = 1;
        for (int j = 0; j < block; ++j) a[j * block + k] /= pivot;
        for (int i = 0; i < block; ++i) {
            if (i == k) continue;
            const real multiplier = a[k * block + i];
            a[k * block + i] = 0;
            for (int j = 0; j < block; ++j) a[j * block + i] -= multiplier * a[j * block + k];
        }
    }
    for (int k = block - 1; k >= 0; --k)
        for (int i = 0; i < block; ++i) {
            const real kept = a[k * block + i];
            a[k * block + i] = a[rows[k] * block + i];
            a[rows[k] * block + i] = kept;
        }
    return true;
}

/* The pattern of a shape, entries by rows. */
struct Pattern {
    const int *entries, *diagonals;
    const unsigned short* columns;
    const trifold_sparse_reference* references;
    const int* first_pair;
    const trifold_sparse_pair* pairs;
};
TRIFOLD_DEVICE Pattern pattern_of(const Context& c, const trifold_sparse_schedule& s) {
    return {at<const int>(c, c.launch.row_entries) + s.row,
            at<const int>(c, c.launch.row_diagonals) + s.row,
            at<const unsigned short>(c, c.launch.entry_columns) + s.entry,
            at<const trifold_sparse_reference>(c, c.launch.references) + s.entry,
            at<const int>(c, c.launch.entry_pairs) + s.entry,
            at<const trifold_sparse_pair>(c, c.launch.pairs)};
}
/* Component (i, j) of an entry's block. */
TRIFOLD_DEVICE int place_in(const trifold_sparse_reference& r, int i, int j) { return r.place + j * (block * r.rows) + i; }

/* The entries of a row that A has go to the places of the factors; others there are zero. */
TRIFOLD_DEVICE void spread_row(const Context& c, const Tile& tile, const Pattern& pattern, int row, int i) {
    const trifold_int outer = tile.part.first + row;
    const int *columns = at<const int>(c, c.launch.column), *sources = at<const int>(c, c.launch.source);
    const real* matrix = matrix_of(c);
    int s = 0;
    const int slots = slots_of(c, outer);
    for (int e = pattern.entries[row]; e < pattern.entries[row + 1]; ++e) {
        const trifold_int column = tile.part.first + pattern.columns[e];
        trifold_int entry = 0;
        for (; s < slots; ++s) {
            entry = (first_slot(c, outer) + s) * sparse_chunk + outer % sparse_chunk;
            if (sources[entry] < 0 || columns[entry] >= column) break;
        }
        const bool is_there = s < slots && sources[entry] >= 0 && columns[entry] == column;
        const trifold_sparse_reference r = pattern.references[e];
        for (int j = 0; j < block; ++j)
            tile.stream[place_in(r, i, j)] =
                is_there ? static_cast<factor_real>(matrix[entry_place(entry) + j * (block * sparse_chunk) + i]) : 0;
    }
}

/* Row i of blocks: A_ik for all k before it become L_ik, and what they change of the others. A lane has one row of all these blocks. */
TRIFOLD_DEVICE void eliminate_row(const Tile& tile, const Pattern& pattern, int row, int i) {
    for (int e = pattern.entries[row]; e < pattern.diagonals[row]; ++e) {
        const trifold_sparse_reference own = pattern.references[e];
        real a[block], l[block];
#pragma unroll
        for (int k = 0; k < block; ++k) a[k] = static_cast<real>(tile.stream[place_in(own, i, k)]), l[k] = 0;
        for (int n = pattern.first_pair[e]; n < pattern.first_pair[e + 1]; ++n) {
            const trifold_sparse_reference upper = pattern.references[pattern.pairs[n].upper];
            const trifold_sparse_reference target = pattern.references[pattern.pairs[n].target];
#pragma unroll
            for (int j = 0; j < block; ++j) {
                real sum = static_cast<real>(tile.stream[place_in(target, i, j)]);
#pragma unroll
                for (int k = 0; k < block; ++k) sum -= a[k] * static_cast<real>(tile.stream[place_in(upper, k, j)]);
                tile.stream[place_in(target, i, j)] = static_cast<factor_real>(sum);
            }
        }
        const trifold_sparse_reference pivot = pattern.references[pattern.diagonals[pattern.columns[e]]];
#pragma unroll
        for (int j = 0; j < block; ++j)
#pragma unroll
            for (int k = 0; k < block; ++k) l[j] += a[k] * static_cast<real>(tile.stream[place_in(pivot, k, j)]);
#pragma unroll
        for (int j = 0; j < block; ++j) tile.stream[place_in(own, i, j)] = static_cast<factor_real>(l[j]);
    }
}

TRIFOLD_DEVICE real largest_of(const real* a) {
    real largest = 0;
    for (int k = 0; k < square; ++k) largest = size_of(a[k]) > largest ? size_of(a[k]) : largest;
    return largest;
}

/* D of a row becomes its inverse, and U is scaled by it. All lanes of a warp come along; `room`: a block of the row in shared memory. */
TRIFOLD_DEVICE void finish_row(const Context& c, const Tile& tile, const Pattern& pattern, int row, const Lane& lane, bool works,
                               real* room, trifold_sparse_record& record) {
    const real rounding = sizeof(factor_real) == 4 ? real(0x1p-22) : real(0x1p-50);
    const int i = lane.component, diagonal = works ? pattern.diagonals[row] : 0;
    const trifold_sparse_reference own = works ? pattern.references[diagonal] : trifold_sparse_reference{0, 0};
    real scale = 0;
    if (works) {
        for (int j = 0; j < block; ++j) room[j * block + i] = static_cast<real>(tile.stream[place_in(own, i, j)]);
        // The size of A's own block, which the values before it still have.
        const trifold_int outer = tile.part.first + row;
        const int *columns = at<const int>(c, c.launch.column), *sources = at<const int>(c, c.launch.source);
        for (int s = 0; s < slots_of(c, outer); ++s) {
            const trifold_int entry = (first_slot(c, outer) + s) * sparse_chunk + outer % sparse_chunk;
            if (sources[entry] < 0 || columns[entry] != outer) continue;
            for (int k = 0; k < square; ++k) {
                const real value = size_of(matrix_of(c)[entry_place(entry) + k / block * (block * sparse_chunk) + k % block]);
                scale = value > scale ? value : scale;
            }
        }
        room[i * block + i] += static_cast<real>(c.args.shift) * scale;
    }
    warp_sync();
    if (works && i == 0) {
        const real grown = largest_of(room);
        if (!invert(room, rounding * (grown > scale ? grown : scale))) {
            for (int k = 0; k < square; ++k) room[k] = 0;
            trifold_int none = -1;
            keep_first(1, order_of(c)[tile.part.first + row], -1, record.zero_pivots, record.zero_row, none);
        }
    }
    warp_sync();
    const int count = works ? pattern.entries[row + 1] - diagonal - 1 : 0,
              most = static_cast<int>(warp_greatest(static_cast<unsigned>(count)));
    if (works)
        for (int j = 0; j < block; ++j) tile.stream[place_in(own, i, j)] = static_cast<factor_real>(room[j * block + i]);
    for (int n = 0; n < most; ++n) {
        real u[block];
        const trifold_sparse_reference r = n < count ? pattern.references[diagonal + 1 + n] : trifold_sparse_reference{0, 0};
#pragma unroll
        for (int j = 0; j < block; ++j) {
            u[j] = 0;
            if (n < count)
#pragma unroll
                for (int k = 0; k < block; ++k) u[j] += room[k * block + i] * static_cast<real>(tile.stream[place_in(r, k, j)]);
        }
        warp_sync();
        if (n < count)
#pragma unroll
            for (int j = 0; j < block; ++j) tile.stream[place_in(r, i, j)] = static_cast<factor_real>(u[j]);
    }
}

/* L D U = A on the pattern of a subdomain, level by level. */
TRIFOLD_DEVICE void factor_tile(const Context& c) {
    const Tile tile = tile_at(c);
    const Pattern pattern = pattern_of(c, tile.schedule);
    trifold_sparse_record record = no_record();
    for (int q = thread_index(); q < tile.part.count(); q += sparse_threads) spread_row(c, tile, pattern, q / block, q % block);
    block_sync();
    real* room = static_cast<real*>(shared_memory());
    for (int level = tile.schedule.levels[trifold_sparse_l]; level < tile.schedule.levels[trifold_sparse_l + 1]; ++level) {
        const trifold_sparse_level& l = level_at(c, level);
        for (int pass = 0; pass * rows_at_once<sparse_threads> < l.rows; ++pass) {
            const Lane lane = lane_at<sparse_threads>(pass);
            const bool works = lane.works && lane.row < l.rows;
            const int row = works ? row_at(c, l, lane.row) : 0;
            if (works) eliminate_row(tile, pattern, row, lane.component);
            warp_sync();
            finish_row(c, tile, pattern, row, lane, works, room + (lane.works ? lane.row % rows_at_once<sparse_threads> : 0) * square,
                       record);
        }
        block_sync();
    }
    block_sync();
    const trifold_sparse_record all = block_record(record);
    if (thread_index() == 0) {
        record_of(c, group_y(), group_x())->zero_pivots = all.zero_pivots;
        record_of(c, group_y(), group_x())->zero_row = all.zero_row;
    }
}

/* Adds up the records of a member's parts. */
TRIFOLD_DEVICE void add_records(const Context& c) {
    trifold_sparse_record mine = no_record();
    for (trifold_int k = thread_index(); k < c.launch.tiles || k < c.launch.slices; k += sparse_threads) {
        trifold_sparse_record record = *record_of(c, group_y(), k);
        if (k >= c.launch.slices) record.not_finite = record.unequal = 0, record.largest = 0;
        if (k >= c.launch.tiles || !has_factors) record.zero_pivots = 0;
        add_record(mine, record);
    }
    const trifold_sparse_record all = block_record(mine);
    if (thread_index() == 0) *record_of(c, group_y(), c.launch.parts) = all;
}
