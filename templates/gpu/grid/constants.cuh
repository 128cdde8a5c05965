/* What the kernels of grids are told. Shapes are no constants: launches say them. */
#include "gpu/platform.cuh"
#include "gpu/grid/shared.h"
#include "grid_args.h"

typedef TRIFOLD_REAL real;

constexpr bool symmetric = TRIFOLD_SYMMETRIC; /* positive definite, of which one half is read */
constexpr bool pivoting = TRIFOLD_PIVOTING;   /* rows of an eliminated block are exchanged */
constexpr bool use_tensor = TRIFOLD_TENSOR;   /* tensor instructions for products */
constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */
constexpr int tile_width = grid_tile_width;
#if defined(TRIFOLD_ARCH)
constexpr bool fetches_async = TRIFOLD_ARCH >= 80; /* to shared memory, of which there is more */
#else
constexpr bool fetches_async = false;
#endif

static_assert(sizeof(trifold_grid_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_grid_launch) == TRIFOLD_SIZEOF_LAUNCH &&
                  sizeof(trifold_grid_record) == TRIFOLD_SIZEOF_RECORD && sizeof(trifold_grid_status) == TRIFOLD_SIZEOF_STATUS,
              "host and kernels agree on what is passed");
