/* Prefetching of variant "lanes", for batches far larger than the caches (IS_FAR). The lines that the next front of a chain reads and
 * writes are brought to the second-level cache during the work on this one, a few lines every few columns of its products. The arrays of a
 * group are too many streams for the processor to foresee. All at once they would take the buffers that the products' own operands need,
 * and the first-level cache is full. */
#include "cpu/tridiagonal/lanes/constants.c"
#include "cpu/tridiagonal/common.c"

enum {
    BLOCK_LINES = (n * n * REAL_BYTES + 63) / 64, /* lines of D or E, for each member */
    FETCHES = 2 * BLOCK_LINES,
    TILES = (n + TILE_SIDE - 1) / TILE_SIDE,
    PRODUCT_COLUMNS =
        n * TILES * (TILES + 1) / 2 + TILE_SIDE * (TILES - 1) * TILES * (4 * TILES + 1) / 6, /* columns of all tiles of a front */
    FETCH_EVERY = PRODUCT_COLUMNS > FETCHES ? PRODUCT_COLUMNS / FETCHES : 1,
    VECTORS_A_LINE = 64 / (int)sizeof(vec),
    WRITTEN = (n * n + n * (n + 1) / 2) / VECTORS_A_LINE, /* lines of L and R, about */
    FETCH_WRITES = (2 * WRITTEN * FETCH_EVERY + PRODUCT_COLUMNS) / (2 * PRODUCT_COLUMNS)
};

/* State of the fetching of the next front. */
typedef struct {
    const char *d, *e;          /* arrays of the group's first member */
    integer d_member, e_member; /* elements from a member to the next */
    const vec *l, *r;
    int line;              /* the next line of D, then of E */
    int row, column, rest; /* the next element of L, row after row of its triangle; then of R */
} ahead;

INLINE ahead nothing_ahead(void) { return (ahead){.line = FETCHES, .row = n, .rest = n * n}; }

INLINE void fetch_reads(ahead* f) {
    if (f->line == FETCHES) return;
    const int of_e = f->line >= BLOCK_LINES;
    const char* p = of_e ? f->e + 64 * (f->line - BLOCK_LINES) : f->d + 64 * f->line;
    UNROLL for (int lane = 0; lane < LANES; ++lane) __builtin_prefetch(p + lane * (of_e ? f->e_member : f->d_member) * REAL_BYTES, 0, 2);
    ++f->line;
}

INLINE void fetch_write(ahead* f) {
    if (f->row < n) {
        __builtin_prefetch(f->l + f->row * n + f->column, 1, 2);
        if ((f->column += VECTORS_A_LINE) > f->row) f->column = 0, ++f->row;
    } else if (f->rest < n * n) {
        __builtin_prefetch(f->r + f->rest, 1, 2);
        f->rest += VECTORS_A_LINE;
    }
}

/* Fetches some lines. Called before column k of a product. */
INLINE void fetch(ahead* f, integer k) {
    if (!IS_FAR || !f || k % FETCH_EVERY) return;
    fetch_reads(f);
    UNROLL for (int i = 0; i < FETCH_WRITES; ++i) fetch_write(f);
}
