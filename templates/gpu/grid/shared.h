/* What host and kernels both need to know: sizes of thread blocks and tiles, and the shared memory of each kernel. The generator includes
 * this text too. The structures that are counted stand in the templates that use them. */

enum {
    grid_leaf_pixels = 25, /* of a leaf tile, at most */
    grid_tiny_width = 8,   /* pixels that a tiny merge eliminates */
    grid_tiny_pixels = 28, /* and has in all, at most */
    grid_task_bytes = 192, /* of what a thread block knows of its front */
    grid_tile_width = 32,  /* columns of W whose triangles are kept inverted */
    grid_tile_rows = 64,   /* rows of a thread block of panels; rows and columns of one of products */
    grid_stage_depth = 16, /* columns of Y and Z' that a product fetches at a time */
    grid_few_rows = 128,   /* of W that are left, from which on thread blocks may be smaller */
    grid_step_rows =
        512, /* that a thread block takes at most when it factors tile_width columns of W; of half as many columns twice as many */
    grid_wide_threads = 256,     /* that assembles W, and of sweeps by tiles */
    grid_assembled_rows = 256,   /* of W, whose places it finds at a time */
    grid_assembled_columns = 8,  /* of W, that it assembles */
    grid_sweep_threads = 128,    /* that sweeps over small fronts */
    grid_team_lanes = 16,        /* of those with the smallest, at most as many columns */
    grid_triangle_tiles = 20,    /* of a triangle of W that one thread block solves with, at most */
    grid_triangle_threads = 256, /* that solves with a triangle of W */
    grid_kept_rows = 32,         /* of a thread block, in a forward sweep */
    grid_kept_columns = 2,       /* of a warp, in a backward sweep */
    grid_kept_chunk = 1024       /* kept pixels that such a sweep fetches at a time */
};

/* Elements of a column of `rows` rows in shared memory: whole squares, and so much more that lanes meet in no bank. */
TRIFOLD_SIZE long long grid_leading(long long rows, long long real) { return (rows + 15) / 16 * 16 + (real == 8 ? 4 : 8); }

TRIFOLD_SIZE long long grid_round(long long bytes, long long multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/* LeafChip: a leaf tile of at most grid_leaf_pixels pixels, of which it eliminates so many. Rows are whole vectors; `record` as below. */
TRIFOLD_SIZE long long grid_leaf_columns(long long real) { return grid_round(grid_leaf_pixels, 16 / real); }
TRIFOLD_SIZE long long grid_leaf_bytes(long long eliminated, long long record, long long real) {
    return grid_round((grid_leaf_pixels + eliminated) * grid_leaf_columns(real) * real + record + 4 * (grid_leaf_pixels + eliminated), 16);
}

/* TinyChip. */
TRIFOLD_SIZE long long grid_tiny_bytes(long long record, long long real) {
    return grid_round(2 * grid_tiny_width * grid_tiny_pixels * real + record + 8 * grid_tiny_pixels + 4 * grid_tiny_width, 16);
}

/* Chip: a whole front of at most `width` eliminated pixels; `panels`: Y, or Y and Z'; `record`: bytes of a trifold_grid_record. */
TRIFOLD_SIZE long long grid_chip_bytes(long long width, long long eliminated, long long kept, long long panels, long long record,
                                       long long real) {
    const long long reals = 2 * width * (width + 16 / real) + panels * eliminated * grid_leading(kept, real) + width;
    return grid_round(reals * real + grid_task_bytes + record + 8 * (eliminated + kept) + 4 * width, 16);
}

/* Of a thread block that factors columns of W, for `times` grid_step_rows: threads, rows, columns. 0: for grid_few_rows, with so few
 * threads and so little shared memory that a multiprocessor holds several. */
TRIFOLD_SIZE int grid_step_threads(int times) { return times == 0 ? grid_few_rows : times <= 8 ? 256 : 512; }
TRIFOLD_SIZE int grid_most_rows(int times) { return times == 0 ? grid_few_rows : times * grid_step_rows; }
TRIFOLD_SIZE int grid_step_columns(int times) { return times == 0 ? grid_tile_width : grid_tile_width / times; }
/* Thread blocks beside those that have columns: one notes pivots, one inverts tiles of L, one of U. */
TRIFOLD_SIZE int grid_step_groups(bool symmetric) { return symmetric ? 2 : 3; }
/* StepChip: panels of at most `columns` columns, of which it holds `rows` rows. */
TRIFOLD_SIZE long long grid_step_bytes(long long columns, long long warps, long long real, long long rows) {
    const long long square = columns < 16 ? 16 : columns, tile = grid_tile_width, panel = rows > 0 ? columns * (rows + 2) : 1;
    const long long reals = 2 * warps * (columns + 1) + panel + tile * (tile + 1) + columns * (square + 4) + tile;
    return grid_round(grid_round(reals * real, 8) + 4 * (4 * warps + 2 * tile + 6 * columns), 16);
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
    const long long reals =
        grid_round(columns, grid_tile_width) + grid_chain_stages(async) * 2 * grid_tile_width * grid_pitch(grid_tile_width, real);
    return (reals > eliminated ? reals : eliminated) * real;
}

/* PanelChip: stages whose columns and tiles of a triangle are on their way; where there are several, also the columns solved last. */
TRIFOLD_SIZE int grid_panel_stages(bool async) { return async ? 3 : 1; }
TRIFOLD_SIZE long long grid_panel_bytes(bool async, long long real) {
    const long long columns = grid_tile_width * grid_leading(grid_tile_rows, real),
                    triangle = grid_tile_width * grid_leading(grid_tile_width, real);
    return (grid_panel_stages(async) * (columns + triangle) + (async ? columns : 0)) * real + 8 * grid_tile_rows + 48;
}
/* ProductTile: stages whose columns of Y and Z' are on their way; places, Updates, a pointer. */
TRIFOLD_SIZE int grid_product_stages(bool async) { return async ? 4 : 2; }
TRIFOLD_SIZE long long grid_product_bytes(long long side, bool async, long long real) {
    return grid_product_stages(async) * 2 * grid_stage_depth * grid_leading(side, real) * real + 16 * side + 32;
}
