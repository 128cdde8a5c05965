/* Constants of the kernels of a border. */
#include "gpu/constants.cuh"
#include "tridiagonal_args.h"

constexpr int block_size = TRIFOLD_BLOCK; /* rows of a block of the chain, n */
constexpr int bandwidth = TRIFOLD_BAND;   /* those of the caller's that are one of the blocks that are solved */
constexpr int border = TRIFOLD_BORDER;    /* rows of F and C, a */
constexpr int max_rhs = TRIFOLD_RHS;      /* right-hand sides of a call, at most */

constexpr int border_threads = 256;
constexpr int gathered = TRIFOLD_GATHERED;                /* elements of [B F] that a thread block copies */
constexpr int tile = TRIFOLD_TILE;                        /* rows and columns of a tile of Y'[Y y] */
constexpr int tile_rows = TRIFOLD_TILE_ROWS;              /* rows of Y on chip */
constexpr int micro = tile >= 32 ? 4 : 2;                 /* rows and columns of a thread's part of a tile */
constexpr int micros = tile / micro;                      /* parts of a row of a tile */
constexpr int teams = border_threads / (micros * micros); /* groups of threads that share the rows of Y */
constexpr int across = (border + max_rhs + tile - 1) / tile, down = (border + tile - 1) / tile; /* tiles of Y'[Y y] */
constexpr int sum_lanes = TRIFOLD_SUM_LANES; /* threads that share a sum over the parts of the chain */
