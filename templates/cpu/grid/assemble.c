/* What a front starts from: of a leaf tile the stencils, of a merge what its two parts have left. */
#include "cpu/grid/pivots.c"

/* Neighbouring numbers: kept pixels `from` .. `from` + count - 1 of a part are pixels `to` .. of its parent, where 0 .. s - 1 are eliminated, and S
 * .. S + r - 1 kept. */
typedef struct {
    integer from, to, count;
} run;

enum { MOST_RUNS = 8 };

/* The number of a pixel that the box keeps. */
INLINE integer place_of(const front* f, integer x, integer y) {
    const grid_box* b = &f->box;
    const integer width = grid_row(b), height = grid_column(b), rows = (b->bottom + b->top) * width;
    if (b->bottom && y == b->y0) return f->S + x - b->x0;
    if (b->top && y == b->y1) return f->S + b->bottom * width + x - b->x0;
    if (b->left && x == b->x0) return f->S + rows + y - b->y0 - b->bottom;
    return f->S + rows + b->left * height + y - b->y0 - b->bottom;
}

INLINE void add_run(run* runs, integer* count, integer* from, integer to, integer length) {
    runs[*count] = (run){*from, to, length};
    *count += 1;
    *from += length;
}

/* Where the kept pixels of a part go. */
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

/* Where an entry of a front is: its row and column count as in `run`. Of a symmetric one, row >= column. */
INLINE real* entry_of(const front* f, real* w, real* d, integer row, integer column) {
    if (column < f->S) return w + row_of(row, f->S) + column * LANES; /* Y stands behind W */
    if (row < f->S) return w + (f->S + f->R) * f->S + row_of(column - f->S, f->S) + row * LANES;
    return d + (column - f->S) * f->R + row - f->S;
}

/* Adds rows a and columns b of what a part has left, as far as they go to columns left .. right - 1 of the parent. `lower`: only what is not above
 * the part's diagonal. `turned`: as its transpose. */
INLINE void add_block(const front* f, real* w, real* d, const real* from, integer R, run a, run b, int lower, int turned, integer left, integer right) {
    const integer first = turned ? 0 : larger(0, left - b.to), end = turned ? b.count : smaller(b.count, right - b.to);
    for (integer j = first; j < end; ++j) {
        const real* column = from + (b.from + j) * R + a.from;
        integer i = lower ? j : 0, stop = a.count;
        if (turned) {
            i = larger(i, left - a.to);
            stop = smaller(stop, right - a.to);
            for (; i < stop; ++i) *entry_of(f, w, d, b.to + j, a.to + i) += column[i];
        } else if (a.to >= f->S && b.to >= f->S) {
            real* to = entry_of(f, w, d, a.to, b.to + j);
            for (; i + LANES <= stop; i += LANES) *(loose*)(to + i) += *(const loose*)(column + i);
            for (; i < stop; ++i) to[i] += column[i];
        } else
            for (; i < stop; ++i) *entry_of(f, w, d, a.to + i, b.to + j) += column[i];
    }
}

/* Adds what `part` has left in `from`. */
NOINLINE void add_part(const front* f, real* w, real* d, const front* part, const real* from, integer left, integer right) {
    run runs[MOST_RUNS];
    const integer count = runs_of(part, f, runs);
    for (integer b = 0; b < count; ++b)
        for (integer a = SYMMETRIC ? b : 0; a < count; ++a)
            add_block(f, w, d, from, part->R, runs[a], runs[b], SYMMETRIC && a == b, SYMMETRIC && runs[a].to < runs[b].to, left, right);
}

INLINE void clear(real* p, integer count) { __builtin_memset(p, 0, (unsigned long)count * sizeof(real)); }

/* Columns left .. right - 1 of an empty front: whole strips. */
INLINE void clear_front(const front* f, real* w, real* d, integer left, integer right) {
    const integer S = f->S, strip = S * LANES, end = smaller(right, S);
    if (left < end)
        for (integer v = 0; v < (S + f->R) / LANES; ++v) clear(w + v * strip + left * LANES, (end - left) * LANES);
    for (integer k = larger(left, f->s); k < end; ++k) w[row_of(k, S) + k * LANES] = 1;
    const integer first = larger(left, S) - S, last = right - S;
    if (first >= last) return;
    if (!SYMMETRIC) clear(w + (S + f->R) * S + first * S, (last - first) * S);
    clear(d + first * f->R, (last - first) * f->R);
}

/* ---- leaf tiles ---- */

/* The number of any pixel of a leaf tile, as in `run`. */
INLINE integer leaf_place(const front* f, integer x, integer y) {
    const grid_box* b = &f->box;
    if (x >= b->ex0 && x <= b->ex1 && y >= b->ey0 && y <= b->ey1) return (y - b->ey0) * (b->ex1 - b->ex0 + 1) + x - b->ex0;
    return place_of(f, x, y);
}

/* Of two tiles that share a line, the one before it owns the couplings along it. */
INLINE int owns(integer first, integer end, integer a, integer b) { return (a >= first && a <= end && b >= first && b <= end) && (a != b || a > first || first == 0); }

/* Where the stencil of an unknown beside the ring is kept. */
INLINE real* edge_of(const context* c, integer member, integer x, integer y) {
    const integer width = c->launch->width, height = c->launch->height;
    const integer place = y == 0 ? x : y == height - 1 ? width + x : x == 0 ? 2 * width + y : 2 * width + height + y;
    return reals_at(c, c->launch->edge, (member * 2 * (width + height) + place) * 9);
}
INLINE int is_inside(const context* c, integer x, integer y) { return x >= 0 && y >= 0 && x < c->launch->width && y < c->launch->height; }
INLINE int is_beside_ring(const context* c, integer x, integer y) {
    return c->launch->edge >= 0 && (x == 0 || y == 0 || x == c->launch->width - 1 || y == c->launch->height - 1);
}

INLINE const real* stencil_of(const context* c, integer member, integer x, integer y) {
    return (const real*)c->args->stencil + (member * c->launch->pixels + pixel_at(c, x, y)) * 9;
}

/* What is wrong with a pixel's stencil, what is known of its entries, and the copy that sweeps need beside a ring. */
INLINE void check_stencil(const context* c, const front* f, trifold_grid_record* record, integer x, integer y) {
    const real* stencil = stencil_of(c, f->member, x, y);
    const int ring = is_beside_ring(c, x, y);
    double sum = 0, sizes = 0;
    integer problem = trifold_grid_sound;
    for (integer k = 0; k < 9; ++k) {
        const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        const int inside = is_inside(c, to_x, to_y);
        const real value = SYMMETRIC && inside && k > 4 ? stencil_of(c, f->member, to_x, to_y)[8 - k] : stencil[k];
        const double size = size_of((double)value);
        if (!(size <= (double)LARGEST)) problem = trifold_grid_no_number;
        if (!inside && !ring && value != 0 && problem == trifold_grid_sound) problem = trifold_grid_beyond;
        sum += (double)value;
        sizes += size;
        if (size > record->entry) record->entry = size;
    }
    if (size_of(sum) > record->row_sum * sizes) record->row_sum = size_of(sum) / sizes;
    if (ring) __builtin_memcpy(edge_of(c, f->member, x, y), stencil, 9 * sizeof(real));
    if (problem == trifold_grid_sound || record->problem != trifold_grid_sound) return;
    record->problem = problem;
    record->pixel = y * c->launch->width + x;
}

INLINE void read_stencil(const context* c, const front* f, real* w, real* d, integer x, integer y) {
    const grid_box* box = &f->box;
    const real* stencil = stencil_of(c, f->member, x, y);
    const integer row = leaf_place(f, x, y);
    for (integer k = 0; k < (SYMMETRIC ? 5 : 9); ++k) {
        const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        if (!is_inside(c, to_x, to_y) || !owns(box->x0, box->x1, x, to_x) || !owns(box->y0, box->y1, y, to_y)) continue;
        const integer column = leaf_place(f, to_x, to_y);
        if (SYMMETRIC && row < column)
            *entry_of(f, w, d, column, row) += stencil[k];
        else
            *entry_of(f, w, d, row, column) += stencil[k];
    }
}

NOINLINE void read_leaf(const context* c, const front* f, real* w, real* d, trifold_grid_record* record) {
    clear_front(f, w, d, 0, f->S + f->R);
    for (integer y = f->box.y0; y <= f->box.y1; ++y)
        for (integer x = f->box.x0; x <= f->box.x1; ++x) {
            if (owns(f->box.x0, f->box.x1, x, x) && owns(f->box.y0, f->box.y1, y, y)) check_stencil(c, f, record, x, y);
            read_stencil(c, f, w, d, x, y);
        }
}
