/* Constants of the kernels that put messages between ranks together. */
#include "gpu/platform.cuh"
#include "sparse_args.h"

constexpr int row_words = TRIFOLD_ROW_WORDS; /* 32-bit words of a row of a vector */
constexpr int message_threads = TRIFOLD_MESSAGE_THREADS;

static_assert(sizeof(trifold_sparse_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_sparse_launch) == TRIFOLD_SIZEOF_LAUNCH,
              "host and kernels agree on what is passed");
