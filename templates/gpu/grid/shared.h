/* What host and kernels both need to know: sizes of thread blocks and tiles, and the shared memory of each kernel. The generator includes this
 * text too. The structures that are counted stand in eliminate.cuh, step.cuh and panel.cuh, which assert that they fit. */

enum {
    grid_tile_width = 32,       /* columns of W whose triangles are kept inverted */
    grid_tile_rows = 64,        /* rows of a thread block of panels; rows and columns of one of products */
    grid_stage_depth = 16,      /* columns of Y and Z' that a product fetches at a time */
    grid_step_threads = 512,    /* of a thread block that factors columns of W */
    grid_wide_threads = 256,    /* that assembles W, and of sweeps by tiles */
    grid_sweep_threads = 128,   /* that sweeps over small fronts */
    grid_team_lanes = 16,       /* of those with the smallest, at most as many columns */
    grid_triangle_tiles = 20,   /* of a triangle of W that one thread block solves with, at most */
    grid_triangle_threads = 256, /* that solves with a triangle of W */
    grid_kept_rows = 32,        /* of a thread block, in a forward sweep */
    grid_kept_columns = 2,      /* of a warp, in a backward sweep */
    grid_kept_chunk = 1024      /* kept pixels that such a sweep fetches at a time */
};

/* Elements of a column of `rows` rows in shared memory: whole squares, and so much more that lanes meet in no bank. */
TRIFOLD_SIZE long long grid_leading(long long rows, long long real) { return (rows + 15) / 16 * 16 + (real == 8 ? 4 : 8); }

TRIFOLD_SIZE long long grid_round(long long bytes, long long multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/* Chip: a whole front of at most `width` eliminated pixels; `panels`: Y, or Y and Z'; `record`: bytes of a trifold_grid_record. */
TRIFOLD_SIZE long long grid_chip_bytes(long long width, long long eliminated, long long kept, bool leaf, long long panels, long long warps, long long record, long long real) {
    const long long stored = grid_round(kept, 16 / real), places = 8 * (eliminated + kept), order = 4 * width;
    const long long reals = width * (width + 1) + panels * eliminated * grid_leading(kept, real) + width + (leaf ? stored * stored : 0);
    return grid_round(warps * record + grid_round(reals * real, 8) + places + order, 16);
}

/* StepChip: panels of at most `columns` columns. */
TRIFOLD_SIZE long long grid_step_bytes(long long columns, long long warps, long long real) {
    const long long square = columns < 16 ? 16 : columns, tile = grid_tile_width;
    const long long reals = tile * (tile + 1) + columns * (square + 4) + 2 * warps * columns + columns + tile;
    return grid_round(grid_round(reals * real, 8) + 4 * (4 * warps + 8 * columns), 16);
}

/* From column to column in shared memory: an odd number of vectors. */
TRIFOLD_SIZE long long grid_pitch(long long rows, long long real) { return (rows * real / 16 | 1) * 16 / real; }

/* Team: a small front of a sweep. */
TRIFOLD_SIZE long long grid_team_reals(long long eliminated, long long kept, long long warps, long long real) {
    return eliminated * (grid_pitch(eliminated, real) + grid_pitch(kept, real)) + kept + (1 + warps) * grid_tile_width;
}

/* Triangle: `columns` of the `eliminated` of a front, and steps whose tiles are on their way. */
TRIFOLD_SIZE int grid_chain_stages(bool async) { return async ? 4 : 2; }
TRIFOLD_SIZE long long grid_triangle_bytes(long long columns, long long eliminated, bool async, long long real) {
    const long long reals = grid_round(columns, grid_tile_width) + grid_chain_stages(async) * 2 * grid_tile_width * grid_pitch(grid_tile_width, real);
    return (reals > eliminated ? reals : eliminated) * real;
}

/* PanelChip and ProductChip. */
TRIFOLD_SIZE long long grid_panel_bytes(long long real) {
    return grid_tile_width * (grid_tile_rows + grid_tile_width + 16) * real + 8 * (grid_tile_rows + grid_tile_width);
}
TRIFOLD_SIZE long long grid_product_bytes(long long real) { return 4 * grid_stage_depth * (grid_tile_rows + 8) * real + 16 * grid_tile_rows; }
