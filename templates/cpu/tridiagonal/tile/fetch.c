/* Prefetching. The lines that the next front of a chain reads and writes are fetched during the work on this one: FETCHED_LINES lines every
 * FETCH_COLUMNS columns of its products. All at once they would take the buffers that the products' own operands need. */
#include "cpu/tridiagonal/tile/constants.c"
#include "cpu/tridiagonal/common.c"

/* Memory in runs: the first of `length` reals at `start`, each later one `pitch` further on and `growth` longer. */
typedef struct {
    const real* start;
    integer pitch, length, growth, runs;
} area;

/* Two areas, one after the other; the line at `p` is the next one. */
typedef struct {
    const real *p, *end;
    area first, second;
} stream;

typedef struct {
    stream reads, writes;
} expected;

INLINE void next_run(stream* s) {
    if (s->first.runs == 0) {
        s->first = s->second;
        s->second.runs = 0;
    }
    if (s->first.runs == 0) return;
    s->p = s->first.start;
    s->end = s->p + s->first.length;
    s->first.start += s->first.pitch;
    s->first.length += s->first.growth;
    --s->first.runs;
}

INLINE void fetch_line(stream* s, const int written) {
    if (s->p >= s->end) next_run(s);
    if (s->p >= s->end) return;
    if (written)
        __builtin_prefetch(s->p, 1);
    else
        __builtin_prefetch(s->p, 0);
    s->p += 64 / sizeof(real);
}

/* Fetches some lines. Called before column k of a product, a multiple of four. */
INLINE void fetch(expected* next, integer k) {
    if (FETCHED_LINES == 0 || !next || k % FETCH_COLUMNS) return;
    UNROLL for (int i = 0; i < FETCHED_LINES; ++i) {
        fetch_line(&next->reads, 0);
        fetch_line(&next->writes, 1);
    }
}
