/* What the pieces on chip are told of a block. The constants of a variant stand in a file of that name in its own folder. */
#include "gpu/platform.cuh"

typedef TRIFOLD_REAL real;

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else by zeros. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;

/* The diagonal tiles of a factor are stored inverted, so that every triangular solve is a sequence of products. They are `tile` wide. */
[[maybe_unused]] constexpr int tile = TRIFOLD_TILE;

[[maybe_unused]] constexpr int threads = TRIFOLD_THREADS; /* of a thread block that factors */
constexpr bool use_tensor = TRIFOLD_TENSOR;               /* tensor instructions for products */

constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */
[[maybe_unused]] constexpr int strip = padded < 8 ? padded : 8;   /* columns of a product that one thread takes */
