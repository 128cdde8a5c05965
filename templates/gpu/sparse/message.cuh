/* Rows of vectors that ranks send one another lie here and there: side by side they are a message. */
#include "gpu/platform.cuh"
#include "sparse_args.h"

static_assert(sizeof(trifold_sparse_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_sparse_launch) == TRIFOLD_SIZEOF_LAUNCH,
              "host and kernels agree on what is passed");

/* A row's number in the workspace and in the message, of 32 bits whatever the precision. */
struct Word {
    int *inner, *outer;
};
TRIFOLD_DEVICE Word word_at(const trifold_sparse_args& args, const trifold_sparse_launch& launch, trifold_int k) {
    char* workspace = static_cast<char*>(args.workspace);
    const trifold_int place = reinterpret_cast<const trifold_int*>(workspace + launch.sent)[k / TRIFOLD_ROW_WORDS];
    return {reinterpret_cast<int*>(workspace + place) + k % TRIFOLD_ROW_WORDS, reinterpret_cast<int*>(workspace + launch.message) + k};
}
TRIFOLD_DEVICE trifold_int first_word() { return group_x() * TRIFOLD_MESSAGE_THREADS + thread_index(); }

TRIFOLD_KERNEL(TRIFOLD_MESSAGE_THREADS, 1)
void TRIFOLD_KERNEL_PACK(TRIFOLD_PARAMETER trifold_sparse_args args, TRIFOLD_PARAMETER trifold_sparse_launch launch) {
    if (first_word() >= launch.sent_count * TRIFOLD_ROW_WORDS) return;
    const Word word = word_at(args, launch, first_word());
    *word.outer = *word.inner;
}
TRIFOLD_KERNEL(TRIFOLD_MESSAGE_THREADS, 1)
void TRIFOLD_KERNEL_UNPACK(TRIFOLD_PARAMETER trifold_sparse_args args, TRIFOLD_PARAMETER trifold_sparse_launch launch) {
    if (first_word() >= launch.sent_count * TRIFOLD_ROW_WORDS) return;
    const Word word = word_at(args, launch, first_word());
    *word.inner = *word.outer;
}
