/* The user's arrays for variant "lanes": elements of every member of a group, transposed on the way in and out. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/pieces.c"

typedef struct {
    integer group;
    int any, all; /* some lane is active; every one is */
    int active[LANES];
    integer member[LANES]; /* the member whose data the lane reads: its own, or an active lane's if it is idle */
    mask which;            /* active lanes */
} lanes;

COLD lanes find_lanes(const trifold_args* args, integer group) {
    lanes g = {.group = group, .all = 1};
    integer some = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        const integer member = group * LANES + lane;
        g.active[lane] = member < args->members && is_active(args, member);
        g.which[lane] = -g.active[lane];
        g.any |= g.active[lane];
        g.all &= g.active[lane];
        if (g.active[lane]) some = member;
    }
    for (int lane = 0; lane < LANES; ++lane) g.member[lane] = g.active[lane] ? group * LANES + lane : some;
    return g;
}

/* The way back, to active lanes only. */
INLINE void scatter_piece(real* const base[LANES], integer offset, const vec* in, integer stride, const lanes* g) {
    vec v[PIECE];
    UNROLL for (int i = 0; i < PIECE; ++i) v[i] = in[i * stride];
    STEPS(PIECE_STEP, v)
    UNROLL for (int i = 0; i < PIECE; ++i) {
        union {
            vec all;
            piece at[LANES / PIECE];
        } row = {v[i]};
        UNROLL for (int k = 0; k < LANES / PIECE; ++k) {
            if (g->active[i + k * PIECE]) *(piece*)(base[i + k * PIECE] + offset) = row.at[k];
        }
    }
}
INLINE void scatter_element(real* const base[LANES], integer offset, vec v, const lanes* g) {
    UNROLL for (int lane = 0; lane < LANES; ++lane) if (g->active[lane]) base[lane][offset] = v[lane];
}

/* Gathers at least the elements first .. end - 1 of `count`. The bounds may be constants or not. The last piece is moved back so that it
 * ends with them. */
INLINE void gather_run(vec* out, const real* const base[LANES], integer offset, integer first, integer end, const integer count) {
    if (count < PIECE)
        for (integer k = first; k < end; ++k) out[k] = gather_element(base, offset + k);
    else
        for (integer k = first; k < end; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            gather_piece(out + from, 1, base, offset + from);
        }
}
INLINE void scatter_run(real* const base[LANES], integer offset, const vec* in, const lanes* g, const integer count) {
    if (count < PIECE)
        for (integer k = 0; k < count; ++k) scatter_element(base, offset + k, in[k], g);
    else
        for (integer k = 0; k < count; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            scatter_piece(base, offset + from, in + from, 1, g);
        }
}

/* A block of constant strides, kept in the order of its memory; where `lower`, at least its lower triangle. */
INLINE view gather_block(vec* out, const real* const base[LANES], integer row, integer column, const int lower) {
    const int dense = (row == n && column == 1) || (row == 1 && column == n);
    if (dense && !lower)
        gather_run(out, base, 0, 0, AREA, AREA);
    else if (column == 1)
        for (integer r = 0; r < n; ++r) gather_run(out + r * n, base, r * row, 0, lower ? r + 1 : n, n);
    else if (row == 1)
        for (integer c = 0; c < n; ++c) gather_run(out + c * n, base, c * column, lower ? c : 0, n, n);
    else
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < n; ++c) out[r * n + c] = gather_element(base, r * row + c * column);
    return row == 1 && column != 1 ? (view){out, 1, n} : stored(out);
}

/* Gathers a block of each lane's member. If every lane is active, the lanes' arrays are a constant distance apart, and addresses cost
 * nothing. */
#define GATHER(NAME, FIRST, MEMBER, ROW, COLUMN, LOWER)                                                            \
    COLD view NAME##_some(vec* out, const trifold_args* args, const real* first, const lanes* g) {                 \
        const real* base[LANES];                                                                                   \
        for (int lane = 0; lane < LANES; ++lane) base[lane] = first + (g->member[lane] - g->member[0]) * (MEMBER); \
        return gather_block(out, base, ROW, COLUMN, LOWER);                                                        \
    }                                                                                                              \
    NOINLINE view NAME##_all(vec* out, const trifold_args* args, const real* first) {                              \
        const real* base[LANES];                                                                                   \
        UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = first + lane * (MEMBER);                      \
        return gather_block(out, base, ROW, COLUMN, LOWER);                                                        \
    }                                                                                                              \
    INLINE view NAME(vec* out, const trifold_args* args, const lanes* g, integer block) {                          \
        const real* first = FIRST(args, g->member[0], block);                                                      \
        return g->all ? NAME##_all(out, args, first) : NAME##_some(out, args, first, g);                           \
    }
GATHER(gather_d, d_of, D_MEMBER, D_ROW, D_COLUMN, 1)
GATHER(gather_e, e_of, E_MEMBER, E_ROW, E_COLUMN, 0) /* A(block + 1, block) */

/* Right-hand sides of a block at base, n by `columns` row-major. */
INLINE int is_dense(trifold_strides s, integer columns) { return s.row == columns && (columns == 1 || s.column == 1); }

/* Rows that are contiguous but not dense are those of a part of the call's right-hand sides. */
COLD void gather_strided(vec* out, const real* const base[LANES], trifold_strides s, integer columns) {
    for (integer r = 0; r < n && s.column == 1; ++r) gather_run(out + r * columns, base, r * s.row, 0, columns, columns);
    for (integer c = 0; c < columns && s.column != 1; ++c)
        for (integer r = 0; r < n; ++r) out[r * columns + c] = gather_element(base, r * s.row + c * s.column);
}
/* Idle lanes have a factor of their own, with which other members' data could leave the range. */
COLD void clear_idle(vec* values, integer count, const lanes* g) {
    for (integer i = 0; i < count; ++i) values[i] = choose(g->which, values[i], (vec){});
}
NOINLINE void gather_rhs(vec* out, const real* array, trifold_strides s, integer columns, const lanes* g, integer block) {
    const real* base[LANES];
    if (m == 1) columns = 1; /* a constant */
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns))
        gather_run(out, base, 0, 0, n * columns, n * columns);
    else
        gather_strided(out, base, s, columns);
    if (!g->all) clear_idle(out, n * columns, g);
}

COLD void scatter_strided(real* const base[LANES], trifold_strides s, integer columns, const vec* in, const lanes* g) {
    for (integer r = 0; r < n && s.column == 1; ++r) scatter_run(base, r * s.row, in + r * columns, g, columns);
    for (integer c = 0; c < columns && s.column != 1; ++c)
        for (integer r = 0; r < n; ++r) scatter_element(base, r * s.row + c * s.column, in[r * columns + c], g);
}
NOINLINE void scatter_rhs(real* array, trifold_strides s, integer columns, const vec* in, const lanes* g, integer block) {
    real* base[LANES];
    if (m == 1) columns = 1; /* a constant */
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns))
        scatter_run(base, 0, in, g, n * columns);
    else
        scatter_strided(base, s, columns, in, g);
}
