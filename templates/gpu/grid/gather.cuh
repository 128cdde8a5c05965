/* The updates of a merge's two parts, from which the merge starts. */
#include "gpu/grid/common.cuh"

/* The numbers of a pixel among those that the two parts keep; -1: the part does not keep it. */
struct Places {
    int first, second;
};
struct Parts {
    Front first, second;
    const real *first_update, *second_update;
};
TRIFOLD_DEVICE Parts parts_of(const Context& c, const Front& f) {
    Parts parts;
    parts.first = part_of(c, f, 0);
    parts.second = part_of(c, f, 1);
    parts.first_update = update_of(c, parts.first);
    parts.second_update = update_of(c, parts.second);
    return parts;
}
/* Computes grid_place_in_part(), but without branches, because neighbouring lanes have pixels on different sides. */
TRIFOLD_DEVICE int place_in_part(const grid_box& part, int x, int y) {
    const bool below = part.bottom != 0 && y == part.y0, above = part.top != 0 && y == part.y1, before = part.left != 0 && x == part.x0;
    const int width = grid_row(&part), height = grid_column(&part);
    const int in_row = x - part.x0 + (below ? 0 : part.bottom * width);
    const int in_column = y - part.y0 - part.bottom + (part.bottom + part.top) * width + (before ? 0 : part.left * height);
    const bool inside = x >= part.x0 && x <= part.x1 && y >= part.y0 && y <= part.y1;
    return inside ? (below || above ? in_row : in_column) : -1;
}
TRIFOLD_DEVICE Places places_of(const Parts& parts, grid_pixel pixel) {
    return {place_in_part(parts.first.box, pixel.x, pixel.y), place_in_part(parts.second.box, pixel.x, pixel.y)};
}
/* The pixels that a merge eliminates form a line. */
TRIFOLD_DEVICE Places places_eliminated(const Parts& parts, const Front& f, int k) {
    const bool column = f.box.ex0 == f.box.ex1;
    return places_of(parts, {f.box.ex0 + (column ? 0 : k), f.box.ey0 + (column ? k : 0)});
}
/* Computes grid_kept_pixel(), but without branches. */
TRIFOLD_DEVICE grid_pixel kept_pixel(const Front& f, int k) {
    const grid_box& b = f.box;
    const int width = grid_row(&b), height = grid_column(&b), rows = (b.bottom + b.top) * width, in_column = k - rows;
    const bool in_row = k < rows, above = k >= width || !b.bottom, after = in_column >= height || !b.left;
    const int x = in_row ? b.x0 + k - (k >= width ? width : 0) : after ? b.x1 : b.x0;
    const int y = in_row ? (above ? b.y1 : b.y0) : b.y0 + b.bottom + in_column - (in_column >= height ? height : 0);
    return {x, y};
}
TRIFOLD_DEVICE Places places_kept(const Parts& parts, const Front& f, int k) { return places_of(parts, kept_pixel(f, k)); }

/* An entry of a part's update; 0 if the part does not have it. The first element is then read but not used, because a conditional load
 * would wait for those before it. */
TRIFOLD_DEVICE real entry_of(const real* update, int R, int row, int column) {
    const bool exists = (row | column) >= 0, mirrored = symmetric && row < column;
    const real value = update[exists ? trifold_int(mirrored ? row : column) * R + (mirrored ? column : row) : trifold_int(0)];
    return exists ? value : real(0);
}
/* The parent's entry at a row and a column. */
TRIFOLD_DEVICE real gathered(const Parts& parts, Places row, Places column) {
    return entry_of(parts.first_update, parts.first.R, row.first, column.first) +
           entry_of(parts.second_update, parts.second.R, row.second, column.second);
}

/* The parts' updates, as a thread block keeps them in shared memory to save registers. */
struct Updates {
    const real *first, *second;
    int first_R, second_R;
};
TRIFOLD_DEVICE Updates updates_of(const Parts& parts) { return {parts.first_update, parts.second_update, parts.first.R, parts.second.R}; }
TRIFOLD_DEVICE Updates kept_updates(const Updates& u) { return {kept_pointer(u.first), kept_pointer(u.second), u.first_R, u.second_R}; }
/* Starts the copy of an entry to shared memory. If the result is not negative, both parts have the entry, and gather_both must store it.
 * Few entries are like that. */
TRIFOLD_DEVICE int gather_async(real* to, const Updates& updates, Places row, Places column) {
    const int first = row.first | column.first, second = row.second | column.second; /* negative: the part does not have it */
    const bool in_first = first >= 0;
    const int i = in_first ? row.first : row.second, j = in_first ? column.first : column.second,
              R = in_first ? updates.first_R : updates.second_R;
    const int upper = symmetric ? smaller(i, j) : j, lower = symmetric ? larger(i, j) : i;
    const real* from = (in_first ? updates.first : updates.second) + (lower + upper * R);
    if ((first ^ second) < 0) copy_element_async(to, global_pointer(from));
    if ((first & second) < 0) *to = 0;
    return first | second;
}
TRIFOLD_DEVICE void gather_both(real* to, const Updates& updates, Places row, Places column) {
    if ((row.first | column.first | row.second | column.second) < 0) return;
    *to = entry_of(global_pointer(updates.first), updates.first_R, row.first, column.first) +
          entry_of(global_pointer(updates.second), updates.second_R, row.second, column.second);
}

/* ---- of a small front: elements of both parts, as offsets from the first part's update ---- */

struct Sources {
    const real* update;
    int first_R, second_R, apart;
};
TRIFOLD_DEVICE Sources sources_of(const Parts& parts) {
    return {parts.first_update, parts.first.R, parts.second.R, static_cast<int>(parts.second_update - parts.first_update)};
}
/* An offset that stays negative, whatever is added to it. */
constexpr int nowhere = -(1 << 29);
TRIFOLD_DEVICE Places offsets_of(Places places) {
    return {places.first < 0 ? nowhere : places.first, places.second < 0 ? nowhere : places.second};
}

/* The offset of an element in a part's update, of which the lower half is stored if the matrix is symmetric. `row` and `column` are
 * negative where the part does not have them. */
TRIFOLD_DEVICE int offset_in_part(int row, int column, int R) {
    const int upper = symmetric ? smaller(row, column) : column, lower = symmetric ? larger(row, column) : row;
    return lower + (upper < 0 ? nowhere : upper * R);
}
TRIFOLD_DEVICE Places offsets_at(const Sources& sources, Places row, Places column) {
    return {offset_in_part(row.first, column.first, sources.first_R),
            offset_in_part(row.second, column.second, sources.second_R) + sources.apart};
}
/* The column's share of an offset, to which a row's place is added; only if the matrix is not symmetric. */
TRIFOLD_DEVICE Places column_offsets(const Sources& sources, Places column) {
    return {column.first < 0 ? nowhere : column.first * sources.first_R,
            column.second < 0 ? nowhere : column.second * sources.second_R + sources.apart};
}
/* Gathers elements. All loads of the parts that have one are in flight together. Where no part has it, the first element is read but not
 * used. Few elements are in both parts, and these take a second round. */
template <int Count>
TRIFOLD_DEVICE void gather_elements(const Sources& sources, const Places (&at)[Count], real (&values)[Count]) {
    int both = -1;
#pragma unroll
    for (int q = 0; q < Count; ++q) {
        const int any = larger(at[q].first, at[q].second);
        const real value = sources.update[larger(any, 0)];
        values[q] = any < 0 ? real(0) : value;
        both = larger(both, smaller(at[q].first, at[q].second));
    }
    if (both < 0) return;
#pragma unroll
    for (int q = 0; q < Count; ++q) {
        const int other = smaller(at[q].first, at[q].second);
        if (other >= 0) values[q] += sources.update[other];
    }
}
