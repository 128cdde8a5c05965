/* Reads the stencils of a leaf tile, with which its front begins. */
#include "cpu/grid/assemble.c"

/* The number of any pixel of a leaf tile, as in `run`. */
INLINE integer leaf_place(const front* f, integer x, integer y) {
    const grid_box* b = &f->box;
    if (x >= b->ex0 && x <= b->ex1 && y >= b->ey0 && y <= b->ey1) return (y - b->ey0) * (b->ex1 - b->ex0 + 1) + x - b->ex0;
    return place_of(f, x, y);
}

/* Whether a tile owns the coupling of a and b along one axis. Where two tiles share a line, the tile before the line owns the couplings
 * along it. */
INLINE int owns(integer first, integer end, integer a, integer b) {
    return (a >= first && a <= end && b >= first && b <= end) && (a != b || a > first || first == 0);
}

/* The copy of the stencil of an unknown next to the ring. */
INLINE real* edge_of(const context* c, integer member, integer x, integer y) {
    const integer width = c->launch->width, height = c->launch->height;
    const integer place = y == 0 ? x : y == height - 1 ? width + x : x == 0 ? 2 * width + y : 2 * width + height + y;
    return reals_at(c, c->launch->edge, (member * 2 * (width + height) + place) * 9);
}
INLINE int is_inside(const context* c, integer x, integer y) { return x >= 0 && y >= 0 && x < c->launch->width && y < c->launch->height; }
INLINE int is_next_to_ring(const context* c, integer x, integer y) {
    return c->launch->edge >= 0 && (x == 0 || y == 0 || x == c->launch->width - 1 || y == c->launch->height - 1);
}

/* The exponent of the scale of a pixel's row, from its largest entry within the image. */
INLINE int exponent_of_row(const context* c, const real* stencil, integer x, integer y) {
    const int middle = x > 0 && y > 0 && x < c->launch->width - 1 && y < c->launch->height - 1;
    real_bits most = 0;
    UNROLL for (int k = 0; k < 9; ++k) {
        if (!middle && !is_inside(c, x + k % 3 - 1, y + k / 3 - 1)) continue;
        real_bits bits;
        __builtin_memcpy(&bits, stencil + k, sizeof bits);
        bits &= ~(real_bits)0 >> 1;
        if (bits > most) most = bits;
    }
    return scale_exponent(most);
}

/* Checks a pixel's stencil, notes its entries in the record, and next to a ring makes the copy that sweeps need. */
INLINE void check_stencil(const context* c, const front* f, trifold_grid_record* record, integer x, integer y) {
    const real* stencil = stencil_of(c, f->member, x, y);
    const int ring = is_next_to_ring(c, x, y);
    const int middle = x > 0 && y > 0 && x < c->launch->width - 1 && y < c->launch->height - 1;
    double sum = 0, sizes = 0;
    integer problem = trifold_grid_sound;
    for (integer k = 0; k < 9; ++k) {
        const integer to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        const int inside = middle || is_inside(c, to_x, to_y);
        if (SYMMETRIC && k > 4 && !inside && !ring) continue; /* nothing there is read */
        const real value = SYMMETRIC && inside && k > 4 ? stencil_of(c, f->member, to_x, to_y)[8 - k] : stencil[k];
        const double size = size_of((double)value);
        if (!(size <= (double)LARGEST)) problem = trifold_grid_no_number;
        if (!inside && !ring && value != 0 && problem == trifold_grid_sound) problem = trifold_grid_beyond;
        sum += (double)value;
        sizes += size;
        if (SYMMETRIC && size > record->entry) record->entry = size;
    }
    if (size_of(sum) > record->row_sum * sizes) record->row_sum = size_of(sum) / sizes;
    if (ring) __builtin_memcpy(edge_of(c, f->member, x, y), stencil, 9 * sizeof(real));
    if (problem == trifold_grid_sound || record->problem != trifold_grid_sound) return;
    record->problem = problem;
    record->pixel = y * c->launch->width + x;
}

/* Sweeps need the exponent, and the determinant is that of A. */
INLINE void note_scale(const context* c, const front* f, trifold_grid_record* record, integer x, integer y, int exponent) {
    *scale_of(c, f->member, x, y) = exponent;
    record->log_determinant -= exponent * 0.69314718055994530942;
    record->entry = 1;
}

/* Whether the tile owns the couplings of a pixel to its three neighbours along one axis, the pixel itself in the middle. */
typedef struct {
    int to[3];
} owned;
INLINE owned owned_from(integer first, integer end, integer pixels, integer a) {
    owned o;
    UNROLL for (int k = 0; k < 3; ++k) o.to[k] = a + k - 1 >= 0 && a + k - 1 < pixels && owns(first, end, a, a + k - 1);
    return o;
}

INLINE void read_stencil(const context* c, const front* f, real* w, real* d, integer x, integer y, owned across, owned up, int exponent) {
    const real *stencil = stencil_of(c, f->member, x, y), scale = SYMMETRIC ? 1 : power_of_two(exponent);
    const integer row = leaf_place(f, x, y);
    UNROLL for (int k = 0; k < (SYMMETRIC ? 5 : 9); ++k) {
        if (!across.to[k % 3] || !up.to[k / 3]) continue;
        const integer column = leaf_place(f, x + k % 3 - 1, y + k / 3 - 1);
        if (SYMMETRIC && row < column)
            *entry_of(f, w, d, column, row) += stencil[k];
        else
            *entry_of(f, w, d, row, column) += stencil[k] * scale;
    }
}

NOINLINE void read_leaf(const context* c, const front* f, real* w, real* d, trifold_grid_record* record) {
    const grid_box* box = &f->box;
    clear_front(f, w, d, 0, f->S + f->R);
    for (integer y = box->y0; y <= box->y1; ++y) {
        const owned up = owned_from(box->y0, box->y1, c->launch->height, y);
        for (integer x = box->x0; x <= box->x1; ++x) {
            const owned across = owned_from(box->x0, box->x1, c->launch->width, x);
            const int exponent = SYMMETRIC ? 0 : exponent_of_row(c, stencil_of(c, f->member, x, y), x, y);
            if (across.to[1] && up.to[1]) {
                check_stencil(c, f, record, x, y);
                if (!SYMMETRIC) note_scale(c, f, record, x, y, exponent);
            }
            read_stencil(c, f, w, d, x, y, across, up, exponent);
        }
    }
}
