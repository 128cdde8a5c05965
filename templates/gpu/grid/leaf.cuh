/* What a leaf tile starts from: the stencils. */
#include "gpu/grid/common.cuh"

/* The number of any pixel of a leaf tile: 0 .. s - 1 are eliminated, s .. s + r - 1 kept. */
TRIFOLD_DEVICE int leaf_place(const Front& f, int x, int y) {
    const grid_box& b = f.box;
    if (x >= b.ex0 && x <= b.ex1 && y >= b.ey0 && y <= b.ey1) return (y - b.ey0) * (b.ex1 - b.ex0 + 1) + x - b.ex0;
    return f.s + grid_place(&b, x, y);
}
/* Of two tiles that share a line, the one before it owns the couplings along it. */
TRIFOLD_DEVICE bool owns(int first, int end, int a, int b) {
    return a >= first && a <= end && b >= first && b <= end && (a != b || a > first || first == 0);
}

/* What is wrong with a pixel's stencil, what is known of its entries, and the copy that sweeps need beside a ring. */
TRIFOLD_DEVICE void check_stencil(const Context& c, const Front& f, trifold_grid_record& record, int x, int y) {
    const real* stencil = stencil_of(c, f.member, x, y);
    const bool ring = is_beside_ring(c, x, y);
    double sum = 0, sizes = 0;
    int problem = trifold_grid_sound;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
        const bool inside = is_inside(c, to_x, to_y);
        const real value = symmetric && inside && k > 4 ? stencil_of(c, f.member, to_x, to_y)[8 - k] : stencil[k];
        const double size = size_of(static_cast<double>(value));
        if (!(size <= static_cast<double>(largest))) problem = trifold_grid_no_number;
        if (!inside && !ring && value != 0 && problem == trifold_grid_sound) problem = trifold_grid_beyond;
        sum += static_cast<double>(value);
        sizes += size;
        if (size > record.entry) record.entry = size;
        if (ring) edge_of(c, f.member, x, y)[k] = stencil[k];
    }
    if (size_of(sum) > record.row_sum * sizes) record.row_sum = size_of(sum) / sizes;
    if (problem == trifold_grid_sound || record.problem != trifold_grid_sound) return;
    record.problem = problem;
    record.pixel = y * c.launch.width + x;
}

/* put(row, column, value) for every coupling that the tile owns, each from one thread, by places as above. Of a symmetric tile row >= column. The
 * record is of the pixels that the thread has looked at, in rising order. */
template <int Threads, class Put>
TRIFOLD_DEVICE void read_leaf(const Context& c, const Front& f, trifold_grid_record& record, const Put& put) {
    const grid_box& b = f.box;
    const int width = b.x1 - b.x0 + 1, pixels = width * (b.y1 - b.y0 + 1);
    for (int p = thread_index(); p < pixels; p += Threads) {
        const int x = b.x0 + p % width, y = b.y0 + p / width;
        if (owns(b.x0, b.x1, x, x) && owns(b.y0, b.y1, y, y)) check_stencil(c, f, record, x, y);
        const real* stencil = stencil_of(c, f.member, x, y);
        const int row = leaf_place(f, x, y);
#pragma unroll
        for (int k = 0; k < (symmetric ? 5 : 9); ++k) {
            const int to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
            if (!is_inside(c, to_x, to_y) || !owns(b.x0, b.x1, x, to_x) || !owns(b.y0, b.y1, y, to_y)) continue;
            const int column = leaf_place(f, to_x, to_y);
            if (symmetric && row < column)
                put(column, row, stencil[k]);
            else
                put(row, column, stencil[k]);
        }
    }
}
