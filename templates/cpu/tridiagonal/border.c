/* A border: the kernels around the sweep of F. Vectors in the workspace stand column by column in a block. `at` has their places; the
 * operand's arrays are those of trifold_border. Tasks are parts of a member. */
#include "cpu/tridiagonal/border_constants.c"
#include "cpu/vectors.c"

enum { n = BLOCK, a = BORDER, JOINED = BORDER + MOST_RHS, SUMS = BORDER * JOINED, TOGETHER = (15 + BLOCK) / BLOCK };

typedef struct {
    const trifold_args* args;
    const trifold_border* at;
    integer member;
} problem;

INLINE char* workspace_at(const problem* p, integer offset) { return (char*)p->args->workspace + offset; }
/* Columns of a block of the buffer that begins at `place`. */
INLINE real* swept(const problem* p, integer place, integer block) {
    return (real*)workspace_at(p, place) + (p->member * p->at->horizon + block) * p->at->columns * n;
}
INLINE integer place_of(const problem* p, integer block) {
    return p->member * p->args->b_strides.member + block * p->args->b_strides.stage;
}
INLINE real* part_of(const problem* p, integer split) {
    return (real*)workspace_at(p, p->at->products) + (p->member * p->at->splits + split) * (integer)(2 * SUMS);
}
INLINE real* s_of(const problem* p) { return (real*)workspace_at(p, p->at->s) + p->member * a * a; }
INLINE real* t_of(const problem* p, integer column) { return (real*)workspace_at(p, p->at->t) + (p->member * MOST_RHS + column) * a; }
INLINE real corner_at(const problem* p, integer r, integer c) {
    const real value = ((const real*)p->args->e)[(p->member * a + r) * a + c];
    return r == c && p->args->shift ? value + ((const real*)p->args->shift)[p->member] : value;
}
INLINE integer tip_place(const problem* p, integer r, integer column) {
    const trifold_strides* s = &p->args->x_strides;
    return p->member * s->member + r * s->row + column * s->column;
}

/* A column of the chain's vector in a block, to n numbers side by side. GCC 12 and 13 would take an array on the stack to be aligned where
 * they copy to it in place, and it need not be (GCC's bug 109780). */
NOINLINE void read_column(const problem* p, integer block, integer column, real* to) {
    if (p->at->vector == trifold_along) {
        const real* from = swept(p, p->at->along, block) + column * n;
        for (integer r = 0; r < n; ++r) to[r] = from[r];
        return;
    }
    const real* from = (const real*)(p->at->vector == trifold_in_x ? p->args->x : p->args->b) + place_of(p, block);
    for (integer r = 0; r < n; ++r) to[r] = from[r * p->args->b_strides.row + column * p->args->b_strides.column];
}

/* [B F] of a block; columns that the call does not have are zero. */
NOINLINE void gather(const problem* p, integer block) {
    real* to = swept(p, p->at->along, block);
    const real* b = (const real*)p->args->b + place_of(p, block);
    const real* f = (const real*)p->args->d + (p->member * p->at->horizon + block) * (integer)(a * n);
    for (integer c = 0; c < MOST_RHS; ++c)
        for (integer r = 0; r < n; ++r)
            to[c * n + r] = c < p->args->columns ? b[r * p->args->b_strides.row + c * p->args->b_strides.column] : 0;
    for (integer k = 0; k < a * n; ++k) to[MOST_RHS * n + k] = f[k];
}

INLINE real dot(const real* x, const real* y) {
    vec sums = {};
    integer r = 0;
    for (; r + LANES <= n; r += LANES) sums += *(const loose*)(x + r) * *(const loose*)(y + r);
    real sum = 0;
    for (; r < n; ++r) sum += x[r] * y[r];
    for (integer lane = 0; lane < LANES; ++lane) sum += sums[lane];
    return sum;
}

/* Adds to a sum, behind which stands SUMS further on what rounding has lost: many like numbers would be rounded to the same side. */
INLINE void add(real* to, real value) {
    const real before = *to, whole = before + value, part = whole - before;
    to[SUMS] += (before - (whole - part)) + (value - part);
    *to = whole;
}

/* Y'[Y y] over a part of the blocks. */
NOINLINE void multiply(const problem* p, integer split) {
    const integer each = (p->at->horizon + p->at->splits - 1) / p->at->splits, end = smaller((split + 1) * each, p->at->horizon);
    const integer stage = p->at->columns * n;
    real* to = part_of(p, split);
    for (integer k = 0; k < 2 * SUMS; ++k) to[k] = 0;
    for (integer first = split * each; first < end; first += TOGETHER) {
        const real* y = swept(p, p->at->y, first);
        const integer blocks = smaller(TOGETHER, end - first);
        for (integer i = 0; i < a && p->at->factors; ++i)
            for (integer j = 0; j <= i; ++j) {
                real sum = 0;
                for (integer k = 0; k < blocks; ++k) sum += dot(y + k * stage + i * n, y + k * stage + j * n);
                add(to + i * JOINED + j, sum);
            }
        for (integer c = 0; c < p->args->columns && p->at->vector != trifold_no_vector; ++c) {
            real column[TOGETHER * n];
            for (integer k = 0; k < blocks; ++k) read_column(p, first + k, c, column + k * n);
            for (integer i = 0; i < a; ++i) {
                real sum = 0;
                for (integer k = 0; k < blocks; ++k) sum += dot(y + k * stage + i * n, column + k * n);
                add(to + i * JOINED + a + c, sum);
            }
        }
    }
}

INLINE double sum_of(const problem* p, integer k) {
    double sum = 0;
    for (integer split = 0; split < p->at->splits; ++split) sum += (double)part_of(p, split)[k] + (double)part_of(p, split)[SUMS + k];
    return sum;
}

/* S = C - Y'Y, t = b - Y'y. */
NOINLINE void collect(const problem* p, integer task) {
    (void)task;
    for (integer r = 0; r < a; ++r) {
        for (integer c = 0; c <= r && p->at->factors; ++c)
            s_of(p)[r * a + c] = s_of(p)[c * a + r] = (real)((double)corner_at(p, r, c) - sum_of(p, r * JOINED + c));
        for (integer c = 0; c < p->args->columns && p->args->diagonal; ++c) {
            const double b = (double)((const real*)p->args->diagonal)[tip_place(p, r, c)];
            t_of(p, c)[r] = (real)(p->at->vector == trifold_no_vector ? b : b - sum_of(p, r * JOINED + a + c));
        }
    }
}

/* X = y, or y - Y x of the tip; and the tip's own x. */
NOINLINE void correct(const problem* p, integer block) {
    for (integer c = 0; c < p->args->columns; ++c) {
        const real* t = t_of(p, c);
        for (integer r = 0; r < a && block == 0; ++r) ((real*)p->args->inverse_diagonal)[tip_place(p, r, c)] = t[r];
        if (!p->at->subtracts && p->at->vector != trifold_along) continue;
        const real* y = swept(p, p->at->y, block);
        real column[n];
        read_column(p, block, c, column);
        for (integer k = 0; k < a && p->at->subtracts; ++k)
            for (integer r = 0; r < n; ++r) column[r] -= y[k * n + r] * t[k];
        real* x = (real*)p->args->x + place_of(p, block) + c * p->args->b_strides.column;
        for (integer r = 0; r < n; ++r) x[r * p->args->b_strides.row] = column[r];
    }
}

/* The outcome of a member. The least pivot is bounded from below: by the least of S over C on the diagonal, and what the tip has lost. */
INLINE void conclude_factor(const problem* p) {
    const double min_sound = (double)trifold_nearly_singular * (REAL_BYTES == 8 ? 0x1p-52 : 0x1p-23);
    trifold_status status = ((trifold_status*)workspace_at(p, p->at->chain_status))[p->member];
    const trifold_status tip = ((trifold_status*)workspace_at(p, p->at->tip_status))[p->member];
    double log_determinant = ((double*)workspace_at(p, p->at->chain_log_determinant))[p->member];
    if (status.block < 0) {
        log_determinant += ((double*)workspace_at(p, p->at->tip_log_determinant))[p->member];
        status.floors += tip.floors;
        double least = 1;
        for (integer k = 0; k < a && tip.block < 0; ++k) {
            const double ratio = (double)s_of(p)[k * (a + 1)] / (double)corner_at(p, k, k);
            if (ratio < least) least = ratio;
        }
        least *= tip.least_pivot;
        if (tip.block >= 0) status.block = p->at->horizon, status.row = tip.row;
        if (tip.block >= 0 || least < status.least_pivot) status.least_pivot = tip.block >= 0 ? 0 : least;
        const int accepted = p->args->accept_nearly_singular || p->args->pivot_floor > 0;
        status.nearly_singular = status.block < 0 && status.least_pivot < min_sound && !accepted;
    }
    ((trifold_status*)workspace_at(p, p->at->status))[p->member] = status;
    ((double*)workspace_at(p, p->at->log_determinant))[p->member] = log_determinant;
}

NOINLINE void conclude(const problem* p, integer task) {
    (void)task;
    if (p->at->factors) conclude_factor(p);
    for (integer c = p->args->first_column; c < smaller(p->args->first_column + p->args->columns, MOST_RHS); ++c) {
        if (p->at->vector == trifold_no_vector) break;
        const double sum = ((double*)workspace_at(p, p->at->chain_quadratic))[p->member * p->at->chain_quadratics + c] +
                           ((double*)workspace_at(p, p->at->tip_quadratic))[p->member * MOST_RHS + c];
        ((double*)workspace_at(p, p->at->quadratic))[p->member * MOST_RHS + c] = __builtin_isinf(sum) ? __builtin_nan("") : sum;
    }
}

/* ---- the selected inverse ---- */

INLINE const real* z_of(const problem* p, integer block) {
    return (const real*)workspace_at(p, p->at->z) + (p->member * p->at->horizon + block) * (integer)(a * n);
}
INLINE integer solved_blocks(const trifold_border* at) { return (at->horizon + BANDWIDTH - 1) / BANDWIDTH; }
INLINE real* arrow_of(const problem* p, integer block) {
    return (real*)p->args->x + (p->member * p->at->horizon + block) * (integer)(a * n);
}

/* -S^-1 Z' of a block. */
NOINLINE void make_arrow(const problem* p, integer block) {
    const real* inverse = (const real*)p->args->b + p->member * a * a;
    for (integer i = 0; i < a; ++i) {
        real* to = arrow_of(p, block) + i * n;
        for (integer r = 0; r < n; ++r) to[r] = 0;
        for (integer j = 0; j < a; ++j)
            for (integer r = 0; r < n; ++r) to[r] -= inverse[i * a + j] * z_of(p, block)[j * n + r];
    }
}

/* Adds Z S^-1 Z' where the chain's inverse has blocks, which are several of a band: (block, block) and (block + 1, block). */
NOINLINE void spread_block(const problem* p, integer block) {
    enum { WIDE = BANDWIDTH * n };
    const integer solved = solved_blocks(p->at), columns = smaller(p->at->horizon - block * BANDWIDTH, BANDWIDTH);
    int left = 0;
    for (integer below = 0; below < (block < p->at->couplings ? 2 : 1); ++below) {
        const integer first = (block + below) % solved * BANDWIDTH, rows = smaller(p->at->horizon - first, BANDWIDTH);
        real* to = (real*)(below ? p->args->inverse_coupling : p->args->inverse_diagonal) +
                   (p->member * (below ? p->at->couplings : solved) + block) * (integer)(WIDE * WIDE);
        for (integer r = 0; r < rows * n; ++r, to += WIDE) {
            const real* arrow = arrow_of(p, first + r / n) + r % n;
            for (integer q = 0; q < columns; ++q)
                for (integer j = 0; j < a; ++j)
                    for (integer s = 0; s < n; ++s) to[q * n + s] -= arrow[j * n] * z_of(p, block * BANDWIDTH + q)[j * n + s];
            for (integer s = 0; s < columns * n; ++s) left |= !__builtin_isfinite(to[s]);
        }
    }
    if (left) __atomic_store_n(&((trifold_range*)workspace_at(p, p->at->range))[p->member].inverse, 1, __ATOMIC_RELAXED);
}

#define BORDER_KERNEL(NAME, CALL, PARTS)                                                                                          \
    void NAME(const trifold_args* args, const trifold_border* at, trifold_int first_task, trifold_int last_task, void* scratch) { \
        (void)scratch;                                                                                                            \
        for (integer task = first_task; task < last_task; ++task) {                                                               \
            const problem p = {args, at, task / (PARTS)};                                                                         \
            if (!args->active || args->active[p.member]) CALL(&p, task % (PARTS));                                                \
        }                                                                                                                         \
    }
BORDER_KERNEL(TRIFOLD_KERNEL_GATHER, gather, at->horizon)
BORDER_KERNEL(TRIFOLD_KERNEL_PRODUCT, multiply, at->splits)
BORDER_KERNEL(TRIFOLD_KERNEL_COLLECT, collect, 1)
BORDER_KERNEL(TRIFOLD_KERNEL_CORRECT, correct, at->horizon)
BORDER_KERNEL(TRIFOLD_KERNEL_CONCLUDE, conclude, 1)
BORDER_KERNEL(TRIFOLD_KERNEL_ARROW, make_arrow, at->horizon)
BORDER_KERNEL(TRIFOLD_KERNEL_SPREAD, spread_block, solved_blocks(at))
