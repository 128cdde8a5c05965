/* Variant "intervals": forward and backward sweeps with many right-hand sides.
 *
 * They are in the lanes of vectors, slice after slice, and so the chains of a group are not. These take turns, front by front. So what waits
 * for the front before does not keep the next chain from going on. */
#include "cpu/tridiagonal/intervals/sweep.c"
#include "cpu/tridiagonal/slices.c"

#if HAS_SLICES

INLINE const real* of_lane(const vec* stored_block, int lane) { return (const real*)stored_block + lane; }
INLINE real* slice_of(vec* slices, int lane) { return (real*)slices + lane * BLOCK_OF_SLICE; }

/* A group, and a slice of the call's right-hand sides: those from `first` on, `count` of them. */
typedef struct {
    const interval* g;
    integer first, count;
    int chains; /* separators are one */
    int level;
} slice;

#define EACH_SLICE(s)                                                                                                          \
    for (slice s = {.g = g, .chains = level->index > 0 ? 1 : g->count, .level = (int)level->index};                            \
         s.count = smaller(args->columns - s.first, SLICE), s.first < args->columns; s.first += SLICE)
#define EACH_CHAIN(s, lane) for (int lane = 0; lane < (s)->chains; ++lane)

/* The separator behind a chain of level 0; there is none where it is negative. */
INLINE integer block_behind(const slice* s, int lane) { return s->level > 0 ? -1 : block_in(s->g, lane, -1); }
INLINE int has_next(const trifold_args* args, const slice* s, int lane, integer k) { return block_in(s->g, lane, k + 1) < HORIZON; }

/* Minus what a chain leaves of its right-hand sides for the separator ahead (`side` 0) or behind it. */
INLINE real* left_slice(const trifold_args* args, integer side, const slice* s, integer chain) {
    return (real*)left_rhs(args, side, s->g->member, chain / LANES) + chain % LANES * BLOCK_OF_PANEL + s->first * n;
}
INLINE void add_left(real* y, const trifold_args* args, const slice* s, integer separator) {
    for (integer side = 0; side < 2 && separator + side < FIRST_CHAINS; ++side) {
        const real* left = left_slice(args, side, s, separator + side);
        for (integer i = 0; i < BLOCK_OF_SLICE; i += PANEL_LANES) *vector_at(y + i, 0) += *vector_at(left + i, 0);
    }
}

/* ---- forward ---- */

typedef struct {
    vec y[2][BLOCK_OF_SLICE];                     /* solved right-hand sides of this front and of the one before, of all chains */
    squares_across squares[LANES][SLICE_VECTORS]; /* y' y of all fronts so far */
} forward_slices;
_Static_assert(sizeof(forward_slices) <= SCRATCH_BYTES, "scratch");

INLINE void forward_turn(const trifold_args* args, const slice* s, int lane, integer k, forward_slices* f) {
    const interval* g = s->g;
    const integer place = g->place + k, block = block_in(g, lane, k);
    real* y = slice_of(f->y[k & 1], lane);
    const passage way = way_of(args, g->member, block, s->first, s->count, g->step, s->level == 0, y);
    if (s->level > 0) add_left(y, args, s, k);
    forward_slice(of_lane(l_at(args, place), lane), k > 0 ? of_lane(r_at(args, place - 1), lane) : 0, slice_of(f->y[~k & 1], lane), y, &way,
                  f->squares[lane]);
    end_way(args, g->member, block, s->first, s->count, &way, y);
    if (block_behind(s, lane) >= 0)
        update_slice(left_slice(args, 1, s, g->group * LANES + lane), of_lane(g_at(args, place), lane), y, k > 0);
}

/* Whether a chain has solved right-hand sides that are not zero. */
COLD int has_some(const trifold_args* args, const slice* s, int lane, integer column) {
    const trifold_strides* x = &args->x_strides;
    for (integer k = 0; k < s->g->length && has_front(s->g, lane, k); ++k)
        for (integer row = 0; row < n; ++row)
            if (x_of(args, s->g->member, block_in(s->g, lane, k))[row * x->row + column * x->column] != 0) return 1;
    return 0;
}
/* Squares that have all vanished count as the least number, as those of tiny_square() do. */
INLINE void record_squares(const trifold_args* args, const trifold_level* level, const slice* s, int lane, const squares_across* squares) {
    double* total = block_quadratic_of(args, s->g->member, first_record(args, level, s->g) + lane) + s->first;
    for (integer c = 0; c < s->count; ++c) {
        total[c] = squares[c / PANEL_LANES][c % PANEL_LANES];
        if (__builtin_expect(total[c] == 0, 0) && has_some(args, s, lane, s->first + c)) total[c] = 4.94065645841246544177e-324;
    }
}

KERNEL_PART void forward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    forward_slices* f = (forward_slices*)scratch;
    EACH_SLICE(s) {
        for (int lane = 0; lane < LANES; ++lane) EACH_VECTOR(v) f->squares[lane][v] = (squares_across){};
        for (integer k = 0; k < g->length; ++k) EACH_CHAIN(&s, lane) if (has_front(g, lane, k)) forward_turn(args, &s, lane, k, f);
        EACH_CHAIN(&s, lane) {
            record_squares(args, level, &s, lane, f->squares[lane]);
            if (level->index == 0 && has_next(args, &s, lane, g->length - 1))
                update_slice(left_slice(args, 0, &s, g->group * LANES + lane), of_lane(r_at(args, g->place + g->length - 1), lane),
                             slice_of(f->y[~g->length & 1], lane), 0);
        }
    }
}

/* ---- backward ---- */

typedef struct {
    vec x[2][BLOCK_OF_SLICE], behind[BLOCK_OF_SLICE]; /* the solution at this front, at the next one and at the separator behind */
} backward_slices;
_Static_assert(sizeof(backward_slices) <= SCRATCH_BYTES, "scratch");

INLINE void load_solution(const trifold_args* args, const slice* s, integer block, real* x) {
    const trifold_strides* strides = &args->x_strides;
    load_slice(x_of(args, s->g->member, block) + s->first * strides->column, strides, s->count, x);
}

INLINE void backward_turn(const trifold_args* args, const slice* s, int lane, integer k, backward_slices* f, across_columns* trouble) {
    const interval* g = s->g;
    const integer place = g->place + k, block = block_in(g, lane, k);
    back_panels p = {.factor = of_lane(l_at(args, place), lane)};
    if (has_next(args, s, lane, k)) p.next = of_lane(r_at(args, place), lane), p.x_next = slice_of(f->x[~k & 1], lane);
    if (block_behind(s, lane) >= 0) p.behind = of_lane(g_at(args, place), lane), p.x_behind = slice_of(f->behind, lane);
    real* x = slice_of(f->x[k & 1], lane);
    const passage way = way_of(args, g->member, block, s->first, s->count, -g->step, 1, x);
    backward_slice(&p, x, &way, trouble);
    end_way(args, g->member, block, s->first, s->count, &way, x);
}

KERNEL_PART void backward_columns(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    backward_slices* f = (backward_slices*)scratch;
    across_columns trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, g->member)->solution, 0);
    EACH_SLICE(s) {
        EACH_CHAIN(&s, lane) {
            if (block_behind(&s, lane) >= 0) load_solution(args, &s, block_behind(&s, lane), slice_of(f->behind, lane));
            if (has_next(args, &s, lane, g->length - 1))
                load_solution(args, &s, block_in(g, lane, g->length), slice_of(f->x[g->length & 1], lane));
        }
        for (integer k = g->length; k-- > 0;)
            EACH_CHAIN(&s, lane) if (has_front(g, lane, k)) backward_turn(args, &s, lane, k, f, &trouble);
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
