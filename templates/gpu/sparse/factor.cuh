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
TRIFOLD_DEVICE trifold_sparse_record no_record() { return {0, -1, 0, -1, -1, 0, -1, -1, 0, 0}; }
TRIFOLD_DEVICE void add_record(trifold_sparse_record& to, const trifold_sparse_record& from) {
    trifold_int none = -1;
    keep_first(from.zero_pivots, from.zero_row, -1, to.zero_pivots, to.zero_row, none);
    keep_first(from.not_finite, from.bad_row, from.bad_column, to.not_finite, to.bad_row, to.bad_column);
    keep_first(from.unequal, from.unequal_row, from.unequal_column, to.unequal, to.unequal_row, to.unequal_column);
    if (from.largest > to.largest) to.largest = from.largest;
    if (from.scale > to.scale) to.scale = from.scale;
}
/* Adds up a record of each thread, for thread 0. */
template <int threads = sparse_threads>
TRIFOLD_DEVICE trifold_sparse_record block_record(const trifold_sparse_record& mine) {
    trifold_sparse_record* all = static_cast<trifold_sparse_record*>(shared_memory());
    all[thread_index()] = mine;
    block_sync();
    int apart = 1;
    while (2 * apart < threads) apart *= 2;
    for (; apart > 0; apart /= 2) {
        if (thread_index() < apart && thread_index() + apart < threads) add_record(all[thread_index()], all[thread_index() + apart]);
        block_sync();
    }
    return all[0];
}

/* The exponent that scales a component of a row, of its largest entry and its least that is not 0. */
TRIFOLD_DEVICE int scale_exponent(const real* values, const int* sources, int slots, int i) {
    real largest = 0, least = 0;
#pragma unroll 4
    for (int s = 0; s < slots; ++s) {
        const int source = sources[s * sparse_chunk];
        if (source < 0) continue;
#pragma unroll
        for (int j = 0; j < block; ++j) {
            const real size = size_of(values[static_cast<trifold_int>(source) * square + i * block + j]);
            largest = size > largest ? size : largest;
            least = size > 0 && (least == 0 || size < least) ? size : least;
        }
    }
    return row_exponent(static_cast<double>(largest), static_cast<double>(least));
}

/* Takes the values of some rows, scaled, and looks for those that are no numbers. A lane has a component of a row. Blocks of some slots are
 * in flight at a time. */
TRIFOLD_DEVICE void gather_rows(const Context& c) {
    constexpr int together = block == 1 ? 8 : block == 2 ? 4 : block <= 4 ? 2 : 1;
    const Part part = slice_of(c);
    const int *sources = at<const int>(c, c.launch.source), *columns = at<const int>(c, c.launch.column), *order = order_of(c);
    const real* values = static_cast<const real*>(c.args.values) + group_y() * c.launch.values * square;
    real *matrix = matrix_of(c), greatest = 0, greatest_scaled = 0;
    int* scales = exponents_at(c, c.launch.scales);
    trifold_sparse_record record = no_record();
    const int count = (part.rows() + sparse_chunk - 1) / sparse_chunk * sparse_chunk * block;
    for (int q = thread_index(); q < count; q += sparse_threads) {
        const trifold_int row = part.first + q / block;
        const int i = q % block, slots = slots_of(c, row);
        const trifold_int first = first_slot(c, row) * sparse_chunk + row % sparse_chunk;
        const int exponent = scale_exponent(values, sources + first, slots, i);
        const real factor = scales_rows ? static_cast<real>(power_of_two(exponent)) : real(1);
        if (row < c.launch.rows) scales[row * block + i] = exponent;
        for (int s = 0; s < slots; s += together) {
            int source[together];
            real value[together][block];
#pragma unroll
            for (int n = 0; n < together; ++n) source[n] = s + n < slots ? sources[first + (s + n) * sparse_chunk] : -1;
#pragma unroll
            for (int n = 0; n < together; ++n)
#pragma unroll
                for (int j = 0; j < block; ++j)
                    value[n][j] = source[n] < 0 ? real(0) : values[static_cast<trifold_int>(source[n]) * square + i * block + j];
#pragma unroll
            for (int n = 0; n < together; ++n) {
                if (s + n >= slots) break;
                const trifold_int entry = first + (s + n) * sparse_chunk;
                real* to = matrix + entry_place(entry) + i;
                bool finite = true;
#pragma unroll
                for (int j = 0; j < block; ++j) {
                    const real number = factor * value[n][j];
                    to[j * (block * sparse_chunk)] = number;
                    greatest_scaled = size_of(number) > greatest_scaled ? size_of(number) : greatest_scaled;
                    finite = finite && value[n][j] - value[n][j] == 0;
                    greatest = size_of(value[n][j]) > greatest ? size_of(value[n][j]) : greatest;
                }
                if (!finite) keep_first(1, order[row], order[columns[entry]], record.not_finite, record.bad_row, record.bad_column);
            }
        }
    }
    record.largest = static_cast<double>(greatest);
    record.scale = static_cast<double>(greatest_scaled);
    const trifold_sparse_record all = block_record(record);
    if (thread_index() == 0) *record_of(c, group_y(), part_number(c)) = all;
}

/* The exponents that would scale the columns of A, for a transposed solution. A thread has a component of a column. */
TRIFOLD_DEVICE void measure_columns(const Context& c) {
    const Part part = slice_of(c);
    const trifold_int* transposed = at<const trifold_int>(c, c.launch.transposed_starts);
    const int *rows = at<const int>(c, c.launch.transposed_rows), *entries = at<const int>(c, c.launch.transposed_entries);
    const real* matrix = matrix_of(c);
    const int* scales = exponents_at(c, c.launch.scales);
    for (int q = thread_index(); q < part.count(); q += sparse_threads) {
        const trifold_int column = part.first + q / block;
        int largest = no_exponent;
        for (trifold_int k = transposed[column]; k < transposed[column + 1]; ++k)
            for (int i = 0; i < block; ++i) {
                const real a = matrix[entry_place(entries[k]) + q % block * (block * sparse_chunk) + i];
                const int e = exponent_of(static_cast<double>(a)) - scales[static_cast<trifold_int>(rows[k]) * block + i];
                largest = e > largest ? e : largest;
            }
        exponents_at(c, c.launch.column_scales)[part.first * block + q] = largest < -exponent_bias - mantissa_bits ? 0 : -largest;
    }
}

/* A number on the diagonal of A. */
TRIFOLD_DEVICE double diagonal_at(const Context& c, const real* matrix, trifold_int row, int i) {
    const int* columns = at<const int>(c, c.launch.column);
    trifold_int entry = first_slot(c, row) * sparse_chunk + row % sparse_chunk;
    while (columns[entry] != row) entry += sparse_chunk;
    return static_cast<double>(matrix[entry_place(entry) + i * (block * sparse_chunk) + i]);
}
/* Whether two numbers are each other's mirror images but for rounding: against themselves, or against what is on the diagonal. */
TRIFOLD_DEVICE bool are_equal(const Context& c, const real* matrix, double a, double b, trifold_int row, int i, trifold_int column, int j) {
    const double rounding = sizeof(real) == 4 ? 0x1p-18 : 0x1p-44, apart = fabs_of(a - b);
    if (apart <= rounding * (fabs_of(a) + fabs_of(b))) return true;
    return apart <= rounding * root_of(fabs_of(diagonal_at(c, matrix, row, i))) * root_of(fabs_of(diagonal_at(c, matrix, column, j)));
}

/* Counts blocks that are not their counterparts, transposed. A thread has a row. */
TRIFOLD_DEVICE void compare_rows(const Context& c) {
    const Part part = slice_of(c);
    const trifold_int* transposed = at<const trifold_int>(c, c.launch.transposed_starts);
    const int *columns = at<const int>(c, c.launch.column), *sources = at<const int>(c, c.launch.source), *order = order_of(c);
    const int *transposed_rows = at<const int>(c, c.launch.transposed_rows), *entries = at<const int>(c, c.launch.transposed_entries);
    const real* matrix = matrix_of(c);
    trifold_sparse_record record = no_record();
    for (trifold_int row = part.first + thread_index(); row < part.end; row += sparse_threads) {
        trifold_int other = transposed[row];
        for (int s = 0; s < slots_of(c, row); ++s) {
            const trifold_int entry = (first_slot(c, row) + s) * sparse_chunk + row % sparse_chunk;
            if (sources[entry] < 0) continue;
            while (other < transposed[row + 1] && transposed_rows[other] < columns[entry]) ++other;
            const bool is_there = other < transposed[row + 1] && transposed_rows[other] == columns[entry];
            bool equal = true;
            for (int i = 0; i < block; ++i)
                for (int j = 0; j < block; ++j) {
                    const double a = static_cast<double>(matrix[entry_place(entry) + j * (block * sparse_chunk) + i]);
                    const double b =
                        is_there ? static_cast<double>(matrix[entry_place(entries[other]) + i * (block * sparse_chunk) + j]) : 0;
                    equal = equal && are_equal(c, matrix, a, b, row, i, columns[entry], j);
                }
            if (!equal) keep_first(1, order[row], order[columns[entry]], record.unequal, record.unequal_row, record.unequal_column);
        }
    }
    const trifold_sparse_record all = block_record(record);
    if (thread_index() == 0) add_record(*record_of(c, group_y(), part_number(c)), all);
}

/* A subdomain's factors and the pattern of its shape. */
struct Tile {
    Part part;
    factor_real *stream, *transposed;
    const trifold_sparse_schedule& schedule;
};
TRIFOLD_DEVICE Tile tile_at(const Context& c) {
    const trifold_sparse_tile& tile = tile_of(c);
    factor_real* factors = at<factor_real>(c, c.launch.factors + group_y() * c.launch.factor_stride);
    return {rows_of(tile), factors + tile.lower, factors + tile.upper, at<const trifold_sparse_schedule>(c, c.launch.shape)[tile.shape]};
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

/* The lanes of a row: the first of them, and which of its warp's lanes it is. Lanes that have no row read from some lane. */
TRIFOLD_DEVICE int lane_of_row(int component) { return (lane_index() / block * block + component) % warp_lanes; }
/* The greatest of the numbers that the lanes of a row have. */
TRIFOLD_DEVICE real row_greatest(real mine) {
    real greatest = 0;
#pragma unroll
    for (int k = 0; k < block; ++k) {
        const real other = shuffle(mine, lane_of_row(k));
        greatest = other > greatest ? other : greatest;
    }
    return greatest;
}

/* Inverts a block, of which lane i of a row has column i, with rows exchanged so that pivots are as large as can be. False where a pivot is
 * not above `least`. All lanes of a warp come along. */
TRIFOLD_DEVICE bool invert(real (&own)[block], int i, real least) {
    int exchanged[block];
    bool sound = true;
#pragma unroll
    for (int k = 0; k < block; ++k) {
        real column[block];
#pragma unroll
        for (int r = 0; r < block; ++r) column[r] = shuffle(own[r], lane_of_row(k));
        int best = k;
        real pivot = column[k];
#pragma unroll
        for (int r = k + 1; r < block; ++r)
            if (size_of(column[r]) > size_of(pivot)) best = r, pivot = column[r];
        exchanged[k] = best;
        sound = sound && size_of(pivot) > least && pivot - pivot == 0;
#pragma unroll
        for (int r = k + 1; r < block; ++r)
            if (r == best) {
                const real kept = own[k];
                own[k] = own[r];
                own[r] = kept;
                column[r] = column[k];
            }
        own[k] = (i == k ? real(1) : own[k]) / pivot;
#pragma unroll
        for (int r = 0; r < block; ++r)
            if (r != k) own[r] = (i == k ? real(0) : own[r]) - column[r] * own[k];
    }
    int from = i;
#pragma unroll
    for (int k = 0; k < block; ++k) from = from == k ? exchanged[k] : from == exchanged[k] ? k : from;
#pragma unroll
    for (int r = 0; r < block; ++r) own[r] = shuffle(own[r], lane_of_row(from));
    return sound;
}

/* The pattern of a shape. */
struct Pattern {
    const trifold_sparse_row* rows; /* in the order of L's levels */
    const unsigned short* columns;
    const trifold_sparse_reference* references;
    const trifold_sparse_elimination* eliminations;
    const trifold_sparse_pair* pairs;
};
TRIFOLD_DEVICE Pattern pattern_of(const Context& c, const trifold_sparse_schedule& s) {
    return {at<const trifold_sparse_row>(c, c.launch.row_patterns) + s.row, at<const unsigned short>(c, c.launch.entry_columns) + s.entry,
            at<const trifold_sparse_reference>(c, c.launch.references) + s.entry,
            at<const trifold_sparse_elimination>(c, c.launch.eliminations), at<const trifold_sparse_pair>(c, c.launch.pairs)};
}
/* Component (i, j) of an entry's block. */
TRIFOLD_DEVICE int place_in(const trifold_sparse_reference& r, int i, int j) { return r.place + j * (block * r.rows) + i; }

/* A row that is being factored. Its blocks are in shared memory, by columns; a lane has a row i of each. */
struct Row {
    trifold_sparse_row at;
    int i;
    real* room;
    TRIFOLD_METHOD real* entry(int e) const { return room + (e - at.first) * square; }
};
TRIFOLD_DEVICE void set_zero(const Row& r, int e) {
#pragma unroll
    for (int j = 0; j < block; ++j) r.entry(e)[j * block + r.i] = 0;
}

/* The entries that A has; others are zero. All of them are in flight at the same time. Slots behind a row's last entry name the row's
 * own column, which has been met by then. */
TRIFOLD_DEVICE void fetch_entries(const Context& c, const Tile& tile, const Pattern& pattern, const Row& r) {
    constexpr int together = 8; /* slots of which the columns are asked for at a time */
    const trifold_int outer = tile.part.first + r.at.row, entry = first_slot(c, outer) * sparse_chunk + outer % sparse_chunk;
    const int *columns = at<const int>(c, c.launch.column) + entry, first = static_cast<int>(tile.part.first);
    const real* matrix = matrix_of(c) + entry_place(entry) + r.i;
    const int slots = slots_of(c, outer);
    int e = r.at.first;
    for (int s = 0; s < slots; s += together) {
        int column[together];
#pragma unroll
        for (int n = 0; n < together; ++n) column[n] = s + n < slots ? columns[(s + n) * sparse_chunk] - first : -1;
#pragma unroll
        for (int n = 0; n < together; ++n) {
            for (; e < r.at.end && pattern.columns[e] < column[n]; ++e) set_zero(r, e);
            if (e == r.at.end || pattern.columns[e] != column[n]) continue;
#pragma unroll
            for (int j = 0; j < block; ++j)
                copy_element_async(r.entry(e) + j * block + r.i, matrix + (s + n) * (sparse_chunk * square) + j * (block * sparse_chunk));
            ++e;
        }
    }
    for (; e < r.at.end; ++e) set_zero(r, e);
    end_copies();
}
/* Waits for them, and scales them: a lane its own row of each block. */
TRIFOLD_DEVICE void scale_entries(const Context& c, const Row& r) {
    const real scale = scale_of(c);
    wait_copies<0>();
    if (scale == 1) return;
    for (int e = r.at.first; e < r.at.end; ++e)
#pragma unroll
        for (int j = 0; j < block; ++j) r.entry(e)[j * block + r.i] *= scale;
}

/* A_ij -= A_ik U_kj: row i of the block. */
TRIFOLD_DEVICE void eliminate_pair(const Tile& tile, const Row& r, const real (&a)[block], const trifold_sparse_pair& pair) {
    real *target = r.room + pair.target * square + r.i, sum[block];
#pragma unroll
    for (int j = 0; j < block; ++j) {
        sum[j] = 0;
#pragma unroll
        for (int k = 0; k < block; ++k) sum[j] += a[k] * static_cast<real>(tile.stream[place_in(pair.upper, k, j)]);
    }
#pragma unroll
    for (int j = 0; j < block; ++j) target[j * block] -= sum[j];
}
/* A_ik for all k before the row become L_ik, and what they change of the others: a lane needs no other one for that. The next one's places
 * are asked for early, and L_ik is stored last, so that nothing waits for a store. */
TRIFOLD_DEVICE void eliminate_row(const Tile& tile, const Pattern& pattern, const Row& r) {
    const int count = r.at.diagonal - r.at.first;
    const trifold_sparse_elimination* list = pattern.eliminations + r.at.elimination;
    trifold_sparse_elimination next = {};
    if (count > 0) next = list[0];
    for (int n = 0; n < count; ++n) {
        const trifold_sparse_elimination e = next;
        if (n + 1 < count) next = list[n + 1];
        real a[block], l[block];
#pragma unroll
        for (int k = 0; k < block; ++k) a[k] = r.room[n * square + k * block + r.i], l[k] = 0;
#pragma unroll
        for (int j = 0; j < block; ++j)
#pragma unroll
            for (int k = 0; k < block; ++k) l[j] += a[k] * static_cast<real>(tile.stream[place_in(e.pivot, k, j)]);
        if (e.pair.target >= 0) eliminate_pair(tile, r, a, e.pair);
        for (int k = e.next; k < e.end; ++k) eliminate_pair(tile, r, a, pattern.pairs[k]);
#pragma unroll
        for (int j = 0; j < block; ++j) tile.stream[place_in(e.own, r.i, j)] = static_cast<factor_real>(l[j]);
    }
}

/* D becomes its inverse: the row of a lane. False where it has none. All lanes of a warp come along. */
TRIFOLD_DEVICE bool invert_diagonal(const Row& r, bool works, real shift, real least, real (&d)[block]) {
    real mine = 0, own[block];
    real* room = r.entry(r.at.diagonal);
    if (works) room[r.i * block + r.i] += shift;
    warp_sync();
#pragma unroll
    for (int k = 0; k < block; ++k) {
        own[k] = works ? room[r.i * block + k] : real(k == r.i);
        mine = size_of(own[k]) > mine ? size_of(own[k]) : mine;
    }
    const real grown = row_greatest(mine), rounding = sizeof(factor_real) == 4 ? real(0x1p-22) : real(0x1p-50);
    const bool sound = invert(own, r.i, rounding * (grown > least ? grown : least));
    warp_sync();
    if (works)
#pragma unroll
        for (int k = 0; k < block; ++k) room[r.i * block + k] = sound ? own[k] : real(0);
    warp_sync();
#pragma unroll
    for (int k = 0; k < block; ++k) d[k] = works ? room[k * block + r.i] : real(0);
    return sound;
}

/* D^-1, and U scaled by it. */
TRIFOLD_DEVICE void store_upper(const Tile& tile, const Pattern& pattern, const Row& r, const real (&d)[block]) {
    const trifold_sparse_reference own = pattern.references[r.at.diagonal];
#pragma unroll
    for (int j = 0; j < block; ++j) tile.stream[place_in(own, r.i, j)] = static_cast<factor_real>(d[j]);
    for (int e = r.at.diagonal + 1; e < r.at.end; ++e) {
        const trifold_sparse_reference to = pattern.references[e];
        const real* u = r.entry(e);
#pragma unroll
        for (int j = 0; j < block; ++j) {
            real sum = 0;
#pragma unroll
            for (int k = 0; k < block; ++k) sum += d[k] * u[j * block + k];
            tile.stream[place_in(to, r.i, j)] = static_cast<factor_real>(sum);
        }
    }
}

/* Rows from `first` on, of one level, that a thread block takes at once. */
TRIFOLD_DEVICE void factor_rows(const Context& c, const Tile& tile, const Pattern& pattern, int first, int count,
                                trifold_sparse_record& record) {
    const Lane lane = lane_at<sweep_threads>(0);
    const bool works = lane.works && lane.row < c.launch.factor_rows && lane.row < count;
    Row r = {{}, lane.component, static_cast<real*>(shared_memory())};
    real size = 0, d[block];
    warp_sync(); /* the rows before have left the room */
    if (works) {
        r.at = pattern.rows[first + lane.row];
        r.room += lane.row * c.launch.row_room;
        fetch_entries(c, tile, pattern, r);
        scale_entries(c, r);
#pragma unroll
        for (int j = 0; j < block; ++j) {
            const real x = size_of(r.entry(r.at.diagonal)[j * block + r.i]);
            size = x > size ? x : size;
        }
    }
    size = row_greatest(size);
    if (works) eliminate_row(tile, pattern, r);
    const bool sound = invert_diagonal(r, works, static_cast<real>(c.args.shift) * size, size, d);
    if (!works) return;
    store_upper(tile, pattern, r, d);
    trifold_int none = -1;
    if (!sound && r.i == 0) keep_first(1, order_of(c)[tile.part.first + r.at.row], -1, record.zero_pivots, record.zero_row, none);
}

/* L D U = A times its scale on the pattern of a subdomain, level by level. */
TRIFOLD_DEVICE void factor_tile(const Context& c) {
    const Tile tile = tile_at(c);
    const Pattern pattern = pattern_of(c, tile.schedule);
    trifold_sparse_record record = no_record();
    int first = 0;
    for (int k = tile.schedule.levels[trifold_sparse_l]; k < tile.schedule.levels[trifold_sparse_l + 1]; ++k) {
        const int rows = level_at(c, k).rows;
        for (int done = 0; done < rows; done += static_cast<int>(c.launch.factor_rows))
            factor_rows(c, tile, pattern, first + done, rows - done, record);
        first += rows;
        block_sync();
    }
    const trifold_sparse_record all = block_record<sweep_threads>(record);
    if (thread_index() == 0) {
        record_of(c, group_y(), part_number(c))->zero_pivots = all.zero_pivots;
        record_of(c, group_y(), part_number(c))->zero_row = all.zero_row;
    }
}

/* Blocks of a slot of A': those of A, transposed, side by side. */
TRIFOLD_DEVICE void turn_blocks(const Tile& tile, const trifold_sparse_reference* from, factor_real* to, int rows) {
    for (int q = thread_index(); q < rows * square; q += sweep_threads) {
        const int j = q / (block * rows), t = q / block % rows, i = q % block;
        to[q] = tile.stream[place_in(from[t], j, i)];
    }
}
/* The factors of A' for sweeps through the ring, level by level. */
TRIFOLD_DEVICE void turn_tile(const Context& c) {
    const Tile tile = tile_at(c);
    const trifold_sparse_reference* references = at<const trifold_sparse_reference>(c, c.launch.transposed_references);
    for (int k = tile.schedule.levels[trifold_sparse_u_transposed]; k < tile.schedule.levels[trifold_sparse_sweeps]; ++k) {
        const trifold_sparse_level& l = level_at(c, k);
        const trifold_sparse_slot* slots = at<const trifold_sparse_slot>(c, c.launch.slots) + l.first_slot;
        factor_real* to = tile.transposed + l.begin;
        if (k >= tile.schedule.levels[trifold_sparse_l_transposed]) {
            turn_blocks(tile, references + l.diagonal, to, l.rows);
            to += l.rows * square;
        }
        for (int s = 0; s < l.slots; to += slots[s++].rows * square) turn_blocks(tile, references + slots[s].place, to, slots[s].rows);
    }
}

/* Adds up the records of a member's parts. */
TRIFOLD_DEVICE void add_records(const Context& c) {
    trifold_sparse_record mine = no_record();
    for (trifold_int k = thread_index(); k < c.launch.tiles || k < c.launch.slices; k += sparse_threads) {
        trifold_sparse_record record = *record_of(c, group_y(), k);
        if (k >= c.launch.slices) record.not_finite = record.unequal = 0, record.largest = record.scale = 0;
        if (k >= c.launch.tiles || !has_factors) record.zero_pivots = 0;
        add_record(mine, record);
    }
    trifold_sparse_record all = block_record(mine);
    all.scale = scale_for(all.scale);
    if (thread_index() == 0) *record_of(c, group_y(), c.launch.parts) = all;
}
