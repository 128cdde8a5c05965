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
