/* The user's arrays for variant "lanes": elements of every member of a group, transposed on the way in and out. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/transfer.c"

typedef struct {
    integer group;
    int any, all; /* some lane is active; every one is */
    int active[LANES];
    integer member[LANES]; /* the member whose data the lane reads: its own, or an active lane's if it is idle */
    mask which;            /* active lanes */
#if BANDWIDTH > 1
    const trifold_args* args;
#endif
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
#if BANDWIDTH > 1
    g.args = args;
#endif
    for (int lane = 0; lane < LANES; ++lane) g.member[lane] = g.active[lane] ? group * LANES + lane : some;
    return g;
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

/* Members with lengths and blocks with sizes of their own: the rows that a block has in each lane. */
COLD mask rows_in_lanes(const trifold_args* args, const lanes* g, integer block) {
    mask rows = {};
    for (int lane = 0; lane < LANES; ++lane) {
        const integer member = g->member[lane];
        rows[lane] = HAS_LENGTHS && block >= lengths_of(args)[member] ? 0 : rows_of(args, member, block);
    }
    return rows;
}
/* Makes D (no `ahead`) the identity beyond, and E zero, so that nothing comes of it. */
COLD void set_beyond(view a, const trifold_args* args, const lanes* g, integer block, int ahead) {
    const mask rows = rows_in_lanes(args, g, block + ahead), columns = rows_in_lanes(args, g, block);
    vec* at = (vec*)a.p;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            vec* element = at + r * a.row + c * a.column;
            *element = choose((r >= rows) | (c >= columns), spread(!ahead && r == c), *element);
        }
}
/* Gathers a block of several of the caller's, row-major: of D, or the coupling to the next one. */
COLD view gather_view(vec* out, const trifold_args* args, const lanes* g, integer block, int ahead) {
    enum { EACH = n / BANDWIDTH };
    for (integer k = 0; k < AREA; ++k) out[k] = (vec){};
    for (integer p = 0; p < BANDWIDTH; ++p)
        for (integer q = 0; q < BANDWIDTH; ++q) {
            const real* base[LANES];
            const given first = given_block(args, g->member[0], block, ahead, p, q);
            const integer rows = smaller(stored_rows(args, block + ahead) - p * EACH, EACH);
            const integer columns = smaller(stored_rows(args, block) - q * EACH, EACH);
            for (int lane = 0; first.first && lane < LANES; ++lane)
                base[lane] = given_block(args, g->member[lane], block, ahead, p, q).first;
            for (integer r = 0; first.first && r < rows; ++r)
                for (integer c = 0; c < columns; ++c)
                    out[(p * EACH + r) * n + q * EACH + c] = gather_element(base, r * first.row + c * first.column);
        }
    for (integer r = stored_rows(args, block); !ahead && r < n; ++r) out[r * (n + 1)] = spread(1);
    return stored(out);
}

/* Idle lanes have a factor of their own, with which other members' data could leave the range. */
COLD void clear_idle(vec* values, integer count, const lanes* g) {
    for (integer i = 0; i < count; ++i) values[i] = choose(g->which, values[i], (vec){});
}
NOINLINE void gather_rhs(vec* out, const real* array, trifold_strides s, integer columns, const lanes* g, integer block) {
    const real* base[LANES];
    if (m == 1) columns = 1; /* a constant */
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
#if BANDWIDTH > 1
    for (integer k = 0; k < n * columns; ++k)
        out[k] =
            k < stored_rows(g->args, block) * columns ? gather_element(base, row_at(&s, k / columns) + k % columns * s.column) : (vec){};
#else
    if (is_dense(s, columns))
        gather_run(out, base, 0, 0, n * columns, n * columns);
    else
        gather_strided(out, base, s, columns);
#endif
    if (!g->all) clear_idle(out, n * columns, g);
}
/* Zeros beyond the rows of the lanes' blocks. */
COLD void clear_beyond(vec* values, const trifold_args* args, const lanes* g, integer block) {
    const mask rows = rows_in_lanes(args, g, block);
    for (int i = 0; i < n * columns_of(args); ++i) values[i] = choose(i / (int)columns_of(args) >= rows, (vec){}, values[i]);
}

NOINLINE void scatter_rhs(real* array, trifold_strides s, integer columns, const vec* in, const lanes* g, integer block) {
    real* base[LANES];
    if (m == 1) columns = 1; /* a constant */
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
#if BANDWIDTH > 1
    for (integer k = 0; k < stored_rows(g->args, block) * columns; ++k)
        scatter_element(base, row_at(&s, k / columns) + k % columns * s.column, in[k], g->active);
#else
    if (is_dense(s, columns))
        scatter_run(base, 0, in, g->active, n * columns);
    else
        scatter_strided(base, s, columns, in, g->active);
#endif
}
