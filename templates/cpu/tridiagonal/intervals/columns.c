/* Variant "intervals": forward and backward sweeps with many right-hand sides.
 *
 * They are in the lanes of vectors, slice after slice, and so the chains of a group are not. These take turns, front by front. So what
 * waits for the front before does not keep the next chain from going on. */
#include "cpu/tridiagonal/intervals/sweep.c"
#include "cpu/tridiagonal/slices.c"

#if HAS_SLICES

/* A group's part of a sweep. */
typedef struct {
    const interval* g;
    integer columns;
    int chains, has_fill, has_contiguous_rows;
    trifold_strides in, out;
    const real* b; /* b and x: the first front of lane 0 */
    real* x;
    real* kept[2];
} group_sweep;

INLINE group_sweep sweep_of(const trifold_args* args, const trifold_level* level, const interval* g, void* buffers) {
    return (group_sweep){.g = g,
                         .columns = args->columns,
                         .chains = level->index > 0 ? 1 : g->count,
                         .has_fill = level->index == 0,
                         .has_contiguous_rows = args->b_strides.column == 1 && args->x_strides.column == 1,
                         .in = args->b_strides,
                         .out = args->x_strides,
                         .b = b_of(args, g->member, g->first),
                         .x = x_of(args, g->member, g->first),
                         .kept = {(real*)buffers, (real*)buffers + LANES * BLOCK_OF_PANEL}};
}
/* Chains that have a front k. */
INLINE int chains_at(const group_sweep* p, integer k) { return p->chains - (p->has_fill && p->g->has_last && k >= p->g->last); }

/* Blocks from lane 0's first front on. k may be -1 or the chain's length, for the separators at its ends. */
INLINE integer apart(const group_sweep* p, int lane, integer k) { return lane * p->g->apart + k * p->g->step; }
INLINE int has_behind(const group_sweep* p, int lane) { return p->has_fill && block_in(p->g, lane, 0) > 0; }
INLINE int has_next(const trifold_args* args, const group_sweep* p, int lane, integer k) { return block_in(p->g, lane, k + 1) < HORIZON; }

INLINE const real* of_lane(const vec* block, int lane) { return (const real*)block + lane; }

/* The columns of a sweep from `first` on. Where a slice is whole and its rows are contiguous, they go straight between the user's arrays.
 * Elsewhere, and between separators, they are kept in two buffers, for this front and for the one before it. */
typedef struct {
    integer first, count;
    int is_straight;
} slice;
#define EACH_SLICE(p, s) \
    for (slice s = slice_from(p, 0); PANEL_COLUMNS > SLICE ? s.first < (p)->columns : s.first == 0; s = slice_from(p, s.first + SLICE))
INLINE slice slice_from(const group_sweep* p, integer first) {
    const integer count = smaller(p->columns - first, SLICE);
    return (slice){first, count, p->has_fill && p->has_contiguous_rows && count == SLICE};
}
INLINE const real* b_from(const group_sweep* p, slice s, integer place) { return p->b + place * p->in.stage + s.first * p->in.column; }
INLINE real* x_from(const group_sweep* p, slice s, integer place) { return p->x + place * p->out.stage + s.first * p->out.column; }
INLINE real* kept_at(const group_sweep* p, slice s, int lane, integer k) { return p->kept[k & 1] + lane * BLOCK_OF_PANEL + s.first * n; }

INLINE rows solved_at(const group_sweep* p, slice s, int lane, integer k) {
    return s.is_straight ? (rows){x_from(p, s, apart(p, lane, k)), p->out.row} : kept(kept_at(p, s, lane, k));
}
INLINE passage way_at(const group_sweep* p, slice s, int lane, integer k) {
    const integer place = apart(p, lane, k);
    real* own = kept_at(p, s, lane, k);
    if (s.is_straight) return (passage){b_from(p, s, place), x_from(p, s, place), p->in.row, p->out.row, 0, 0};
    load_slice(b_from(p, s, place), &p->in, s.count, own);
    return (passage){own, own, SLICE, SLICE, 0, 0};
}
INLINE void go_out(const group_sweep* p, slice s, int lane, integer k) {
    if (!s.is_straight) store_slice(x_from(p, s, apart(p, lane, k)), &p->out, s.count, kept_at(p, s, lane, k));
}

/* Minus what a chain leaves of its right-hand sides for the separator ahead of it (`side` 0) or behind it. */
INLINE real* left_slice(const trifold_args* args, integer side, const group_sweep* p, slice s, integer chain) {
    return (real*)left_rhs(args, side, p->g->member, chain / LANES) + chain % LANES * BLOCK_OF_PANEL + s.first * n;
}
INLINE void add_left(real* y, const trifold_args* args, const group_sweep* p, slice s, integer separator) {
    for (integer side = 0; side < 2 && separator + side < FIRST_CHAINS; ++side) {
        const real* left = left_slice(args, side, p, s, separator + side);
        for (integer i = 0; i < BLOCK_OF_SLICE; i += PANEL_LANES) *vector_at(y + i, 0) += *vector_at(left + i, 0);
    }
}
INLINE void leave(real* left, const real* panel, rows y, int add) {
#define WORK(H, r) update_rows(H, r, left, panel, y, add)
    ROWS_UP(WORK);
#undef WORK
}

/* ---- forward ---- */

typedef struct {
    vec kept[2][BLOCK_OF_PANEL];
    squares_across squares[LANES][PANEL_COLUMNS / PANEL_LANES]; /* y' y of all fronts so far */
} forward_slices;
_Static_assert(sizeof(forward_slices) <= SCRATCH_BYTES, "scratch");

INLINE void forward_fronts(const trifold_args* args, const group_sweep* p, integer k, forward_slices* f) {
    const integer place = p->g->place + k;
    const vec *l = l_at(args, place), *before = r_at(args, place - 1), *fill = g_at(args, place);
    ROLLED for (int lane = 0; lane < chains_at(p, k); ++lane) EACH_SLICE(p, s) {
        const passage way = way_at(p, s, lane, k);
        if (!p->has_fill) add_left(way.to, args, p, s, k);
#define WORK(H, r)                                                                                                 \
    forward_rows(H, r, of_lane(l, lane), k > 0 ? of_lane(before, lane) : 0, solved_at(p, s, lane, k - 1), 0, &way, \
                 &f->squares[lane][s.first / PANEL_LANES])
        ROWS_UP(WORK);
#undef WORK
        if (has_behind(p, lane))
            leave(left_slice(args, 1, p, s, p->g->group * LANES + lane), of_lane(fill, lane), solved_at(p, s, lane, k), k > 0);
        go_out(p, s, lane, k);
    }
}

/* Whether a chain has solved right-hand sides that are not zero. */
COLD int has_some(const group_sweep* p, int lane, integer column) {
    for (integer k = 0; k < p->g->length && lane < chains_at(p, k); ++k)
        for (integer row = 0; row < n; ++row)
            if (p->x[apart(p, lane, k) * p->out.stage + row * p->out.row + column * p->out.column] != 0) return 1;
    return 0;
}
/* Squares that have all vanished count as the least number, as those of tiny_square() do. */
INLINE void record_squares(double* total, const group_sweep* p, int lane, const squares_across* squares) {
    for (integer c = 0; c < p->columns; ++c) {
        total[c] = squares[c / PANEL_LANES][c % PANEL_LANES];
        if (__builtin_expect(total[c] == 0, 0) && has_some(p, lane, c)) total[c] = 4.94065645841246544177e-324;
    }
}

KERNEL_PART void forward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    forward_slices* f = (forward_slices*)scratch;
    const group_sweep p = sweep_of(args, level, g, f->kept);
    for (int lane = 0; lane < LANES; ++lane)
        for (int v = 0; v < PANEL_COLUMNS / PANEL_LANES; ++v) f->squares[lane][v] = (squares_across){};
    for (integer k = 0; k < g->length; ++k) forward_fronts(args, &p, k, f);
    const integer end = g->length - 1;
    const vec* r = r_at(args, g->place + end);
    for (int lane = 0; lane < p.chains; ++lane) {
        record_squares(block_quadratic_of(args, g->member, first_record(args, level, g) + lane), &p, lane, f->squares[lane]);
        if (!p.has_fill || !has_next(args, &p, lane, end)) continue;
        EACH_SLICE(&p, s) leave(left_slice(args, 0, &p, s, g->group * LANES + lane), of_lane(r, lane), solved_at(&p, s, lane, end), 0);
    }
}

/* ---- backward ---- */

typedef struct {
    vec kept[2][BLOCK_OF_PANEL], behind[BLOCK_OF_PANEL];
} backward_slices;
_Static_assert(sizeof(backward_slices) <= SCRATCH_BYTES, "scratch");

INLINE real* behind_at(backward_slices* f, slice s, int lane) { return (real*)f->behind + lane * BLOCK_OF_PANEL + s.first * n; }

/* The solution at the separators at the ends of the chains, where it is not read from the user's array. */
INLINE void load_ends(const trifold_args* args, const group_sweep* p, backward_slices* f) {
    const integer length = p->g->length;
    for (int lane = 0; lane < p->chains; ++lane) EACH_SLICE(p, s) {
            if (s.is_straight) continue;
            if (has_behind(p, lane)) load_slice(x_from(p, s, apart(p, lane, -1)), &p->out, s.count, behind_at(f, s, lane));
            if (has_next(args, p, lane, length - 1))
                load_slice(x_from(p, s, apart(p, lane, length)), &p->out, s.count, kept_at(p, s, lane, length));
        }
}

INLINE void backward_fronts(const trifold_args* args, const group_sweep* p, integer k, backward_slices* f, across_columns* trouble) {
    const integer place = p->g->place + k;
    const vec *l = l_at(args, place), *next = r_at(args, place), *fill = g_at(args, place);
    ROLLED for (int lane = 0; lane < chains_at(p, k); ++lane) EACH_SLICE(p, s) {
        const passage way = way_at(p, s, lane, k);
        const back_panels panels = {.factor = of_lane(l, lane),
                                    .next = has_next(args, p, lane, k) ? of_lane(next, lane) : 0,
                                    .behind = has_behind(p, lane) ? of_lane(fill, lane) : 0,
                                    .x_next = solved_at(p, s, lane, k + 1),
                                    .x_behind = s.is_straight ? solved_at(p, s, lane, -1) : kept(behind_at(f, s, lane))};
#define WORK(H, r) backward_rows(H, r, &panels, 0, &way, trouble)
        ROWS_DOWN(WORK);
#undef WORK
        go_out(p, s, lane, k);
    }
}

KERNEL_PART void backward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    backward_slices* f = (backward_slices*)scratch;
    const group_sweep p = sweep_of(args, level, g, f->kept);
    across_columns trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, g->member)->solution, 0);
    load_ends(args, &p, f);
    for (integer k = g->length; k-- > 0;) backward_fronts(args, &p, k, f, &trouble);
    int any = 0;
    UNROLL for (int lane = 0; lane < PANEL_LANES; ++lane) any |= trouble[lane] != 0;
    if (__builtin_expect(any, 0)) set_range(&range_of(args, g->member)->solution, 1);
}

/* The first call takes few right-hand sides at the same time, in the lanes of chains. Later calls treat the last of many, whose results
 * depend on no number of columns. */
INLINE int is_beside(const trifold_args* args) { return args->columns <= MOST_BESIDE && args->first_column == 0; }
KERNEL_PART void forward_any(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    is_beside(args) ? forward_chains(args, level, g, scratch) : forward_columns(args, level, g, scratch);
}
KERNEL_PART void backward_any(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    is_beside(args) ? backward_chains(args, level, g, scratch) : backward_columns(args, level, g, scratch);
}

#else
#define forward_any forward_chains
#define backward_any backward_chains
#endif
