/* Variant "getrf": a front of a general matrix. With U_i the block right of D_i and
 * E_i the one below it, a front is P D = L U within the block, R = E U^-1 below and Z = L^-1 P U_i to the right; G and H are those of the
 * separator behind. The next block gets - R Z. */
#include "cpu/tridiagonal/getrf/rows.c"

/* Blocks of a front in the workspace or, where lanes are idle, of the scratch. `l` is below the diagonal; `u` has the reciprocals of the
 * pivots on it. In lanes both share one block. Row j of them was row order[j] of A. */
typedef struct {
    vec *u, *l, *r, *z, *g, *h;
    mask* order;
} front;
#if IN_LANES
enum { FACTOR_CELLS = BLOCK_CELLS + n, EACH_CELLS = n };
#else
enum { FACTOR_CELLS = 2 * BLOCK_CELLS + ROW, EACH_CELLS = ROW };
#endif
_Static_assert(FACTOR_CELLS*(integer)sizeof(vec) == STORAGE_FACTOR * INTERLEAVE * REAL_BYTES, "host and kernel disagree on a factor");
enum { FRONT_CELLS = FACTOR_CELLS + 4 * BLOCK_CELLS };

INLINE front front_at(vec* factor, vec* next, vec* behind) {
    vec* const l = IN_LANES ? factor : factor + BLOCK_CELLS;
    return (front){factor, l, next, next + BLOCK_CELLS, behind, behind + BLOCK_CELLS, (mask*)(l + BLOCK_CELLS)};
}
INLINE front front_of(const trifold_args* args, integer group, integer block) {
    return front_at((vec*)factor_of(args, group, block), (vec*)next_of(args, group, block), (vec*)behind_of(args, group, block));
}

/* Outcome of the pivots of a front and of its chain. Sums: for each row of A its largest entry, and the products of the row of the factor
 * with the largest entries of the rows of U: bounds of all numbers that have been added up in the row. */
typedef struct {
    each sums[n], top[n];                /* sums of the front's rows; the largest entries of the rows of U */
    each carried[n];                     /* sums that the front adds to those of the next one's rows */
    mask sound, row, failed;             /* all pivots of the front have passed; the first that did not; the chain has failed */
    mask negatives;                      /* negative pivots and interchanges of the front */
    each large, small;                   /* mantissas of the pivots above one, and of the reciprocals of the others, multiplied */
    each large_exponent, small_exponent; /* sums of their exponents */
    each reduction, grown, largest;      /* the chain's largest sum over its pivot; largest sum; largest entry of A */
} pivots;

INLINE each larger_of(each a, each b) { return choose(TRUTH(a > b), a, b); }

#if REAL_BYTES == 8
enum { MANTISSA = 52, EXPONENT_OF_ONE = 1023 };
#else
enum { MANTISSA = 23, EXPONENT_OF_ONE = 127 };
#endif
/* Splits the mantissa, in [1, 2), off a number that is at least one, and adds its exponent. */
INLINE each take_mantissa(each x, each* exponent) {
    const real_word one = (real_word)EXPONENT_OF_ONE << MANTISSA, low = ((real_word)1 << MANTISSA) - 1;
    union {
        each value;
        mask word;
    } v = {x};
    *exponent += as_numbers((v.word >> MANTISSA) - EXPONENT_OF_ONE);
    v.word = (v.word & low) | one;
    return v.value;
}
INLINE void multiply_pivot(pivots* p, each pivot, each reciprocal) {
    const mask is_large = TRUTH(pivot >= one_of(1)), is_small = TRUTH(reciprocal > one_of(1));
    p->large *= take_mantissa(choose(is_large, pivot, one_of(1)), &p->large_exponent);
    p->small *= take_mantissa(choose(is_small, reciprocal, one_of(1)), &p->small_exponent);
    p->large = take_mantissa(p->large, &p->large_exponent);
    p->small = take_mantissa(p->small, &p->small_exponent);
}

INLINE void swap_rows(vec* a, integer one, integer other, mask which) {
    for (integer c = 0; c < ROW; ++c) {
        const vec x = a[one * ROW + c], y = a[other * ROW + c];
        a[one * ROW + c] = choose_vec(which, y, x);
        a[other * ROW + c] = choose_vec(which, x, y);
    }
}
INLINE void swap_each(each* a, integer one, integer other, mask which) {
    const each x = a[one], y = a[other];
    a[one] = choose(which, y, x);
    a[other] = choose(which, x, y);
}

/* Rows trade places so that the largest number of column j, of equals the first, is in row j. */
INLINE void interchange(const front* f, integer j, pivots* p) {
    each best = size(EACH(f->u, j, j));
    mask row = number(j);
    for (integer r = j + 1; r < n; ++r) {
        const each other = size(EACH(f->u, r, j));
        const mask take = TRUTH(other > best);
        best = choose(take, other, best);
        row = chosen(take, number(r), row);
    }
    const mask moves = TRUTH(row != number(j));
    if (__builtin_expect(!any(moves), 1)) return;
    p->negatives -= moves;
    for (integer r = j + 1; r < n; ++r) {
        const mask which = TRUTH(row == number(r));
        if (!any(which)) continue;
        swap_rows(f->u, j, r, which);
        if (!IN_LANES) swap_rows(f->l, j, r, which);
        if (f->z) swap_rows(f->z, j, r, which);
        if (f->h) swap_rows(f->h, j, r, which);
        const mask one = f->order[j], other = f->order[r];
        f->order[j] = chosen(which, other, one);
        f->order[r] = chosen(which, one, other);
        swap_each(p->sums, j, r, which);
    }
}

INLINE void subtract_row(vec* to, each multiplier, const vec* from, integer first) {
    for (integer c = first; c < ROW; ++c) to[c] -= multiplier * from[c];
}

/* P [D U_i H] = L [U Z H]. A pivot whose reciprocal overflows fails like one that is zero. */
NOINLINE void eliminate(const front* f, pivots* p) {
    p->sound = number(-1), p->negatives = number(0), p->row = number(-1);
    for (integer j = 0; j < n; ++j) f->order[j] = number(j);
    for (integer k = 0; !IN_LANES && k < BLOCK_CELLS; ++k) f->l[k] = (vec){};
    for (integer j = 0; j < n; ++j) {
        interchange(f, j, p);
        const each pivot = EACH(f->u, j, j), quotient = one_of(1) / pivot;
        const mask passes = TRUTH((size(quotient) > one_of(0)) & (size(quotient) <= one_of(LARGEST)));
        p->row = chosen(p->sound & ~passes, number(j), p->row);
        p->sound &= passes;
        const each reciprocal = choose(p->sound, quotient, one_of(NOT_A_NUMBER));
        p->negatives -= TRUTH(pivot < one_of(0));
        multiply_pivot(p, size(pivot), size(quotient));
        each top = top_of(f->u + j * ROW, IN_LANES ? j : 0, ROW);
        if (f->z) top = larger_of(top_of(f->z + j * ROW, 0, ROW), top);
        if (f->h) top = larger_of(top_of(f->h + j * ROW, 0, ROW), top);
        p->top[j] = top;
        p->reduction = larger_of(p->sums[j] * size(reciprocal), p->reduction);
        p->grown = larger_of(p->sums[j] + top, p->grown);
        for (integer r = j + 1; r < n; ++r) {
            const each multiplier = EACH(f->u, r, j) * reciprocal;
            subtract_row(f->u + r * ROW, multiplier, f->u + j * ROW, behind_column(j));
            if (f->z) subtract_row(f->z + r * ROW, multiplier, f->z + j * ROW, 0);
            if (f->h) subtract_row(f->h + r * ROW, multiplier, f->h + j * ROW, 0);
            if (!IN_LANES) EACH(f->u, r, j) = one_of(0);
            EACH(f->l, r, j) = multiplier;
            p->sums[r] += size(multiplier) * top;
        }
        EACH(f->u, j, j) = reciprocal;
    }
}

/* a = a U^-1, and its sums: those of its rows with the largest entries of U's. */
NOINLINE void divide(vec* a, const vec* u, const pivots* p, each* sums) {
    for (integer r = 0; r < n; ++r) {
        vec* const row = a + r * ROW;
        each sum = one_of(0);
        for (integer j = 0; j < n; ++j) {
            const each x = EACH(row, 0, j) * EACH(u, j, j);
            subtract_row(row, x, u + j * ROW, behind_column(j));
            EACH(row, 0, j) = x;
            sum += size(x) * p->top[j];
        }
        sums[r] = sum;
    }
}

typedef struct {
    vec own[2][FRONT_CELLS], room[BLOCK_CELLS];
    vec b[RHS_CELLS], y[2][RHS_CELLS], t[RHS_CELLS];
} factor_scratch;
_Static_assert(sizeof(factor_scratch) <= SCRATCH_BYTES, "scratch");
