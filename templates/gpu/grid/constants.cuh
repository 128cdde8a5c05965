/* Constants of the kernels of grids. Shapes of images are no constants: launches bring them. */
#include "gpu/lanes.cuh"
#include "gpu/grid/shared.h"
#include "grid_args.h"

template <int size>
struct BitsOf {
    typedef unsigned long long type;
};
template <>
struct BitsOf<4> {
    typedef unsigned type;
};
typedef BitsOf<sizeof(real)>::type real_bits; /* an integer of a real's size */

/* The emulator checks what a kernel relies on; devices do not. */
#ifndef EXPECT
#define EXPECT(condition)
#endif

constexpr bool symmetric = TRIFOLD_SYMMETRIC;         /* the matrix is positive definite, and only one half of it is read */
constexpr bool pivoting = TRIFOLD_PIVOTING;           /* rows of an eliminated block are exchanged */
constexpr bool panel_on_chip = TRIFOLD_PANEL_STAYS;   /* shared memory suffices for the columns of W that are factored at a time */
constexpr bool fetches_async = TRIFOLD_FETCHES_ASYNC; /* copies to shared memory are asynchronous, and there is more of it */
constexpr int tile_width = grid_tile_width;

static_assert(sizeof(trifold_grid_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_grid_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                  sizeof(trifold_grid_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_grid_status) == TRIFOLD_SIZEOF_STATUS,
              "host and kernels agree on what is passed");
