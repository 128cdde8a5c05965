/* Variant "intervals": factorization, alone or with the right-hand sides riding along. */
#include "cpu/tridiagonal/intervals/intervals.c"
#include "cpu/tridiagonal/lanes/pivots.c"

typedef struct {
    vec d[AREA], e[AREA];      /* pivot block and coupling as loaded */
    vec left[AREA];            /* G G' of all fronts so far */
    vec b[n * m], y[2][n * m]; /* right-hand sides of this front; solved ones of this front and of the one before */
    vec left_rhs[n * m];       /* G y of all fronts so far */
    double squares[m][LANES];  /* y' y of all fronts so far */
    vec unit[2 * n];           /* zeros around a one */
} factor_scratch;
_Static_assert(sizeof(factor_scratch) <= SCRATCH_BYTES, "scratch");

/* Verdict on the chains. */
typedef struct {
    integer failure[LANES];
    int floors[LANES];
} verdict;

INLINE int adds_to_pivots(const trifold_args* args) { return args->diagonal || args->shift || args->pivot_floor > 0; }

COLD void add_to_pivots(vec* d, const trifold_args* args, const interval* g, integer k, pivots* p) {
    for (int lane = 0; lane < LANES; ++lane)
        for (integer j = 0; has_front(g, lane, k) && j < n; ++j)
            d[j * (n + 1)][lane] += diagonal_term(args, g->member, block_in(g, lane, k), j);
    vec largest = {};
    for (integer j = 0; j < n; ++j) {
        const vec entry = d[j * (n + 1)], size = choose(entry < 0, -entry, entry);
        largest = choose((size > largest) & (size <= LARGEST), size, largest);
    }
    if (args->pivot_floor > 0) p->floor = largest * (real)args->pivot_floor;
}

/* D with the terms that the caller adds to its diagonal and, of a separator, less what the chains have left. */
INLINE view assemble_pivot(vec* out, const trifold_args* args, const trifold_level* level, const interval* g, integer k, pivots* p) {
    const view d = gather_d(out, args, g, k);
    p->floor = spread(-LARGEST);
    if (__builtin_expect(adds_to_pivots(args), 0)) add_to_pivots(out, args, g, k, p);
    for (integer j = 0; j < n; ++j) p->entry[j] = out[j * (n + 1)];
    if (level->index > 0) subtract_left(out, d, args, g->member, k);
    return d;
}

/* A(next, front), gathered, or from what a chain has left. */
INLINE view coupling_ahead(vec* out, const trifold_args* args, const trifold_level* level, const interval* g, integer k) {
    if (level->index == 0) return gather_e(out, args, g, k);
    const vec* left = left_coupling(args, g->member, (k + 1) / LANES);
    for (integer i = 0; i < AREA; ++i) out[i] = of_chain(left, k + 1, i);
    return stored(out);
}

COLD void note_trouble(const trifold_args* args, const trifold_level* level, const interval* g, integer k, const vec* l, const pivots* p,
                       verdict* v) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!has_front(g, lane, k)) continue;
        v->floors[lane] += (int)p->floors[lane];
        if (p->sound[lane] || v->failure[lane] != SOUND) continue;
        for (integer row = n; row-- > 0;)
            if (!(l[row * (n + 1)][lane] > 0)) v->failure[lane] = (level->index * HORIZON + block_in(g, lane, k)) * n + row;
    }
}
INLINE void note_front(const trifold_args* args, const trifold_level* level, const interval* g, integer k, const vec* l, const pivots* p,
                       verdict* v) {
    const mask trouble = ~p->sound | p->floors;
    bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= trouble[lane];
    if (__builtin_expect(any != 0, 0)) note_trouble(args, level, g, k, l, p, v);
}

INLINE integer first_record(const trifold_args* args, const trifold_level* level, const interval* g) {
    return level->index > 0 ? RECORDS - 1 : g->group * LANES;
}
COLD void record_chains(const trifold_args* args, const trifold_level* level, const interval* g, const pivots* p, const verdict* v) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!g->active[lane]) continue;
        const integer record = first_record(args, level, g) + lane;
        *failure_of(args, g->member, record) = v->failure[lane];
        *floors_of(args, g->member, record) = v->floors[lane];
        *block_log_determinant_of(args, g->member, record) = -2 * log_of((double)p->product[lane], (double)p->exponent[lane]);
        *reduction_of(args, g->member, record) = (double)p->reduction[lane];
    }
}
/* Separators next to a chain that failed have no verdict of their own. */
COLD verdict first_verdict(const trifold_args* args, const trifold_level* level, const interval* g) {
    verdict v = {};
    integer failure = SOUND;
    for (integer chain = 0; level->index > 0 && chain < FIRST_CHAINS; ++chain)
        if (*failure_of(args, g->member, chain) != SOUND) failure = FED_BY_FAILED;
    for (int lane = 0; lane < LANES; ++lane) v.failure[lane] = failure;
    return v;
}

/* In f64, whatever the precision: squares have twice the exponents of their roots. */
typedef double squares __attribute__((vector_size(VECTOR_LANES * 8)));
COLD double tiny_lane(double sum, const vec* y, integer columns, int lane) {
    real values[n];
    for (integer r = 0; r < n; ++r) values[r] = y[r * columns][lane];
    return tiny_square(sum, values, n);
}
COLD void add_tiny(double* total, const double* sum, const vec* y, integer columns) {
    for (int lane = 0; lane < LANES; ++lane) total[lane] += sum[lane] < LEAST_NORMAL ? tiny_lane(sum[lane], y, columns, lane) : sum[lane];
}
INLINE void add_squares(double (*total)[LANES], const vec* y, integer columns) {
    for (integer c = 0; c < columns; ++c) {
        squares sum = {};
        for (integer r = 0; r < n; ++r) {
            const squares wide = __builtin_convertvector(y[r * columns + c], squares);
            sum += wide * wide;
        }
        int tiny = 0;
        UNROLL for (int lane = 0; lane < LANES; ++lane) tiny |= sum[lane] < LEAST_NORMAL;
        if (__builtin_expect(tiny, 0)) {
            double each[LANES];
            for (int lane = 0; lane < LANES; ++lane) each[lane] = sum[lane];
            add_tiny(total[c], each, y + c, columns);
        } else {
            UNROLL for (int lane = 0; lane < LANES; ++lane) total[c][lane] += sum[lane];
        }
    }
}

/* The forward sweep of a group of chains, a front at a time. */
INLINE void start_forward(const trifold_args* args, factor_scratch* s) {
    for (integer c = 0; c < columns_of(args); ++c)
        for (int lane = 0; lane < LANES; ++lane) s->squares[c][lane] = 0;
}
INLINE void forward_front(const trifold_args* args, const trifold_level* level, const interval* g, integer k, const vec* l,
                          const vec* r_before, const vec* fill, factor_scratch* s) {
    const vec* before = k > 0 ? s->y[~k & 1] : 0;
    vec* y = s->y[k & 1];
    gather_rhs(s->b, args, (const real*)args->b, args->b_strides, g, k);
    if (level->index > 0) subtract_left_rhs(s->b, args, g->member, k);
    solve_rhs(y, s->b, before, r_before, l, width_of(args));
    if (fill) multiply_rhs(s->left_rhs, k > 0, fill, y, width_of(args));
    scatter_rhs(args, g, k, y);
    add_squares(s->squares, y, columns_of(args));
}
INLINE void end_forward(const trifold_args* args, const trifold_level* level, const interval* g, const vec* r, factor_scratch* s) {
    for (integer c = 0; c < columns_of(args); ++c)
        for (int lane = 0; lane < LANES; ++lane)
            if (g->active[lane]) block_quadratic_of(args, g->member, first_record(args, level, g) + lane)[c] = s->squares[c][lane];
    if (level->index > 0) return;
    multiply_rhs(left_rhs(args, 0, g->member, g->group), 0, r, s->y[~g->length & 1], width_of(args));
    vec* behind = left_rhs(args, 1, g->member, g->group);
    for (integer i = 0; i < n * width_of(args); ++i) behind[i] = s->left_rhs[i];
}

INLINE void factor_chains(const trifold_args* args, const trifold_level* level, const interval* g, const int forward, factor_scratch* s) {
    const int has_fill = level->index == 0;
    pivots p = {.product = spread(1), .reduction = spread(1)};
    verdict v = first_verdict(args, level, g);
    vec *r = 0, *fill = 0;
    for (integer j = 0; j < 2 * n; ++j) s->unit[j] = (vec){};
    if (forward) start_forward(args, s);
    for (integer k = 0; k < g->length; ++k) {
        const integer place = g->place + k;
        const vec *r_before = r, *fill_before = fill;
        vec* l = l_at(args, place);
        const view d = assemble_pivot(s->d, args, level, g, k, &p);
        factor_pivot(l, d, r_before, &p);
        note_front(args, level, g, k, l, &p, &v);
        if (has_fill || k + 1 < g->length) {
            r = r_at(args, place);
            solve_panel(r, coupling_ahead(s->e, args, level, g, k), 0, 0, l);
        }
        if (has_fill) {
            fill = g_at(args, place);
            const view start = k == 0 ? transposed(gather_e(s->e, args, g, -1)) : strided(s->unit, 0, 0);
            solve_panel(fill, start, fill_before, r_before, l);
            multiply(s->left, k > 0, 1, stored(fill), transposed(stored(fill)), 1);
        }
        if (forward) forward_front(args, level, g, k, l, r_before, fill, s);
    }
    record_chains(args, level, g, &p, &v);
    if (forward) end_forward(args, level, g, r, s);
    if (!has_fill) return;
    multiply(left_block(args, 0, g->member, g->group), 0, 1, stored(r), transposed(stored(r)), 1);
    multiply(left_coupling(args, g->member, g->group), 0, -1, stored(r), transposed(stored(fill)), 0);
    vec* behind = left_block(args, 1, g->member, g->group);
    for (integer i = 0; i < AREA; ++i) behind[i] = s->left[i];
}

KERNEL_PART void factor_only(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    factor_chains(args, level, g, 0, (factor_scratch*)scratch);
}
KERNEL_PART void factor_forward(const trifold_args* args, const trifold_level* level, const interval* g, void* scratch) {
    factor_chains(args, level, g, 1, (factor_scratch*)scratch);
}
