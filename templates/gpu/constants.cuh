/* Constants of GPU kernels of every family. */
#include "gpu/platform.cuh"

typedef TRIFOLD_REAL real;

constexpr bool use_tensor = TRIFOLD_TENSOR;                       /* tensor instructions for products */
constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */
