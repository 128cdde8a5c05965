/* What a merge starts from: what its two parts have left. */
#include "gpu/grid/common.cuh"

/* Numbers of a pixel among those that the two parts keep; -1: the part does not have it. */
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
TRIFOLD_DEVICE Places places_of(const Parts& parts, grid_pixel pixel) {
    return {grid_place_in_part(&parts.first.box, pixel.x, pixel.y), grid_place_in_part(&parts.second.box, pixel.x, pixel.y)};
}
TRIFOLD_DEVICE Places places_eliminated(const Parts& parts, const Front& f, int k) { return places_of(parts, grid_eliminated_pixel(&f.box, k)); }
TRIFOLD_DEVICE Places places_kept(const Parts& parts, const Front& f, int k) { return places_of(parts, grid_kept_pixel(&f.box, k)); }

/* Where there is nothing, the first element is read and not used: a load under a condition would wait for those before it. */
TRIFOLD_DEVICE real entry_of(const real* update, int R, int row, int column) {
    const bool exists = (row | column) >= 0, turned = symmetric && row < column;
    const real value = update[exists ? trifold_int(turned ? row : column) * R + (turned ? column : row) : trifold_int(0)];
    return exists ? value : real(0);
}
/* The parent's entry at a row and a column. */
TRIFOLD_DEVICE real gathered(const Parts& parts, Places row, Places column) {
    return entry_of(parts.first_update, parts.first.R, row.first, column.first) + entry_of(parts.second_update, parts.second.R, row.second, column.second);
}

/* What a thread block keeps of the parts in shared memory, so that it has registers for other things. */
struct Updates {
    const real *first, *second;
    int first_R, second_R;
};
TRIFOLD_DEVICE Updates updates_of(const Parts& parts) { return {parts.first_update, parts.second_update, parts.first.R, parts.second.R}; }
TRIFOLD_DEVICE Updates kept_updates(const Updates& u) { return {kept_pointer(u.first), kept_pointer(u.second), u.first_R, u.second_R}; }
/* An entry on its way to shared memory. Not negative: both parts have it, which few entries are, and gather_both must store it. */
TRIFOLD_DEVICE int gather_async(real* to, const Updates& updates, Places row, Places column) {
    const int first = row.first | column.first, second = row.second | column.second; /* negative: the part does not have it */
    const bool in_first = first >= 0;
    const int i = in_first ? row.first : row.second, j = in_first ? column.first : column.second, R = in_first ? updates.first_R : updates.second_R;
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
    return {kept_pointer(parts.first_update), parts.first.R, parts.second.R, static_cast<int>(parts.second_update - parts.first_update)};
}
/* Negative, whatever else is added. */
constexpr int nowhere = -(1 << 29);
TRIFOLD_DEVICE Places offsets_of(Places places) { return {places.first < 0 ? nowhere : places.first, places.second < 0 ? nowhere : places.second}; }

/* Of a row and a column; of a symmetric part the lower half is stored. Both are negative where there is nothing. */
TRIFOLD_DEVICE int offset_in_part(int row, int column, int R) {
    const int upper = symmetric ? smaller(row, column) : column, lower = symmetric ? larger(row, column) : row;
    return lower + (upper < 0 ? nowhere : upper * R);
}
TRIFOLD_DEVICE Places offsets_at(const Sources& sources, Places row, Places column) {
    return {offset_in_part(row.first, column.first, sources.first_R), offset_in_part(row.second, column.second, sources.second_R) + sources.apart};
}
/* Few elements have both parts; where there is none, the first element is read and not used. All loads are on their way together. */
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
