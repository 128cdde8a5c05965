/* Copies blocks of a member's array. Grid: thread blocks that share the elements, by members. */
#include "gpu/platform.cuh"
#include "copy_args.h"

template <class Element>
TRIFOLD_DEVICE void copy_elements(const trifold_copy_args& args, trifold_int member) {
    const Element* from = static_cast<const Element*>(args.from) + member * args.from_strides[3];
    Element* to = static_cast<Element*>(args.to) + member * args.to_strides[3];
    const trifold_int each = args.rows * args.columns, all = args.blocks * each;
    constexpr trifold_int step = trifold_copy_groups * trifold_copy_threads;
    for (trifold_int e = group_x() * trifold_copy_threads + thread_index(); e < all; e += step) {
        const trifold_int block = e / each, rest = e % each, column = rest / args.rows, row = rest % args.rows;
        to[row * args.to_strides[0] + column * args.to_strides[1] + block * args.to_strides[2]] =
            from[row * args.from_strides[0] + column * args.from_strides[1] + block * args.from_strides[2]];
    }
}

TRIFOLD_KERNEL(trifold_copy_threads, 1) void trifold_copy(TRIFOLD_PARAMETER trifold_copy_args args) {
    const trifold_int member = group_y();
    if (args.active != nullptr && args.active[member] == 0) return;
    if (args.element == 4)
        copy_elements<float>(args, member);
    else
        copy_elements<double>(args, member);
}
