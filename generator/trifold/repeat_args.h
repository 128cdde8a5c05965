/* Repetitions that a device ends by itself: what the kernel gets that decides before each turn. */
#ifndef TRIFOLD_REPEAT_ARGS_H
#define TRIFOLD_REPEAT_ARGS_H

#include "integer.h"

typedef struct {
    unsigned long long handle; /* the condition of the graph node */
    trifold_int* flag;         /* whether another turn is wanted; then how many there were */
    trifold_int most;          /* turns */
    trifold_int begins;        /* 1: before the first turn */
} trifold_repeat_args;

#endif
