/* Fronts, and their places in the workspace.
 *
 * A front eliminates s pixels and keeps r. The workspace holds it column by column:
 *   W    s by s: the factors L and U, or L if the matrix is symmetric
 *   Y    r by s: Y U^-1, or Y L^-T
 *   Z'   r by s: (L^-1 P Z)'; symmetric matrices have none
 *   D    r by r: what the front leaves to its parent; the lower half if the matrix is symmetric
 * Columns of W have S elements, and those of Y, Z' and D have R: s and r, rounded up to whole vectors. */
#include "gpu/grid/constants.cuh"
#include "grid/boxes.h"
#include "grid/outcome.h"
#include "grid/scale.h"

struct Context {
    const trifold_grid_args& args;
    const trifold_grid_launch& launch;
};

/* The constants that only some kernels read. */
TRIFOLD_DEVICE const trifold_grid_share& share_of(const Context& c) {
    EXPECT(c.launch.kind == trifold_grid_shared);
    return c.launch.share;
}
TRIFOLD_DEVICE const trifold_grid_step& step_of(const Context& c) {
    EXPECT(c.launch.kind == trifold_grid_stepping);
    return c.launch.step;
}
TRIFOLD_DEVICE const trifold_grid_triangle& triangle_of(const Context& c) {
    EXPECT(c.launch.kind == trifold_grid_solving);
    return c.launch.triangle;
}
TRIFOLD_DEVICE const trifold_grid_factor& factor_of(const Context& c) {
    EXPECT(c.launch.kind == trifold_grid_sweeping);
    return c.launch.factor;
}
TRIFOLD_DEVICE trifold_grid_work work_of(const Context& c) {
    EXPECT(c.launch.kind == trifold_grid_pixelwise);
    return static_cast<trifold_grid_work>(c.launch.pixelwise.work);
}

struct Front {
    grid_box box;
    const trifold_grid_level* level;
    int member, i, j, place; /* place: number in its level, within the image */
    trifold_int slot;        /* number in its level, within all images */
    int s, r, S, R;
};

TRIFOLD_DEVICE double size_of(double x) { return x < 0 ? -x : x; }
/* Thread blocks of a launch are counted in 32 bits, which divisions are fast for. */
TRIFOLD_DEVICE int group_index() { return static_cast<int>(group_x()); }
TRIFOLD_DEVICE int whole(int count) { return (count + vector_width - 1) / vector_width * vector_width; }

TRIFOLD_DEVICE int made_of(const trifold_grid_launch& launch, int level) {
    if (level < 1) return grid_leaf; /* a merge's launch only reads the level below */
    return launch.level[level].x_halvings < launch.level[level - 1].x_halvings ? grid_side_by_side : grid_above;
}

TRIFOLD_DEVICE Front front_at(const Context& c, int level, int member, int i, int j) {
    const trifold_grid_level& l = c.launch.level[level];
    Front f;
    const int x_halvings = static_cast<int>(l.x_halvings), y_halvings = static_cast<int>(l.y_halvings);
    f.box = grid_box_at(static_cast<int>(c.launch.width), static_cast<int>(c.launch.height), x_halvings, y_halvings, i, j,
                        made_of(c.launch, level));
    f.level = &l;
    f.member = member, f.i = i, f.j = j;
    f.place = (j << x_halvings) + i;
    f.slot = (trifold_int(member) << (x_halvings + y_halvings)) + f.place;
    f.s = grid_eliminated(&f.box);
    f.r = grid_kept(&f.box);
    f.S = whole(f.s);
    f.R = whole(f.r);
    return f;
}
/* Box number `place` of the launch's last level, in the thread block's member. */
TRIFOLD_DEVICE Front front_of_launch(const Context& c, int place) {
    const int level = static_cast<int>(c.launch.levels) - 1;
    const int x = static_cast<int>(c.launch.level[level].x_halvings);
    return front_at(c, level, static_cast<int>(group_y()), place & ((1 << x) - 1), place >> x);
}
/* The first or second part of a merge. Its level comes before the merge's in the launch. */
TRIFOLD_DEVICE Front part_of(const Context& c, const Front& f, int second) {
    const bool side_by_side = made_of(c.launch, 1) == grid_side_by_side;
    return front_at(c, 0, f.member, side_by_side ? 2 * f.i + second : f.i, side_by_side ? f.j : 2 * f.j + second);
}

TRIFOLD_DEVICE char* workspace_at(const Context& c, trifold_int offset) { return static_cast<char*>(c.args.workspace) + offset; }
TRIFOLD_DEVICE real* reals_at(const Context& c, trifold_int offset, trifold_int index) {
    return global_pointer(reinterpret_cast<real*>(workspace_at(c, offset)) + index);
}
TRIFOLD_DEVICE real* w_of(const Context& c, const Front& f) { return reals_at(c, f.level->factor, f.slot * f.level->factor_elements); }
TRIFOLD_DEVICE real* y_of(const Context& c, const Front& f) { return w_of(c, f) + trifold_int(f.S) * f.S; }
TRIFOLD_DEVICE real* z_of(const Context& c, const Front& f) { return symmetric ? y_of(c, f) : y_of(c, f) + trifold_int(f.R) * f.S; }
TRIFOLD_DEVICE real* update_of(const Context& c, const Front& f) {
    return reals_at(c, f.level->update, f.member * f.level->update_stride + trifold_int(f.place) * f.level->kept * f.level->kept);
}
TRIFOLD_DEVICE real* vector_of(const Context& c, const Front& f) {
    return reals_at(c, f.level->vector, f.member * f.level->vector_stride + f.place * f.level->kept * c.args.used_columns);
}
/* The row that became each pivot's row. Of a front that thread blocks share, the moves of two panels follow; see moves_of. */
TRIFOLD_DEVICE int* pivots_of(const Context& c, const Front& f) {
    return global_pointer(reinterpret_cast<int*>(workspace_at(c, f.level->pivots)) + f.slot * f.level->pivot_elements);
}
/* Inverses. A small front has the reciprocals of its diagonal; see pivot_reciprocals. A front that thread blocks share has inverted tiles;
 * see inverse_tile. */
TRIFOLD_DEVICE real* inverses_of(const Context& c, const Front& f) {
    return reals_at(c, f.level->inverses, f.slot * f.level->inverse_elements);
}
TRIFOLD_DEVICE real* pivot_reciprocals(const Context& c, const Front& f) { return inverses_of(c, f); }
TRIFOLD_DEVICE real* inverse_tile(const Context& c, const Front& f, int tile, int upper) {
    return inverses_of(c, f) + (tile * (symmetric ? 1 : 2) + upper) * (tile_width * tile_width);
}
TRIFOLD_DEVICE trifold_grid_record* record_of(const Context& c, const Front& f) {
    return reinterpret_cast<trifold_grid_record*>(workspace_at(c, f.level->records)) + f.slot;
}

/* ---- pixels of the caller's arrays ---- */

/* The product of two numbers that fit 32 bits, which takes one instruction. */
TRIFOLD_DEVICE trifold_int product(trifold_int a, trifold_int b) { return trifold_int(static_cast<int>(a)) * static_cast<int>(b); }
/* The place of a pixel's right-hand sides in the caller's arrays. */
TRIFOLD_DEVICE trifold_int values_at(const Context& c, trifold_int member, trifold_int pixel) {
    return member * c.launch.pixels * c.args.columns + c.args.first_column + pixel * c.args.columns;
}

TRIFOLD_DEVICE trifold_int pixel_at(const Context& c, trifold_int x, trifold_int y) {
    return c.launch.origin + product(y, c.launch.pitch) + x;
}
TRIFOLD_DEVICE bool is_inside(const Context& c, int x, int y) {
    return x >= 0 && y >= 0 && x < static_cast<int>(c.launch.width) && y < static_cast<int>(c.launch.height);
}
TRIFOLD_DEVICE bool is_next_to_ring(const Context& c, int x, int y) {
    return c.launch.edge >= 0 && (x == 0 || y == 0 || x == c.launch.width - 1 || y == c.launch.height - 1);
}
TRIFOLD_DEVICE const real* stencil_of(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    return global_pointer(static_cast<const real*>(c.args.stencil) + (member * c.launch.pixels + pixel_at(c, x, y)) * 9);
}
/* The copy of the stencil of an unknown next to the ring. */
TRIFOLD_DEVICE real* edge_of(const Context& c, trifold_int member, trifold_int x, trifold_int y) {
    const trifold_int width = c.launch.width, height = c.launch.height;
    const trifold_int place = y == 0 ? x : y == height - 1 ? width + x : x == 0 ? 2 * width + y : 2 * width + height + y;
    return reals_at(c, c.launch.edge, (member * 2 * (width + height) + place) * 9);
}
TRIFOLD_DEVICE const real* b_at(const Context& c, trifold_int member, trifold_int pixel) {
    return global_pointer(static_cast<const real*>(c.args.b) + values_at(c, member, pixel));
}
TRIFOLD_DEVICE real* x_at(const Context& c, trifold_int member, trifold_int pixel) {
    return global_pointer(static_cast<real*>(c.args.x) + values_at(c, member, pixel));
}

/* The number that pivot k of a symmetric matrix began with: a diagonal entry of A. Rows of other matrices are scaled to size 1, so there it
 * is 1. */
TRIFOLD_DEVICE const real* diagonal_at(const Context& c, const Front& f, int k) {
    const grid_pixel pixel = grid_eliminated_pixel(&f.box, k);
    return stencil_of(c, f.member, pixel.x, pixel.y) + 4;
}
TRIFOLD_DEVICE real diagonal_of(const Context& c, const Front& f, int k) { return symmetric ? *diagonal_at(c, f, k) : real(1); }

/* ---- rows of equal size ---- */

/* The exponent of an unknown's row, and 2^exponent. */
TRIFOLD_DEVICE int* scale_at(const Context& c, int member, grid_pixel pixel) {
    int* first = reinterpret_cast<int*>(workspace_at(c, c.launch.scale));
    return global_pointer(first + (trifold_int(member) * c.launch.height + pixel.y) * c.launch.width + pixel.x);
}
TRIFOLD_DEVICE real power_of_two(int exponent) {
    const real_bits bits = scale_bits(exponent);
    real power;
    copy_bits(power, bits);
    return power;
}
/* Exponents of the scale of a pixel's row: for b before the sweeps, and with A' x = b for x after them. 0: it is not scaled there. */
TRIFOLD_DEVICE int exponent_in(const Context& c, const Front& f, grid_pixel pixel) {
    return symmetric || c.launch.transposed ? 0 : *scale_at(c, f.member, pixel);
}
TRIFOLD_DEVICE int exponent_out(const Context& c, const Front& f, grid_pixel pixel) {
    return symmetric || !c.launch.transposed ? 0 : *scale_at(c, f.member, pixel);
}
/* x 2^exponent. The exponent is read here and no earlier, so that waiting for it does not delay other loads. */
TRIFOLD_DEVICE real times_power(real x, int exponent) { return symmetric ? x : x * power_of_two(kept_number(exponent)); }

/* ---- what a solution comes to ---- */

TRIFOLD_DEVICE trifold_grid_status* status_of(const Context& c, trifold_int member) {
    return global_pointer(reinterpret_cast<trifold_grid_status*>(workspace_at(c, c.launch.status)) + member);
}
/* Clears the mark that note_left sets. One thread calls it before any element of a call's solution is written. */
TRIFOLD_DEVICE void begin_solution(const Context& c, int member) {
    if (c.args.begins) status_of(c, member)->left = 0;
}
/* Whether an element of the solution is an infinity or NaN: then all bits of its exponent are set. */
TRIFOLD_DEVICE bool has_left(real x) {
    constexpr real_bits exponent = ((real_bits(1) << (scale_digits == 52 ? 11 : 8)) - 1) << scale_digits;
    real_bits bits;
    copy_bits(bits, x);
    return (bits & exponent) == exponent;
}
/* Marks the member's solution as having left the range. A thread calls it once, behind its loops. Several may write at the same time, and
 * all write 1. */
TRIFOLD_DEVICE void note_left(const Context& c, trifold_int member, bool left) {
    if (left) store_word(reinterpret_cast<unsigned*>(&status_of(c, member)->left), 1u);
}

/* ---- records ---- */

TRIFOLD_DEVICE trifold_grid_record new_record() {
    trifold_grid_record record = {};
    record.least = 1;
    record.sign = 1;
    return record;
}
/* Notes a problem at the k-th eliminated pixel, unless the record has one already. */
TRIFOLD_DEVICE void note_problem(const Context& c, const Front& f, trifold_grid_record& record, int problem, int k) {
    if (record.problem != trifold_grid_sound) return;
    const grid_pixel pixel = grid_eliminated_pixel(&f.box, k);
    record.problem = problem;
    record.pixel = pixel.y * c.launch.width + pixel.x;
}
/* The problem of a failed pivot. A negative pivot that rounding can make is no proof of an indefinite matrix: the matrix is nearly
 * singular. */
TRIFOLD_DEVICE int pivot_problem(const Context& c, double least) {
    return symmetric && least < c.launch.negligible ? trifold_grid_nearly : trifold_grid_pivot;
}
/* Adds pivot k to a record. `before`: the number that it began with. */
TRIFOLD_DEVICE void note_pivot(const Context& c, const Front& f, trifold_grid_record& record, int k, double pivot, double before) {
    const double size = size_of(pivot), least = size / size_of(before);
    const bool fails = !(size > 0 && size <= static_cast<double>(largest)) || (symmetric && pivot < 0);
    if (fails) note_problem(c, f, record, pivot_problem(c, least), k);
    if (fails || !(least >= record.least)) record.least = fails ? 0 : least;
    if (size > record.largest) record.largest = size;
    if (pivot < 0) record.sign = -record.sign;
    record.log_determinant += natural_log(size);
}
TRIFOLD_DEVICE void add_record(trifold_grid_record& all, const trifold_grid_record& record) {
    all.log_determinant += record.log_determinant;
    all.sign *= record.sign;
    if (!(record.least >= all.least)) all.least = record.least;
    if (record.largest > all.largest) all.largest = record.largest;
    if (record.entry > all.entry) all.entry = record.entry;
    if (record.row_sum > all.row_sum) all.row_sum = record.row_sum;
    if (record.problem == trifold_grid_sound) return;
    /* The first problem of the lowest level stays, since others may follow from it. */
    const bool before = record.level < all.level || (record.level == all.level && record.place < all.place);
    if (all.problem != trifold_grid_sound && !before) return;
    all.problem = record.problem, all.pixel = record.pixel, all.level = record.level, all.place = record.place;
}
/* The record of front f alone, with the front's place. */
TRIFOLD_DEVICE trifold_grid_record placed(const Front& f, trifold_grid_record record, trifold_int level) {
    record.level = level;
    record.place = f.place;
    return record;
}
/* The record of a merge and all fronts below it. */
TRIFOLD_DEVICE trifold_grid_record with_parts(const Context& c, const Front& f, const trifold_grid_record& own) {
    trifold_grid_record all = placed(f, own, c.launch.number);
    add_record(all, *record_of(c, part_of(c, f, 0)));
    add_record(all, *record_of(c, part_of(c, f, 1)));
    return all;
}
/* The sum of all lanes' records, in every lane. Lanes add in pairs, then pairs of pairs, so sums always have the same order. */
TRIFOLD_DEVICE trifold_grid_record sum_of_records(trifold_grid_record mine) {
    for (int apart = 1; apart < warp_lanes; apart *= 2) {
        trifold_grid_record other;
        other.log_determinant = shuffle_xor(mine.log_determinant, apart);
        other.least = shuffle_xor(mine.least, apart);
        other.largest = shuffle_xor(mine.largest, apart);
        other.entry = shuffle_xor(mine.entry, apart);
        other.row_sum = shuffle_xor(mine.row_sum, apart);
        other.sign = shuffle_xor(mine.sign, apart);
        other.problem = shuffle_xor(mine.problem, apart);
        other.pixel = shuffle_xor(mine.pixel, apart);
        other.level = other.place = mine.level = mine.place = 0;
        const bool behind = (lane_index() & apart) != 0; /* the lower lane's problem stays */
        if (behind) {
            const trifold_grid_record swap = mine;
            mine = other;
            other = swap;
        }
        add_record(mine, other);
    }
    return mine;
}
