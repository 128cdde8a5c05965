/* What the kernels of grids are told. Shapes are no constants: launches say them. */
#include "gpu/platform.cuh"
#include "gpu/grid/shared.h"
#include "grid_args.h"

typedef TRIFOLD_REAL real;

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

constexpr bool symmetric = TRIFOLD_SYMMETRIC;         /* positive definite, of which one half is read */
constexpr bool pivoting = TRIFOLD_PIVOTING;           /* rows of an eliminated block are exchanged */
constexpr bool use_tensor = TRIFOLD_TENSOR;           /* tensor instructions for products */
constexpr bool panel_on_chip = TRIFOLD_PANEL_STAYS;   /* shared memory suffices for the columns of W that are factored at a time */
constexpr bool fetches_async = TRIFOLD_FETCHES_ASYNC; /* to shared memory, of which there is more */
constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */
constexpr int tile_width = grid_tile_width;

static_assert(sizeof(trifold_grid_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_grid_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                  sizeof(trifold_grid_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_grid_status) == TRIFOLD_SIZEOF_STATUS,
              "host and kernels agree on what is passed");
