/* Elimination of a leaf tile by one warp. A lane has the row of one of the tile's pixels, so D is what remains of the last rows. A tile
 * keeps at most 16 pixels. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/rows.cuh"

constexpr int leaf_columns = static_cast<int>(grid_leaf_columns(sizeof(real)));

struct LeafChip {
    real *rows, *lower;            /* rows of the tile, then of U, from their diagonals on; columns of L */
    trifold_grid_record* stencils; /* the record of the stencils */
    int *places, *order;           /* places of pixels, numbered row by row; the row of each pivot */
};
TRIFOLD_DEVICE LeafChip leaf_chip(const Front& f) {
    LeafChip chip;
    chip.rows = static_cast<real*>(shared_memory());
    chip.lower = chip.rows + grid_leaf_pixels * leaf_columns;
    chip.stencils = reinterpret_cast<trifold_grid_record*>(chip.lower + f.s * leaf_columns);
    chip.places = reinterpret_cast<int*>(chip.stencils + 1);
    chip.order = chip.places + grid_leaf_pixels;
    return chip;
}

/* The three neighbours along one axis, the pixel itself in the middle: which are inside the image, and which couplings the tile owns. Where
 * two tiles share a line, the tile before the line owns the couplings along it. */
struct Neighbours {
    bool inside[3], owned[3];
};
TRIFOLD_DEVICE Neighbours neighbours_of(int at, int first, int end, int pixels) {
    return {{at > 0, true, at + 1 < pixels}, {at > first, at > first || first == 0, at < end}};
}

/* The check of a pixel's stencil: its problem, its largest entry, and the sum of its entries relative to that of their sizes. */
struct Check {
    int problem;
    double entry, row_sum;
};
TRIFOLD_DEVICE Check check_stencil(const real (&stencil)[9], const Neighbours& x, const Neighbours& y, bool ring) {
    Check check = {trifold_grid_sound, 0, 0};
    double sum = 0, sizes = 0;
    bool beyond = false;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const double value = static_cast<double>(stencil[k]), size = absolute(value);
        beyond = beyond || (value != 0 && !(x.inside[k % 3] && y.inside[k / 3]));
        sum += value;
        sizes += size;
        if (size > check.entry) check.entry = size;
    }
    bool number = true;
    if (!(sizes <= static_cast<double>(largest)))
        for (int k = 0; k < 9; ++k) number = number && absolute(static_cast<double>(stencil[k])) <= static_cast<double>(largest);
    check.problem = !number ? trifold_grid_no_number : beyond && !ring ? trifold_grid_beyond : trifold_grid_sound;
    if (sizes > 0) check.row_sum = absolute(sum) / sizes;
    return check;
}

/* The exponent of a row, from its largest entry within the image. */
TRIFOLD_DEVICE int exponent_of_row(const real (&stencil)[9], const Neighbours& x, const Neighbours& y) {
    real_bits most = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        real_bits bits;
        copy_bits(bits, absolute(stencil[k]));
        if (x.inside[k % 3] && y.inside[k / 3] && bits > most) most = bits;
    }
    return scale_exponent(most);
}

/* Reads the lane's row: the couplings that the tile owns. The result and `exponent`, the scale of the row, count for pixels that the tile
 * owns; for others they are empty. `before`: the number that the row's pivot begins with. */
TRIFOLD_DEVICE Check read_row(const Context& c, const Front& f, const LeafChip& chip, int& number, int& exponent, real& before) {
    const grid_box& b = f.box;
    const int lane = lane_index(), width = grid_row(&b), pitch = static_cast<int>(c.launch.pitch);
    const bool exists = lane < f.s + f.r;
    const grid_pixel at = lane < f.s || !exists ? grid_eliminated_pixel(&b, lane < f.s ? lane : 0) : grid_kept_pixel(&b, lane - f.s);
    const Neighbours x = neighbours_of(at.x, b.x0, b.x1, static_cast<int>(c.launch.width)),
                     y = neighbours_of(at.y, b.y0, b.y1, static_cast<int>(c.launch.height));
    const real* stencil = kept_pointer(stencil_of(c, f.member, at.x, at.y));
    const bool ring = is_next_to_ring(c, at.x, at.y);
    real values[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const bool later = symmetric && k > 4, other = later && x.inside[k % 3] && y.inside[k / 3];
        const real value =
            stencil[other ? 9 * (k % 3 - 1 + (k / 3 - 1) * pitch) + 8 - k : k]; /* read without a condition, which loads would wait for */
        values[k] = later && !other && !ring ? real(0) : value;
    }
    before = symmetric ? values[4] : real(1);
    number = (at.y - b.y0) * width + at.x - b.x0;
    const bool owns = exists && x.owned[1] && y.owned[1];
    const Check check = check_stencil(values, x, y, ring);
    exponent = 0;
    if (!symmetric) {
        exponent = exponent_of_row(values, x, y);
        const real scale = power_of_two(exponent);
#pragma unroll
        for (int k = 0; k < 9; ++k) values[k] *= scale;
        if (owns)
            *scale_at(c, f.member, at) = exponent; /* sweeps read it */
        else
            exponent = 0;
    }
    real* row = chip.rows + kept_number(lane * leaf_columns);
    if (exists) {
        const real nothing[vector_width] = {};
#pragma unroll
        for (int i = 0; i < leaf_columns; i += vector_width) store_vector(row + i, nothing);
        chip.places[number] = lane;
    }
    warp_sync();
#pragma unroll
    for (int k = 0; k < 9; ++k)
        if (exists && x.owned[k % 3] && y.owned[k / 3]) row[chip.places[number + k % 3 - 1 + (k / 3 - 1) * width]] = values[k];
    if (!owns) return {trifold_grid_sound, 0, 0};
#pragma unroll 1
    for (int k = 0; k < 9 && ring; ++k) edge_of(c, f.member, at.x, at.y)[k] = stencil[k]; /* sweeps read it */
    return check;
}

TRIFOLD_DEVICE void note_stencils(const Context& c, const Front& f, const LeafChip& chip, const Check& check, int number) {
    trifold_grid_record record = new_record();
    record.entry = symmetric ? warp_max(check.entry) : 1.0;
    record.row_sum = warp_max(check.row_sum);
    const unsigned first =
        warp_greatest(check.problem != trifold_grid_sound ? static_cast<unsigned>((64 - number) * 4 + check.problem) : 0u);
    if (first != 0) {
        const int pixel = 64 - static_cast<int>(first / 4), width = grid_row(&f.box);
        record.problem = static_cast<int>(first % 4);
        record.pixel = (f.box.y0 + pixel / width) * c.launch.width + f.box.x0 + pixel % width;
    }
    if (lane_index() == 0) *chip.stencils = placed(f, record, 0);
}

TRIFOLD_DEVICE void eliminate_leaf(const Context& c) {
    start_dependents();
    const Front f = kept_front(front_of_launch(c, group_index()));
    const LeafChip chip = leaf_chip(f);
    const int lane = lane_index(), pixels = f.s + f.r;
    int number, exponent;
    real before;
    const Check check = read_row(c, f, chip, number, exponent, before);
    note_stencils(c, f, chip, check, number);
    warp_sync();
    real a[leaf_columns];
#pragma unroll
    for (int i = 0; i < leaf_columns; i += vector_width) {
        real part[vector_width];
        load_vector(part, chip.rows + smaller(lane, pixels - 1) * leaf_columns + i);
#pragma unroll
        for (int v = 0; v < vector_width; ++v) a[i + v] = part[v];
    }
    warp_sync();
    const trifold_grid_record record = eliminate_rows<leaf_columns, 16>(c, f, {chip.rows, chip.lower, chip.order}, a, before, exponent);
    if (lane == 0) {
        add_record(*chip.stencils, placed(f, record, 0));
        *record_of(c, f) = *chip.stencils;
    }
}

#ifdef TRIFOLD_KERNEL_LEAF
GRID_KERNEL(LEAF, warp_lanes, eliminate_leaf(c))
#endif
