/* The values of A in the order of the subdomains, and the factorization of a subdomain. */
#include "cpu/sparse/common.c"

INLINE trifold_sparse_record new_record(void) { return (trifold_sparse_record){0, -1, 0, -1, -1, 0, -1, -1, 0, 0}; }

INLINE void note_bad(trifold_sparse_record* record, integer row, integer column) {
    if (record->not_finite++ == 0 || row < record->bad_row) {
        record->bad_row = row;
        record->bad_column = column;
    }
}

/* The exponents that scale a row, of its largest entry and its least that is not 0. */
INLINE void find_scales(const real* values, const int* sources, integer count, int* scales) {
    for (int i = 0; i < block; ++i) {
        double largest = 0, least = 0;
        for (integer k = 0; k < count; ++k)
            for (int j = 0; j < block; ++j) {
                const double size = (double)size_of(values[(integer)sources[k] * block_elements + i * block + j]);
                if (size > largest) largest = size;
                if (size > 0 && (least == 0 || size < least)) least = size;
            }
        scales[i] = row_exponent(largest, least);
    }
}

/* Copies the blocks of some rows, scaled, and looks for values that are no numbers. */
NOINLINE void gather_rows(const context* c, part rows) {
    const integer* starts = starts_of(c);
    const int *sources = sources_of(c), *columns = columns_of(c), *order = order_of(c);
    const real* values = (const real*)c->args->values + rows.member * c->launch->values * block_elements;
    real* matrix = matrix_of(c, rows.member);
    trifold_sparse_record record = new_record();
    for (integer row = rows.first; row < rows.end; ++row) {
        int* scales = exponents_at(c, c->launch->scales, rows.member, row);
        real factors[block];
        find_scales(values, sources + starts[row], starts[row + 1] - starts[row], scales);
        UNROLL for (int i = 0; i < block; ++i) factors[i] = scales_rows ? (real)power_of_two(scales[i]) : 1;
        for (integer k = starts[row]; k < starts[row + 1]; ++k) {
            const real* from = values + (integer)sources[k] * block_elements;
            real* to = matrix + k * block_elements;
            int finite = 1;
            real largest = 0, scaled = 0;
            UNROLL for (int i = 0; i < block; ++i) {
                UNROLL for (int j = 0; j < block; ++j) {
                    const real value = from[i * block + j], number = factors[i] * value;
                    to[j * block + i] = number;
                    finite &= is_finite(value);
                    largest = size_of(value) > largest ? size_of(value) : largest;
                    scaled = size_of(number) > scaled ? size_of(number) : scaled;
                }
            }
            if (!finite) note_bad(&record, order[row], order[columns[k]]);
            if ((double)largest > record.largest) record.largest = (double)largest;
            if ((double)scaled > record.scale) record.scale = (double)scaled;
        }
    }
    *record_of(c, rows.member, rows.number) = record;
}

/* The exponents that would scale the columns of A, for a transposed solution. */
NOINLINE void measure_columns(const context* c, part rows) {
    const integer* transposed = transposed_starts_of(c);
    const int *transposed_rows = transposed_rows_of(c), *entries = transposed_entries_of(c);
    const real* matrix = matrix_of(c, rows.member);
    for (integer column = rows.first; column < rows.end; ++column) {
        int* to = exponents_at(c, c->launch->column_scales, rows.member, column);
        for (int j = 0; j < block; ++j) {
            int largest = no_exponent;
            for (integer k = transposed[column]; k < transposed[column + 1]; ++k) {
                const int* scales = exponents_at(c, c->launch->scales, rows.member, transposed_rows[k]);
                for (int i = 0; i < block; ++i) {
                    const int e = exponent_of((double)matrix[(integer)entries[k] * block_elements + j * block + i]) - scales[i];
                    largest = e > largest ? e : largest;
                }
            }
            to[j] = largest < -exponent_bias - mantissa_bits ? 0 : -largest;
        }
    }
}

/* A number on the diagonal of A. */
INLINE double diagonal_at(const context* c, const real* matrix, integer row, int i) {
    const integer* starts = starts_of(c);
    const int* columns = columns_of(c);
    integer k = starts[row];
    while (columns[k] != row) ++k;
    return (double)matrix[k * block_elements + i * block + i];
}
/* Whether two numbers are each other's mirror images but for rounding: against themselves, or against what is on the diagonal. */
INLINE int are_equal(const context* c, const real* matrix, double a, double b, integer row, int i, integer column, int j) {
    const double rounding = REAL_BYTES == 4 ? 0x1p-18 : 0x1p-44, apart = __builtin_fabs(a - b);
    if (apart <= rounding * (__builtin_fabs(a) + __builtin_fabs(b))) return 1;
    return apart <=
           rounding * root_of(__builtin_fabs(diagonal_at(c, matrix, row, i))) * root_of(__builtin_fabs(diagonal_at(c, matrix, column, j)));
}

/* Counts blocks that are not their counterparts, transposed. */
NOINLINE void compare_rows(const context* c, part rows) {
    const integer *starts = starts_of(c), *transposed = transposed_starts_of(c);
    const int *columns = columns_of(c), *transposed_rows = transposed_rows_of(c), *entries = transposed_entries_of(c), *order = order_of(c);
    const real* matrix = matrix_of(c, rows.member);
    trifold_sparse_record* record = record_of(c, rows.member, rows.number);
    for (integer row = rows.first; row < rows.end; ++row) {
        integer other = transposed[row];
        for (integer k = starts[row]; k < starts[row + 1]; ++k) {
            while (other < transposed[row + 1] && transposed_rows[other] < columns[k]) ++other;
            const int is_there = other < transposed[row + 1] && transposed_rows[other] == columns[k];
            int equal = 1;
            for (int i = 0; i < block; ++i)
                for (int j = 0; j < block; ++j) {
                    const double a = (double)matrix[k * block_elements + j * block + i];
                    const double b = is_there ? (double)matrix[(integer)entries[other] * block_elements + i * block + j] : 0;
                    equal &= are_equal(c, matrix, a, b, row, i, columns[k], j);
                }
            if (!equal && (record->unequal++ == 0 || order[row] < record->unequal_row)) {
                record->unequal_row = order[row];
                record->unequal_column = order[columns[k]];
            }
        }
    }
}

/* Parts of the lower and upper triangle of a subdomain. An upper row begins with the diagonal. */
typedef struct {
    integer first, rows;
    const int *lower_starts, *upper_starts;
    const local *lower_columns, *upper_columns;
    factor *lower, *upper; /* blocks */
} triangles;

INLINE triangles triangles_of(const context* c, part rows) {
    const trifold_sparse_tile* tile = tile_of(c, rows.number);
    const trifold_sparse_shape* shape = (const trifold_sparse_shape*)workspace_at(c, c->launch->shape) + tile->shape;
    const int* starts = (const int*)workspace_at(c, c->launch->local_starts);
    const local* columns = (const local*)workspace_at(c, c->launch->local_columns);
    return (triangles){tile->first_row,
                       tile->rows,
                       starts + shape->lower_starts,
                       starts + shape->upper_starts,
                       columns + shape->lower_columns,
                       columns + shape->upper_columns,
                       factors_of(c, rows.member, tile->lower),
                       factors_of(c, rows.member, tile->upper)};
}

INLINE void exchange(real* a, real* b) {
    const real kept = *a;
    *a = *b;
    *b = kept;
}

/* Inverts a block in place, with rows exchanged so that pivots are as large as can be. Returns 0 where a pivot is below `least`. */
NOINLINE int invert(real* a, real least) {
    int rows[block];
    for (int k = 0; k < block; ++k) {
        int best = k;
        for (int i = k + 1; i < block; ++i)
            if (size_of(a[k * block + i]) > size_of(a[k * block + best])) best = i;
        rows[k] = best;
        const real pivot = a[k * block + best];
        if (!(size_of(pivot) > least) || !is_finite(pivot)) return 0;
        for (int j = 0; j < block; ++j) exchange(a + j * block + k, a + j * block + best);
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
        for (int i = 0; i < block; ++i) exchange(a + k * block + i, a + rows[k] * block + i);
    return 1;
}

INLINE real largest_of(const real* a) {
    real largest = 0;
    for (int k = 0; k < block_elements; ++k) largest = size_of(a[k]) > largest ? size_of(a[k]) : largest;
    return largest;
}

/* to -= a b. */
INLINE void subtract_blocks(real* to, const real* a, const factor* b) {
    UNROLL for (int j = 0; j < block; ++j) {
        vec sum = load_loose(to + j * block);
        UNROLL for (int k = 0; k < block; ++k) sum -= load_loose(a + k * block) * (real)b[j * block + k];
        store_block(to + j * block, sum);
    }
}
/* to = a b, in the precision of the factors. */
INLINE void multiply_blocks(factor* to, const real* a, const real* b) {
    UNROLL for (int j = 0; j < block; ++j) {
        real column[VECTOR_LANES];
        vec sum = (vec){};
        UNROLL for (int k = 0; k < block; ++k) sum += load_loose(a + k * block) * b[j * block + k];
        __builtin_memcpy(column, &sum, sizeof column);
        UNROLL for (int i = 0; i < block; ++i) to[j * block + i] = (factor)column[i];
    }
}
INLINE void widen_block(real* to, const factor* from) { UNROLL for (int k = 0; k < block_elements; ++k) to[k] = (real)from[k]; }

/* The row's blocks of A times its scale, where the pattern of the factors has them; those of fill are zero. */
INLINE void spread_row(const context* c, const triangles* t, integer member, integer row, const int* place, real* blocks, integer count) {
    const integer* starts = starts_of(c);
    const int* columns = columns_of(c);
    const real *matrix = matrix_of(c, member), scale = scale_of(c, member);
    for (integer k = 0; k < count * block_elements; ++k) blocks[k] = 0;
    for (integer k = starts[t->first + row]; k < starts[t->first + row + 1]; ++k) {
        const integer column = columns[k] - t->first;
        if (column >= 0 && column < t->rows && place[column] >= 0)
            UNROLL for (int i = 0; i < block_elements; ++i) blocks[place[column] * block_elements + i] =
                scale * matrix[k * block_elements + i];
    }
}

/* L D U = A times its scale on the pattern, where L and U have unit diagonals; D^-1 is stored. Row after row: with U of the rows before,
 * A_ik becomes L_ik D_k, which times U_kj changes A_ij. */
NOINLINE void factor_rows(const context* c, part rows) {
    const triangles t = triangles_of(c, rows);
    trifold_sparse_record record = new_record();
    int* place = (int*)c->scratch;
    real* blocks = (real*)(c->scratch + (t.rows * (integer)sizeof(int) + 63) / 64 * 64);
    const real rounding = FACTOR_BYTES == 4 ? (real)0x1p-22 : (real)0x1p-50;
    for (integer row = 0; row < t.rows; ++row) place[row] = -1;
    for (integer row = 0; row < t.rows; ++row) {
        const integer lower = t.lower_starts[row], upper = t.upper_starts[row];
        const integer before = t.lower_starts[row + 1] - lower, behind = t.upper_starts[row + 1] - upper;
        for (integer k = 0; k < before; ++k) place[t.lower_columns[lower + k]] = (int)k;
        for (integer k = 0; k < behind; ++k) place[t.upper_columns[upper + k]] = (int)(before + k);
        spread_row(c, &t, rows.member, row, place, blocks, before + behind);
        real* own = blocks + before * block_elements;
        const real largest = largest_of(own);
        UNROLL for (int k = 0; k < block; ++k) own[k * block + k] += (real)c->args->shift * largest;
        for (integer k = 0; k < before; ++k) {
            const integer pivot = t.lower_columns[lower + k];
            const real* a = blocks + k * block_elements;
            for (integer q = t.upper_starts[pivot] + 1; q < t.upper_starts[pivot + 1]; ++q) {
                const int to = place[t.upper_columns[q]];
                if (to >= 0 && (!DIAGONAL_ALONE || to == before))
                    subtract_blocks(blocks + to * block_elements, a, t.upper + q * block_elements);
            }
            real inverse[block_elements + VECTOR_LANES];
            widen_block(inverse, t.upper + (integer)t.upper_starts[pivot] * block_elements);
            multiply_blocks(t.lower + (lower + k) * block_elements, a, inverse);
        }
        const real grown = largest_of(own);
        if (!invert(own, rounding * (grown > largest ? grown : largest))) {
            for (int k = 0; k < block_elements; ++k) own[k] = 0;
            const integer outer = order_of(c)[t.first + row];
            if (record.zero_pivots++ == 0 || outer < record.zero_row) record.zero_row = outer;
        }
        UNROLL for (int k = 0; k < block_elements; ++k) t.upper[upper * block_elements + k] = (factor)own[k];
        for (integer k = 1; k < behind; ++k)
            multiply_blocks(t.upper + (upper + k) * block_elements, own, blocks + (before + k) * block_elements);
        for (integer k = 0; k < before; ++k) place[t.lower_columns[lower + k]] = -1;
        for (integer k = 0; k < behind; ++k) place[t.upper_columns[upper + k]] = -1;
    }
    trifold_sparse_record* all = record_of(c, rows.member, rows.number);
    all->zero_pivots = record.zero_pivots;
    all->zero_row = record.zero_row;
}

INLINE void keep_first(integer count, integer row, integer column, integer* all, integer* first_row, integer* first_column) {
    if (count == 0) return;
    if (*all == 0 || row < *first_row) {
        *first_row = row;
        *first_column = column;
    }
    *all += count;
}

/* Adds up the records of a member's parts. */
NOINLINE void add_records(const context* c, integer member) {
    trifold_sparse_record all = new_record();
    integer none = -1;
    for (integer k = 0; k < larger(c->launch->tiles, c->launch->slices); ++k) {
        const trifold_sparse_record* record = record_of(c, member, k);
        if (k < c->launch->slices) {
            keep_first(record->not_finite, record->bad_row, record->bad_column, &all.not_finite, &all.bad_row, &all.bad_column);
            keep_first(record->unequal, record->unequal_row, record->unequal_column, &all.unequal, &all.unequal_row, &all.unequal_column);
            if (record->largest > all.largest) all.largest = record->largest;
            if (record->scale > all.scale) all.scale = record->scale;
        }
        if (k < c->launch->tiles && HAS_FACTORS)
            keep_first(record->zero_pivots, record->zero_row, 0, &all.zero_pivots, &all.zero_row, &none);
    }
    all.scale = scale_for(all.scale);
    *record_of(c, member, c->launch->parts) = all;
}
