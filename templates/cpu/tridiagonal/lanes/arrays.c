/* The user's arrays for variant "lanes": elements of every member of a group, transposed on the way in and out. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/transfer.c"

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

/* Members with lengths of their own: lanes whose member has no such block. */
COLD mask lanes_beyond(const trifold_args* args, const lanes* g, integer block) {
    mask beyond = {};
    for (int lane = 0; lane < LANES; ++lane) beyond[lane] = -(block >= lengths_of(args)[g->member[lane]]);
    return beyond;
}
/* Makes D (`own`) the identity there, and E zero, so that nothing comes of these blocks. */
COLD void set_beyond(vec* block_of, const trifold_args* args, const lanes* g, integer block, int own) {
    const mask beyond = lanes_beyond(args, g, block);
    for (integer k = 0; k < AREA; ++k) block_of[k] = choose(beyond, spread(own && k % (n + 1) == 0), block_of[k]);
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
/* Zeros in the lanes whose member has no such block. */
COLD void clear_beyond(vec* values, const trifold_args* args, const lanes* g, integer block) {
    const mask beyond = lanes_beyond(args, g, block);
    for (integer i = 0; i < n * columns_of(args); ++i) values[i] = choose(beyond, (vec){}, values[i]);
}

NOINLINE void scatter_rhs(real* array, trifold_strides s, integer columns, const vec* in, const lanes* g, integer block) {
    real* base[LANES];
    if (m == 1) columns = 1; /* a constant */
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns))
        scatter_run(base, 0, in, g->active, n * columns);
    else
        scatter_strided(base, s, columns, in, g->active);
}
