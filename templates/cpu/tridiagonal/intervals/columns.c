/* Variant "intervals": forward and backward sweeps with many right-hand sides.
 *
 * They are in the lanes of vectors, slice after slice, and so the chains of a group are not. These take turns, front by front. So what waits
 * for the front before does not keep the next chain from going on. */
#include "cpu/tridiagonal/intervals/sweep.c"
#include "cpu/tridiagonal/slices.c"

#if HAS_SLICES

/* The part of a sweep that a slice of the right-hand sides has: `count` of them, from `first` on. Where the slice is whole and its rows are
 * contiguous, they go straight between the user's arrays. Elsewhere, and between separators, they are kept in two buffers, for this front
 * and for the one before it. */
typedef struct {
    const interval* g;
    integer first, count;
    int chains, is_straight, has_fill;
    trifold_strides in, out;
    const real* b; /* of the first front of lane 0 */
    real* x;
    real* kept[2];
} part_of_sweep;

INLINE part_of_sweep part_of(const trifold_args* args, const trifold_level* level, const interval* g, integer first, vec* buffers) {
    part_of_sweep p = {.g = g,
                       .first = first,
                       .count = smaller(args->columns - first, SLICE),
                       .chains = level->index > 0 ? 1 : g->count,
                       .has_fill = level->index == 0,
                       .in = args->b_strides,
                       .out = args->x_strides,
                       .kept = {(real*)buffers, (real*)(buffers + BLOCK_OF_SLICE)}};
    p.is_straight = p.has_fill && p.count == SLICE && p.in.column == 1 && p.out.column == 1;
    p.b = b_of(args, g->member, g->first) + first * p.in.column;
    p.x = x_of(args, g->member, g->first) + first * p.out.column;
    return p;
}

#define EACH_PART(p, buffers)                                                                           \
    for (integer first = 0; first < args->columns; first += SLICE)                                      \
        for (part_of_sweep p = part_of(args, level, g, first, buffers), *once = &p; once; once = 0)
/* Chains that have a front k. */
INLINE int chains_at(const part_of_sweep* p, integer k) { return p->chains - (p->has_fill && p->g->has_last && k >= p->g->last); }

/* A lane's block k, from that of lane 0's first front on. k may be -1 or the chain's length, for the separators at its ends. */
INLINE integer apart(const part_of_sweep* p, int lane, integer k) { return lane * p->g->apart + k * p->g->step; }
INLINE int has_behind(const part_of_sweep* p, int lane) { return p->has_fill && block_in(p->g, lane, 0) > 0; }
INLINE int has_next(const trifold_args* args, const part_of_sweep* p, int lane, integer k) { return block_in(p->g, lane, k + 1) < HORIZON; }

INLINE const real* of_lane(const vec* block, int lane) { return (const real*)block + lane; }
INLINE real* kept_at(const part_of_sweep* p, int lane, integer k) { return p->kept[k & 1] + lane * BLOCK_OF_SLICE; }
INLINE rows solved_at(const part_of_sweep* p, int lane, integer k) {
    return p->is_straight ? (rows){p->x + apart(p, lane, k) * p->out.stage, p->out.row} : kept(kept_at(p, lane, k));
}
INLINE passage way_at(const part_of_sweep* p, int lane, integer k) {
    const integer place = apart(p, lane, k);
    real* own = kept_at(p, lane, k);
    if (p->is_straight) return (passage){p->b + place * p->in.stage, p->x + place * p->out.stage, p->in.row, p->out.row, 0, 0};
    load_slice(p->b + place * p->in.stage, &p->in, p->count, own);
    return (passage){own, own, SLICE, SLICE, 0, 0};
}
INLINE void go_out(const part_of_sweep* p, int lane, integer k) {
    if (!p->is_straight) store_slice(p->x + apart(p, lane, k) * p->out.stage, &p->out, p->count, kept_at(p, lane, k));
}

/* Minus what a chain leaves of its right-hand sides for the separator ahead of it (`side` 0) or behind it. */
INLINE real* left_slice(const trifold_args* args, integer side, const part_of_sweep* p, integer chain) {
    return (real*)left_rhs(args, side, p->g->member, chain / LANES) + chain % LANES * BLOCK_OF_PANEL + p->first * n;
}
INLINE void add_left(real* y, const trifold_args* args, const part_of_sweep* p, integer separator) {
    for (integer side = 0; side < 2 && separator + side < FIRST_CHAINS; ++side) {
        const real* left = left_slice(args, side, p, separator + side);
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
    vec kept[2][BLOCK_OF_SLICE];
    squares_across squares[LANES][SLICE_VECTORS]; /* y' y of all fronts so far */
} forward_slices;
_Static_assert(sizeof(forward_slices) <= SCRATCH_BYTES, "scratch");

INLINE void forward_fronts(const trifold_args* args, const part_of_sweep* p, integer k, forward_slices* f) {
    const integer place = p->g->place + k;
    const vec *l = l_at(args, place), *before = r_at(args, place - 1), *fill = g_at(args, place);
    real* left = left_slice(args, 1, p, p->g->group * LANES);
    ROLLED for (int lane = 0; lane < chains_at(p, k); ++lane) {
        const passage way = way_at(p, lane, k);
        if (!p->has_fill) add_left(way.to, args, p, k);
#define WORK(H, r) \
    forward_rows(H, r, of_lane(l, lane), k > 0 ? of_lane(before, lane) : 0, solved_at(p, lane, k - 1), 0, &way, f->squares[lane])
        ROWS_UP(WORK);
#undef WORK
        if (has_behind(p, lane)) leave(left + lane * BLOCK_OF_PANEL, of_lane(fill, lane), solved_at(p, lane, k), k > 0);
        go_out(p, lane, k);
    }
}

/* Whether a chain has solved right-hand sides that are not zero. */
COLD int has_some(const part_of_sweep* p, int lane, integer column) {
    for (integer k = 0; lane < chains_at(p, k) && k < p->g->length; ++k)
        for (integer row = 0; row < n; ++row)
            if (p->x[apart(p, lane, k) * p->out.stage + row * p->out.row + column * p->out.column] != 0) return 1;
    return 0;
}
/* Squares that have all vanished count as the least number, as those of tiny_square() do. */
INLINE void record_squares(double* total, const part_of_sweep* p, int lane, const squares_across* squares) {
    for (integer c = 0; c < p->count; ++c) {
        total[c] = squares[c / PANEL_LANES][c % PANEL_LANES];
        if (__builtin_expect(total[c] == 0, 0) && has_some(p, lane, c)) total[c] = 4.94065645841246544177e-324;
    }
}

KERNEL_PART void forward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    forward_slices* f = (forward_slices*)scratch;
    EACH_PART(p, f->kept[0]) {
        for (int lane = 0; lane < LANES; ++lane) EACH_VECTOR(v) f->squares[lane][v] = (squares_across){};
        for (integer k = 0; k < g->length; ++k) forward_fronts(args, &p, k, f);
        const integer end = g->length - 1;
        for (int lane = 0; lane < p.chains; ++lane) {
            record_squares(block_quadratic_of(args, g->member, first_record(args, level, g) + lane) + first, &p, lane, f->squares[lane]);
            if (p.has_fill && has_next(args, &p, lane, end))
                leave(left_slice(args, 0, &p, g->group * LANES + lane), of_lane(r_at(args, g->place + end), lane), solved_at(&p, lane, end), 0);
        }
    }
}

/* ---- backward ---- */

typedef struct {
    vec kept[2][BLOCK_OF_SLICE], behind[BLOCK_OF_SLICE];
} backward_slices;
_Static_assert(sizeof(backward_slices) <= SCRATCH_BYTES, "scratch");

/* The solution at the separators at the ends of the chains, where it is not read from the user's array. */
INLINE void load_ends(const trifold_args* args, const part_of_sweep* p, backward_slices* f) {
    const integer length = p->g->length;
    for (int lane = 0; lane < p->chains && !p->is_straight; ++lane) {
        if (has_behind(p, lane))
            load_slice(p->x + apart(p, lane, -1) * p->out.stage, &p->out, p->count, (real*)f->behind + lane * BLOCK_OF_SLICE);
        if (has_next(args, p, lane, length - 1))
            load_slice(p->x + apart(p, lane, length) * p->out.stage, &p->out, p->count, kept_at(p, lane, length));
    }
}

INLINE void backward_fronts(const trifold_args* args, const part_of_sweep* p, integer k, backward_slices* f, across_columns* trouble) {
    const integer place = p->g->place + k;
    const vec *l = l_at(args, place), *r_panel = r_at(args, place), *fill = g_at(args, place);
    ROLLED for (int lane = 0; lane < chains_at(p, k); ++lane) {
        const passage way = way_at(p, lane, k);
        const back_panels panels = {.factor = of_lane(l, lane),
                                    .next = has_next(args, p, lane, k) ? of_lane(r_panel, lane) : 0,
                                    .behind = has_behind(p, lane) ? of_lane(fill, lane) : 0,
                                    .x_next = solved_at(p, lane, k + 1),
                                    .x_behind = p->is_straight ? solved_at(p, lane, -1) : kept((real*)f->behind + lane * BLOCK_OF_SLICE)};
#define WORK(H, r) backward_rows(H, r, &panels, 0, &way, trouble)
        ROWS_DOWN(WORK);
#undef WORK
        go_out(p, lane, k);
    }
}

KERNEL_PART void backward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    backward_slices* f = (backward_slices*)scratch;
    across_columns trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, g->member)->solution, 0);
    EACH_PART(p, f->kept[0]) {
        load_ends(args, &p, f);
        for (integer k = g->length; k-- > 0;) backward_fronts(args, &p, k, f, &trouble);
    }
    int any = 0;
    UNROLL for (int lane = 0; lane < PANEL_LANES; ++lane) any |= trouble[lane] != 0;
    if (__builtin_expect(any, 0)) set_range(&range_of(args, g->member)->solution, 1);
}

/* The first call takes few right-hand sides beside each other in the lanes of chains. Later calls treat the last of many, whose results
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
