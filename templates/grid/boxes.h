/* The boxes of a grid: which pixels each one eliminates and keeps. The generator includes this text too.
 *
 * The W - 1 cells between W pixels are halved again and again, and those between H pixels too. Line k after d halvings is at pixel k (W -
 * 1) / 2^d, rounded down. So each halving keeps the lines before it, and widths differ by one cell at most. A box lies between two
 * neighbouring lines each way, and includes the pixels on these lines. It keeps the pixels on those of its sides that lie inside the image,
 * because another box has them too. A leaf tile eliminates all its other pixels. A merge eliminates the pixels on the line between its two
 * parts, unless it keeps them. Either way the eliminated pixels form a rectangle.
 *
 * Kept pixels are numbered along the bottom row, the top row, the left column and the right column, each upwards. So the kept pixels of a
 * box fall into few runs of neighbouring numbers of its parent. */

/* A box: pixels x0 .. x1 by y0 .. y1, of which it eliminates ex0 .. ex1 by ey0 .. ey1. Both ends are included. left, right, bottom, top: 1
 * if that side is kept. */
typedef struct {
    int x0, x1, y0, y1;
    int left, right, bottom, top;
    int ex0, ex1, ey0, ey1;
} grid_box;

/* How a box is made: from pixels, from two boxes side by side, or from two boxes one above the other. */
enum { grid_leaf, grid_side_by_side, grid_above };

/* The pixel of line k. Both factors have 32 bits, since such products are cheaper on a GPU. */
TRIFOLD_SIZE int grid_line(int pixels, int halvings, int k) {
    return (int)(((unsigned long long)(unsigned)k * (unsigned)(pixels - 1)) >> halvings);
}

TRIFOLD_SIZE grid_box grid_box_at(int width, int height, int x_halvings, int y_halvings, int i, int j, int made) {
    grid_box box = {grid_line(width, x_halvings, i),
                    grid_line(width, x_halvings, i + 1),
                    grid_line(height, y_halvings, j),
                    grid_line(height, y_halvings, j + 1),
                    i > 0,
                    i + 1 < 1 << x_halvings,
                    j > 0,
                    j + 1 < 1 << y_halvings,
                    0,
                    0,
                    0,
                    0};
    box.ex0 = made == grid_side_by_side ? grid_line(width, x_halvings + 1, 2 * i + 1) : box.x0 + box.left;
    box.ex1 = made == grid_side_by_side ? box.ex0 : box.x1 - box.right;
    box.ey0 = made == grid_above ? grid_line(height, y_halvings + 1, 2 * j + 1) : box.y0 + box.bottom;
    box.ey1 = made == grid_above ? box.ey0 : box.y1 - box.top;
    return box;
}

TRIFOLD_SIZE int grid_eliminated(const grid_box* box) { return (box->ex1 - box->ex0 + 1) * (box->ey1 - box->ey0 + 1); }

/* Pixels of a kept column, without the corners, which belong to kept rows; and pixels of a row. */
TRIFOLD_SIZE int grid_column(const grid_box* box) { return box->y1 - box->top - box->y0 - box->bottom + 1; }
TRIFOLD_SIZE int grid_row(const grid_box* box) { return box->x1 - box->x0 + 1; }

TRIFOLD_SIZE int grid_kept(const grid_box* box) {
    return (box->bottom + box->top) * grid_row(box) + (box->left + box->right) * grid_column(box);
}

/* The number of a pixel among those that the box keeps. It must be one of them. */
TRIFOLD_SIZE int grid_place(const grid_box* box, int x, int y) {
    const int width = grid_row(box), height = grid_column(box), rows = (box->bottom + box->top) * width;
    const int first = box->bottom && y == box->y0, last = box->top && y == box->y1, right = !(box->left && x == box->x0);
    const int row = (first ? 0 : box->bottom * width) + x - box->x0,
              column = rows + (right ? box->left * height : 0) + y - box->y0 - box->bottom;
    return first || last ? row : column; /* computed without branches */
}

/* The number of a merge's pixel among those that a part keeps; -1 if the part does not have it. Pixels that a merge shares with a part lie
 * on sides that the part keeps. */
TRIFOLD_SIZE int grid_place_in_part(const grid_box* part, int x, int y) {
    return x < part->x0 || x > part->x1 || y < part->y0 || y > part->y1 ? -1 : grid_place(part, x, y);
}

typedef struct {
    int x, y;
} grid_pixel;

/* Pixel k of those that a box keeps, or of those that it eliminates. */
TRIFOLD_SIZE grid_pixel grid_kept_pixel(const grid_box* box, int k) {
    const int width = grid_row(box), height = grid_column(box), rows = (box->bottom + box->top) * width;
    grid_pixel pixel = {0, 0};
    if (k < rows) {
        const int second = k >= width;
        pixel.x = box->x0 + k - (second ? width : 0);
        pixel.y = second || !box->bottom ? box->y1 : box->y0;
        return pixel;
    }
    k -= rows;
    const int second = k >= height;
    pixel.x = second || !box->left ? box->x1 : box->x0;
    pixel.y = box->y0 + box->bottom + k - (second ? height : 0);
    return pixel;
}
TRIFOLD_SIZE grid_pixel grid_eliminated_pixel(const grid_box* box, int k) {
    const int width = box->ex1 - box->ex0 + 1;
    grid_pixel pixel = {box->ex0 + k % width, box->ey0 + k / width};
    return pixel;
}
