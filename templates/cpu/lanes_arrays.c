/* The user's arrays for variant "lanes": elements of every member of a group, transposed on the way in and out. */

typedef struct {
    integer group;
    int any, all;             /* some lane is active; every one is */
    int active[LANES];
    integer member[LANES];    /* whose data the lane reads: its own, or an active lane's where it is idle */
    mask which;               /* active lanes */
} lanes;

COLD lanes find_lanes(const trifold_args* args, integer group) {
    lanes g = {.group = group, .all = 1};
    integer some = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        const integer member = group * LANES + lane;
        g.active[lane] = member < args->members && is_active(args, member);
        g.which[lane] = -g.active[lane];
        g.any |= g.active[lane];
        g.all &= g.active[lane];
        if (g.active[lane]) some = member;
    }
    for (int lane = 0; lane < LANES; ++lane) g.member[lane] = g.active[lane] ? group * LANES + lane : some;
    return g;
}

#if TRIFOLD_LANES == 2
#define EVEN_PLACES 0, 2
#define ODD_PLACES 1, 3
#define LOW_PAIRS 0, 2
#define HIGH_PAIRS 1, 3
#elif TRIFOLD_LANES == 4
#define EVEN_PLACES 0, 2, 4, 6
#define ODD_PLACES 1, 3, 5, 7
#define LOW_PAIRS 0, 4, 1, 5
#define HIGH_PAIRS 2, 6, 3, 7
#elif TRIFOLD_LANES == 8
#define EVEN_PLACES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_PLACES 1, 3, 5, 7, 9, 11, 13, 15
#define LOW_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#elif TRIFOLD_LANES == 16
#define EVEN_PLACES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_PLACES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_PAIRS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

/* The largest power of two up to `count` and LANES. */
INLINE int chunk(integer count) {
    int width = 1;
    while (width * 2 <= LANES && width * 2 <= count) width *= 2;
    return width;
}

/* `width` consecutive elements of every lane's array, a power of two: out[e * stride] takes element e of all lanes. A step
 * parts even from odd places of the vectors laid end to end: it moves one bit of the element above the bits of the lane. */
INLINE void gather_chunk(vec* out, integer stride, const real* const base[LANES], integer offset, int width) {
    const int pieces = LANES / width;
    vec v[LANES];
    UNROLL for (int i = 0; i < width; ++i) {
        union { vec all; real at[LANES]; } row;
        UNROLL for (int piece = 0; piece < pieces; ++piece)
            __builtin_memcpy(row.at + piece * width, base[i * pieces + piece] + offset, sizeof(real) * (unsigned)width);
        v[i] = row.all;
    }
    UNROLL for (int step = 1; step < width; step *= 2) {
        vec old[LANES];
        UNROLL for (int i = 0; i < width; ++i) old[i] = v[i];
        UNROLL for (int i = 0; i < width / 2; ++i) {
            v[i] = __builtin_shufflevector(old[2 * i], old[2 * i + 1], EVEN_PLACES);
            v[i + width / 2] = __builtin_shufflevector(old[2 * i], old[2 * i + 1], ODD_PLACES);
        }
    }
    UNROLL for (int i = 0; i < width; ++i) out[i * stride] = v[i];
}

/* The way back, to active lanes only. */
INLINE void scatter_chunk(real* const base[LANES], integer offset, const vec* in, integer stride, const lanes* g, int width) {
    const int pieces = LANES / width;
    vec v[LANES];
    UNROLL for (int i = 0; i < width; ++i) v[i] = in[i * stride];
    UNROLL for (int step = 1; step < width; step *= 2) {
        vec old[LANES];
        UNROLL for (int i = 0; i < width; ++i) old[i] = v[i];
        UNROLL for (int i = 0; i < width / 2; ++i) {
            v[2 * i] = __builtin_shufflevector(old[i], old[i + width / 2], LOW_PAIRS);
            v[2 * i + 1] = __builtin_shufflevector(old[i], old[i + width / 2], HIGH_PAIRS);
        }
    }
    UNROLL for (int i = 0; i < width; ++i) {
        union { vec all; real at[LANES]; } row = {v[i]};
        UNROLL for (int piece = 0; piece < pieces; ++piece) {
            const int lane = i * pieces + piece;
            if (g->active[lane]) __builtin_memcpy(base[lane] + offset, row.at + piece * width, sizeof(real) * (unsigned)width);
        }
    }
}

/* `count` (a constant) consecutive elements, the last chunk overlapping the one before it. */
INLINE void gather_run(vec* out, integer stride, const real* const base[LANES], integer offset, integer count) {
    const int width = chunk(count);
    for (integer k = 0; k + width <= count; k += width) gather_chunk(out + k * stride, stride, base, offset + k, width);
    if (count % width) gather_chunk(out + (count - width) * stride, stride, base, offset + count - width, width);
}
INLINE void scatter_run(real* const base[LANES], integer offset, const vec* in, integer stride, const lanes* g, integer count) {
    const int width = chunk(count);
    for (integer k = 0; k + width <= count; k += width) scatter_chunk(base, offset + k, in + k * stride, stride, g, width);
    if (count % width) scatter_chunk(base, offset + count - width, in + (count - width) * stride, stride, g, width);
}

/* A block of constant strides, kept in the order of its memory. */
INLINE view gather_block(vec* out, const real* const base[LANES], integer row, integer column) {
    if ((row == n && column == 1) || (row == 1 && column == n)) gather_run(out, 1, base, 0, AREA);
    else if (column == 1) for (integer r = 0; r < n; ++r) gather_run(out + r * n, 1, base, r * row, n);
    else if (row == 1) for (integer c = 0; c < n; ++c) gather_run(out + c * n, 1, base, c * column, n);
    else for (integer r = 0; r < n; ++r) for (integer c = 0; c < n; ++c) gather_chunk(out + r * n + c, 1, base, r * row + c * column, 1);
    return row == 1 && column != 1 ? (view){out, 1, n} : stored(out);
}
NOINLINE view gather_d(vec* out, const trifold_args* args, const lanes* g, integer block) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = d_of(args, g->member[lane], block);
    return gather_block(out, base, TRIFOLD_D_ROW, TRIFOLD_D_COLUMN);
}
/* A(block + 1, block) */
NOINLINE view gather_e(vec* out, const trifold_args* args, const lanes* g, integer block) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = e_of(args, g->member[lane], block);
    return gather_block(out, base, TRIFOLD_E_ROW, TRIFOLD_E_COLUMN);
}

/* Right-hand sides of a block at base, n by m row-major; columns the call does not have are zero. */
INLINE int is_dense(trifold_strides s, integer columns) { return columns == m && s.row == m && (m == 1 || s.column == 1); }

COLD void gather_strided(vec* out, const real* const base[LANES], trifold_strides s, integer columns) {
    for (integer k = 0; k < n * m; ++k) out[k] = (vec){};
    for (integer c = 0; c < columns; ++c)
        for (integer r = 0; r < n; ++r) gather_chunk(out + r * m + c, 1, base, r * s.row + c * s.column, 1);
}
NOINLINE void gather_rhs(vec* out, const real* array, trifold_strides s, integer columns, const lanes* g, integer block) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns)) gather_run(out, 1, base, 0, n * m);
    else gather_strided(out, base, s, columns);
}

COLD void scatter_strided(real* const base[LANES], trifold_strides s, integer columns, const vec* in, const lanes* g) {
    for (integer c = 0; c < columns; ++c)
        for (integer r = 0; r < n; ++r) scatter_chunk(base, r * s.row + c * s.column, in + r * m + c, 1, g, 1);
}
NOINLINE void scatter_rhs(real* array, trifold_strides s, integer columns, const vec* in, const lanes* g, integer block) {
    real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns)) scatter_run(base, 0, in, 1, g, n * m);
    else scatter_strided(base, s, columns, in, g);
}
