/* Assembles a merge from the updates of its two parts. */
#include "cpu/grid/pivots.c"

/* Neighbouring numbers: kept pixels `from` .. `from` + count - 1 of a part are pixels `to` .. of its parent, where
 * 0 .. s - 1 are eliminated, and S .. S + r - 1 kept. */
typedef struct {
    integer from, to, count;
} run;

enum { MOST_RUNS = 8 };

/* The number of a pixel that the box keeps, counted as in `run`. */
INLINE integer place_of(const front* f, integer x, integer y) { return f->S + grid_place(&f->box, x, y); }

INLINE void add_run(run* runs, integer* count, integer* from, integer to, integer length) {
    runs[*count] = (run){*from, to, length};
    *count += 1;
    *from += length;
}

/* Finds the numbers that the kept pixels of a part have in its parent. */
INLINE integer runs_of(const front* part, const front* parent, run* runs) {
    const grid_box *b = &part->box, *p = &parent->box;
    integer count = 0, from = 0;
    for (int top = 0; top < 2; ++top) {
        if (!(top ? b->top : b->bottom)) continue;
        const integer y = top ? b->y1 : b->y0, width = grid_row(b);
        if (y == p->y0 || y == p->y1) {
            add_run(runs, &count, &from, place_of(parent, b->x0, y), width);
            continue;
        }
        if (p->left) add_run(runs, &count, &from, place_of(parent, b->x0, y), 1);
        add_run(runs, &count, &from, 0, width - p->left - p->right);
        if (p->right) add_run(runs, &count, &from, place_of(parent, b->x1, y), 1);
    }
    for (int right = 0; right < 2; ++right) {
        if (!(right ? b->right : b->left)) continue;
        const integer x = right ? b->x1 : b->x0, y = b->y0 + b->bottom, height = grid_column(b);
        if (height == 0) continue;
        add_run(runs, &count, &from, x == p->x0 || x == p->x1 ? place_of(parent, x, y) : 0, height);
    }
    return count;
}

/* The place of a front's entry. Row and column are counted as in `run`; row >= column if the matrix is symmetric. */
INLINE real* entry_of(const front* f, real* w, real* d, integer row, integer column) {
    if (column < f->S) return w + row_of(row, f->S) + column * LANES; /* Y follows W */
    if (row < f->S) return w + (f->S + f->R) * f->S + row_of(column - f->S, f->S) + row * LANES;
    return d + (column - f->S) * f->R + row - f->S;
}

/* count entries of a column go to rows from `row` on of column `to` of a stored front. */
INLINE void add_to_strips(real* to, integer S, integer row, const real* from, integer count) {
    real* p = to + row / LANES * S * LANES;
    integer k = 0, lane = row % LANES;
    while (k < count) {
        if (lane == 0 && k + LANES <= count) {
            store(p, load(p) + *(const loose*)(from + k));
            k += LANES;
        } else
            for (; lane < LANES && k < count; ++lane, ++k) p[lane] += from[k];
        lane = 0;
        p += S * LANES;
    }
}

INLINE void add_strided(real* to, integer stride, const real* from, integer count) {
    for (integer k = 0; k < count; ++k) to[k * stride] += from[k];
}

INLINE void add_vector(real* to, const real* from, integer count) {
    integer k = 0;
    for (; k + LANES <= count; k += LANES) *(loose*)(to + k) += *(const loose*)(from + k);
    for (; k < count; ++k) to[k] += from[k];
}

/* Adds rows a and columns b of a part's update to columns left .. right - 1 of the parent. `lower`: only entries on and below the part's
 * diagonal. `transposed`: adds the transpose. */
INLINE void add_block(const front* f, real* w, real* d, const real* from, integer R, run a, run b, int lower, int transposed, integer left,
                      integer right) {
    const integer S = f->S, first = transposed ? 0 : larger(0, left - b.to), end = transposed ? b.count : smaller(b.count, right - b.to);
    for (integer j = first; j < end; ++j) {
        const integer i = larger(lower ? j : 0, transposed ? left - a.to : 0),
                      count = (transposed ? smaller(a.count, right - a.to) : a.count) - i;
        if (count <= 0) continue;
        const real* column = from + (b.from + j) * R + a.from + i;
        const integer row = a.to + i;
        if (transposed)
            add_strided(entry_of(f, w, d, b.to + j, row), row < S ? LANES : f->R, column, count);
        else if (b.to < S)
            add_to_strips(w + (b.to + j) * LANES, S, row, column, count);
        else if (row < S)
            add_strided(entry_of(f, w, d, row, b.to + j), LANES, column, count);
        else
            add_vector(entry_of(f, w, d, row, b.to + j), column, count);
    }
}

/* Adds the update that `part` has left in `from`. */
NOINLINE void add_part(const front* f, real* w, real* d, const front* part, const real* from, integer left, integer right) {
    run runs[MOST_RUNS];
    const integer count = runs_of(part, f, runs);
    for (integer b = 0; b < count; ++b)
        for (integer a = SYMMETRIC ? b : 0; a < count; ++a)
            add_block(f, w, d, from, part->R, runs[a], runs[b], SYMMETRIC && a == b, SYMMETRIC && runs[a].to < runs[b].to, left, right);
}

INLINE void clear(real* p, integer count) { __builtin_memset(p, 0, (unsigned long)count * sizeof(real)); }

/* Clears columns left .. right - 1 of a front, in whole strips. */
INLINE void clear_front(const front* f, real* w, real* d, integer left, integer right) {
    const integer S = f->S, strip = S * LANES, end = smaller(right, S);
    if (left == 0 && end == S)
        clear(w, (S + f->R) * S);
    else if (left < end)
        for (integer v = 0; v < (S + f->R) / LANES; ++v) clear(w + v * strip + left * LANES, (end - left) * LANES);
    for (integer k = larger(left, f->s); k < end; ++k) w[row_of(k, S) + k * LANES] = 1;
    const integer first = larger(left, S) - S, last = right - S;
    if (first >= last) return;
    if (!SYMMETRIC) clear(w + (S + f->R) * S + first * S, (last - first) * S);
    clear(d + first * f->R, (last - first) * f->R);
}
