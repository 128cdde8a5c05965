/* Elimination of a small front's columns by one warp. A lane has a row, in registers. Rows do not move until the end. */
#include "gpu/grid/pivots.cuh"
#include "gpu/grid/records.cuh"

/* A front with its box and sizes held in registers. */
TRIFOLD_DEVICE Front kept_front(Front f) {
    grid_box& b = f.box;
    b.x0 = kept_number(b.x0), b.x1 = kept_number(b.x1), b.y0 = kept_number(b.y0), b.y1 = kept_number(b.y1);
    b.left = kept_number(b.left), b.right = kept_number(b.right), b.bottom = kept_number(b.bottom), b.top = kept_number(b.top);
    f.s = kept_number(f.s), f.r = kept_number(f.r), f.R = kept_number(f.R);
    return f;
}

/* State of a lane: its row, and the column with its number. */
struct LaneRow {
    bool candidate;   /* the row may still become a pivot row */
    int place;        /* the row's place after the exchanges so far */
    real inverse = 1; /* reciprocal of pivot number `lane`, or of its root */
    bool odd = false; /* rows were exchanged an odd number of times */
};

/* a[0] is the column at work, and the others move up, so all columns take the same code, which the caches of instructions hold. Row k of U,
 * from its diagonal on, goes to row k of `upper`. leave(k, l, u) gets the lane's entry of L, and that row. Width: columns that are left at
 * the first. */
template <int Width, int Columns, class Leave>
TRIFOLD_DEVICE void eliminate_columns(int begin, int end, real (&a)[Columns], LaneRow& mine, real* upper, int leading, const Leave& leave) {
    const int lane = lane_index();
#pragma unroll 1
    for (int k = begin; k < end; ++k) {
        const int row = pivoting ? lane_of_key(warp_greatest(mine.candidate ? key_of_lane(size_key(a[0]), lane) : 0u)) : k;
        /* All lanes invert their candidates while the pivot is searched. */
        const real inverse = shuffle(reciprocal(a[0]), row), root = symmetric ? root_of(shuffle(a[0], row)) : real(1);
        real* u = upper + k * leading;
        if (lane == row) {
            mine.candidate = false;
#pragma unroll
            for (int i = 0; i < Width; i += vector_width) {
                real part[vector_width];
#pragma unroll
                for (int v = 0; v < vector_width; ++v) part[v] = a[i + v];
                store_vector(u + i, part);
            }
        }
        if (pivoting) {
            const int from = shuffle(mine.place, row);
            mine.odd = mine.odd != (from != k);
            if (mine.place == k) mine.place = from;
            if (lane == row) mine.place = k;
        }
        if (lane == k) mine.inverse = symmetric ? inverse * root : inverse;
        warp_sync();
        const real l = a[0] * inverse;
        leave(k, symmetric ? l * root : l, u);
#pragma unroll
        for (int i = 0; i < Width; i += vector_width) {
            real part[vector_width];
            load_vector(part, u + i);
#pragma unroll
            for (int v = 0; v < vector_width; ++v)
                if (i + v > 0) a[i + v - 1] = a[i + v] - l * part[v];
            if (i % 4 == 0) warp_sync(); /* a few columns at a time, so that registers suffice */
        }
    }
}

/* Eliminates all columns. Fewer and fewer are left, so each quarter has code of its own, unless there are few columns. */
template <int Columns, class Leave>
TRIFOLD_DEVICE void eliminate_quarters(int count, real (&a)[Columns], LaneRow& mine, real* upper, int leading, const Leave& leave) {
    constexpr int quarter = Columns < 16 ? Columns : Columns / 4;
    eliminate_columns<Columns>(0, smaller(quarter, count), a, mine, upper, leading, leave);
    if constexpr (quarter < Columns) {
        eliminate_columns<Columns - quarter>(quarter, smaller(2 * quarter, count), a, mine, upper, leading, leave);
        eliminate_columns<Columns - 2 * quarter>(2 * quarter, smaller(3 * quarter, count), a, mine, upper, leading, leave);
        eliminate_columns<Columns - 3 * quarter>(3 * quarter, count, a, mine, upper, leading, leave);
    }
}

/* ---- a front of which each lane has a whole row ---- */

template <int Columns>
struct RowChip {
    real *rows, *lower; /* rows of U and Z, from their diagonals on; columns of L and Y */
    int* order;         /* row of each pivot */
};

/* Stores columns of W, Y and Z' in device memory. Some lanes have the rows of one column, and others those of the next. */
template <int Columns>
TRIFOLD_DEVICE void store_columns(const Context& c, const Front& f, const RowChip<Columns>& chip) {
    const int digits = f.s <= 16 && f.r <= 16 ? 4 : 5, i = lane_index() & ((1 << digits) - 1), row = chip.order[smaller(i, f.s - 1)];
    real *w = kept_pointer(w_of(c, f) + i), *y = w + f.S * f.S, *z = y + f.S * f.R;
#pragma unroll 1
    for (int k = lane_index() >> digits; k < f.s; k += warp_lanes >> digits) {
        const real *u = chip.rows + k * Columns, *l = chip.lower + k * Columns;
        if (i < f.s && (!symmetric || i >= k)) w[k * f.S] = symmetric || i > k ? l[row] : chip.rows[i * Columns + k - i];
        if (i < f.r) y[k * f.R] = l[f.s + i];
        if (!symmetric && i < f.r) z[k * f.R] = u[f.s - k + i];
    }
}

/* Eliminates a front of which each lane has a whole row. What remains of the last rows is D. */
template <int Columns, int MostKept>
TRIFOLD_DEVICE trifold_grid_record eliminate_rows(const Context& c, const Front& f, const RowChip<Columns>& chip, real (&a)[Columns],
                                                  real before, int exponent = 0) {
    const int lane = lane_index(), pixels = f.s + f.r;
    LaneRow mine = {lane < f.s, lane};
    eliminate_columns<Columns>(0, f.s, a, mine, chip.rows, Columns, [&](int k, real l, const real*) {
        if (lane < pixels) chip.lower[k * Columns + lane] = l;
    });
    if (lane < f.s) chip.order[mine.place] = lane;
    warp_sync();
    store_columns(c, f, chip);
    if (lane >= f.s && lane < pixels) {
        real* d = kept_pointer(update_of(c, f) + lane - f.s);
#pragma unroll
        for (int j = 0; j < MostKept; ++j)
            if (j < f.r && (!symmetric || lane - f.s >= j)) d[j * f.R] = a[j];
    }
    if (lane < f.s) {
        pivot_reciprocals(c, f)[lane] = mine.inverse;
        if (!symmetric) pivots_of(c, f)[lane] = chip.order[lane];
    }
    return record_of_pivots(c, f, lane < f.s ? chip.rows[lane * Columns] : real(1), before, mine.odd, exponent);
}
