/* What is left of a front that thread blocks share, once its pivot block W is factored: the panels Y and Z'. */
#include "gpu/grid/gather.cuh"
#include "gpu/grid/products.cuh"

constexpr int tile_rows = grid_tile_rows, panel_threads = 8 * warp_lanes;

struct PanelChip {
    real x[tile_width * (tile_rows + 8)];  /* columns of what is solved already, then of what is to be solved */
    real m[tile_width * (tile_width + 8)]; /* a tile of the triangle; its row k from k (tile_width + 8) on */
    Places rows[tile_rows], columns[tile_width];
};
static_assert(sizeof(PanelChip) <= grid_panel_bytes(sizeof(real)), "the launch asks for enough shared memory");

/* A tile of a triangle on its way, so that products can read it: element (k, column) is a row and a column of U, or of L'. */
struct TileOnItsWay {
    static constexpr int each = tile_width * tile_width / panel_threads, apart = panel_threads / tile_width;
    real values[each];
    bool turned;
    TRIFOLD_METHOD void fetch(const real* from, trifold_int leading, bool is_turned, int depth, int width) {
        const int i = thread_index() % tile_width, first = thread_index() / tile_width; /* neighbours in memory differ in i */
        turned = is_turned;
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int j = first + q * apart, row = turned ? j : i, column = turned ? i : j;
            values[q] = row < depth && column < width ? from[i + j * leading] : real(0);
        }
    }
    TRIFOLD_METHOD void put(PanelChip& chip) const {
        const int i = thread_index() % tile_width, first = thread_index() / tile_width;
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int j = first + q * apart, row = turned ? j : i, column = turned ? i : j;
            chip.m[row * (tile_width + 8) + column] = values[q];
        }
    }
};
/* Columns of the panel that are solved, on their way. */
struct ColumnsOnTheirWay {
    static constexpr int each = tile_rows * tile_width / panel_threads, apart = panel_threads / tile_rows;
    real values[each];
    TRIFOLD_METHOD void fetch(const real* from, trifold_int leading, int rows) {
        const int i = thread_index() % tile_rows, first = thread_index() / tile_rows;
#pragma unroll
        for (int q = 0; q < each; ++q) values[q] = i < rows ? from[i + (first + q * apart) * leading] : real(0);
    }
    TRIFOLD_METHOD void put(PanelChip& chip) const {
        const int i = thread_index() % tile_rows, first = thread_index() / tile_rows;
#pragma unroll
        for (int q = 0; q < each; ++q) chip.x[i + (first + q * apart) * (tile_rows + 8)] = values[q];
    }
};

/* Thread block (box, rows): tile_rows rows of Y U^-1, or Y L^-T, or of (L^-1 P Z)'. Columns come from the parts, tile_width at a time. */
TRIFOLD_DEVICE void solve_panel(const Context& c) {
    PanelChip& chip = *static_cast<PanelChip*>(shared_memory());
    const int tiles = static_cast<int>(c.launch.tile), kinds = symmetric ? 1 : 2;
    const Front f = front_of_launch(c, group_index() / (tiles * kinds));
    const int part = group_index() % (tiles * kinds), top = part % tiles * tile_rows, warp_row = warp_index() % 4 * 16, warp_column = warp_index() / 4 * 16;
    const bool is_z = !symmetric && part >= tiles, lower = symmetric || is_z;
    if (top >= f.r) return;
    const int rows = smaller(tile_rows, f.r - top);
    const Parts parts = parts_of(c, f);
    const real* w = w_of(c, f);
    real* to = (is_z ? z_of(c, f) : y_of(c, f)) + top;
    for (int k = thread_index(); k < rows; k += panel_threads) chip.rows[k] = places_kept(parts, f, top + k);
    constexpr int x_leading = tile_rows + 8, m_leading = tile_width + 8;
    for (int left = 0; left < f.s; left += tile_width) {
        const int width = smaller(tile_width, f.s - left);
        block_sync();
        for (int k = thread_index(); k < width; k += panel_threads)
            chip.columns[k] = places_eliminated(parts, f, is_z && pivoting ? pivots_of(c, f)[left + k] : left + k);
        WarpTile<1, 1> sum;
        sum.clear();
        ColumnsOnTheirWay solved_columns;
        TileOnItsWay triangle;
        /* U(behind .., left ..), or L(left .., behind ..)'; at last the inverse of the tile on the diagonal. */
        const auto fetch = [&](int behind) {
            if (behind < left) {
                solved_columns.fetch(to + trifold_int(behind) * f.R, f.R, rows);
                triangle.fetch(lower ? w + left + trifold_int(behind) * f.S : w + behind + trifold_int(left) * f.S, f.S, lower, tile_width, width);
            } else
                triangle.fetch(inverse_tile(c, f, left / tile_width, lower ? 0 : 1), tile_width, lower, width, width);
        };
        fetch(0);
        for (int behind = 0; behind < left; behind += tile_width) {
            block_sync();
            solved_columns.put(chip);
            triangle.put(chip);
            block_sync();
            fetch(behind + tile_width);
            sum.add(chip.x + warp_row, x_leading, 16, chip.m + warp_column, m_leading, tile_width);
        }
        block_sync();
        sum.each([&](real& element, int i, int j) {
            const int row = warp_row + i, column = warp_column + j;
            const Places kept = chip.rows[smaller(row, rows - 1)], eliminated = chip.columns[smaller(column, width - 1)];
            const real before = gathered(parts, is_z ? eliminated : kept, is_z ? kept : eliminated);
            element = row < rows && column < width ? before - element : real(0);
        });
        sum.each([&](real& element, int i, int j) { chip.x[warp_row + i + (warp_column + j) * x_leading] = element; });
        triangle.put(chip);
        block_sync();
        WarpTile<1, 1> solved;
        solved.clear();
        solved.add(chip.x + warp_row, x_leading, 16, chip.m + warp_column, m_leading, width);
        solved.each([&](real& element, int i, int j) {
            const int row = warp_row + i, column = warp_column + j;
            if (row < rows && column < width) to[row + trifold_int(left + column) * f.R] = element;
        });
    }
}
