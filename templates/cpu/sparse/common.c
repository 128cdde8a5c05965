/* Addresses in the workspace, and blocks, for all kernels of sparse systems.
 *
 * Blocks lie column by column: element (i, j) at j block + i. A column is loaded as a vector, whose lanes beyond the block hold what
 * follows in memory and are not stored. So memory with blocks and vectors ends with room for one more block. */
#include "cpu/sparse/constants.c"
#include "cpu/vectors.c"
#include "sparse/steps.h"

/* The operands of a call, the constants of a launch, and a worker's scratch. */
typedef struct {
    const trifold_sparse_args* args;
    const trifold_sparse_launch* launch;
    char* scratch;
} context;

/* A part of a member's rows: a subdomain, or as many rows as others have. */
typedef struct {
    integer member, number, first, end;
} part;

INLINE char* workspace_at(const context* c, integer offset) { return (char*)c->args->workspace + offset; }
INLINE const int* order_of(const context* c) { return (const int*)workspace_at(c, c->launch->order); }
INLINE const integer* starts_of(const context* c) { return (const integer*)workspace_at(c, c->launch->starts); }
INLINE const int* columns_of(const context* c) { return (const int*)workspace_at(c, c->launch->column); }
INLINE const int* sources_of(const context* c) { return (const int*)workspace_at(c, c->launch->source); }
INLINE const integer* transposed_starts_of(const context* c) { return (const integer*)workspace_at(c, c->launch->transposed_starts); }
INLINE const int* transposed_rows_of(const context* c) { return (const int*)workspace_at(c, c->launch->transposed_rows); }
INLINE const int* transposed_entries_of(const context* c) { return (const int*)workspace_at(c, c->launch->transposed_entries); }
INLINE real* matrix_of(const context* c, integer member) {
    return (real*)workspace_at(c, c->launch->matrix + member * c->launch->matrix_stride);
}
INLINE factor* factors_of(const context* c, integer member, integer first) {
    return (factor*)workspace_at(c, c->launch->factors + member * c->launch->factor_stride) + first * block_elements;
}
INLINE integer system_of(const context* c, integer member, integer column) { return member * c->launch->systems + column; }
INLINE real* vector_of(const context* c, integer system, integer number) {
    return (real*)workspace_at(c, c->launch->vectors + (system * c->launch->vector_count + number) * c->launch->vector_stride);
}
INLINE trifold_sparse_state* state_of(const context* c, integer system) {
    return (trifold_sparse_state*)workspace_at(c, c->launch->states) + system;
}
INLINE double* history_of(const context* c, integer system) {
    return (double*)workspace_at(c, c->launch->history) + system * c->launch->history_length;
}
INLINE double* sums_of(const context* c, integer system, integer number) {
    return (double*)workspace_at(c, c->launch->sums) + (system * c->launch->parts + number) * trifold_sparse_sums;
}
#if METHOD == METHOD_GMRES
INLINE small_matrices small_at(const context* c, integer system) {
    const integer elements = (c->launch->restart + 4) * (c->launch->restart + 1);
    return small_of((double*)workspace_at(c, c->launch->small) + system * elements, c->launch);
}
#endif
/* Parts of a member have records, and behind them the member has one. */
INLINE trifold_sparse_record* record_of(const context* c, integer member, integer number) {
    return (trifold_sparse_record*)workspace_at(c, c->launch->records) + member * (c->launch->parts + 1) + number;
}

/* Exponents of the rows' or columns' scales, of a row's first number on. */
INLINE int* exponents_at(const context* c, integer place, integer member, integer row) {
    return (int*)workspace_at(c, place + member * c->launch->scale_stride) + row * block;
}
/* Exponents by which numbers are multiplied: b and x of rows that are stored scaled, b as A sees it, x as it sees A. */
enum { scales_rows = METHOD != METHOD_CG };
INLINE int left_exponent(const context* c, integer member, integer number) {
    return scales_rows && !c->launch->transposed ? exponents_at(c, c->launch->scales, member, 0)[number] : 0;
}
INLINE int right_exponent(const context* c, integer member, integer number) {
    return scales_rows && c->launch->transposed ? exponents_at(c, c->launch->scales, member, 0)[number] : 0;
}
INLINE int weight_at(const context* c, integer member, integer number) {
    if (c->launch->weights == 0) return 0;
    return weight_exponent(exponents_at(c, c->launch->weights, member, 0)[number], record_of(c, member, c->launch->parts)->largest);
}
/* The factor of a residual's number before it is measured. */
INLINE double weight_of(const context* c, integer member, integer number) { return power_of_two(weight_at(c, member, number)); }

INLINE real scale_of(const context* c, integer member) { return (real)record_of(c, member, c->launch->parts)->scale; }

INLINE part slice_at(const context* c, integer task) {
    const integer number = task % c->launch->slices, first = number * c->launch->slice_rows;
    return (part){task / c->launch->slices, number, first, smaller(first + c->launch->slice_rows, c->launch->rows)};
}
INLINE const trifold_sparse_tile* tile_of(const context* c, integer number) {
    return (const trifold_sparse_tile*)workspace_at(c, c->launch->tile) + number;
}
INLINE part tile_at(const context* c, integer task) {
    const integer number = task % c->launch->tiles;
    const trifold_sparse_tile* tile = tile_of(c, number);
    return (part){task / c->launch->tiles, number, tile->first_row, tile->first_row + tile->rows};
}

/* Component 0 of a row in the caller's arrays; components are `columns` apart. */
INLINE integer outer_place(const context* c, integer member, integer row, integer column) {
    return (member * c->launch->rows + row) * block * c->args->columns + c->args->first_column + column;
}
INLINE void take_row(const context* c, const real* from, integer place, real* to) {
    UNROLL for (int k = 0; k < block; ++k) to[k] = from[place + k * c->args->columns];
}
INLINE void give_row(const context* c, const real* from, real* to, integer place) {
    UNROLL for (int k = 0; k < block; ++k) to[place + k * c->args->columns] = from[k];
}

INLINE int is_finite(real x) { return x - x == 0; }
INLINE real size_of(real x) { return x < 0 ? -x : x; }

/* The first block lanes alone are numbers of the block. */
INLINE vec load_loose(const real* p) { return *(const loose*)p; }
INLINE void store_block(real* p, vec x) { __builtin_memcpy(p, &x, block * sizeof(real)); }
typedef factor loose_factor __attribute__((vector_size(VECTOR_LANES * FACTOR_BYTES), aligned(FACTOR_BYTES), may_alias));
INLINE vec load_factor(const factor* p) { return __builtin_convertvector(*(const loose_factor*)p, vec); }

/* Products with a row's blocks are summed apart for each column of the blocks, so that additions need not wait for one another. */
typedef struct {
    vec of_column[block];
} row_sum;
INLINE row_sum no_sum(void) {
    row_sum sum;
    UNROLL for (int j = 0; j < block; ++j) sum.of_column[j] = (vec){};
    return sum;
}
INLINE void add_factor(row_sum* sum, const factor* a, const real* x) {
    UNROLL for (int j = 0; j < block; ++j) sum->of_column[j] += load_factor(a + j * block) * x[j];
}
INLINE void add_block(row_sum* sum, const real* a, const real* x) {
    UNROLL for (int j = 0; j < block; ++j) sum->of_column[j] += load_loose(a + j * block) * x[j];
}
/* The transposed block. */
INLINE void add_transposed(real* to, const real* a, const real* x) {
    UNROLL for (int j = 0; j < block; ++j) {
        real sum = 0;
        UNROLL for (int i = 0; i < block; ++i) sum += a[j * block + i] * x[i];
        to[j] += sum;
    }
}
INLINE vec total_of(const row_sum* sum) {
    vec total = sum->of_column[0];
    UNROLL for (int j = 1; j < block; ++j) total += sum->of_column[j];
    return total;
}

/* a'b of `count` numbers. Always in the same order. */
typedef real wide __attribute__((vector_size(64), aligned(REAL_BYTES), may_alias));
enum { wide_lanes = 64 / REAL_BYTES };
INLINE double dot(const real* a, const real* b, integer count) {
    wide sum[2] = {{}, {}};
    integer k = 0;
    for (; k + 2 * wide_lanes <= count; k += 2 * wide_lanes) {
        sum[0] += *(const wide*)(a + k) * *(const wide*)(b + k);
        sum[1] += *(const wide*)(a + k + wide_lanes) * *(const wide*)(b + k + wide_lanes);
    }
    double total = 0;
    for (; k < count; ++k) total += (double)a[k] * (double)b[k];
    sum[0] += sum[1];
    for (int lane = 0; lane < wide_lanes; ++lane) total += (double)sum[0][lane];
    return total;
}
