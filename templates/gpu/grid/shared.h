/* Sizes of thread blocks and tiles, and the shared memory of each kernel. Host and kernels must agree on them, so the generator includes
 * this text too. The structures that are counted here are in the templates that use them. */

enum {
    grid_leaf_pixels = 25,      /* most pixels of a leaf tile */
    grid_tiny_width = 8,        /* most pixels that a tiny merge eliminates */
    grid_tiny_pixels = 28,      /* most pixels of a tiny merge in all */
    grid_task_bytes = 192,      /* size of Task, which describes a front to its thread block */
    grid_tile_width = 32,       /* columns of W whose triangles are kept inverted */
    grid_tile_rows = 64,        /* rows of a thread block of panels; rows and columns of one of products */
    grid_stage_depth = 16,      /* columns of Y and Z' that a product fetches at a time */
    grid_small_step_rows = 128, /* remaining rows of W at or below which a step may use small thread blocks */
    grid_step_rows =
        512, /* most rows of a thread block that factors tile_width columns of W; with half the columns it takes twice the rows */
    grid_wide_threads = 256,     /* threads of a block that assembles W, or that multiplies in a sweep */
    grid_assembled_rows = 256,   /* rows of W whose places such a block finds at a time */
    grid_assembled_columns = 8,  /* columns of W that it assembles */
    grid_sweep_threads = 128,    /* threads of a block that sweeps over small fronts */
    grid_team_lanes = 16,        /* lanes that share one of the smallest fronts, which have at most as many columns */
    grid_triangle_tiles = 20,    /* most tiles along the triangle of W that one thread block solves with */
    grid_triangle_threads = 256, /* threads of that block */
    grid_kept_rows = 32,         /* rows of a thread block that multiplies in a forward sweep */
    grid_kept_columns = 2,       /* columns of a warp that multiplies in a backward sweep */
    grid_kept_chunk = 1024       /* kept pixels that it fetches at a time */
};

/* Elements from column to column of an array with `rows` rows in shared memory: whole squares of 16, and some padding against bank
 * conflicts. */
TRIFOLD_SIZE long long grid_leading(long long rows, long long real) { return (rows + 15) / 16 * 16 + (real == 8 ? 4 : 8); }

TRIFOLD_SIZE long long grid_round(long long bytes, long long multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/* Bytes of LeafChip: a leaf tile of at most grid_leaf_pixels pixels, of which `eliminated` are eliminated. Rows are whole vectors.
 * `record`: bytes of a trifold_grid_record, here and below. */
TRIFOLD_SIZE long long grid_leaf_columns(long long real) { return grid_round(grid_leaf_pixels, 16 / real); }
TRIFOLD_SIZE long long grid_leaf_bytes(long long eliminated, long long record, long long real) {
    return grid_round((grid_leaf_pixels + eliminated) * grid_leaf_columns(real) * real + record + 4 * (grid_leaf_pixels + eliminated), 16);
}

/* Bytes of TinyChip. */
TRIFOLD_SIZE long long grid_tiny_bytes(long long record, long long real) {
    return grid_round(2 * grid_tiny_width * grid_tiny_pixels * real + record + 8 * grid_tiny_pixels + 4 * grid_tiny_width, 16);
}

/* Bytes of Chip: a whole front of at most `width` eliminated pixels. `panels`: 1 for Y, 2 for Y and Z'. */
TRIFOLD_SIZE long long grid_chip_bytes(long long width, long long eliminated, long long kept, long long panels, long long record,
                                       long long real) {
    const long long reals = 2 * width * (width + 16 / real) + panels * eliminated * grid_leading(kept, real) + width;
    return grid_round(reals * real + grid_task_bytes + record + 8 * (eliminated + kept) + 4 * width, 16);
}

/* Threads, most rows and columns of a thread block that factors columns of W. `row_groups`: how many times grid_step_rows rows it takes.
 * With 0 it takes grid_small_step_rows, by so few threads and with so little shared memory that a multiprocessor holds several. */
TRIFOLD_SIZE int grid_step_threads(int row_groups) { return row_groups == 0 ? grid_small_step_rows : row_groups <= 8 ? 256 : 512; }
TRIFOLD_SIZE int grid_max_rows(int row_groups) { return row_groups == 0 ? grid_small_step_rows : row_groups * grid_step_rows; }
TRIFOLD_SIZE int grid_step_columns(int row_groups) { return row_groups == 0 ? grid_tile_width : grid_tile_width / row_groups; }
/* Thread blocks of a step that have no columns: one notes pivots, one inverts tiles of L, and one tiles of U unless the matrix is
 * symmetric. */
TRIFOLD_SIZE int grid_step_groups(bool symmetric) { return symmetric ? 2 : 3; }
/* Bytes of StepChip: panels of at most `columns` columns, of which it holds `rows` rows. */
TRIFOLD_SIZE long long grid_step_bytes(long long columns, long long warps, long long real, long long rows) {
    const long long square = columns < 16 ? 16 : columns, tile = grid_tile_width, panel = rows > 0 ? columns * (rows + 2) : 1;
    const long long reals = 2 * warps * (columns + 1) + panel + tile * (tile + 1) + columns * (square + 4) + tile;
    return grid_round(grid_round(reals * real, 8) + 4 * (4 * warps + 2 * tile + 6 * columns), 16);
}

/* Elements from column to column in shared memory: an odd number of vectors, against bank conflicts. */
TRIFOLD_SIZE long long grid_pitch(long long rows, long long real) { return (rows * real / 16 | 1) * 16 / real; }

/* Elements of Team: a small front in a sweep. */
TRIFOLD_SIZE long long grid_team_reals(long long eliminated, long long kept, long long warps, long long real) {
    return eliminated * (grid_pitch(eliminated, real) + grid_pitch(kept, real)) + kept + (1 + warps) * grid_tile_width;
}

/* Bytes of Triangle: `columns` of the `eliminated` columns of a front, and a ring of stages for tiles that are in flight. */
TRIFOLD_SIZE int grid_chain_stages(bool async) { return async ? 4 : 2; }
TRIFOLD_SIZE long long grid_triangle_bytes(long long columns, long long eliminated, bool async, long long real) {
    const long long reals =
        grid_round(columns, grid_tile_width) + grid_chain_stages(async) * 2 * grid_tile_width * grid_pitch(grid_tile_width, real);
    return (reals > eliminated ? reals : eliminated) * real;
}

/* Bytes of PanelChip: a ring of stages for columns and tiles that are in flight; if it has several stages, also the columns solved last.
 */
TRIFOLD_SIZE int grid_panel_stages(bool async) { return async ? 3 : 1; }
TRIFOLD_SIZE long long grid_panel_bytes(bool async, long long real) {
    const long long columns = grid_tile_width * grid_leading(grid_tile_rows, real),
                    triangle = grid_tile_width * grid_leading(grid_tile_width, real);
    return (grid_panel_stages(async) * (columns + triangle) + (async ? columns : 0)) * real + 8 * grid_tile_rows + 48;
}
/* Bytes of ProductTile::Chip: a ring of stages for columns of Y and Z' that are in flight; places, Updates, a pointer. */
TRIFOLD_SIZE int grid_product_stages(bool async) { return async ? 4 : 2; }
TRIFOLD_SIZE long long grid_product_bytes(long long side, bool async, long long real) {
    return grid_product_stages(async) * 2 * grid_stage_depth * grid_leading(side, real) * real + 16 * side + 32;
}
