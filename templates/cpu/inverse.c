/* The selected inverse S for variant "tile": each chain from its last front to its first. With X = L^-T, the border
 * (next, behind) and T = X [R; G]' over it:  S_i,border = -T S_border,border   and   S_ii = X X' - T S_border,i.
 * Diagonal blocks of the inverse are read back from the caller's array, where the fronts before left them. */
enum { COLUMNS = LANES < 8 ? LANES : 8, COLUMNS_LEFT = n % COLUMNS, HEIGHT = LD / LANES, STORED = n * LD };

/* The right factor of a product a b', element (row, k) at p[k * step + row * apart]. */
typedef struct {
    const real* p;
    integer step, apart;
} right_factor;

INLINE right_factor block_right(const real* p) { return (right_factor){p, LD, 1}; }
INLINE right_factor block_right_transposed(const real* p) { return (right_factor){p, 1, LD}; }
/* A diagonal block of the inverse in the caller's array. */
INLINE right_factor dense_right(const real* p) { return (right_factor){p, n, 1}; }

/* target = (add ? target : 0) + sign a b', H vectors by W columns. */
INLINE void gemm_tile(const int H, const int W, int sign, int add, real* target, const real* a, right_factor b, integer count) {
    vec t[3][COLUMNS];
    UNROLL for (int h = 0; h < H; ++h)
        UNROLL for (int w = 0; w < W; ++w) t[h][w] = (vec){};
    for (integer k = 0; k < count; ++k) {
        vec rows[3];
        UNROLL for (int h = 0; h < H; ++h) rows[h] = *(const vec*)(a + k * LD + h * LANES);
        UNROLL for (int w = 0; w < W; ++w) {
            const vec multiplier = spread(b.p[k * b.step + w * b.apart]);
            UNROLL for (int h = 0; h < H; ++h) t[h][w] += rows[h] * multiplier;
        }
    }
    UNROLL for (int w = 0; w < W; ++w)
        UNROLL for (int h = 0; h < H; ++h) {
            vec* out = (vec*)(target + w * LD + h * LANES);
            const vec start = add ? *out : (vec){};
            *out = sign < 0 ? start - t[h][w] : start + t[h][w];
        }
}

#define GEMM_TILE(NAME, H, W) \
    NOINLINE void NAME(int sign, int add, real* target, const real* a, right_factor b, integer count) { gemm_tile(H, W, sign, add, target, a, b, count); }
GEMM_TILE(gemm_1, 1, COLUMNS)
GEMM_TILE(gemm_2, 2, COLUMNS)
GEMM_TILE(gemm_3, 3, COLUMNS)
GEMM_TILE(gemm_1_left, 1, COLUMNS_LEFT)
GEMM_TILE(gemm_2_left, 2, COLUMNS_LEFT)
GEMM_TILE(gemm_3_left, 3, COLUMNS_LEFT)

enum { ALL = 0, LOWER = 1, UPPER_LEFT = 2 };

/* target = (add ? target : 0) + sign a b'. LOWER: at least the lower triangle of the target. UPPER_LEFT: a is upper
 * triangular, with zeros below its diagonal. */
NOINLINE void gemm(int sign, int add, int shape, real* target, const real* a, right_factor b) {
    for (integer j = 0; j < n; j += COLUMNS) {
        const int whole = j + COLUMNS <= n;
        int h;
        for (int v = shape & LOWER ? (int)(j / LANES) : 0; v < HEIGHT; v += h) {
            const integer row = v * LANES, k = shape & UPPER_LEFT ? row : 0;
            const right_factor part = {b.p + j * b.apart + k * b.step, b.step, b.apart};
            real* out = target + j * LD + row;
            const real* in = a + k * LD + row;
            h = HEIGHT - v >= 3 && HEIGHT - v != 4 ? 3 : HEIGHT - v >= 2 ? 2 : 1;
            if (h == 3) (whole ? gemm_3 : gemm_3_left)(sign, add, out, in, part, n - k);
            else if (h == 2) (whole ? gemm_2 : gemm_2_left)(sign, add, out, in, part, n - k);
            else (whole ? gemm_1 : gemm_1_left)(sign, add, out, in, part, n - k);
        }
    }
}

/* One tile of L^-T: one vector of rows, columns j .. j + W - 1. */
INLINE void invert_tile(const int W, real* x, const real* factor, integer row, integer j) {
    const real *l = factor + j, *reciprocal = factor + n * LD + j;
    vec t[COLUMNS];
    UNROLL for (int w = 0; w < W; ++w)
        UNROLL for (int lane = 0; lane < LANES; ++lane) t[w][lane] = row + lane == j + w;
    for (integer k = row; k < j; ++k) {
        const vec rows = *(const vec*)(x + k * LD + row);
        UNROLL for (int w = 0; w < W; ++w) t[w] -= rows * spread(l[k * LD + w]);
    }
    UNROLL for (int k = 0; k < W; ++k) {
        t[k] *= spread(reciprocal[k]);
        UNROLL for (int w = k + 1; w < W; ++w) t[w] -= t[k] * spread(l[(j + k) * LD + w]);
        *(vec*)(x + (j + k) * LD + row) = t[k];
    }
}
NOINLINE void invert_whole(real* x, const real* factor, integer row, integer j) { invert_tile(COLUMNS, x, factor, row, j); }
NOINLINE void invert_left(real* x, const real* factor, integer row, integer j) { invert_tile(COLUMNS_LEFT, x, factor, row, j); }

/* x = L^-T; below the tiles of its diagonal, x stays what it was. */
NOINLINE void invert_factor(real* x, const real* factor) {
    for (integer j = 0; j < n; j += COLUMNS)
        for (integer row = 0; row <= j; row += LANES) (j + COLUMNS <= n ? invert_whole : invert_left)(x, factor, row, j);
}

typedef struct {
    real *x, *t_next, *t_behind, *i_next, *i_i, *i_behind, *next_behind; /* named by rows and columns */
} inverse_work;

INLINE inverse_work inverse_scratch(void* scratch) {
    _Static_assert(7 * STORED * sizeof(real) <= TRIFOLD_SCRATCH_BYTES, "scratch");
    real* p = (real*)scratch;
    return (inverse_work){p, p + STORED, p + 2 * STORED, p + 3 * STORED, p + 4 * STORED, p + 5 * STORED, p + 6 * STORED};
}

/* The lower triangle of S_ii, mirrored. */
static void put_inverse_diagonal(real* out, const real* s) {
    for (integer c = 0; c < n; ++c) {
        for (integer r = 0; r < c; ++r) out[c * n + r] = s[r * LD + c];
        for (integer r = c; r < n; ++r) out[c * n + r] = s[c * LD + r];
    }
}

/* to(r, c) = from(r, c), or from(c, r) where `turn`; columns `to_column` and `from_column` apart. */
static void copy_block(real* to, integer to_column, const real* from, integer from_column, int turn) {
    if (turn) {
        for (integer c = 0; c < n; ++c)
            for (integer r = 0; r < n; ++r) to[c * to_column + r] = from[r * from_column + c];
        return;
    }
    for (integer c = 0; c < n; ++c)
        for (integer r = 0; r < n; ++r) to[c * to_column + r] = from[c * from_column + r];
}

/* S(from, to) of neighbouring positions: to the caller as S(higher, lower), row-major; beyond level 0 to where the level
 * below finds it, as S(lower, higher). */
static void put_inverse_coupling(const trifold_args* args, const trifold_level* level, integer member, integer from, integer to, const real* s) {
    const integer low = smaller(from, to);
    if (level->index == 0) copy_block(inverse_neighbour_of(args, member, block_at(level, low)), n, s, LD, to < from);
    else copy_block(inverse_coupling_of(args, member, level->coupling + low), LD, s, LD, to < from);
}

/* S(ahead, behind) of a chain's two separators, neighbours at the next level. */
static void load_inverse_coupling(const trifold_args* args, const trifold_level* level, integer member, const chain* c, real* target) {
    const integer ahead = next_position(level, c->ahead), behind = next_position(level, c->behind);
    copy_block(target, LD, inverse_coupling_of(args, member, level->next_coupling + smaller(ahead, behind)), LD, ahead > behind);
}

static void inverse_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    inverse_work s = inverse_scratch(scratch);
    const right_factor behind_behind = dense_right(c->behind < 0 ? 0 : inverse_diagonal_of(args, member, block_at(level, c->behind)));
    for (integer k = 0; k < STORED; ++k) s.x[k] = 0;
    if (c->ahead >= 0 && c->behind >= 0) load_inverse_coupling(args, level, member, c, s.next_behind);
    for (integer k = c->length; k-- > 0;) {
        const integer position = c->first + k * c->step, block = block_at(level, position);
        const int has_next = k + 1 < c->length || c->ahead >= 0;
        invert_factor(s.x, factor_of(args, member, block));
        gemm(1, 0, LOWER | UPPER_LEFT, s.i_i, s.x, block_right(s.x));
        if (has_next) gemm(1, 0, UPPER_LEFT, s.t_next, s.x, block_right(next_of(args, member, block)));
        if (c->behind >= 0) gemm(1, 0, UPPER_LEFT, s.t_behind, s.x, block_right(behind_of(args, member, block)));
        if (has_next) {
            const right_factor next_next = dense_right(inverse_diagonal_of(args, member, block_at(level, position + c->step)));
            gemm(-1, 0, ALL, s.i_next, s.t_next, next_next);
            if (c->behind >= 0) gemm(-1, 1, ALL, s.i_next, s.t_behind, block_right(s.next_behind));
            gemm(-1, 1, LOWER, s.i_i, s.t_next, block_right(s.i_next));
            put_inverse_coupling(args, level, member, position, position + c->step, s.i_next);
        }
        if (c->behind >= 0) {
            gemm(-1, 0, ALL, s.i_behind, s.t_behind, behind_behind);
            if (has_next) gemm(-1, 1, ALL, s.i_behind, s.t_next, block_right_transposed(s.next_behind));
            gemm(-1, 1, LOWER, s.i_i, s.t_behind, block_right(s.i_behind));
            if (k == 0) put_inverse_coupling(args, level, member, position, c->behind, s.i_behind);
            real* const swap = s.next_behind;
            s.next_behind = s.i_behind, s.i_behind = swap;
        }
        put_inverse_diagonal(inverse_diagonal_of(args, member, block), s.i_i);
    }
}

void TRIFOLD_KERNEL_INVERSE(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) {
    for (integer task = first_task; task < last_task; ++task) {
        const integer member = task / level->chains;
        if (!is_active(args, member)) continue;
        const chain c = find_chain(level, task % level->chains);
        inverse_chain(args, level, member, &c, scratch);
    }
}
