/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 8 blocks of 4 by 4, f64, 1 right-hand side(s), up to 1 system(s); target cpu:x86-64-v3; schedule twisted:2; variant tile.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 4 --horizon 8 --precision f64 --rhs 1 --batch 1 --schedule twisted:2 --workers 1 --variant tile --target cpu:x86-64-v3
 * Workspace: 5120 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 4
#define TRIFOLD_HORIZON 8LL
#define TRIFOLD_RHS 1
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL double
#define TRIFOLD_REAL_BYTES 8
#define TRIFOLD_SEPARATORS 1LL
#define TRIFOLD_SEPARATOR_BASE 4LL
#define TRIFOLD_SEPARATOR_SCALE 1LL
#define TRIFOLD_COUPLINGS 0LL
#define TRIFOLD_D_ROW 4LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 16LL
#define TRIFOLD_D_MEMBER 128LL
#define TRIFOLD_E_ROW 4LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 16LL
#define TRIFOLD_E_MEMBER 112LL
#define TRIFOLD_STORAGE_FACTOR 20LL
#define TRIFOLD_STORAGE_PANEL 16LL
#define TRIFOLD_STORAGE_UPDATE 16LL
#define TRIFOLD_STORAGE_COUPLING 16LL
#define TRIFOLD_STORAGE_VECTOR 4LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_FACTOR 768LL
#define TRIFOLD_OFFSET_NEXT 2048LL
#define TRIFOLD_OFFSET_BEHIND 3072LL
#define TRIFOLD_OFFSET_UPDATE 3072LL
#define TRIFOLD_OFFSET_COUPLING 3328LL
#define TRIFOLD_OFFSET_RHS_UPDATE 3328LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 3584LL
#define TRIFOLD_OFFSET_FAILURE 3584LL
#define TRIFOLD_OFFSET_FLOORS 3840LL
#define TRIFOLD_OFFSET_POISON 4096LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 4352LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 4608LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FORWARD btd_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n4_f64_x8664v3_df574320

/* What a launch passes to a kernel. One text for the host library, generated C and device code, so both sides agree;
 * every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_ARGS_H
#define TRIFOLD_ARGS_H

typedef long long trifold_int;

/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* The blocks that remain when a level starts are base + scale * p for positions p = 0 .. size - 1. A chain's neighbours
 * are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;                             /* level number, from 0 */
    trifold_int base, scale, size;                 /* remaining blocks */
    trifold_int next_base, next_scale, next_size;  /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;           /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                      /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* Strides in elements; element (r, c) of block i of member b stands at b * member + i * stage + r * row + c * column. */
typedef struct {
    trifold_int row, column, stage, member;
} trifold_strides;

/* Outcome of a member's factorization. block is -1 when it succeeded. */
typedef struct {
    trifold_int block;  /* first failing block, original order, from 0; -1: none */
    trifold_int row;    /* failing row within it, from 0 */
    trifold_int floors; /* pivots raised to the floor */
} trifold_status;

typedef struct {
    const void* d;           /* D; strides are constants of the unit */
    const void* e;           /* E */
    const void* b;           /* input of a sweep */
    void* x;                 /* output of a sweep; may be b */
    trifold_strides b_strides, x_strides;
    trifold_int columns;     /* right-hand sides of this call, 1 .. TRIFOLD_RHS */
    trifold_int members;     /* active capacity of this call, 1 .. TRIFOLD_BATCH */
    const void* diagonal;    /* added to the diagonal, [batch][N][n]; may be null */
    const void* shift;       /* added to every diagonal entry, [batch]; may be null */
    const int* active;       /* [batch], 0 skips the member; may be null */
    double pivot_floor;      /* relative to the largest diagonal entry of the block as loaded; 0: none */
    void* inverse_diagonal;  /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks */
    void* inverse_coupling;  /* [batch][N-1][n][n], row-major: block (i+1, i) of the inverse */
    void* workspace;         /* factor, slots and results; offsets are constants of the unit */
} trifold_args;

#endif

#define TRIFOLD_LANES 4
#define TRIFOLD_LEADING 4
#define TRIFOLD_INTERLEAVE 1
#define TRIFOLD_TILE_ROWS 3
#define TRIFOLD_FILL 0
#define TRIFOLD_SCRATCH_BYTES 256
#define TRIFOLD_SIZEOF_ARGS 168
#define TRIFOLD_SIZEOF_LEVEL 208
#define TRIFOLD_LOW_1 0, 4, 2, 6
#define TRIFOLD_HIGH_1 1, 5, 3, 7
#define TRIFOLD_LOW_2 0, 1, 4, 5
#define TRIFOLD_HIGH_2 2, 3, 6, 7
#define TRIFOLD_SHIFT 4, 5, 6, 7

/* What every CPU kernel shares: types, geometry of chains, addresses in the workspace, loads of D and E, failures.
 *
 * GNU C with vector extensions, no headers. Constants come as TRIFOLD_* macros from the generator:
 *   TRIFOLD_LANES       elements of one `vec`, at most one vector register of the target
 *   TRIFOLD_LEADING     leading dimension of every stored block: the block size rounded up to lanes
 *   TRIFOLD_INTERLEAVE  members stored element by element beside one another (1: each member on its own)
 *
 * Stored blocks are column-major with leading dimension LD; rows n .. LD - 1 are zero.
 *   factor    L (lower triangle; above the diagonal nothing is promised), then LD reciprocals of L's diagonal
 *   next      R = A(next, i) L^-T: column k holds the rows of the next block at pivot column k
 *   behind    G = A(behind, i) L^-T, likewise
 *   update    lower triangle;   coupling  A(higher position, lower position);   rhs_update  one column of LD a right-hand side
 */
typedef TRIFOLD_REAL real;
typedef trifold_int integer;

enum { n = TRIFOLD_BLOCK, LD = TRIFOLD_LEADING, LANES = TRIFOLD_LANES, INTERLEAVE = TRIFOLD_INTERLEAVE };

typedef real vec __attribute__((vector_size(TRIFOLD_LANES * TRIFOLD_REAL_BYTES)));
/* The same without an alignment promise, for the user's arrays; may alias reals. */
typedef real loose __attribute__((vector_size(TRIFOLD_LANES * TRIFOLD_REAL_BYTES), aligned(TRIFOLD_REAL_BYTES), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE static __attribute__((noinline, unused))
/* Off the main path: small code, sooner compiled. */
#define COLD static __attribute__((noinline, cold, unused))

_Static_assert(sizeof(trifold_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_level) == TRIFOLD_SIZEOF_LEVEL,
               "host and kernel disagree on args.h");

#if TRIFOLD_REAL_BYTES == 4
#define LARGEST 3.40282346638528859811704183484516925e+38f
INLINE real square_root(real x) { return __builtin_sqrtf(x); }
#else
#define LARGEST 1.79769313486231570814527423731704357e+308
INLINE real square_root(real x) { return __builtin_sqrt(x); }
#endif
#define NOT_A_NUMBER ((real)__builtin_nan(""))

INLINE integer smaller(integer a, integer b) { return a < b ? a : b; }
INLINE vec spread(real x) { return x - (vec){}; } /* x in every lane; -0 survives */

/* ---- lanes ---- */

/* The generator lists the lanes: LOW_w takes, from every 2 w lanes of a and b, the first w of each; HIGH_w the last w. */
#define LOW(w, a, b) __builtin_shufflevector(a, b, TRIFOLD_LOW_##w)
#define HIGH(w, a, b) __builtin_shufflevector(a, b, TRIFOLD_HIGH_##w)
#define UNROLL _Pragma("GCC unroll 16")
#define ROLLED _Pragma("GCC unroll 1")

#define TRANSPOSE_STEP(v, w)                               \
    UNROLL for (int i = 0; i < LANES; ++i) if (!(i & w)) { \
        const vec low = LOW(w, v[i], v[i + w]);            \
        v[i + w] = HIGH(w, v[i], v[i + w]);                \
        v[i] = low;                                        \
    }
#define SUM_STEP(v, w) UNROLL for (int i = 0; i < LANES; i += 2 * w) v[i] = LOW(w, v[i], v[i + w]) + HIGH(w, v[i], v[i + w]);

#if TRIFOLD_LANES == 1
#define STEPS(STEP, v)
#elif TRIFOLD_LANES == 2
#define STEPS(STEP, v) STEP(v, 1)
#elif TRIFOLD_LANES == 4
#define STEPS(STEP, v) STEP(v, 1) STEP(v, 2)
#elif TRIFOLD_LANES == 8
#define STEPS(STEP, v) STEP(v, 1) STEP(v, 2) STEP(v, 4)
#else
#define STEPS(STEP, v) STEP(v, 1) STEP(v, 2) STEP(v, 4) STEP(v, 8)
#endif

/* The LANES by LANES matrix of v, transposed. */
INLINE void transpose(vec* v) { STEPS(TRANSPOSE_STEP, v)(void) v; }
/* Lane k of the result is the sum over the lanes of v[k]; v is used up. */
INLINE vec sum_lanes(vec* v) {
    STEPS(SUM_STEP, v)
    return v[0];
}

/* ---- geometry ---- */

/* One chain of a level. Positions; `behind` and `ahead` are -1 where the path ends. */
typedef struct {
    integer first, length, step, behind, ahead;
} chain;

INLINE chain find_chain(const trifold_level* level, integer c) {
    integer k = 0;
    while (k + 1 < level->runs && c >= level->run[k].count) c -= level->run[k++].count;
    const trifold_run* run = &level->run[k];
    const integer first = run->first + c * run->stride, behind = first - run->step, ahead = first + run->length * run->step;
    return (chain){first, run->length, run->step, behind < level->size ? behind : -1, ahead < level->size ? ahead : -1};
}

INLINE integer block_at(const trifold_level* level, integer position) { return level->base + level->scale * position; }

/* Position in the next level of a separator of this one. */
INLINE integer next_position(const trifold_level* level, integer position) {
    return (block_at(level, position) - level->next_base) / level->next_scale;
}

/* Which side of the separators at its ends a chain updates: side 0 is written from below the separator, 1 from above. */
INLINE int side_ahead(const chain* c) { return c->step > 0 ? 0 : 1; }
INLINE int side_behind(const chain* c) { return c->step > 0 ? 1 : 0; }

/* Whether a block that is left after level 0 has a neighbour there on that side, so that the slot has been written. */
INLINE int has_slot(integer block, int side) { return side == 0 ? block > 0 : block + 1 < TRIFOLD_HORIZON; }

/* ---- addresses; `group` counts groups of INTERLEAVE members ---- */

INLINE char* workspace_at(const trifold_args* args, integer offset) { return (char*)args->workspace + offset; }
INLINE real* reals_at(const trifold_args* args, integer offset, integer index, integer storage) {
    return (real*)__builtin_assume_aligned(workspace_at(args, offset) + index * storage * INTERLEAVE * TRIFOLD_REAL_BYTES, sizeof(vec));
}
INLINE real* factor_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, TRIFOLD_OFFSET_FACTOR, group * TRIFOLD_HORIZON + block, TRIFOLD_STORAGE_FACTOR);
}
INLINE real* next_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, TRIFOLD_OFFSET_NEXT, group * TRIFOLD_HORIZON + block, TRIFOLD_STORAGE_PANEL);
}
INLINE real* behind_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, TRIFOLD_OFFSET_BEHIND, group * TRIFOLD_HORIZON + block, TRIFOLD_STORAGE_PANEL);
}
/* Index of a separator's slot in update, rhs_update (by group) and poison (by member). */
INLINE integer slot_index(integer side, integer members, integer member, integer block) {
    return (side * members + member) * TRIFOLD_SEPARATORS + (block - TRIFOLD_SEPARATOR_BASE) / TRIFOLD_SEPARATOR_SCALE;
}
INLINE real* update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, TRIFOLD_OFFSET_UPDATE, slot_index(side, TRIFOLD_BATCH / INTERLEAVE, group, block), TRIFOLD_STORAGE_UPDATE);
}
INLINE real* rhs_update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, TRIFOLD_OFFSET_RHS_UPDATE, slot_index(side, TRIFOLD_BATCH / INTERLEAVE, group, block), TRIFOLD_STORAGE_VECTOR);
}
/* `index` is level.coupling or level.next_coupling plus the smaller of the two positions in that level. */
INLINE real* coupling_of(const trifold_args* args, integer group, integer index) {
    return reals_at(args, TRIFOLD_OFFSET_COUPLING, group * TRIFOLD_COUPLINGS + index, TRIFOLD_STORAGE_COUPLING);
}
INLINE real* inverse_coupling_of(const trifold_args* args, integer group, integer index) {
    return reals_at(args, TRIFOLD_OFFSET_INVERSE_COUPLING, group * TRIFOLD_COUPLINGS + index, TRIFOLD_STORAGE_COUPLING);
}

INLINE const real* d_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->d + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
}
/* A(block + 1, block) */
INLINE const real* e_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->e + member * TRIFOLD_E_MEMBER + block * TRIFOLD_E_STAGE;
}
INLINE const real* b_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->b + member * args->b_strides.member + block * args->b_strides.stage;
}
INLINE real* x_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->x + member * args->x_strides.member + block * args->x_strides.stage;
}

/* Blocks of the selected inverse in the caller's arrays: (block, block) and (block + 1, block). */
INLINE real* inverse_diagonal_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->inverse_diagonal + (member * TRIFOLD_HORIZON + block) * n * n;
}
INLINE real* inverse_neighbour_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->inverse_coupling + (member * (TRIFOLD_HORIZON - 1) + block) * n * n;
}

/* What is added to entry `row` of the diagonal of D where it is loaded. */
INLINE real diagonal_term(const trifold_args* args, integer member, integer block, integer row) {
    real sum = 0;
    if (args->diagonal) sum += ((const real*)args->diagonal)[(member * TRIFOLD_HORIZON + block) * n + row];
    if (args->shift) sum += ((const real*)args->shift)[member];
    return sum;
}

INLINE int is_active(const trifold_args* args, integer member) { return !args->active || args->active[member] != 0; }

/* ---- results of one front ---- */

#define SOUND 0x7fffffffffffffffLL /* failure[][] of a front that went well */
#define FED_BY_FAILED (SOUND - 1)  /* of one whose inputs had failed already */

INLINE integer front_index(integer member, integer block) { return member * TRIFOLD_HORIZON + block; }
INLINE integer* failure_of(const trifold_args* args, integer member, integer block) {
    return (integer*)workspace_at(args, TRIFOLD_OFFSET_FAILURE) + front_index(member, block);
}
INLINE int* floors_of(const trifold_args* args, integer member, integer block) {
    return (int*)workspace_at(args, TRIFOLD_OFFSET_FLOORS) + front_index(member, block);
}
INLINE int* poison_of(const trifold_args* args, int side, integer member, integer block) {
    return (int*)workspace_at(args, TRIFOLD_OFFSET_POISON) + slot_index(side, TRIFOLD_BATCH, member, block);
}
INLINE double* block_log_determinant_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT) + front_index(member, block);
}
INLINE double* block_quadratic_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC) + front_index(member, block) * TRIFOLD_RHS;
}

/* Whether what a front at a higher level reads comes from a failed one. */
INLINE int is_poisoned(const trifold_args* args, integer member, integer block) {
    return (has_slot(block, 0) && *poison_of(args, 0, member, block)) || (has_slot(block, 1) && *poison_of(args, 1, member, block));
}

/* A chain that starts at level 0 owns its slots' first value; later ones add theirs. */
INLINE void mark_poison(const trifold_args* args, int side, integer member, integer block, integer level, int poisoned) {
    int* slot = poison_of(args, side, member, block);
    *slot = (level > 0 && *slot) || poisoned;
}

/* The record of a front: `row` is the first failing row or -1. Returns whether what comes after is poisoned. */
INLINE int record_front(const trifold_args* args, integer member, integer block, integer level, integer row, int fed_by_failed) {
    integer failure = SOUND;
    if (fed_by_failed)
        failure = FED_BY_FAILED;
    else if (row >= 0)
        failure = (level * TRIFOLD_HORIZON + block) * n + row;
    *failure_of(args, member, block) = failure;
    return failure != SOUND;
}

/* Register tiles: H vectors of rows by W columns, the rows in vector lanes, the multipliers broadcast from memory. */

/* Columns of a full tile; as many as lanes, so that a pivot tile is one vector high. */
enum { WIDTH = LANES, TAIL = n % WIDTH, VECTORS = (n + LANES - 1) / LANES };

INLINE vec load(const real* p) { return *(const vec*)p; }
INLINE void store(real* p, vec x) { *(vec*)p = x; }

/* c[w * H + h] += sign * sum over k < count of a(rows h, k) b(w, k), a(., k) at a + k LD, b(w, k) at b + k step + w apart. */
INLINE void multiply_add(const int H, const int W, const int sign, vec* c, const real* a, const real* b, integer step, integer apart,
                         integer count) {
    for (integer k = 0; k < count; ++k, a += LD, b += step) {
        vec rows[4];
        UNROLL for (int h = 0; h < H; ++h) rows[h] = load(a + h * LANES);
        UNROLL for (int w = 0; w < W; ++w) {
            const vec multiplier = spread(b[w * apart]);
            UNROLL for (int h = 0; h < H; ++h) {
                if (sign > 0)
                    c[w * H + h] += rows[h] * multiplier;
                else
                    c[w * H + h] -= rows[h] * multiplier;
            }
        }
    }
}

/* The same where so few accumulators would wait for themselves: even and odd k apart, as long as both fit. */
INLINE void multiply_subtract(const int H, const int W, vec* c, const real* a, const real* b, integer count) {
    if (H * W >= 8 || H * W < 2) {
        multiply_add(H, W, -1, c, a, b, LD, 1, count);
        return;
    }
    vec odd[8];
    UNROLL for (int i = 0; i < H * W; ++i) odd[i] = (vec){};
    integer k = 0;
    for (; k + 2 <= count; k += 2) {
        multiply_add(H, W, -1, c, a + k * LD, b + k * LD, LD, 1, 1);
        multiply_add(H, W, -1, odd, a + (k + 1) * LD, b + (k + 1) * LD, LD, 1, 1);
    }
    if (k < count) multiply_add(H, W, -1, c, a + k * LD, b + k * LD, LD, 1, 1);
    UNROLL for (int i = 0; i < H * W; ++i) c[i] += odd[i];
}

INLINE void load_tile(const int H, const int W, vec* c, const real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(p + w * LD + h * LANES); }
}

INLINE void store_tile(const int H, const int W, const vec* c, real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) store(p + w * LD + h * LANES, c[w * H + h]); }
}

/* ---- tiles straight from the user's arrays ---- */

/* How D and E (upwards) are read: 1 where rows are contiguous along a stored column, 2 where they are across it and tiles
 * are transposed in registers, 0 where blocks are first copied to where their factors go. */
#if TRIFOLD_BLOCK > 56
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#elif TRIFOLD_BLOCK >= TRIFOLD_LANES && TRIFOLD_D_ROW == 1 && TRIFOLD_E_ROW == 1
enum { DIRECT = 1, D_LEADING = TRIFOLD_D_COLUMN, E_LEADING = TRIFOLD_E_COLUMN };
#elif TRIFOLD_BLOCK >= TRIFOLD_LANES && TRIFOLD_D_COLUMN == 1 && TRIFOLD_E_COLUMN == 1
enum { DIRECT = 2, D_LEADING = TRIFOLD_D_ROW, E_LEADING = TRIFOLD_E_ROW };
#else
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#endif

/* LANES reals of a column from `row` on, zeros below its last row, reading nothing beyond it. */
INLINE vec load_rows(const real* column, integer row) {
    if (n % LANES && row + LANES > n) return __builtin_shufflevector(*(const loose*)(column + n - LANES), (vec){}, TRIFOLD_SHIFT);
    return *(const loose*)(column + row);
}

INLINE void load_source(const int H, const int W, vec* c, const real* source, integer leading, integer row, integer j) {
    if (DIRECT == 1) {
        UNROLL for (int w = 0; w < W; ++w) {
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load_rows(source + (j + w) * leading, row + h * LANES);
        }
        return;
    }
    const int before = W < WIDTH ? WIDTH - W : 0; /* a tail tile is the end of a full one */
    UNROLL for (int h = 0; h < H; ++h) {
        vec v[LANES];
        UNROLL for (int k = 0; k < LANES; ++k) {
            const integer r = row + h * LANES + k;
            v[k] = (vec){};
            if (n % LANES == 0 || r < n) v[k] = *(const loose*)(source + r * leading + j - before);
        }
        transpose(v);
        UNROLL for (int w = 0; w < W; ++w) c[w * H + h] = v[w + before];
    }
}

/* ---- panels: rows below the pivots, solved against L from the right ---- */

/* One column tile of a panel T, at column j: T = (T - before before_rows' - T L(j.., <j)') L(tile)^-T for a few rows.
 * `before` and `multipliers` are these rows and rows j.. of the panel of the front before; null where there is none. */
typedef struct {
    real* target;
    const real* before;
    const real* multipliers;
    const real* factor;
    integer j;
    const real* source; /* where T starts from, in the user's array; null: in place */
    integer leading;    /* of source */
} panel_job;

INLINE void load_start(const int H, const int W, vec* c, const panel_job* job, integer row) {
    if (DIRECT && job->source)
        load_source(H, W, c, job->source, job->leading, row, job->j);
    else
        load_tile(H, W, c, job->target + job->j * LD + row);
}

/* c = c L(tile)^-T for a few rows; l is the tile, its columns LD apart. */
INLINE void solve_tile(const int H, const int W, vec* c, const real* l, const real* reciprocal) {
    UNROLL for (int k = 0; k < W; ++k) {
        const vec scale = spread(reciprocal[k]);
        UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
        UNROLL for (int w = k + 1; w < W; ++w) {
            const vec multiplier = spread(l[k * LD + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
}

/* Large blocks come from far away: the same rows of the next column tile are fetched while these are worked on. */
INLINE void fetch_next(const int H, const int W, const panel_job* job, integer row) {
    if (n < 40 || !DIRECT || W < WIDTH) return;
    const integer j = job->j + WIDTH;
    if (DIRECT && job->source) {
        UNROLL for (int w = 0; w < W; ++w) {
            UNROLL for (int h = 0; h < H; ++h) {
                if (DIRECT == 1)
                    __builtin_prefetch(job->source + (j + w) * job->leading + row + h * LANES, 0, 3);
                else
                    __builtin_prefetch(job->source + (row + h * LANES + w) * job->leading + j, 0, 3);
            }
        }
    }
    UNROLL for (int w = 0; w < W; ++w) {
        UNROLL for (int h = 0; h < H; ++h) __builtin_prefetch(job->target + (j + w) * LD + row + h * LANES, 0, 3);
    }
}

INLINE void panel_tile(const int H, const int W, const panel_job* job, integer row) {
    const integer j = job->j;
    const real* l = job->factor + j;
    real* target = job->target + row;
    vec c[4 * WIDTH];
    fetch_next(H, W, job, row);
    load_start(H, W, c, job, row);
    if (job->before) multiply_subtract(H, W, c, job->before + row, job->multipliers + j, n);
    multiply_subtract(H, W, c, target, l, j);
    solve_tile(H, W, c, l + j * LD, job->factor + n * LD + j);
    store_tile(H, W, c, target + j * LD);
}

#define PANEL_TILE(H, W, NAME) \
    NOINLINE void NAME(const panel_job* job, integer row) { panel_tile(H, W, job, row); }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
#define PANEL_TILES(H) PANEL_TILE(H, WIDTH, panel_##H) PANEL_TILE(H, TAIL, panel_tail_##H)
#else
#define PANEL_TILES(H) PANEL_TILE(H, WIDTH, panel_##H)
#endif
PANEL_TILES(1)
#if TRIFOLD_TILE_ROWS > 1
PANEL_TILES(2)
#endif
#if TRIFOLD_TILE_ROWS > 2
PANEL_TILES(3)
#endif

/* Rows from vector `first` on, in tiles of the height that fills the registers. */
#if TRIFOLD_TILE_ROWS == 1
#define ROWS_LOOP(NAME) \
    for (int v = first; v < VECTORS; ++v) NAME##1(job, v * LANES);
#elif TRIFOLD_TILE_ROWS == 2
#define ROWS_LOOP(NAME)                                       \
    int v = first;                                            \
    for (; VECTORS - v >= 2; v += 2) NAME##2(job, v * LANES); \
    if (v < VECTORS) NAME##1(job, v * LANES);
#else
#define ROWS_LOOP(NAME)                                                          \
    int v = first;                                                               \
    for (; VECTORS - v > 4 || VECTORS - v == 3; v += 3) NAME##3(job, v * LANES); \
    for (; VECTORS - v >= 2; v += 2) NAME##2(job, v * LANES);                    \
    if (v < VECTORS) NAME##1(job, v * LANES);
#endif
INLINE void panel_rows(const panel_job* job, int first) {
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    if (job->j + WIDTH > n) {
        ROWS_LOOP(panel_tail_)
        return;
    }
#endif
    ROWS_LOOP(panel_)
}

/* ---- products of panels: target (+)= sign * a b' ---- */

INLINE void product_tile(const int H, const int W, const int sign, real* target, const real* a, const real* b, int add) {
    vec c[4 * WIDTH];
    if (add)
        load_tile(H, W, c, target);
    else {
        UNROLL for (int i = 0; i < H * W; ++i) c[i] = (vec){};
    }
    multiply_add(H, W, sign, c, a, b, LD, 1, n);
    store_tile(H, W, c, target);
}

#define PRODUCT_TILE(H, W, SIGN, NAME) \
    NOINLINE void NAME(real* target, const real* a, const real* b, int add) { product_tile(H, W, SIGN, target, a, b, add); }
#if TRIFOLD_TILE_ROWS > 1
enum { PRODUCT_ROWS = 2 };
PRODUCT_TILE(2, WIDTH, 1, plus_2)
PRODUCT_TILE(2, WIDTH, -1, minus_2)
#else
enum { PRODUCT_ROWS = 1 };
#endif
PRODUCT_TILE(1, WIDTH, 1, plus_1)
PRODUCT_TILE(1, WIDTH, -1, minus_1)
#if TRIFOLD_BLOCK % TRIFOLD_LANES
PRODUCT_TILE(1, TAIL, 1, plus_tail)
PRODUCT_TILE(1, TAIL, -1, minus_tail)
#endif

/* target (+)= sign a b'; with `lower` only what lies on or below the diagonal tiles. */
INLINE void product(const int sign, const int lower, real* target, const real* a, const real* b, int add) {
    for (integer j = 0; j < n; j += WIDTH) {
        int v = lower ? (int)(j / LANES) : 0;
        real* column = target + j * LD;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
        if (j + WIDTH > n) {
            for (; v < VECTORS; ++v) (sign > 0 ? plus_tail : minus_tail)(column + v * LANES, a + v * LANES, b + j, add);
            return;
        }
#endif
#if TRIFOLD_TILE_ROWS > 1
        for (; v + 1 < VECTORS; v += 2) (sign > 0 ? plus_2 : minus_2)(column + v * LANES, a + v * LANES, b + j, add);
#endif
        for (; v < VECTORS; ++v) (sign > 0 ? plus_1 : minus_1)(column + v * LANES, a + v * LANES, b + j, add);
    }
}

/* Loads of D and of couplings into stored blocks, and of right-hand sides. */

/* Source rows are contiguous along the stored columns: copy. The last vector of a column overlaps the one before it rather
 * than read past the column; n >= LANES. */
INLINE void copy_columns(real* target, const real* a, integer column, const int lower) {
    for (integer c = 0; c < n; ++c) {
        integer r = lower ? c / LANES * LANES : 0;
        real* to = target + c * LD;
        const real* from = a + c * column;
        if (n % LANES) store(to + LD - LANES, (vec){});
        for (; r + LANES <= n; r += LANES) store(to + r, *(const loose*)(from + r));
        if (n % LANES) *(loose*)(to + n - LANES) = *(const loose*)(from + n - LANES);
    }
}

/* Source rows are contiguous across the stored columns: transpose in registers. The last column tile overlaps. */
INLINE void copy_transposed(real* target, const real* a, integer row, const int lower) {
    for (integer r = 0; r < n; r += LANES) {
        const integer end = lower ? smaller(r + LANES, n) : n;
        for (integer c = 0; c < end; c += LANES) {
            const integer from = smaller(c, n - LANES);
            vec v[LANES];
            UNROLL for (int k = 0; k < LANES; ++k) {
                v[k] = (vec){};
                if (n % LANES == 0 || r + k < n) v[k] = *(const loose*)(a + (r + k) * row + from);
            }
            transpose(v);
            UNROLL for (int k = 0; k < LANES; ++k) store(target + (from + k) * LD + r, v[k]);
        }
    }
}

/* target = A with element (r, c) at r row + c column. With `lower`, what stands above the diagonal is left open: it may
 * be loaded or not, and nothing uses it. */
INLINE void load_block(real* target, const real* a, integer row, integer column, const int lower) {
    if (n >= LANES && row == 1) {
        copy_columns(target, a, column, lower);
    } else if (n >= LANES && column == 1) {
        copy_transposed(target, a, row, lower);
    } else {
        for (integer c = 0; c < n; ++c) {
            for (integer r = lower ? c : 0; r < n; ++r) target[c * LD + r] = a[r * row + c * column];
            for (integer r = n; r < LD; ++r) target[c * LD + r] = 0;
        }
    }
}

/* D with what is added to its diagonal. */
NOINLINE void load_diagonal_block(const trifold_args* args, integer member, integer block, real* target) {
    load_block(target, d_of(args, member, block), TRIFOLD_D_ROW, TRIFOLD_D_COLUMN, 1);
    if (!args->diagonal && !args->shift) return;
    for (integer k = 0; k < n; ++k) target[k * LD + k] += diagonal_term(args, member, block, k);
}

/* Pivots below this are raised to it: a multiple of the largest entry of the diagonal with what is added to it. */
INLINE real pivot_floor(const trifold_args* args, integer member, integer block) {
    if (__builtin_expect(!(args->pivot_floor > 0), 1)) return -(real)__builtin_inf();
    const real* d = d_of(args, member, block);
    real largest = 0;
    for (integer k = 0; k < n; ++k) {
        const real entry = d[k * (TRIFOLD_D_ROW + TRIFOLD_D_COLUMN)] + diagonal_term(args, member, block, k);
        if (k == 0 || entry > largest) largest = entry;
    }
    return (real)args->pivot_floor * largest;
}

/* The updates that the chains on both sides of a separator have left for it. */
NOINLINE void subtract_updates(const trifold_args* args, integer member, integer block, real* target) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = update_of(args, side, member, block);
        for (integer c = 0; c < n; ++c)
            for (integer r = c / LANES * LANES; r < LD; r += LANES)
                store(target + c * LD + r, load(target + c * LD + r) - load(update + c * LD + r));
    }
}

/* A(row position, column position) of two neighbours among the blocks that remain. */
NOINLINE void load_coupling(const trifold_args* args, const trifold_level* level, integer member, integer rows, integer columns,
                            real* target) {
    const integer low = smaller(rows, columns);
    const int transposed = rows < columns;
    if (level->index > 0) {
        const real* a = coupling_of(args, member, level->coupling + low);
        if (transposed)
            load_block(target, a, LD, 1, 0);
        else
            load_block(target, a, 1, LD, 0);
        return;
    }
    const real* a = e_of(args, member, block_at(level, low));
    if (transposed)
        load_block(target, a, TRIFOLD_E_COLUMN, TRIFOLD_E_ROW, 0);
    else
        load_block(target, a, TRIFOLD_E_ROW, TRIFOLD_E_COLUMN, 0);
}

/* ---- right-hand sides: one column of LD reals each, rows n .. LD - 1 zero ---- */

/* n contiguous reals; the last vector overlaps the one before it. */
INLINE void copy_column(real* to, const real* from) {
    if (n < LANES) {
        for (integer r = 0; r < n; ++r) to[r] = from[r];
        return;
    }
    const vec last = *(const loose*)(from + n - LANES);
    for (integer r = 0; r + LANES <= n; r += LANES) *(loose*)(to + r) = *(const loose*)(from + r);
    if (n % LANES) *(loose*)(to + n - LANES) = last;
}

INLINE void load_rhs(const real* b, const trifold_strides* strides, integer columns, real* target) {
    for (integer c = 0; c < columns; ++c, target += LD) {
        const real* from = b + c * strides->column;
        if (LD > n) store(target + LD - LANES, (vec){});
        if (strides->row == 1)
            copy_column(target, from);
        else
            for (integer r = 0; r < n; ++r) target[r] = from[r * strides->row];
    }
}

INLINE void store_rhs(const real* y, const trifold_strides* strides, integer columns, real* x) {
    for (integer c = 0; c < columns; ++c, y += LD) {
        real* to = x + c * strides->column;
        if (strides->row == 1)
            copy_column(to, y);
        else
            for (integer r = 0; r < n; ++r) to[r * strides->row] = y[r];
    }
}

/* One front: its column tiles, the pivot test and the log determinant. */

/* A front's blocks, all column-major; null where it has no such neighbour. `previous_*` are those of the front before
 * in the chain, whose Schur update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
    const real *d, *e; /* where D and the coupling to the next block stand if they have not been copied to factor and next */
} front;

/* Products of rows that wait for nothing, cut in pieces to be done between the pivots of a tile. */
typedef struct {
    const real *before, *multipliers, *rows, *factor;
    integer before_count, own_count;
} filler;

INLINE void fill_in(const int H, const int W, vec* c, filler* f, integer before, integer own) {
    multiply_add(H, W, -1, c, f->before, f->multipliers, LD, 1, before);
    multiply_add(H, W, -1, c, f->rows, f->factor, LD, 1, own);
    f->before += before * LD, f->multipliers += before * LD, f->before_count -= before;
    f->rows += own * LD, f->factor += own * LD, f->own_count -= own;
}

/* Cholesky of the W by W tile at column j, after the updates from the front before and from columns < j, and the same
 * column tile of H further rows of a panel. The pivots go to `raw` as they come, for a test afterwards; those below the
 * floor are raised to it. Returns how many were.
 *
 * The chain of pivots is what a front waits for. So the next pivot is computed on its own, one division and one
 * multiply-add after this one; the square roots stand beside the chain; and the products of the H rows stand between the
 * pivots: the core overlaps what is near in program order. */
INLINE int pivot_tile(const int W, const int H, const front* f, integer j, real floor, real* raw, const panel_job* job, integer row) {
    real *l = f->factor + j * LD + j, *reciprocal = f->factor + n * LD + j;
    vec c[WIDTH], r[2 * WIDTH];
    if (DIRECT && f->d)
        load_source(1, W, c, f->d, D_LEADING, j, j);
    else
        load_tile(1, W, c, l);
    if (f->previous_next) multiply_subtract(1, W, c, f->previous_next + j, f->previous_next + j, n);
    multiply_subtract(1, W, c, f->factor + j, f->factor + j, j);
    filler fill;
    if (H) {
        fetch_next(H, W, job, row);
        load_start(H, W, r, job, row);
        fill = (filler){job->before + row, job->multipliers + j, job->target + row, job->factor + j, job->before ? n : 0, j};
    }
    const integer before_piece = H && job->before ? 2 * n / W : 0, own_piece = 2 * j / W;
    int raised = 0;
    real d = c[0][0];
    UNROLL for (int k = 0; k < W; ++k) {
        raw[j + k] = d;
        if (__builtin_expect(floor > d, 0)) {
            d = floor;
            ++raised;
        }
        const real inverse = 1 / d, root = square_root(d), scale = root * inverse;
        reciprocal[k] = scale;
        if (k + 1 < W) {
            const real next = c[k][k + 1];
            d = c[k + 1][k + 1] - next * next * inverse;
        }
        const vec multiplier = c[k] * spread(inverse);
        UNROLL for (int w = k + 1; w < W; ++w) c[w] -= multiplier * spread(c[k][w]);
        c[k] *= spread(scale);
        c[k][k] = root;
        if (H && k % 2 == 1 && k + 1 < W) fill_in(H, W, r, &fill, before_piece, own_piece);
    }
    store_tile(1, W, c, l);
    if (H) {
        fill_in(H, W, r, &fill, fill.before_count, fill.own_count);
        solve_tile(H, W, r, l, reciprocal);
        store_tile(H, W, r, job->target + j * LD + row);
    }
    return raised;
}

#define PIVOT_TILE(W, H, NAME)                                                                               \
    NOINLINE int NAME(const front* f, integer j, real floor, real* raw, const panel_job* job, integer row) { \
        return pivot_tile(W, H, f, j, floor, raw, job, row);                                                 \
    }
#if TRIFOLD_BLOCK % TRIFOLD_LANES
#define PIVOT_TILES(H) PIVOT_TILE(WIDTH, H, pivot_##H) PIVOT_TILE(TAIL, H, pivot_tail_##H)
#else
#define PIVOT_TILES(H) PIVOT_TILE(WIDTH, H, pivot_##H)
#endif
PIVOT_TILES(0)
PIVOT_TILES(1)
#if TRIFOLD_TILE_ROWS > 1
PIVOT_TILES(2)
enum { FILLER_ROWS = 2 };
#else
enum { FILLER_ROWS = 1 };
#define pivot_2 pivot_1
#define pivot_tail_2 pivot_tail_1
#endif

/* Which heights occur: a full tile has VECTORS - 1 or fewer vectors of rows below it; the last tile has none there and takes
 * rows of the next panel, if there is one. What does not occur is not compiled. */
enum {
    HAS_TAIL = n % WIDTH != 0,
    HAS_FULL = TRIFOLD_BLOCK >= TRIFOLD_LANES,
    TALL = FILLER_ROWS > 1,
    USES_0 = !HAS_TAIL,
    USES_1 = HAS_FULL,
    USES_2 = TALL && HAS_FULL && (VECTORS > 2 || (!HAS_TAIL && VECTORS > 1)),
    USES_TAIL_1 = HAS_TAIL && (VECTORS == 1 || !TALL),
    USES_TAIL_2 = HAS_TAIL && VECTORS > 1 && TALL,
};

/* The pivot tile at column j, with as many of the rows first .. VECTORS - 1 of `job` as the registers hold beside it;
 * returns how many vectors of rows. */
INLINE int pivot_and_rows(const front* f, integer j, real floor, real* raw, const panel_job* job, int first, int* raised) {
    const int rows = job ? (int)smaller(VECTORS - first, FILLER_ROWS) : 0;
    const integer row = first * LANES;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    if (j + WIDTH > n) {
        if (USES_TAIL_2 && rows == 2)
            *raised += pivot_tail_2(f, j, floor, raw, job, row);
        else if (USES_TAIL_1 && rows == 1)
            *raised += pivot_tail_1(f, j, floor, raw, job, row);
        else
            *raised += pivot_tail_0(f, j, floor, raw, job, row);
        return rows;
    }
#endif
    if (USES_2 && rows == 2)
        *raised += pivot_2(f, j, floor, raw, job, row);
    else if (USES_1 && rows == 1)
        *raised += pivot_1(f, j, floor, raw, job, row);
    else if (USES_0)
        *raised += pivot_0(f, j, floor, raw, job, row);
    return rows;
}

/* Factors the front and solves its panels, one column tile of all of them at a time. Returns how many pivots were raised. */
NOINLINE int factor_front(const front* f, real floor, real* raw) {
    int raised = 0;
    for (integer j = 0; j < n; j += WIDTH) {
        const int below_first = (int)(j / LANES) + 1;
        const panel_job below = {f->factor, f->previous_next, f->previous_next, f->factor, j, f->d, D_LEADING};
        const panel_job next = {f->next, 0, 0, f->factor, j, f->e, E_LEADING};
        if (below_first < VECTORS) {
            const int done = pivot_and_rows(f, j, floor, raw, &below, below_first, &raised);
            panel_rows(&below, below_first + done);
            if (f->next) panel_rows(&next, 0);
        } else {
            const int done = pivot_and_rows(f, j, floor, raw, f->next ? &next : 0, 0, &raised);
            if (f->next) panel_rows(&next, done);
        }
        if (TRIFOLD_FILL && f->behind) {
            const panel_job job = {f->behind, f->previous_behind, f->previous_next, f->factor, j, 0, 0};
            panel_rows(&job, 0);
        }
    }
    return raised;
}

/* ---- the test of the pivots and their logarithms ---- */

#if TRIFOLD_REAL_BYTES == 4
typedef int real_bits;
enum { MANTISSA_BITS = 23, BIAS = 127 };
#else
typedef long long real_bits;
enum { MANTISSA_BITS = 52, BIAS = 1023 };
#endif
typedef real_bits bits __attribute__((vector_size(TRIFOLD_LANES * TRIFOLD_REAL_BYTES)));
#define MANTISSA (((real_bits)1 << MANTISSA_BITS) - 1)
#define ONE ((real_bits)BIAS << MANTISSA_BITS)

/* Fills lanes n .. LD - 1 of the pivots with ones, which change neither outcome. */
INLINE void pad_pivots(real* raw) {
    for (integer k = n; k < LD; ++k) raw[k] = 1;
}

/* Raised pivots as they were used. */
INLINE void raise_pivots(real* raw, real floor) {
    for (integer k = 0; k < n; ++k)
        if (floor > raw[k]) raw[k] = floor;
}

/* First row whose pivot fails 0 < d <= largest finite, or -1. As integers, those are what stands between 0 and infinity. */
INLINE integer test_pivots(const real* raw) {
    const bits infinity = (bits){} + ((real_bits)(2 * BIAS + 1) << MANTISSA_BITS);
    bits failed = {};
    for (int v = 0; v < VECTORS; ++v) {
        const bits d = (bits)load(raw + v * LANES);
        failed |= (d <= 0) | (d >= infinity);
    }
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= failed[lane];
    if (__builtin_expect(any == 0, 1)) return -1;
    for (integer k = 0; k < n; ++k)
        if (!(raw[k] > 0 && raw[k] <= LARGEST)) return k;
    return -1;
}

/* log x for a normal x: the exponent, and the series of atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). */
INLINE double natural_logarithm(double x, integer exponent) {
    union {
        double value;
        integer bits;
    } u = {x};
    integer e = (u.bits >> 52) - 1023;
    u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
    const int above = u.value > 1.41421356237309514547;
    u.value *= above ? 0.5 : 1;
    e += above;
    const double s = (u.value - 1) / (u.value + 1), q = s * s;
    double sum = 0;
    UNROLL for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * q;
    return (double)(exponent + e) * 0.693147180559945309417 + 2 * (s + s * sum);
}

/* Sum of the logarithms of the pivots, one logarithm a block: mantissas are multiplied, exponents added. */
INLINE double log_determinant(const real* raw) {
    vec product = spread(1);
    bits exponents = {};
    for (int v = 0; v < VECTORS; ++v) {
        vec d = load(raw + v * LANES);
        const bits tiny = d < spread((real)(sizeof(real) == 8 ? 0x1p-1000 : 0x1p-100));
        d = (vec)(((bits)d & ~tiny) | ((bits)(d * spread((real)0x1p60)) & tiny)); /* subnormals have no exponent of their own */
        exponents += ((bits)d >> MANTISSA_BITS) - BIAS - (tiny & 60);
        product *= (vec)(((bits)d & MANTISSA) | ONE);
        if (v % 64 == 63) { /* the product is below 2^64 */
            exponents += 64;
            product *= spread((real)0x1p-64);
        }
    }
    double total = 1;
    integer exponent = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        total *= (double)product[lane];
        exponent += exponents[lane];
    }
    return natural_logarithm(total, exponent);
}

NOINLINE void fill_not_a_number(real* target, integer count) {
    if (!target) return;
    for (integer i = 0; i < count; ++i) target[i] = NOT_A_NUMBER;
}

/* Whatever a failed front hands on is NaN, and so is all that follows from it. */
static void poison_front(const front* f) {
    fill_not_a_number(f->factor, TRIFOLD_STORAGE_FACTOR);
    fill_not_a_number(f->next, TRIFOLD_STORAGE_PANEL);
    fill_not_a_number(f->behind, TRIFOLD_STORAGE_PANEL);
}

/* Forward and backward sweeps, one right-hand side at a time. */

INLINE void subtract_rhs_updates(const trifold_args* args, integer member, integer block, real* y) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = rhs_update_of(args, side, member, block);
        for (integer i = 0; i < args->columns * LD; i += LANES) store(y + i, load(y + i) - load(update + i));
    }
}

/* Sum over `count` pivot columns of panel(rows, k) y(k), in four sums for their latency. */
INLINE vec panel_times(const real* panel, const real* y, integer count) {
    vec sum[4] = {{}, {}, {}, {}};
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        UNROLL for (int u = 0; u < 4; ++u) sum[u] += load(panel + (k + u) * LD) * spread(y[k + u]);
    }
    for (; k < count; ++k) sum[0] += load(panel + k * LD) * spread(y[k]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* target (+)= panel y. */
NOINLINE void vector_product(real* target, const real* panel, const real* y, int add) {
    for (int v = 0; v < VECTORS; ++v) {
        const vec product = panel_times(panel + v * LANES, y, n);
        store(target + v * LANES, add ? load(target + v * LANES) + product : product);
    }
}

/* y(tile) = L(tile)^-1 c, in scalars and before the division by the diagonal: a step of the chain is one multiply-add. */
INLINE void forward_tile(const int W, const real* l, const real* reciprocal, vec c, real* y) {
    real t[WIDTH];
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = 0; k < W; ++k) {
        UNROLL for (int w = k + 1; w < W; ++w) t[w] -= l[k * LD + w] * reciprocal[k] * t[k];
        y[k] = t[k] * reciprocal[k];
    }
}

/* y = L^-1 (y - previous_next previous_y). */
NOINLINE void forward_column(const real* factor, const real* previous_next, const real* previous_y, real* y) {
    for (integer j = 0; j < n; j += WIDTH) {
        vec c = load(y + j);
        if (previous_next) c -= panel_times(previous_next + j, previous_y, n);
        if (j > 0) c -= panel_times(factor + j, y, j);
        const real *tile = factor + j * LD + j, *reciprocal = factor + n * LD + j;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
        if (j + WIDTH > n) {
            forward_tile(TAIL, tile, reciprocal, c, y + j);
            return;
        }
#endif
        forward_tile(WIDTH, tile, reciprocal, c, y + j);
    }
}

/* sum[w] += panel(rows, w) x(rows), W pivot columns, row vectors first .. VECTORS - 1 from the last down. */
INLINE void transposed_products(const int W, vec* sum, const real* panel, const real* x, int first) {
    for (int v = VECTORS - 1; v >= first; --v) {
        const vec rows = load(x + v * LANES);
        UNROLL for (int w = 0; w < W; ++w) sum[w] += load(panel + w * LD + v * LANES) * rows;
    }
}

/* x(tile) = L(tile)^-T c. */
INLINE vec backward_tile(const int W, const real* l, const real* reciprocal, vec c) {
    real t[WIDTH];
    vec x = {};
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = W - 1; k >= 0; --k) {
        UNROLL for (int w = 0; w < k; ++w) t[w] -= l[w * LD + k] * reciprocal[k] * t[k];
        x[k] = t[k] * reciprocal[k];
    }
    return x;
}

/* x = L^-T (x - next' x_next - behind' x_behind); panels are null where there is no such neighbour. */
INLINE void backward_columns(const int W, integer j, const real* factor, const real* next, const real* behind, const real* x_next,
                             const real* x_behind, real* x) {
    vec sum[LANES];
    UNROLL for (int w = 0; w < LANES; ++w) sum[w] = (vec){};
    if (next) transposed_products(W, sum, next + j * LD, x_next, 0);
    if (behind) transposed_products(W, sum, behind + j * LD, x_behind, 0);
    transposed_products(W, sum, factor + j * LD, x, (int)(j / LANES) + 1);
    const vec c = load(x + j) - sum_lanes(sum);
    store(x + j, backward_tile(W, factor + j * LD + j, factor + n * LD + j, c));
}

NOINLINE void backward_column(const real* factor, const real* next, const real* behind, const real* x_next, const real* x_behind, real* x) {
    integer j = n / WIDTH * WIDTH;
#if TRIFOLD_BLOCK % TRIFOLD_LANES
    backward_columns(TAIL, j, factor, next, behind, x_next, x_behind, x);
#endif
    while ((j -= WIDTH) >= 0) backward_columns(WIDTH, j, factor, next, behind, x_next, x_behind, x);
}

INLINE double sum_of_squares(const real* y) {
    vec sum = {};
    for (integer r = 0; r < LD; r += LANES) sum += load(y + r) * load(y + r);
    double total = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) total += (double)sum[lane];
    return total;
}

/* The forward sweep over one front: y from b, out to x. `previous_y` belongs to `previous_next`, the panel before. */
INLINE void forward_front(const trifold_args* args, const trifold_level* level, integer member, integer block, const real* previous_next,
                          const real* previous_y, real* y) {
    load_rhs(b_of(args, member, block), &args->b_strides, args->columns, y);
    if (level->index > 0) subtract_rhs_updates(args, member, block, y);
    const real* factor = factor_of(args, member, block);
    for (integer c = 0; c < args->columns; ++c) forward_column(factor, previous_next, previous_y + c * LD, y + c * LD);
    store_rhs(y, &args->x_strides, args->columns, x_of(args, member, block));
    double* quadratic = block_quadratic_of(args, member, block);
    for (integer c = 0; c < args->columns; ++c) quadratic[c] = sum_of_squares(y + c * LD);
}

/* What a front leaves for a separator's right-hand side. */
INLINE void update_rhs(real* slot, integer columns, const real* panel, const real* y, int add) {
    for (integer c = 0; c < columns; ++c) vector_product(slot + c * LD, panel, y + c * LD, add);
}

/* One worker's room: the right-hand sides of two fronts and of the separator behind. */
INLINE real* rhs_scratch(void* scratch, integer which) { return (real*)scratch + which * TRIFOLD_STORAGE_VECTOR; }

static void forward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const real* previous_next = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
        forward_front(args, level, member, block, previous_next, previous_y, y);
        if (c->behind >= 0)
            update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), args->columns,
                       behind_of(args, member, block), y, k > 0 || level->index > 0);
        previous_next = next_of(args, member, block);
    }
    if (c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), args->columns, previous_next,
                   rhs_scratch(scratch, ~c->length & 1), level->index > 0);
}

static void backward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const integer columns = args->columns;
    real* x_behind = rhs_scratch(scratch, 2);
    if (c->behind >= 0) load_rhs(x_of(args, member, block_at(level, c->behind)), &args->x_strides, columns, x_behind);
    if (c->ahead >= 0)
        load_rhs(x_of(args, member, block_at(level, c->ahead)), &args->x_strides, columns, rhs_scratch(scratch, c->length & 1));
    for (integer k = c->length; k-- > 0;) {
        const integer block = block_at(level, c->first + k * c->step);
        real *x = rhs_scratch(scratch, k & 1), *x_next = rhs_scratch(scratch, ~k & 1);
        load_rhs(b_of(args, member, block), &args->b_strides, columns, x);
        const real* next = k + 1 < c->length || c->ahead >= 0 ? next_of(args, member, block) : 0;
        const real* behind = c->behind >= 0 ? behind_of(args, member, block) : 0;
        for (integer i = 0; i < columns; ++i)
            backward_column(factor_of(args, member, block), next, behind, x_next + i * LD, x_behind + i * LD, x + i * LD);
        store_rhs(x, &args->x_strides, columns, x_of(args, member, block));
    }
}

/* The factorization of a chain, with or without the right-hand sides riding along. */

INLINE int add_to_slot(const trifold_level* level, integer k) { return k > 0 || level->index > 0; }

/* What the last front of a chain leaves for the separators: R R' ahead, the coupling of ahead and behind. */
static void finish_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const front* last) {
    if (c->ahead < 0) return;
    product(1, 1, update_of(args, side_ahead(c), member, block_at(level, c->ahead)), last->next, last->next, add_to_slot(level, 0));
    if (!TRIFOLD_FILL || c->behind < 0) return;
    const integer low = next_position(level, smaller(c->ahead, c->behind));
    real* coupling = coupling_of(args, member, level->next_coupling + low);
    const int upward = c->step > 0; /* stored as A(higher, lower) */
    product(-1, 0, coupling, upward ? last->next : last->behind, upward ? last->behind : last->next, 0);
}

static void load_front(const trifold_args* args, const trifold_level* level, integer member, const chain* c, integer k, front* f) {
    const integer position = c->first + k * c->step, block = block_at(level, position);
    const int has_next = k + 1 < c->length || c->ahead >= 0;
    f->previous_next = k > 0 ? f->next : 0;
    f->previous_behind = k > 0 ? f->behind : 0;
    f->factor = factor_of(args, member, block);
    f->next = has_next ? next_of(args, member, block) : 0;
    f->behind = c->behind >= 0 ? behind_of(args, member, block) : 0;
    const int direct = DIRECT && level->index == 0;
    f->d = direct && !args->diagonal && !args->shift ? d_of(args, member, block) : 0;
    f->e = direct && c->step > 0 ? e_of(args, member, block) : 0;
    if (!f->d) load_diagonal_block(args, member, block, f->factor);
    if (f->next && !f->e) load_coupling(args, level, member, position + c->step, position, f->next);
    if (f->behind && k == 0) load_coupling(args, level, member, c->behind, position, f->behind);
    if (f->behind && k > 0)
        for (integer i = 0; i < n * LD; i += LANES) store(f->behind + i, (vec){});
}

static void factor_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const int with_rhs,
                         void* scratch) {
    real raw[LD] __attribute__((aligned(64)));
    pad_pivots(raw);
    front f = {0};
    int fed_by_failed = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        load_front(args, level, member, c, k, &f);
        const real floor = pivot_floor(args, member, block);
        if (level->index > 0) {
            subtract_updates(args, member, block, f.factor);
            fed_by_failed |= is_poisoned(args, member, block);
        }
        const int raised = factor_front(&f, floor, raw);
        *floors_of(args, member, block) = raised;
        if (__builtin_expect(raised, 0)) raise_pivots(raw, floor);
        if (__builtin_expect(record_front(args, member, block, level->index, test_pivots(raw), fed_by_failed), 0)) {
            fed_by_failed = 1;
            poison_front(&f);
        }
        *block_log_determinant_of(args, member, block) = log_determinant(raw);
        if (TRIFOLD_FILL && f.behind)
            product(1, 1, update_of(args, side_behind(c), member, block_at(level, c->behind)), f.behind, f.behind, add_to_slot(level, k));
        if (with_rhs) {
            real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
            forward_front(args, level, member, block, f.previous_next, previous_y, y);
            if (TRIFOLD_FILL && f.behind)
                update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), args->columns, f.behind, y,
                           add_to_slot(level, k));
        }
    }
    finish_chain(args, level, member, c, &f);
    if (with_rhs && c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), args->columns, f.next,
                   rhs_scratch(scratch, ~c->length & 1), add_to_slot(level, 0));
    if (c->ahead >= 0) mark_poison(args, side_ahead(c), member, block_at(level, c->ahead), level->index, fed_by_failed);
    if (c->behind >= 0) mark_poison(args, side_behind(c), member, block_at(level, c->behind), level->index, fed_by_failed);
}

/* Entry points: a task is one chain of one member. */
#define CHAIN_KERNEL(NAME, CALL)                                                                                                    \
    void NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                 \
            const integer member = task / level->chains;                                                                            \
            if (!is_active(args, member)) continue;                                                                                 \
            const chain c = find_chain(level, task % level->chains);                                                                \
            CALL;                                                                                                                   \
        }                                                                                                                           \
        (void)scratch;                                                                                                              \
    }
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_chain(args, level, member, &c, 0, scratch))
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_chain(args, level, member, &c, 1, scratch))
CHAIN_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain(args, level, member, &c, scratch))
CHAIN_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain(args, level, member, &c, scratch))

/* Results of a member from those of its blocks, in a fixed order. Tasks are members. */

COLD void finish_factor(const trifold_args* args, integer member) {
    integer worst = SOUND, floors = 0;
    double sum = 0;
    ROLLED for (integer block = 0; block < TRIFOLD_HORIZON; ++block) {
        worst = smaller(worst, *failure_of(args, member, block));
        floors += *floors_of(args, member, block);
        sum += *block_log_determinant_of(args, member, block);
    }
    trifold_status* status = (trifold_status*)workspace_at(args, TRIFOLD_OFFSET_STATUS) + member;
    double* log_determinant = (double*)workspace_at(args, TRIFOLD_OFFSET_LOG_DETERMINANT) + member;
    const int sound = worst == SOUND;
    *status = (trifold_status){sound ? -1 : worst / n % TRIFOLD_HORIZON, sound ? 0 : worst % n, floors};
    *log_determinant = sound ? sum : __builtin_nan("");
}

COLD void finish_forward(const trifold_args* args, integer member) {
    double* quadratic = (double*)workspace_at(args, TRIFOLD_OFFSET_QUADRATIC) + member * TRIFOLD_RHS;
    for (integer column = 0; column < args->columns; ++column) {
        double sum = 0;
        ROLLED for (integer block = 0; block < TRIFOLD_HORIZON; ++block) sum += block_quadratic_of(args, member, block)[column];
        quadratic[column] = sum;
    }
}

void TRIFOLD_KERNEL_FINISH_FACTOR(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                  void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_factor(args, member);
}

void TRIFOLD_KERNEL_FINISH_FORWARD(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                   void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_forward(args, member);
}

