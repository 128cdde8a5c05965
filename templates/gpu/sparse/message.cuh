/* Rows of vectors that ranks send one another lie here and there: side by side they are a message. */
#include "gpu/sparse/message_constants.cuh"

/* A row's number in the workspace and in the message, of 32 bits whatever the precision. */
struct Word {
    int *inner, *outer;
};
TRIFOLD_DEVICE Word word_at(const trifold_sparse_args& args, const trifold_sparse_launch& launch, trifold_int k) {
    char* workspace = static_cast<char*>(args.workspace);
    const trifold_int place = reinterpret_cast<const trifold_int*>(workspace + launch.sent)[k / row_words];
    return {reinterpret_cast<int*>(workspace + place) + k % row_words, reinterpret_cast<int*>(workspace + launch.message) + k};
}
TRIFOLD_DEVICE trifold_int first_word() { return group_x() * message_threads + thread_index(); }

TRIFOLD_KERNEL(message_threads, 1)
void TRIFOLD_KERNEL_PACK(TRIFOLD_PARAMETER trifold_sparse_args args, TRIFOLD_PARAMETER trifold_sparse_launch launch) {
    if (first_word() >= launch.sent_count * row_words) return;
    const Word word = word_at(args, launch, first_word());
    *word.outer = *word.inner;
}
TRIFOLD_KERNEL(message_threads, 1)
void TRIFOLD_KERNEL_UNPACK(TRIFOLD_PARAMETER trifold_sparse_args args, TRIFOLD_PARAMETER trifold_sparse_launch launch) {
    if (first_word() >= launch.sent_count * row_words) return;
    const Word word = word_at(args, launch, first_word());
    *word.inner = *word.outer;
}
