/* A leaf tile, by one warp: a lane has the row of a pixel, of all that the tile has, so that D is what is left of the last rows. */
#include "gpu/grid/rows.cuh"

constexpr int leaf_columns = static_cast<int>(grid_leaf_columns(sizeof(real)));

struct LeafChip {
    real *rows, *lower; /* rows of the tile, then of U, from their diagonals on; columns of L */
    int *places, *order; /* of pixels, row by row; of pivots */
};
TRIFOLD_DEVICE LeafChip leaf_chip(const Front& f) {
    LeafChip chip;
    chip.rows = static_cast<real*>(shared_memory());
    chip.lower = chip.rows + grid_leaf_pixels * leaf_columns;
    chip.places = reinterpret_cast<int*>(chip.lower + f.s * leaf_columns);
    chip.order = chip.places + grid_leaf_pixels;
    return chip;
}

/* Of two tiles that share a line, the one before it owns the couplings along it. */
TRIFOLD_DEVICE bool owns(int first, int end, int a, int b) {
    return a >= first && a <= end && b >= first && b <= end && (a != b || a > first || first == 0);
}

/* What is wrong with the stencil of pixel (x, y), and what is known of its entries. */
struct Check {
    int problem;
    double entry, row_sum;
};
TRIFOLD_DEVICE Check check_stencil(const Context& c, const real (&stencil)[9], int x, int y) {
    const bool ring = is_beside_ring(c, x, y);
    Check check = {trifold_grid_sound, 0, 0};
    double sum = 0, sizes = 0;
    bool number = true, beyond = false;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const double value = static_cast<double>(stencil[k]), size = size_of(value);
        number = number && size <= static_cast<double>(largest);
        beyond = beyond || (!ring && value != 0 && !is_inside(c, x + k % 3 - 1, y + k / 3 - 1));
        sum += value;
        sizes += size;
        if (size > check.entry) check.entry = size;
    }
    check.problem = !number ? trifold_grid_no_number : beyond ? trifold_grid_beyond : trifold_grid_sound;
    if (sizes > 0) check.row_sum = size_of(sum) / sizes;
    return check;
}

/* The lane's row, of couplings that the tile owns. The result is of a pixel that the tile owns. */
TRIFOLD_DEVICE Check read_row(const Context& c, const Front& f, const LeafChip& chip, int& number) {
    const grid_box& b = f.box;
    const int lane = lane_index(), width = grid_row(&b);
    const bool exists = lane < f.s + f.r;
    const grid_pixel at = lane < f.s || !exists ? grid_eliminated_pixel(&b, lane < f.s ? lane : 0) : grid_kept_pixel(&b, lane - f.s);
    const real* stencil = stencil_of(c, f.member, at.x, at.y);
    real values[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int x = at.x + k % 3 - 1, y = at.y + k / 3 - 1;
        values[k] = *(symmetric && k > 4 && is_inside(c, x, y) ? stencil_of(c, f.member, x, y) + 8 - k : stencil + k);
    }
    number = (at.y - b.y0) * width + at.x - b.x0;
    real* row = chip.rows + lane * leaf_columns;
    if (exists) {
        const real nothing[vector_width] = {};
        for (int i = 0; i < leaf_columns; i += vector_width) store_vector(row + i, nothing);
        chip.places[number] = lane;
    }
    warp_sync();
#pragma unroll
    for (int k = 0; k < 9 && exists; ++k) {
        const int x = at.x + k % 3 - 1, y = at.y + k / 3 - 1;
        if (owns(b.x0, b.x1, at.x, x) && owns(b.y0, b.y1, at.y, y)) row[chip.places[number + k % 3 - 1 + (k / 3 - 1) * width]] = values[k];
    }
    if (!exists || !owns(b.x0, b.x1, at.x, at.x) || !owns(b.y0, b.y1, at.y, at.y)) return {trifold_grid_sound, 0, 0};
    if (is_beside_ring(c, at.x, at.y)) /* sweeps need it */
        for (int k = 0; k < 9; ++k) edge_of(c, f.member, at.x, at.y)[k] = stencil[k];
    return check_stencil(c, values, at.x, at.y);
}

TRIFOLD_DEVICE void note_stencils(const Context& c, const Front& f, trifold_grid_record& record, const Check& check, int number) {
    record.entry = warp_most(check.entry);
    record.row_sum = warp_most(check.row_sum);
    const unsigned first = warp_greatest(check.problem != trifold_grid_sound ? static_cast<unsigned>((64 - number) * 4 + check.problem) : 0u);
    if (first == 0) return;
    const int pixel = 64 - static_cast<int>(first / 4), width = grid_row(&f.box);
    record.problem = static_cast<int>(first % 4);
    record.pixel = (f.box.y0 + pixel / width) * c.launch.width + f.box.x0 + pixel % width;
}

TRIFOLD_DEVICE void eliminate_leaf(const Context& c) {
    const Front f = front_of_launch(c, group_x());
    const LeafChip chip = leaf_chip(f);
    const int lane = lane_index(), pixels = f.s + f.r;
    int number;
    const Check check = read_row(c, f, chip, number);
    warp_sync();
    const real before = largest_of_column(f, chip.rows, 1, leaf_columns);
    real a[leaf_columns];
#pragma unroll
    for (int i = 0; i < leaf_columns; i += vector_width) {
        real part[vector_width];
        load_vector(part, chip.rows + smaller(lane, pixels - 1) * leaf_columns + i);
#pragma unroll
        for (int v = 0; v < vector_width; ++v) a[i + v] = part[v];
    }
    warp_sync();
    LaneRow mine = {lane < f.s, lane};
    real *y = y_of(c, f) + lane - f.s, *z = z_of(c, f) + lane;
    eliminate_columns<leaf_columns>(0, f.s, a, mine, chip.rows, leaf_columns, [&](int k, real l, const real* u) {
        if (lane < f.s)
            chip.lower[k * leaf_columns + lane] = l;
        else if (lane < pixels)
            y[k * f.R] = l;
        if (!symmetric && lane < f.r) z[k * f.R] = u[f.s - k + lane];
    });
    if (lane < f.s) chip.order[mine.place] = lane;
    warp_sync();
    if (lane >= f.s && lane < pixels) {
        real* d = update_of(c, f) + lane - f.s;
#pragma unroll
        for (int j = 0; j < leaf_columns; ++j)
            if (j < f.r && (!symmetric || lane - f.s >= j)) d[j * f.R] = a[j];
    }
    store_w(c, f, chip.rows, leaf_columns, [&](int k, int i) { return chip.lower[k * leaf_columns + chip.order[i]]; }, 1);
    if (lane < f.s) {
        inverses_of(c, f)[lane] = mine.inverse;
        if (!symmetric) pivots_of(c, f)[lane] = chip.order[lane];
    }
    trifold_grid_record record = record_of_pivots(c, f, lane < f.s ? chip.rows[lane * leaf_columns] : real(1), before, mine.odd);
    note_stencils(c, f, record, check, number);
    if (lane == 0) *record_of(c, f) = placed(f, record, 0);
}
