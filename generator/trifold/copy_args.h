/* Copies within a device: what their kernel gets. It has the layout of a BlockCopy in program.hpp. */
#ifndef TRIFOLD_COPY_ARGS_H
#define TRIFOLD_COPY_ARGS_H

#include "integer.h"

typedef struct {
    const void* from;
    void* to;
    trifold_int element; /* bytes: 4 or 8 */
    trifold_int blocks, rows, columns;
    trifold_int from_strides[4], to_strides[4]; /* row, column, block, member */
    const int* active;                          /* may be null */
} trifold_copy_args;

/* Thread blocks of a copy, at most, and threads of each. */
enum { trifold_copy_groups = 512, trifold_copy_threads = 256 };

#endif
