/* Variant "lanes": the members of a group are in the lanes of one vector. So every operation of the scalar algorithm is a vector operation,
 * and a member's result cannot depend on its neighbours. Element e of a block of group g is at (... * storage + e) * LANES + lane. Stored
 * blocks are n by n, row-major; the diagonal of a factor holds 1 / l(j,j). */
#include "cpu/tridiagonal/lanes/constants.c"
#include "cpu/tridiagonal/lanes/pieces.c"
#include "cpu/tridiagonal/lanes/fetch.c"

/* m: the most right-hand sides of a call that is not in slices. Those of a block are stored n by as many as the call has, row-major. */
enum { m = MOST_BESIDE, AREA = n * n, TILE = TILE_SIDE, RHS_TILE = m < TILE ? m : TILE };

/* Right-hand sides of a call. */
INLINE int width_of(const trifold_args* args) { return (int)columns_of(args); }

_Static_assert(INTERLEAVE == LANES, "groups fill their vectors");

#if REAL_BYTES == 8
typedef long long bits;
#else
typedef int bits;
#endif
typedef bits mask __attribute__((vector_size(sizeof(vec))));

INLINE vec choose(mask which, vec yes, vec no) { return (vec)((which & (mask)yes) | (~which & (mask)no)); }

/* A matrix of vectors: element (r, c) is p[r * row + c * column]. */
typedef struct {
    const vec* p;
    integer row, column;
#if HAS_SIGNS
    const vec* signs; /* a factor, the signs of whose pivots multiply the columns in a product; null: none do */
#endif
} view;

/* No signs multiply its columns. */
#if HAS_SIGNS
#define strided(...) ((view){__VA_ARGS__, 0})
#else
#define strided(...) ((view){__VA_ARGS__})
#endif
INLINE view stored(const vec* p) { return strided(p, n, 1); }
INLINE view transposed(view a) { return strided(a.p, a.column, a.row); }
INLINE view part(view a, integer r, integer c) {
#if HAS_SIGNS
    return (view){a.p + r * a.row + c * a.column, a.row, a.column, a.signs ? a.signs + c * (n + 1) : 0};
#else
    return strided(a.p + r * a.row + c * a.column, a.row, a.column);
#endif
}
/* A panel that was divided by a factor, in a product of two of them. */
#if HAS_SIGNS
INLINE view panel_of(const vec* p, const vec* l) {
    view a = stored(p);
    a.signs = l;
    return a;
}
#else
#define panel_of(p, l) stored(p)
#endif
#if HAS_SIGNS
#define SIGNS_OF(a) (a).signs
#else
#define SIGNS_OF(a) ((const vec*)0)
#endif

/* The source of a block: vectors, or the members' own arrays, `member` elements apart, whose elements become vectors when they are
 * loaded. */
typedef struct {
    view vectors;
    const real* array; /* 0: vectors */
    integer member, row, column;
} source;

INLINE source from_vectors(view v) { return (source){v, 0, 0, 0, 0}; }
INLINE source source_part(source a, integer r, integer c) {
    return a.array ? (source){a.vectors, a.array + r * a.row + c * a.column, a.member, a.row, a.column}
                   : from_vectors(part(a.vectors, r, c));
}
/* Whether tiles of D and E can be read so. */
#define GATHERS_TILES ((int)TILE >= (int)PIECE && (D_ROW == 1 || D_COLUMN == 1) && (E_ROW == 1 || E_COLUMN == 1))

/* ---- register tiles. rows and cols are constants, at most TILE, wherever these are inlined ---- */

typedef vec tile[TILE][TILE];

INLINE void tile_zero(tile t, int rows, int cols) {
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int j = 0; j < cols; ++j) t[i][j] = (vec){};
}

/* A tile that begins beyond the first one or is whole, so that a piece which ends with a row or column begins within the block. */
INLINE void tile_gather(tile t, source a, int rows, int cols) {
    const int along_rows = a.column == 1, count = along_rows ? cols : rows, others = along_rows ? rows : cols;
    const real* base[LANES];
    UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = a.array + lane * a.member;
    UNROLL for (int other = 0; other < others; ++other) UNROLL for (int k = 0; k < count; k += PIECE) {
        const int from = k + PIECE <= count ? k : count - PIECE;
        vec v[PIECE];
        gather_piece(v, 1, base, other * (along_rows ? a.row : a.column) + from);
        UNROLL for (int e = 0; e < PIECE; ++e) {
            if (from + e >= 0) *(along_rows ? &t[other][from + e] : &t[from + e][other]) = v[e];
        }
    }
}

INLINE void tile_load(tile t, source a, int rows, int cols) {
    if (a.array) return tile_gather(t, a, rows, cols);
    const view v = a.vectors;
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int j = 0; j < cols; ++j) t[i][j] = v.p[i * v.row + j * v.column];
}

INLINE void tile_store(tile t, vec* p, integer row, integer column, int rows, int cols) {
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int j = 0; j < cols; ++j) p[i * row + j * column] = t[i][j];
}

/* t -= a b' over the first `count` columns of a and b. `lower`: only the lower triangle of a square tile. Lines are fetched meanwhile. */
INLINE void tile_subtract(tile t, view a, view b, integer count, int rows, int cols, int lower, ahead* f) {
    ROLLED for (integer k = 0; k < count; ++k) {
        vec left[TILE], right[TILE];
        fetch(f, k);
        UNROLL for (int i = 0; i < rows; ++i) left[i] = a.p[i * a.row + k * a.column];
        UNROLL for (int j = 0; j < cols; ++j) right[j] = b.p[j * b.row + k * b.column];
        if (SIGNS_OF(a)) UNROLL for (int j = 0; j < cols; ++j) right[j] = with_sign_of(right[j], SIGNS_OF(a)[k * (n + 1)]);
        UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int j = 0; j < cols; ++j) if (!lower || j <= i) t[i][j] -= left[i] * right[j];
    }
}

/* One tile of multiply(). */
INLINE void multiply_tile(vec* out, int add, int sign, view a, view bt, int width, int rows, int cols) {
    tile t;
    tile_zero(t, rows, cols);
    tile_subtract(t, a, bt, n, rows, cols, 0, 0);
    UNROLL for (int i = 0; i < rows; ++i) UNROLL for (int j = 0; j < cols; ++j) {
        const vec start = add ? out[i * width + j] : (vec){};
        out[i * width + j] = sign < 0 ? start + t[i][j] : start - t[i][j];
    }
}

INLINE void multiply_strip(vec* out, int add, int sign, view a, view bt, int width, int j, int cols, int lower) {
    const view right = part(bt, j, 0);
    int i = lower ? j : 0;
    for (; i + TILE <= n; i += TILE) multiply_tile(out + i * width + j, add, sign, part(a, i, 0), right, width, TILE, cols);
    if (n % TILE && i < n) multiply_tile(out + i * width + j, add, sign, part(a, i, 0), right, width, n % TILE, cols);
}

/* out = (add ? out : 0) + sign a b: out is row-major, n by `width`. Where `lower`, at least the lower triangle. What full steps leave is
 * done `rest` at a time. */
INLINE void multiply_any(vec* out, int add, int sign, view a, view b, int width, int step, int rest, int lower) {
    const view bt = transposed(b);
    int j = 0;
    for (; j + step <= width; j += step) multiply_strip(out, add, sign, a, bt, width, j, step, lower);
    for (; rest && j < width; j += rest) multiply_strip(out, add, sign, a, bt, width, j, rest, lower);
}
FRONT_PART void multiply(vec* out, int add, int sign, view a, view b, int lower) {
    multiply_any(out, add, sign, a, b, n, TILE, n % TILE, lower);
}
/* slot = (add ? slot : 0) + a x; x is n by `columns`. */
FRONT_PART void multiply_rhs(vec* slot, int add, const vec* a, const vec* x, int columns) {
    const int width = m == 1 ? 1 : columns; /* where it is a constant, the compiler should see it */
    multiply_any(slot, add, 1, stored(a), strided(x, width, 1), width, RHS_TILE, RHS_TILE > 1, 0);
}

/* One tile of solve_any(). */
INLINE void solve_tile(view out, source start, view before, view before_r, integer count, const vec* l, int j, int rows, int cols,
                       ahead* f) {
    tile t;
    tile_load(t, start, rows, cols);
    tile_subtract(t, before, before_r, count, rows, cols, 0, f);
    tile_subtract(t, out, stored(l), j, rows, cols, 0, f);
    UNROLL for (int c = 0; c < cols; ++c) UNROLL for (int i = 0; i < rows; ++i) {
        vec sum = t[i][c];
        UNROLL for (int k = 0; k < c; ++k) sum -=
            t[i][k] * (SIGNS_OF(out) ? with_sign_of(l[c * n + j + k], l[k * n + j + k]) : l[c * n + j + k]);
        t[i][c] = sum * (SIGNS_OF(out) ? size_of_all(l[c * n + j + c]) : l[c * n + j + c]);
    }
    tile_store(t, (vec*)out.p + j * out.column, out.row, out.column, rows, cols);
}

INLINE void solve_strip(view out, source start, view before, view before_r, integer count, const vec* l, int height, int step, int j,
                        int rest, int cols, ahead* f) {
    before_r = part(before_r, j, 0);
    int i = 0;
    for (; i + step <= height; i += step)
        solve_tile(part(out, i, 0), source_part(start, i, j), part(before, i, 0), before_r, count, l + j * n, j, step, cols, f);
    for (; rest && i < height; i += rest)
        solve_tile(part(out, i, 0), source_part(start, i, j), part(before, i, 0), before_r, count, l + j * n, j, rest, cols, f);
}

/* Rows of a panel, or right-hand sides, which no signs multiply: out l' = start - before before_r', the update of the front before (its R;
 * `count` is 0 or n, and where it is 0 nothing of it is read) included. */
INLINE void solve_any(view out, source start, view before, view before_r, integer count, const vec* l, int height, int step, int rest,
                      ahead* f) {
    int j = 0;
    for (; j + TILE <= n; j += TILE) solve_strip(out, start, before, before_r, count, l, height, step, j, rest, TILE, f);
    if (n % TILE) solve_strip(out, start, before, before_r, count, l, height, step, j, rest, n % TILE, f);
}
/* `start` carries the factor of the front before, whose signs are those of `before`. */
FRONT_PART void solve_panel(vec* out, view start, const vec* before, const vec* before_r, const vec* l) {
    solve_any(panel_of(out, l), from_vectors(start), panel_of(before ? before : l, SIGNS_OF(start)), stored(before ? before_r : l),
              before ? n : 0, l, n, TILE, n % TILE, 0);
}
/* solve_panel() with right-hand sides, n by `columns`, as rows. */
FRONT_PART void solve_rhs(vec* out, const vec* start, const vec* before, const vec* before_r, const vec* l, int columns) {
    const int width = m == 1 ? 1 : columns;
    solve_any(strided(out, 1, width), from_vectors(strided(start, 1, width)), strided(before ? before : start, 1, width),
              stored(before ? before_r : l), before ? n : 0, l, width, RHS_TILE, RHS_TILE > 1, 0);
}
