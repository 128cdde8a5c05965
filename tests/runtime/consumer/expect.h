/* What the C programs of the tests share: conditions, refusals, numbers in [-1, 1] that are always the same, and an executor. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trifold/trifold.h>

#define EXPECT(condition)                                                                            \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            printf("line %d: not %s; last error: %s\n", __LINE__, #condition, trifold_last_error()); \
            return 1;                                                                                \
        }                                                                                            \
    } while (0)
#define REFUSED(call, words) EXPECT((call) == TRIFOLD_BAD_ARGUMENT && strstr(trifold_last_error(), words) != NULL)

static inline double next(void) {
    static unsigned state = 12345;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

static inline void run_in_turn(void* user, int64_t tasks, void (*run)(void*, int64_t, int), void* context) {
    int64_t k;
    for (k = 0; k < tasks; ++k) run(context, k, 0);
    ++*(int*)user;
}
