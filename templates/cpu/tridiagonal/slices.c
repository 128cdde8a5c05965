/* Slices: right-hand sides of a front in the lanes of vectors, for sweeps of any variant.
 *
 * Elements of L, R and G are broadcast: each multiplies a whole row of a slice. A block of a slice is n rows of SLICE reals. A column's
 * sums have one order, whatever its place and its neighbours are.
 *
 * A variant says where in a stored block element (r, c) is, by at(r, c), and the reciprocal of L's element (r, r), by reciprocal_at(r).
 * Element (r, c + 1) is LANES further on. A register tile begins at a row whose at(r + i, c) is at(r, c) + at(i, 0). */
#include "cpu/tridiagonal/slices_constants.c"
#include "cpu/tridiagonal/common.c"

#if HAS_SLICES

INLINE integer at(integer row, integer column);
INLINE integer reciprocal_at(integer row);

enum {
    ROWS = PANEL_ROWS, /* rows of a register tile */
    SLICE_VECTORS = PANEL_COLUMNS > PANEL_LANES ? 2 : 1,
    SLICE = SLICE_VECTORS * PANEL_LANES,
    BLOCK_OF_SLICE = n * SLICE,
    BLOCK_OF_PANEL = n * PANEL_COLUMNS
};

typedef real across_columns __attribute__((vector_size(PANEL_LANES * REAL_BYTES)));
typedef real loose_columns __attribute__((vector_size(PANEL_LANES * REAL_BYTES), aligned(REAL_BYTES), may_alias));
typedef across_columns slice_tile[ROWS][SLICE_VECTORS];

#define EACH_VECTOR(v) UNROLL for (int v = 0; v < SLICE_VECTORS; ++v)
INLINE across_columns broadcast(real x) { return x - (across_columns){}; }
INLINE across_columns* vector_at(const real* row, int v) { return (across_columns*)(row + v * PANEL_LANES); }

INLINE void load_rows_of_slice(const int H, slice_tile c, const real* y) {
    UNROLL for (int i = 0; i < H; ++i) EACH_VECTOR(v) c[i][v] = *vector_at(y + i * SLICE, v);
}
INLINE void store_rows_of_slice(const int H, slice_tile c, real* y) {
    UNROLL for (int i = 0; i < H; ++i) EACH_VECTOR(v) * vector_at(y + i * SLICE, v) = c[i][v];
}

/* Rows of a slice, `row` elements apart. */
typedef struct {
    const real* p;
    integer row;
} rows;
INLINE rows kept(const real* y) { return (rows){y, SLICE}; }
INLINE void load_row(across_columns* row, const real* y) { EACH_VECTOR(v) row[v] = *(const loose_columns*)(y + v * PANEL_LANES); }

/* c(i) -= sum over k < count of a(r + i, k) y(k); `a` is where row r of a stored block begins. */
INLINE void subtract_rows(const int H, slice_tile c, const real* a, rows y, integer count) {
    for (integer k = 0; k < count; ++k, a += LANES, y.p += y.row) {
        across_columns row[SLICE_VECTORS];
        load_row(row, y.p);
        UNROLL for (int i = 0; i < H; ++i) {
            const across_columns multiplier = broadcast(a[at(i, 0)]);
            EACH_VECTOR(v) c[i][v] -= row[v] * multiplier;
        }
    }
}

/* c(i) -= sum over k, first <= k < n, of a(k, j + i) x(k); `a` is the stored block from its column j on. */
INLINE void subtract_columns(const int H, slice_tile c, const real* a, rows x, integer first) {
    for (integer k = first; k < n; ++k) {
        const real* element = a + at(k, 0);
        across_columns row[SLICE_VECTORS];
        load_row(row, x.p + k * x.row);
        UNROLL for (int i = 0; i < H; ++i) {
            const across_columns multiplier = broadcast(element[i * LANES]);
            EACH_VECTOR(v) c[i][v] -= row[v] * multiplier;
        }
    }
}

/* Calls WORK(H, r) for the register tiles of a block, H rows from r on, upwards or downwards. */
#if BLOCK % PANEL_ROWS
#define LAST_ROWS(WORK) WORK(n % ROWS, n - n % ROWS)
#else
#define LAST_ROWS(WORK) (void)0
#endif
#define ROWS_UP(WORK)                                                \
    do {                                                             \
        for (integer r = 0; r + ROWS <= n; r += ROWS) WORK(ROWS, r); \
        LAST_ROWS(WORK);                                             \
    } while (0)
#define ROWS_DOWN(WORK)                                                         \
    do {                                                                        \
        LAST_ROWS(WORK);                                                        \
        for (integer r = n - n % ROWS - ROWS; r >= 0; r -= ROWS) WORK(ROWS, r); \
    } while (0)

/* Source of the rows of a slice, and where they are copied too: the user's arrays, or the slice itself. */
typedef struct {
    const real* from;
    real* to;
    integer from_row, to_row;
    integer from_ahead, to_ahead; /* elements to where the chain's next front reads and writes; from_ahead is 0 where nothing is fetched */
} passage;

/* Fetches what the next front will read or write there, into the second-level cache, since the first one is too small for it. */
INLINE void fetch_row(const real* p) {
    UNROLL for (int line = 0; line < SLICE * REAL_BYTES; line += 64) __builtin_prefetch((const char*)p + line, 0, 2);
}
INLINE void rows_in(const int H, slice_tile c, const passage* way, integer r) {
    const real* from = way->from + r * way->from_row;
    UNROLL for (int i = 0; i < H; ++i) EACH_VECTOR(v) c[i][v] = *(const loose_columns*)(from + i * way->from_row + v * PANEL_LANES);
    if (!way->from_ahead) return;
    UNROLL for (int i = 0; i < H; ++i) fetch_row(from + i * way->from_row + way->from_ahead);
}
INLINE void rows_out(const int H, const slice_tile c, const passage* way, integer r) {
    real* to = way->to + r * way->to_row;
    UNROLL for (int i = 0; i < H; ++i) EACH_VECTOR(v) * (loose_columns*)(to + i * way->to_row + v * PANEL_LANES) = c[i][v];
    if (!way->from_ahead) return;
    UNROLL for (int i = 0; i < H; ++i) fetch_row(to + i * way->to_row + way->to_ahead);
}

/* Sums of squares of a slice's columns, in f64 whatever the precision. */
typedef double squares_across __attribute__((vector_size(PANEL_LANES * 8)));
INLINE void add_squares_across(const int H, const slice_tile c, const real* reciprocals, squares_across* sum) {
    EACH_VECTOR(v) UNROLL for (int i = 0; i < H; ++i) {
        const squares_across wide = __builtin_convertvector(c[i][v], squares_across);
        sum[v] += HAS_SIGNS && reciprocals[i] < 0 ? -(wide * wide) : wide * wide;
    }
    (void)reciprocals;
}

/* Solved rows are kept in y, or, where it is null, only go out. */
INLINE rows own_rows(const real* y, const passage* way) { return y ? kept(y) : (rows){way->to, way->to_row}; }

INLINE void forward_rows(const int H, integer r, const real* factor, const real* previous_next, rows previous_y, real* y,
                         const passage* way, squares_across* sum) {
    slice_tile c;
    rows_in(H, c, way, r);
    if (previous_next) subtract_rows(H, c, previous_next + at(r, 0), previous_y, n);
    subtract_rows(H, c, factor + at(r, 0), own_rows(y, way), r);
    const real* l = factor + at(r, r);
    UNROLL for (int k = 0; k < H; ++k) {
        const across_columns scale = broadcast(factor[reciprocal_at(r + k)]);
        EACH_VECTOR(v) c[k][v] *= scale;
        UNROLL for (int i = k + 1; i < H; ++i) {
            const across_columns multiplier = broadcast(l[k * LANES + at(i, 0)]);
            EACH_VECTOR(v) c[i][v] -= c[k][v] * multiplier;
        }
    }
    if (y) store_rows_of_slice(H, c, y + r * SLICE);
    rows_out(H, c, way, r);
    add_squares_across(H, c, factor + reciprocal_at(r), sum);
}

/* y = L^-1 (y - previous_next previous_y), and the squares of its columns. */
NOINLINE void forward_slice(const real* factor, const real* previous_next, const real* previous_y, real* y, const passage* way,
                            squares_across* sum) {
    const passage own = *way; /* no store changes it */
#define WORK(H, r) forward_rows(H, r, factor, previous_next, kept(previous_y), y, &own, sum)
    ROWS_UP(WORK);
#undef WORK
}

/* A block's panels and the parts of x that they multiply; null where there is no such neighbour. */
typedef struct {
    const real *factor, *next, *behind;
    rows x_next, x_behind;
} back_panels;

/* Zeros, or NaN where a number is not finite. Few of these sums wait for one another. */
INLINE across_columns traces(const int H, const slice_tile c) {
    across_columns sum[4] = {};
    EACH_VECTOR(v) UNROLL for (int i = 0; i < H; ++i) sum[i % 4] += c[i][v] * 0;
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

INLINE void backward_rows(const int H, integer r, const back_panels* p, real* x, const passage* way, across_columns* trouble) {
    slice_tile c;
    rows_in(H, c, way, r);
    if (p->next) subtract_columns(H, c, p->next + at(0, r), p->x_next, 0);
    if (p->behind) subtract_columns(H, c, p->behind + at(0, r), p->x_behind, 0);
    subtract_columns(H, c, p->factor + at(0, r), own_rows(x, way), r + H);
    const real* l = p->factor + at(r, r);
    UNROLL for (int k = H - 1; k >= 0; --k) {
        const across_columns scale = broadcast(p->factor[reciprocal_at(r + k)]);
        EACH_VECTOR(v) c[k][v] *= scale;
        UNROLL for (int i = 0; i < k; ++i) {
            const across_columns multiplier = broadcast(l[i * LANES + at(k, 0)]);
            EACH_VECTOR(v) c[i][v] -= c[k][v] * multiplier;
        }
    }
    if (x) store_rows_of_slice(H, c, x + r * SLICE);
    rows_out(H, c, way, r);
    *trouble += traces(H, c);
}

/* x = L^-T (x - next' x_next - behind' x_behind). `trouble` is no longer 0 where x has left the range. */
NOINLINE void backward_slice(const back_panels* p, real* x, const passage* way, across_columns* trouble) {
    const passage own = *way;
#define WORK(H, r) backward_rows(H, r, p, x, &own, trouble)
    ROWS_DOWN(WORK);
#undef WORK
}

INLINE void update_rows(const int H, integer r, real* slot, const real* panel, rows y, int add) {
    slice_tile c;
    UNROLL for (int i = 0; i < H; ++i) EACH_VECTOR(v) c[i][v] = (across_columns){};
    if (add) load_rows_of_slice(H, c, slot + r * SLICE);
    subtract_rows(H, c, panel + at(r, 0), y, n);
    store_rows_of_slice(H, c, slot + r * SLICE);
}

/* slot = (add ? slot : 0) - panel y: minus the update that a front leaves to a separator. */
NOINLINE void update_slice(real* slot, const real* panel, const real* y, int add) {
#define WORK(H, r) update_rows(H, r, slot, panel, kept(y), add)
    ROWS_UP(WORK);
#undef WORK
}

/* ---- the user's arrays ---- */

/* `count` contiguous reals of a row, with zeros up to a slice on the way in. Whole vectors where there are as many; the last one overlaps
 * the one before it. */
INLINE void row_in(real* to, const real* from, integer count) {
    if (count < PANEL_LANES) {
        for (integer c = 0; c < SLICE; ++c) to[c] = c < count ? from[c] : 0;
        return;
    }
    EACH_VECTOR(v) {
        across_columns columns = {};
        if ((v + 1) * PANEL_LANES <= count) columns = *(const loose_columns*)(from + v * PANEL_LANES);
        *vector_at(to, v) = columns;
    }
    if (count % PANEL_LANES) *(loose_columns*)(to + count - PANEL_LANES) = *(const loose_columns*)(from + count - PANEL_LANES);
}
INLINE void row_out(real* to, const real* from, integer count) {
    if (count < PANEL_LANES) {
        for (integer c = 0; c < count; ++c) to[c] = from[c];
        return;
    }
    EACH_VECTOR(v) {
        if ((v + 1) * PANEL_LANES <= count) *(loose_columns*)(to + v * PANEL_LANES) = *vector_at(from, v);
    }
    if (count % PANEL_LANES) *(loose_columns*)(to + count - PANEL_LANES) = *(const loose_columns*)(from + count - PANEL_LANES);
}

/* Columns that stand `column` apart, each contiguous, are transposed in registers. The last vectors of rows overlap those before them. */
#if BLOCK >= VECTOR_LANES && VECTOR_LANES == PANEL_LANES
NOINLINE void columns_in(real* y, const real* b, integer column, integer count) {
    for (integer c = 0; c < SLICE; c += LANES)
        for (integer r = 0; r < n; r += LANES) {
            const integer from = smaller(r, n - LANES);
            vec v[LANES];
            UNROLL for (int k = 0; k < LANES; ++k) {
                v[k] = (vec){};
                if (c + k < count) v[k] = *(const loose*)(b + (c + k) * column + from);
            }
            transpose(v);
            UNROLL for (int k = 0; k < LANES; ++k) store(y + (from + k) * SLICE + c, v[k]);
        }
}
NOINLINE void columns_out(real* x, integer column, const real* y, integer count) {
    for (integer c = 0; c < count; c += LANES)
        for (integer r = 0; r < n; r += LANES) {
            const integer from = smaller(r, n - LANES);
            vec v[LANES];
            UNROLL for (int k = 0; k < LANES; ++k) v[k] = load(y + (from + k) * SLICE + c);
            transpose(v);
            UNROLL for (int k = 0; k < LANES; ++k) {
                if (c + k < count) *(loose*)(x + (c + k) * column + from) = v[k];
            }
        }
}
#else
NOINLINE void columns_in(real* y, const real* b, integer column, integer count) {
    for (integer c = 0; c < SLICE; ++c)
        for (integer r = 0; r < n; ++r) y[r * SLICE + c] = c < count ? b[r + c * column] : 0;
}
NOINLINE void columns_out(real* x, integer column, const real* y, integer count) {
    for (integer c = 0; c < count; ++c)
        for (integer r = 0; r < n; ++r) x[r + c * column] = y[r * SLICE + c];
}
#endif

/* Either rows or columns are contiguous. */
NOINLINE void load_slice(const real* b, const trifold_strides* s, integer count, real* y) {
    if (s->column != 1) return columns_in(y, b, s->column, count);
    for (integer r = 0; r < n; ++r) row_in(y + r * SLICE, b + r * s->row, count);
}
NOINLINE void store_slice(real* x, const trifold_strides* s, integer count, const real* y) {
    if (s->column != 1) return columns_out(x, s->column, y, count);
    for (integer r = 0; r < n; ++r) row_out(x + r * s->row, y + r * SLICE, count);
}

/* Rows that a block's right-hand sides have, where it is part of others; those of the slice beyond are zero. */
COLD void load_some_rows(const real* b, const trifold_strides* s, integer rows, integer count, real* y) {
    for (integer i = 0; i < BLOCK_OF_SLICE; ++i) y[i] = 0;
    for (integer r = 0; r < rows; ++r)
        for (integer c = 0; c < count; ++c) y[r * SLICE + c] = b[row_at(s, r) + c * s->column];
}
COLD void store_some_rows(real* x, const trifold_strides* s, integer rows, integer count, const real* y) {
    for (integer r = 0; r < rows; ++r)
        for (integer c = 0; c < count; ++c) x[row_at(s, r) + c * s->column] = y[r * SLICE + c];
}
INLINE void load_given_rows(const real* b, const trifold_strides* s, integer rows, integer count, real* y) {
    if (BANDWIDTH > 1 || (HAS_SIZES && rows < n))
        load_some_rows(b, s, rows, count, y);
    else
        load_slice(b, s, count, y);
}

/* S y, and y of it again: the rows of a slice with the signs of the front's pivots. */
INLINE void turn_slice(real* y, const real* factor) {
    for (integer r = 0; r < n; ++r)
        for (integer c = 0; factor[reciprocal_at(r)] < 0 && c < SLICE; ++c) y[r * SLICE + c] = -y[r * SLICE + c];
}

/* ---- the way between the user's arrays and a slice ---- */

/* The way of a slice from the panel's column c on: straight between the user's arrays where it is whole and its rows are contiguous, else
 * by way of `slice`, into which it is loaded. Rows of more right-hand sides than a panel has lie far apart, and the processor does not
 * foresee the next front's, which are `ahead` blocks further on. */
INLINE passage way_of(const trifold_args* args, integer member, integer block, integer c, integer count, integer ahead, const int straight,
                      real* slice) {
    const trifold_strides *in = &args->b_strides, *out = &args->x_strides;
    const real* from = b_of(args, member, block) + c * in->column;
    if (straight && !HAS_VIEWS && count == SLICE && in->column == 1 && out->column == 1) {
        const integer fetched = in->row > PANEL_COLUMNS ? ahead : 0;
        return (passage){from, x_of(args, member, block) + c, in->row, out->row, fetched * in->stage, fetched * out->stage};
    }
    load_given_rows(from, in, rows_of(args, member, block), count, slice);
    return (passage){slice, slice, SLICE, SLICE, 0, 0};
}
INLINE void end_way(const trifold_args* args, integer member, integer block, integer c, integer count, const passage* way,
                    const real* slice) {
    const trifold_strides* out = &args->x_strides;
    if (BANDWIDTH > 1)
        store_some_rows(x_of(args, member, block) + c * out->column, out, stored_rows(args, block), count, slice);
    else if (way->to == slice)
        store_slice(x_of(args, member, block) + c * out->column, out, count, slice);
}

#endif
