/* Variant "getrf": matrices by rows. A row is ROW vectors. Their lanes are the members of a group, one column a vector; or columns of one
 * member. `each` is one number of each member of a group, and `mask` says something of each. */
#include "cpu/tridiagonal/getrf/constants.c"
#include "cpu/tridiagonal/common.c"

/* The members that a task treats. A lane without one of its own, or whose member is left out, reads another's data. */
typedef struct {
    integer group;
    int any, all; /* some is active; every one is */
    int active[INTERLEAVE];
    integer member[INTERLEAVE];
} members;

COLD members find_members(const trifold_args* args, integer group) {
    members g = {.group = group, .all = 1};
    integer some = 0;
    for (int lane = 0; lane < INTERLEAVE; ++lane) {
        const integer member = group * INTERLEAVE + lane;
        g.active[lane] = member < args->members && is_active(args, member);
        g.any |= g.active[lane];
        g.all &= g.active[lane];
        if (g.active[lane]) some = member;
    }
    for (int lane = 0; lane < INTERLEAVE; ++lane) g.member[lane] = g.active[lane] ? group * INTERLEAVE + lane : some;
    return g;
}

#if IN_LANES
typedef vec each;
typedef real_words mask;
#define TRUTH(x) (x)
enum { ROW = n, ROW_EACH = n };
INLINE int any(mask which) {
    real_word some = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) some |= which[lane];
    return some != 0;
}
INLINE mask chosen(mask which, mask yes, mask no) { return (which & yes) | (~which & no); }
INLINE each choose(mask which, each yes, each no) { return (each)chosen(which, (mask)yes, (mask)no); }
#define choose_vec choose
INLINE each size(each x) { return size_of_all(x); }
INLINE each as_numbers(mask x) { return __builtin_convertvector(x, vec); }
INLINE each top_of(const vec* row, integer first, integer count) {
    vec top = {};
    for (integer c = first; c < count; ++c) top = choose(size(row[c]) > top, size(row[c]), top);
    return top;
}
/* The first vector of a row right of column j. */
INLINE integer behind_column(integer j) { return j + 1; }
INLINE integer cells_of(integer columns) { return columns; }
#else
typedef real each;
typedef real_word mask;
#define TRUTH(x) (-(real_word)(x))
enum { ROW = LD / LANES, ROW_EACH = LD };
INLINE int any(mask which) { return which != 0; }
INLINE mask chosen(mask which, mask yes, mask no) { return which ? yes : no; }
INLINE each choose(mask which, each yes, each no) { return which ? yes : no; }
INLINE vec choose_vec(mask which, vec yes, vec no) { return which ? yes : no; }
INLINE each size(each x) { return size_of_real(x); }
INLINE each as_numbers(mask x) { return (real)x; }
INLINE each top_of(const vec* row, integer first, integer count) {
    vec top = {};
    for (integer c = first; c < count; ++c) {
        const vec x = size_of_all(row[c]);
        top = (vec)(((real_words)x & (x > top)) | ((real_words)top & ~(x > top)));
    }
    real result = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) if (top[lane] > result) result = top[lane];
    return result;
}
/* The first of these vectors may have column j itself, and columns before it, where a row of U has zeros. */
INLINE integer behind_column(integer j) { return j / LANES; }
INLINE integer cells_of(integer columns) { return (columns + LANES - 1) / LANES; }
#endif

enum { BLOCK_CELLS = n * ROW, m = PANEL_COLUMNS, RHS_CELLS = n * (IN_LANES ? m : (m + LANES - 1) / LANES) };
#define EACH(a, r, c) (((each*)(a))[(r) * ROW_EACH + (c)])
#define OF_LANE(x, lane) (((const real*)&(x))[lane])
#define MASK_OF_LANE(x, lane) (((const real_word*)&(x))[lane])
INLINE mask number(integer k) { return (mask){0} + (real_word)k; }
INLINE each one_of(real x) { return (each){0} + x; }

/* ---- the caller's arrays ---- */

INLINE const real* u_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->inverse_coupling + member * E_MEMBER + block * E_STAGE;
}

/* A block of the members; `first`: its first element of the first of them. */
#define READER(NAME, MEMBER, ROW_STRIDE, COLUMN_STRIDE)                                                                          \
    NOINLINE void NAME(vec* out, const trifold_args* args, const real* first, const members* g) {                                \
        for (integer r = 0; r < n; ++r)                                                                                          \
            for (integer c = 0; c < ROW_EACH; ++c)                                                                               \
                for (int lane = 0; lane < INTERLEAVE; ++lane)                                                                    \
                    ((real*)&EACH(out, r, c))[lane] =                                                                            \
                        c < n ? first[(g->member[lane] - g->member[0]) * (MEMBER) + r * (ROW_STRIDE) + c * (COLUMN_STRIDE)] : 0; \
        (void)args;                                                                                                              \
    }
READER(read_d, D_MEMBER, D_ROW, D_COLUMN)
READER(read_e, E_MEMBER, E_ROW, E_COLUMN)

/* Right-hand sides of a block: n rows of vectors. */
NOINLINE void read_rhs(vec* out, const void* array, trifold_strides s, integer columns, const members* g, integer block) {
    const integer width = cells_of(columns) * (IN_LANES ? 1 : LANES);
    for (integer r = 0; r < n; ++r)
        for (integer c = 0; c < width; ++c)
            for (int lane = 0; lane < INTERLEAVE; ++lane)
                ((real*)out)[(r * width + c) * INTERLEAVE + lane] =
                    c < columns ? ((const real*)array)[g->member[lane] * s.member + block * s.stage + r * s.row + c * s.column] : 0;
}
NOINLINE void write_rhs(void* array, trifold_strides s, integer columns, const vec* in, const members* g, integer block) {
    const integer width = cells_of(columns) * (IN_LANES ? 1 : LANES);
    for (integer r = 0; r < n; ++r)
        for (integer c = 0; c < columns; ++c)
            for (int lane = 0; lane < INTERLEAVE; ++lane)
                if (g->active[lane])
                    ((real*)array)[g->member[lane] * s.member + block * s.stage + r * s.row + c * s.column] =
                        ((const real*)in)[(r * width + c) * INTERLEAVE + lane];
}

/* ---- products ---- */

/* `cols` vectors of `rows` rows of out = (add ? out : 0) + sign a b. */
INLINE void product_tile(vec* out, int add, int sign, const each* a, integer step, integer next, const vec* b, integer width,
                         const int rows, const int cols) {
    vec t[4][ACROSS];
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int c = 0; c < cols; ++c) t[i][c] = (vec){};
    ROLLED for (integer k = 0; k < n; ++k) {
        vec right[ACROSS];
        UNROLL for (int c = 0; c < cols; ++c) right[c] = b[k * width + c];
        UNROLL for (int i = 0; i < rows; ++i) {
            const each left = a[i * step + k * next];
            UNROLL for (int c = 0; c < cols; ++c) t[i][c] += left * right[c];
        }
    }
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int c = 0; c < cols; ++c) {
        const vec start = add ? out[i * width + c] : (vec){};
        out[i * width + c] = sign < 0 ? start - t[i][c] : start + t[i][c];
    }
}
/* out = (add ? out : 0) + sign a b, or `turned` a' b, where b and out have n rows of `width` vectors. */
NOINLINE void multiply(vec* out, int add, int sign, const vec* a, int turned, const vec* b, integer width) {
    const integer step = turned ? 1 : ROW_EACH, next = turned ? ROW_EACH : 1;
    const each* left = (const each*)a;
    integer c = 0;
#define STRIP(COLS)                                                                                                                  \
    {                                                                                                                                \
        integer r = 0;                                                                                                               \
        for (; r + 4 <= n; r += 4) product_tile(out + r * width + c, add, sign, left + r * step, step, next, b + c, width, 4, COLS); \
        for (; r < n; ++r) product_tile(out + r * width + c, add, sign, left + r * step, step, next, b + c, width, 1, COLS);         \
    }
    for (; c + ACROSS <= width; c += ACROSS) STRIP(ACROSS)
    for (; c < width; ++c) STRIP(1)
#undef STRIP
}
