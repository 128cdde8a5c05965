/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 8 blocks of 4 by 4, f64, 1 right-hand side(s), up to 1 system(s); target cpu:x86-64-v3; schedule twisted:2; variant tile.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 4 --horizon 8 --precision f64 --rhs 1 --batch 1 --schedule twisted:2 --workers 1 --variant tile --target cpu:x86-64-v3
 * Workspace: 5632 bytes, aligned to 256.
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
#define TRIFOLD_OFFSET_RANGE 768LL
#define TRIFOLD_OFFSET_FACTOR 1024LL
#define TRIFOLD_OFFSET_NEXT 2304LL
#define TRIFOLD_OFFSET_BEHIND 3328LL
#define TRIFOLD_OFFSET_UPDATE 3328LL
#define TRIFOLD_OFFSET_COUPLING 3584LL
#define TRIFOLD_OFFSET_RHS_UPDATE 3584LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 3840LL
#define TRIFOLD_OFFSET_FAILURE 3840LL
#define TRIFOLD_OFFSET_FLOORS 4096LL
#define TRIFOLD_OFFSET_POISON 4352LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 4608LL
#define TRIFOLD_OFFSET_REDUCTION 4864LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 5120LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FORWARD btd_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n4_f64_x8664v3_df574320
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n4_f64_x8664v3_df574320
#define TRIFOLD_LANES 4
#define TRIFOLD_LEADING 4
#define TRIFOLD_INTERLEAVE 1
#define TRIFOLD_WIDTH 4
#define TRIFOLD_HALVES 0
#define TRIFOLD_FEW_STRIPS 0
#define TRIFOLD_FETCH_LINES 0
#define TRIFOLD_FETCH_COLUMNS 4
#define TRIFOLD_FILL 0
#define TRIFOLD_FRONTS_HAVE_PRODUCTS 0
#define TRIFOLD_LOW_1 0, 4, 2, 6
#define TRIFOLD_HIGH_1 1, 5, 3, 7
#define TRIFOLD_LOW_2 0, 1, 4, 5
#define TRIFOLD_HIGH_2 2, 3, 6, 7
#define TRIFOLD_SHIFT 4, 5, 6, 7
#define TRIFOLD_SCRATCH_BYTES 256
#define TRIFOLD_SIZEOF_ARGS 184
#define TRIFOLD_SIZEOF_LEVEL 208

/* ---- integer.h ---- */
/* The integer of all that host and kernels share. */
#ifndef TRIFOLD_INTEGER_H
#define TRIFOLD_INTEGER_H

typedef long long trifold_int;

#endif

/* ---- tridiagonal_args.h ---- */
/* Block tridiagonal systems: what a launch passes to a kernel. One text for the host library, generated C and device code, so both sides
 * agree; every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_TRIDIAGONAL_ARGS_H
#define TRIFOLD_TRIDIAGONAL_ARGS_H


/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* When a launch that treats all levels may begin: after the launch before it has ended; or early, when all fronts of a factorization or of
 * a forward sweep have been claimed but need not be done. */
typedef enum { trifold_after, trifold_beside_factor, trifold_beside_forward } trifold_start;

/* The blocks that remain when a level starts are base + scale * p for positions p = 0 .. size - 1. A chain's neighbours
 * are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;             /* level number, from 0; or where one launch has all levels a trifold_start; or a round of refinement */
    trifold_int base, scale, size; /* remaining blocks */
    trifold_int next_base, next_scale, next_size; /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;          /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                     /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* Strides in elements; element (r, c) of block i of member b stands at b * member + i * stage + r * row + c * column. */
typedef struct {
    trifold_int row, column, stage, member;
} trifold_strides;

/* Outcome of a member's factorization. block is -1 when it succeeded. */
typedef struct {
    trifold_int block;           /* first failing block, original order, from 0; -1: none */
    trifold_int row;             /* failing row within it, from 0 */
    trifold_int floors;          /* pivots raised to the floor */
    double least_pivot;          /* the least pivot, each over the diagonal entry that it began with; 0 where the factorization failed */
    trifold_int nearly_singular; /* 1: it is below trifold_nearly_singular times the precision's epsilon, which the call did not accept */
} trifold_status;

/* The least pivot of a sound system is larger than that many epsilons. Rounding leaves at most a few of them of a pivot that should be
 * zero. */
enum { trifold_nearly_singular = 64 };

/* Results of a member that have left the range of the precision: they hold infinities or NaN. 0: none, 1: some. A sweep's or inverse's
 * first chain, which is that of the last level, sets it to 0, and whoever finds such an element after it to 1. */
typedef struct {
    int solution; /* X of the last backward sweep */
    int inverse;  /* of the last selected inverse */
} trifold_range;

/* Mixed precision: how the refinement of a member's solution went. Of a call's columns the worst. */
typedef struct {
    trifold_int iterations; /* corrections of the first solution; -1: never solved */
    trifold_int converged;  /* 1, or 0: the solution is NaN */
    double backward_error;  /* the largest |b - A x| / (|A| |x| + |b|) of a row */
} trifold_refined;

typedef struct {
    const void* d; /* D; strides are constants of the unit */
    const void* e; /* E */
    const void* b; /* input of a sweep */
    void* x;       /* output of a sweep; may be b */
    trifold_strides b_strides, x_strides;
    trifold_int columns;                /* right-hand sides of this call, 1 .. TRIFOLD_RHS */
    trifold_int members;                /* active capacity of this call, 1 .. TRIFOLD_BATCH */
    const void* diagonal;               /* added to the diagonal, [batch][N][n]; may be null */
    const void* shift;                  /* added to every diagonal entry, [batch]; may be null */
    const int* active;                  /* [batch], 0 skips the member; may be null */
    double pivot_floor;                 /* relative to the largest magnitude on the block's diagonal as loaded; 0: none */
    void* inverse_diagonal;             /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks */
    void* inverse_coupling;             /* [batch][N-1][n][n], row-major: block (i+1, i) of the inverse */
    void* workspace;                    /* factor, slots and results; offsets are constants of the unit */
    trifold_int first_column;           /* of the caller's right-hand sides: those before it had calls of their own */
    trifold_int accept_nearly_singular; /* 1: a least pivot below the bound is no failure; nor is it with a pivot floor */
} trifold_args;

#endif

/* ---- cpu/constants.c ---- */
/* Constants of CPU kernels of every family. */
typedef TRIFOLD_REAL real;
#define REAL_BYTES TRIFOLD_REAL_BYTES /* of an element */
#define VECTOR_LANES TRIFOLD_LANES    /* elements of one `vec` */

/* ---- cpu/tridiagonal/constants.c ---- */
/* What every CPU kernel is told. A variant's own constants stand in its folder. Nothing outside files of constants reads the generator's
 * macros, except names of kernels. These are macros too, since the preprocessor decides by some of them. */

#define BLOCK TRIFOLD_BLOCK                 /* rows of a block, n */
#define HORIZON TRIFOLD_HORIZON             /* blocks of a system, N */
#define MEMBERS TRIFOLD_BATCH               /* systems that there is room for */
#define MOST_COLUMNS TRIFOLD_RHS            /* right-hand sides of a call, at most */
#define LEADING TRIFOLD_LEADING             /* rows of a stored block: those of a block, rounded up to whole vectors */
#define GROUP_MEMBERS TRIFOLD_INTERLEAVE    /* members stored element by element beside one another; 1: each member on its own */
#define SCRATCH_BYTES TRIFOLD_SCRATCH_BYTES /* of each thread */

/* Where element (r, c) of block i of member b stands in the caller's D: at b * D_MEMBER + i * D_STAGE + r * D_ROW + c * D_COLUMN. So in
 * E. */
#define D_ROW TRIFOLD_D_ROW
#define D_COLUMN TRIFOLD_D_COLUMN
#define D_STAGE TRIFOLD_D_STAGE
#define D_MEMBER TRIFOLD_D_MEMBER
#define E_ROW TRIFOLD_E_ROW
#define E_COLUMN TRIFOLD_E_COLUMN
#define E_STAGE TRIFOLD_E_STAGE
#define E_MEMBER TRIFOLD_E_MEMBER

/* What level 0 leaves: block SEPARATOR_BASE + k * SEPARATOR_SCALE for k below SEPARATORS. Each has slots that chains write their updates
 * to. */
#define SEPARATORS TRIFOLD_SEPARATORS
#define SEPARATOR_BASE TRIFOLD_SEPARATOR_BASE
#define SEPARATOR_SCALE TRIFOLD_SEPARATOR_SCALE
#define COUPLINGS TRIFOLD_COUPLINGS /* of a member, at all levels above 0 */

/* Elements of what the workspace holds for a block. */
#define STORAGE_FACTOR TRIFOLD_STORAGE_FACTOR     /* L, and reciprocals of its diagonal */
#define STORAGE_PANEL TRIFOLD_STORAGE_PANEL       /* R or G */
#define STORAGE_UPDATE TRIFOLD_STORAGE_UPDATE     /* what chains add to a separator */
#define STORAGE_COUPLING TRIFOLD_STORAGE_COUPLING /* A(higher position, lower position) */
#define STORAGE_VECTOR TRIFOLD_STORAGE_VECTOR     /* all right-hand sides of a block */

/* Where the workspace holds it, in bytes from its start. */
#define OFFSET_FACTOR TRIFOLD_OFFSET_FACTOR
#define OFFSET_NEXT TRIFOLD_OFFSET_NEXT                         /* R */
#define OFFSET_BEHIND TRIFOLD_OFFSET_BEHIND                     /* G */
#define OFFSET_UPDATE TRIFOLD_OFFSET_UPDATE                     /* slots of separators */
#define OFFSET_RHS_UPDATE TRIFOLD_OFFSET_RHS_UPDATE             /* slots of separators */
#define OFFSET_COUPLING TRIFOLD_OFFSET_COUPLING                 /* above level 0 */
#define OFFSET_INVERSE_COUPLING TRIFOLD_OFFSET_INVERSE_COUPLING /* the inverse's, above level 0 */
#define OFFSET_FAILURE TRIFOLD_OFFSET_FAILURE                   /* of each block: its verdict */
#define OFFSET_FLOORS TRIFOLD_OFFSET_FLOORS                     /* of each block: pivots raised to the floor */
#define OFFSET_REDUCTION TRIFOLD_OFFSET_REDUCTION               /* of each block: the largest diagonal entry over its pivot */
#define OFFSET_POISON TRIFOLD_OFFSET_POISON                     /* of each slot: whether what fed it had failed */
#define OFFSET_BLOCK_LOG_DETERMINANT TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT
#define OFFSET_BLOCK_QUADRATIC TRIFOLD_OFFSET_BLOCK_QUADRATIC
#define OFFSET_STATUS TRIFOLD_OFFSET_STATUS /* of each member, as all below */
#define OFFSET_LOG_DETERMINANT TRIFOLD_OFFSET_LOG_DETERMINANT
#define OFFSET_QUADRATIC TRIFOLD_OFFSET_QUADRATIC
#define OFFSET_RANGE TRIFOLD_OFFSET_RANGE

/* Lists of lanes. LOW_LANES(w) takes, from every 2 w lanes of two vectors, the first w of each, and HIGH_LANES(w) the last w. */
#define LOW_LANES(w) TRIFOLD_LOW_##w
#define HIGH_LANES(w) TRIFOLD_HIGH_##w

_Static_assert(sizeof(trifold_args) == TRIFOLD_SIZEOF_ARGS && sizeof(trifold_level) == TRIFOLD_SIZEOF_LEVEL,
               "host and kernel disagree on tridiagonal_args.h");

/* ---- cpu/tridiagonal/tile/constants.c ---- */
/* What variant "tile" is told. */

#define TILE_WIDTH TRIFOLD_WIDTH                          /* columns of a register tile */
#define HALF_VECTORS TRIFOLD_HALVES                       /* 1: the processor carries out a vector in two halves */
#define MOST_FEW_STRIPS TRIFOLD_FEW_STRIPS                /* blocks of up to so many strips are treated strip by strip; 0: none; measured */
#define FETCHED_LINES TRIFOLD_FETCH_LINES                 /* lines of the next front that are fetched at a time; 0: none */
#define FETCH_COLUMNS TRIFOLD_FETCH_COLUMNS               /* columns of products between two fetches */
#define HAS_FILL TRIFOLD_FILL                             /* 1: some chain has a neighbour behind, so that its fronts have a G */
#define FRONTS_HAVE_PRODUCTS TRIFOLD_FRONTS_HAVE_PRODUCTS /* 1: each front has products of its own, not just the last of a chain */

/* Lanes of a vector that ends at a column's last row, then of zeros: the last rows of a column, padded. */
#define LAST_LANES TRIFOLD_SHIFT

/* ---- cpu/vectors.c ---- */
/* Vectors, and the numbers in them, for CPU kernels of every family. GNU C with vector extensions, no headers. */

typedef real vec __attribute__((vector_size(VECTOR_LANES * REAL_BYTES)));
/* A vector in the user's arrays, which are aligned to elements only; it may alias reals. */
typedef real loose __attribute__((vector_size(VECTOR_LANES * REAL_BYTES), aligned(REAL_BYTES), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE static __attribute__((noinline, unused))
#define UNROLL _Pragma("GCC unroll 16")

#if REAL_BYTES == 4
#define LARGEST 3.40282346638528859811704183484516925e+38f
INLINE real square_root(real x) { return __builtin_sqrtf(x); }
#else
#define LARGEST 1.79769313486231570814527423731704357e+308
INLINE real square_root(real x) { return __builtin_sqrt(x); }
#endif
#define NOT_A_NUMBER ((real)__builtin_nan(""))

INLINE vec spread(real x) { return x - (vec){}; } /* x in every lane; -0 survives */
INLINE vec load(const real* p) { return *(const vec*)p; }
INLINE void store(real* p, vec x) { *(vec*)p = x; }

/* GCC reads a row again for every multiplier, unless HOLD hides where the register's value is from. Clang does not. Only a vector that
 * fills one register can be held: a wider one takes several, and a narrower one may lie in a register of another kind. */
#if defined(__AVX512F__)
#define HELD_BYTES 64
#elif defined(__AVX__)
#define HELD_BYTES 32
#else
#define HELD_BYTES 16
#endif
#if defined(__clang__) || VECTOR_LANES * REAL_BYTES < 16 || VECTOR_LANES * REAL_BYTES > HELD_BYTES
#define HOLD(row)
#elif defined(__x86_64__)
#define HOLD(row) __asm__("" : "+v"(row))
#elif defined(__aarch64__)
#define HOLD(row) __asm__("" : "+w"(row))
#else
#define HOLD(row)
#endif

/* ---- cpu/tridiagonal/common.c ---- */
/* Geometry of chains, addresses in the workspace, loads of D and E, and failures, for all CPU kernels of the family.
 *
 * What the workspace holds for a block; how the elements of a stored block lie is the variant's choice.
 *   factor    L (lower triangle), then LD reciprocals of its diagonal or, in variant "lanes", in place of it
 *   next      R = A(next, i) L^-T: column k holds the rows of the next block at pivot column k
 *   behind    G = A(behind, i) L^-T: column k holds the rows of the block behind at pivot column k
 *   update    what chains add to a separator;   coupling  A(higher position, lower position)
 *   rhs_update  one column of LD a right-hand side
 */

typedef trifold_int integer;

enum { n = BLOCK, LD = LEADING, LANES = VECTOR_LANES, INTERLEAVE = GROUP_MEMBERS };

/* What a kernel consists of; a unit without that kernel does not call it. */
#define KERNEL_PART static __attribute__((unused))
/* A Program's kernels are those whose name the generator defines. They are static in a unit that calls them itself. */
#ifdef TRIFOLD_STATIC_KERNELS
#define KERNEL static __attribute__((unused)) void
#else
#define KERNEL void
#endif
/* Off the main path: small code, sooner compiled. */
#define COLD static __attribute__((noinline, cold, unused))

#define LEAST_NORMAL 2.22507385850720138309e-308 /* of f64 */

INLINE integer smaller(integer a, integer b) { return a < b ? a : b; }

/* ---- lanes ---- */

/* The generator lists the lanes: LOW_w takes, from every 2 w lanes of a and b, the first w of each; HIGH_w the last w. */
#define LOW(w, a, b) __builtin_shufflevector(a, b, LOW_LANES(w))
#define HIGH(w, a, b) __builtin_shufflevector(a, b, HIGH_LANES(w))
#define ROLLED _Pragma("GCC unroll 1")

/* A step of transposing every `count` by `count` matrix of v; those of a step beyond the matrix are none. */
#define TRANSPOSE_PART(v, w, count)                                     \
    UNROLL for (int i = 0; i < count; ++i) if (w < count && !(i & w)) { \
        const vec low = LOW(w, v[i], v[(i + w) % count]);               \
        v[(i + w) % count] = HIGH(w, v[i], v[(i + w) % count]);         \
        v[i] = low;                                                     \
    }
#define TRANSPOSE_STEP(v, w) TRANSPOSE_PART(v, w, LANES)
#define SUM_STEP(v, w) UNROLL for (int i = 0; i < LANES; i += 2 * w) v[i] = LOW(w, v[i], v[i + w]) + HIGH(w, v[i], v[i + w]);

#if VECTOR_LANES == 1
#define STEPS(STEP, v)
#elif VECTOR_LANES == 2
#define STEPS(STEP, v) STEP(v, 1)
#elif VECTOR_LANES == 4
#define STEPS(STEP, v) STEP(v, 1) STEP(v, 2)
#elif VECTOR_LANES == 8
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
INLINE int has_slot(integer block, int side) { return side == 0 ? block > 0 : block + 1 < HORIZON; }

/* ---- addresses; `group` counts groups of INTERLEAVE members ---- */

INLINE char* workspace_at(const trifold_args* args, integer offset) { return (char*)args->workspace + offset; }
INLINE real* reals_at(const trifold_args* args, integer offset, integer index, integer storage) {
    return (real*)__builtin_assume_aligned(workspace_at(args, offset) + index * storage * INTERLEAVE * REAL_BYTES, sizeof(vec));
}
INLINE real* factor_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, OFFSET_FACTOR, group * HORIZON + block, STORAGE_FACTOR);
}
INLINE real* next_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, OFFSET_NEXT, group * HORIZON + block, STORAGE_PANEL);
}
INLINE real* behind_of(const trifold_args* args, integer group, integer block) {
    return reals_at(args, OFFSET_BEHIND, group * HORIZON + block, STORAGE_PANEL);
}
/* Index of a separator's slot in update, rhs_update (by group) and poison (by member). */
INLINE integer slot_index(integer side, integer members, integer member, integer block) {
    return (side * members + member) * SEPARATORS + (block - SEPARATOR_BASE) / SEPARATOR_SCALE;
}
INLINE real* update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, OFFSET_UPDATE, slot_index(side, MEMBERS / INTERLEAVE, group, block), STORAGE_UPDATE);
}
INLINE real* rhs_update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, OFFSET_RHS_UPDATE, slot_index(side, MEMBERS / INTERLEAVE, group, block), STORAGE_VECTOR);
}
/* `index` is level.coupling or level.next_coupling plus the smaller of the two positions in that level. */
INLINE real* coupling_of(const trifold_args* args, integer group, integer index) {
    return reals_at(args, OFFSET_COUPLING, group * COUPLINGS + index, STORAGE_COUPLING);
}
INLINE real* inverse_coupling_of(const trifold_args* args, integer group, integer index) {
    return reals_at(args, OFFSET_INVERSE_COUPLING, group * COUPLINGS + index, STORAGE_COUPLING);
}

INLINE const real* d_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->d + member * D_MEMBER + block * D_STAGE;
}
/* A(block + 1, block) */
INLINE const real* e_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->e + member * E_MEMBER + block * E_STAGE;
}
INLINE const real* b_of(const trifold_args* args, integer member, integer block) {
    return (const real*)args->b + member * args->b_strides.member + block * args->b_strides.stage;
}
INLINE real* x_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->x + member * args->x_strides.member + block * args->x_strides.stage;
}

/* Blocks of the selected inverse in the caller's arrays: (block, block) and (block + 1, block). */
INLINE real* inverse_diagonal_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->inverse_diagonal + (member * HORIZON + block) * n * n;
}
INLINE real* inverse_neighbour_of(const trifold_args* args, integer member, integer block) {
    return (real*)args->inverse_coupling + (member * (HORIZON - 1) + block) * n * n;
}

/* What is added to entry `row` of the diagonal of D where it is loaded. */
INLINE real diagonal_term(const trifold_args* args, integer member, integer block, integer row) {
    real sum = 0;
    if (args->diagonal) sum += ((const real*)args->diagonal)[(member * HORIZON + block) * n + row];
    if (args->shift) sum += ((const real*)args->shift)[member];
    return sum;
}

/* Right-hand sides of this call: known where the Spec has one, which spares loops that the compiler would prepare for more. */
INLINE integer columns_of(const trifold_args* args) { return MOST_COLUMNS == 1 ? 1 : args->columns; }

INLINE int is_active(const trifold_args* args, integer member) { return !args->active || args->active[member] != 0; }

/* ---- results of one front ---- */

/* A sum of squares below the normal range: zero only if all roots are. The least number of all stands for squares that have become zero, so
 * that finish_forward sees that there were some. */
COLD double tiny_square(double sum, const real* y, integer count) {
    for (integer r = 0; r < count && sum == 0; ++r)
        if (y[r] != 0) sum = 4.94065645841246544177e-324;
    return sum;
}

#define SOUND 0x7fffffffffffffffLL /* failure[][] of a front that went well */
#define FED_BY_FAILED (SOUND - 1)  /* of one whose inputs had failed already */

INLINE integer front_index(integer member, integer block) { return member * HORIZON + block; }
INLINE integer* failure_of(const trifold_args* args, integer member, integer block) {
    return (integer*)workspace_at(args, OFFSET_FAILURE) + front_index(member, block);
}
INLINE int* floors_of(const trifold_args* args, integer member, integer block) {
    return (int*)workspace_at(args, OFFSET_FLOORS) + front_index(member, block);
}
INLINE int* poison_of(const trifold_args* args, int side, integer member, integer block) {
    return (int*)workspace_at(args, OFFSET_POISON) + slot_index(side, MEMBERS, member, block);
}
INLINE double* block_log_determinant_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_BLOCK_LOG_DETERMINANT) + front_index(member, block);
}
/* Zero until a chain ends there: its largest diagonal entry over its pivot. */
INLINE double* reduction_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_REDUCTION) + front_index(member, block);
}
INLINE double* block_quadratic_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_BLOCK_QUADRATIC) + front_index(member, block) * MOST_COLUMNS;
}

INLINE trifold_range* range_of(const trifold_args* args, integer member) {
    return (trifold_range*)workspace_at(args, OFFSET_RANGE) + member;
}
/* Chains of one member may end side by side, and all say the same. */
INLINE void set_range(int* range, int left) { __atomic_store_n(range, left, __ATOMIC_RELAXED); }
/* The last level has one chain, with which what goes down the levels begins. */
INLINE int begins_descent(const trifold_args* args, const trifold_level* level) { return level->next_size == 0 && args->first_column == 0; }

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
        failure = (level * HORIZON + block) * n + row;
    *failure_of(args, member, block) = failure;
    return failure != SOUND;
}

/* ---- cpu/tridiagonal/tile/fetch.c ---- */
/* What the next front of a chain reads and writes is fetched while this one is worked on: FETCHED_LINES lines every
 * FETCH_COLUMNS columns of its products. All at once they would take the buffers that the products' own operands wait for. */

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

/* Before column k of a product, a multiple of four. */
INLINE void fetch(expected* next, integer k) {
    if (FETCHED_LINES == 0 || !next || k % FETCH_COLUMNS) return;
    UNROLL for (int i = 0; i < FETCHED_LINES; ++i) {
        fetch_line(&next->reads, 0);
        fetch_line(&next->writes, 1);
    }
}

/* ---- cpu/tridiagonal/tile/tile.c ---- */
/* Variant "tile": stored blocks and the register tiles that work on them.
 *
 * A stored block lies in strips of LANES rows, each strip column by column: element (r, c) stands at (r / LANES) STRIP + c LANES +
 * r % LANES. So a product reads both its operands, and a sweep its block, from front to back. Rows n .. LD - 1 are zero; what
 * stands above the diagonal of L or of an update is left open.
 *
 * A register tile is H strips by W columns: the rows in vector lanes, the multipliers broadcast from memory. */

enum { WIDTH = TILE_WIDTH, STRIP = n * LANES, VECTORS = LD / LANES, PIVOT_TAIL = n % LANES, TAIL = n % WIDTH };
enum { SQUARE = TILE_WIDTH == VECTOR_LANES }; /* a column tile is as wide as a pivot tile */

INLINE integer at(integer row, integer column) { return row / LANES * STRIP + column * LANES + row % LANES; }
/* Where element (row, column) stands if `row` starts a column tile. And the first column of the pivot tile that column j is in. */
INLINE integer across(integer row, integer column) { return SQUARE ? row * n + column * LANES : at(row, column); }
INLINE integer pivot_of(integer j) { return SQUARE ? j : j / LANES * LANES; }

/* GCC carries rows from one turn of a loop to the next, for which there are too few registers, unless FORGET hides where a pointer points.
 * Clang does not. */
#if defined(__clang__)
#define FORGET(pointer)
#else
#define FORGET(pointer) __asm__("" : "+r"(pointer))
#endif

/* c[w * H + h] -= sum over k < count of a(rows h, k) b(w, k). */
INLINE void multiply_column(const int H, const int W, vec* c, const real* a, const real* b) {
    vec rows[3];
    UNROLL for (int h = 0; h < H; ++h) {
        rows[h] = load(a + h * STRIP);
        HOLD(rows[h]);
    }
    UNROLL for (int w = 0; w < W; ++w) {
        const vec multiplier = spread(b[w]);
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= rows[h] * multiplier;
    }
}

/* Four columns at a time, with fetches before them; where accumulators are so few that they would wait for themselves, odd columns have
 * their own. */
INLINE void multiply_subtract(const int H, const int W, vec* c, const real* a, const real* b, integer count, expected* next) {
    const int few = H * W < 8;
    vec odd[8];
    if (few) {
        UNROLL for (int i = 0; i < H * W; ++i) odd[i] = (vec){};
    }
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        const real* rows = a + k * LANES;
        FORGET(rows);
        fetch(next, k);
        UNROLL for (int u = 0; u < 4; ++u) multiply_column(H, W, few && u % 2 ? odd : c, rows + u * LANES, b + (k + u) * LANES);
    }
    if (n % 4 != 0 || LANES % 4 != 0) ROLLED for (; k < count; ++k) multiply_column(H, W, c, a + k * LANES, b + k * LANES);
    if (few) {
        UNROLL for (int i = 0; i < H * W; ++i) c[i] += odd[i];
    }
}

INLINE void load_tile(const int H, const int W, vec* c, const real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = load(p + h * STRIP + w * LANES); }
}

INLINE void store_tile(const int H, const int W, const vec* c, real* p) {
    UNROLL for (int w = 0; w < W; ++w) { UNROLL for (int h = 0; h < H; ++h) store(p + h * STRIP + w * LANES, c[w * H + h]); }
}

/* ---- tiles straight from the user's arrays ---- */

/* How D and E (upwards) are read: 1 where rows are contiguous along a stored column, 2 where they are across it and tiles
 * are transposed in registers, 0 where blocks are first copied to where their factors go. */
#if BLOCK >= VECTOR_LANES && D_ROW == 1 && E_ROW == 1
enum { DIRECT = 1, D_LEADING = D_COLUMN, E_LEADING = E_COLUMN };
#elif BLOCK >= VECTOR_LANES && D_COLUMN == 1 && E_COLUMN == 1 && TILE_WIDTH == VECTOR_LANES
enum { DIRECT = 2, D_LEADING = D_ROW, E_LEADING = E_ROW };
#else
enum { DIRECT = 0, D_LEADING = 0, E_LEADING = 0 };
#endif

/* Where strips are not simply read with another distance between columns. */
enum { SPECIAL = DIRECT == 2 || (DIRECT == 1 && n % LANES != 0) };

/* LANES reals of a column from `row` on, zeros below its last row, reading nothing beyond it. */
INLINE vec load_rows(const real* column, integer row) {
    if (n % LANES && row + LANES > n) return __builtin_shufflevector(*(const loose*)(column + n - LANES), (vec){}, LAST_LANES);
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

/* ---- tiles of a panel ---- */

/* What a panel starts from: columns of strips anywhere in memory, or the user's array. */
typedef struct {
    const real* p;
    integer strip, column; /* apart */
    const real* source;    /* null where strips are read */
    integer leading;
} origin;

static const real nothing[LANES] __attribute__((aligned(64)));
INLINE origin zero(void) { return (origin){.p = nothing}; }
INLINE origin stored(const real* block) { return (origin){.p = block, .strip = STRIP, .column = LANES}; }
INLINE origin users(const real* source, integer leading) { return (origin){source, LANES, leading, source, leading}; }

/* A panel T = (start - before multipliers') L^-T, or start - before multipliers' where `factor` is null. `before` may be null. */
typedef struct {
    real* target;
    origin start;
    const real *before, *multipliers;
    const real *factor, *unit; /* unit: see pivot_tile */
    expected* next;            /* fetched meanwhile; may be null */
    integer upper;             /* LANES where T and `before` are upper triangular, with zeros left of the diagonal, or 0 */
} panel;

INLINE void load_start(const int H, const int W, vec* c, const origin* start, integer strip, integer j) {
    const real* p = start->p + strip * start->strip + j * start->column;
    UNROLL for (int w = 0; w < W; ++w) {
        UNROLL for (int h = 0; h < H; ++h) c[w * H + h] = *(const loose*)(p + w * start->column + h * start->strip);
    }
}

/* c = c L(tile)^-T for a few rows, by the columns of L divided by their diagonal, so that a step of the chain is one multiply-add. */
INLINE void solve_tile(const int H, const int W, vec* c, const real* unit, const real* reciprocal) {
    UNROLL for (int k = 0; k < W; ++k) {
        UNROLL for (int w = k + 1; w < W; ++w) {
            const vec multiplier = spread(unit[k * LANES + w]);
            UNROLL for (int h = 0; h < H; ++h) c[w * H + h] -= c[k * H + h] * multiplier;
        }
    }
    UNROLL for (int k = 0; k < W; ++k) {
        const vec scale = spread(reciprocal[k]);
        UNROLL for (int h = 0; h < H; ++h) c[k * H + h] *= scale;
    }
}

INLINE void start_tile(const int H, const int W, vec* c, const panel* p, integer strip, integer j) {
    if (SPECIAL && p->start.source)
        load_source(H, W, c, p->start.source, p->start.leading, strip * LANES, j);
    else
        load_start(H, W, c, &p->start, strip, j);
}

/* Blocks of few strips on a processor that carries out a vector in two halves: the columns of one strip keep its multipliers busy, and
 * what a tile starts from would come late, since other tiles last no longer than the second- and third-level caches take. */
enum { FEW_STRIPS = VECTORS <= MOST_FEW_STRIPS };

/* What the tiles of the strips first .. end - 1 at column j start from, in the user's array; past its block's end, in the next block. */
INLINE void fetch_start(const panel* p, integer first, integer end, integer j) {
    if (!FEW_STRIPS || DIRECT != 1 || !p->start.source) return;
    for (integer strip = first; strip < end; ++strip)
        UNROLL for (int k = 0; k < LANES; ++k) __builtin_prefetch(p->start.source + (j + k) * p->start.leading + strip * LANES);
}

/* A tile of a panel; or, where `left_open`, only the products that wait for nothing of its pivot tile. */
INLINE void panel_tile(const int H, const int W, const panel* p, integer strip, integer j, int left_open) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer pivot = pivot_of(j), zeros = p->upper * strip;
    start_tile(H, W, c, p, strip, j);
    if (H == 1) fetch_start(p, strip, strip + 1, j + W);
    if (p->before)
        multiply_subtract(H, W, c, p->before + strip * STRIP + zeros * LANES, p->multipliers + across(j, zeros), n - zeros, p->next);
    if (p->factor) {
        multiply_subtract(H, W, c, target + zeros * LANES, p->factor + across(j, zeros), (left_open ? pivot : j) - zeros, p->next);
        if (!left_open) solve_tile(H, W, c, p->unit + (pivot & LANES) * LANES + (j - pivot) * (LANES + 1), p->factor + n * LD + j);
    }
    store_tile(H, W, c, target + j * LANES);
}

/* What was left open. */
INLINE void close_tile(const int H, const int W, const panel* p, integer strip, integer j) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer pivot = pivot_of(j);
    load_tile(H, W, c, target + j * LANES);
    if (!SQUARE) multiply_subtract(H, W, c, target + pivot * LANES, p->factor + across(j, pivot), j - pivot, p->next);
    solve_tile(H, W, c, p->unit + (pivot & LANES) * LANES + (j - pivot) * (LANES + 1), p->factor + n * LD + j);
    store_tile(H, W, c, target + j * LANES);
}

typedef enum { WHOLE, OPEN, CLOSE } work;

#define PANEL_TILE(H, W, NAME)                                                                                                \
    NOINLINE void NAME(const panel* p, integer strip, integer j, int left_open) { panel_tile(H, W, p, strip, j, left_open); } \
    NOINLINE void close_##NAME(const panel* p, integer strip, integer j) { close_tile(H, W, p, strip, j); }
PANEL_TILE(1, WIDTH, tile_1)
PANEL_TILE(2, WIDTH, tile_2)
PANEL_TILE(3, WIDTH, tile_3)
#if BLOCK % TILE_WIDTH
PANEL_TILE(1, TAIL, tail_1)
PANEL_TILE(2, TAIL, tail_2)
PANEL_TILE(3, TAIL, tail_3)
#endif

/* Strips in the next tile of so many: three fill the registers, and none is left alone if it can be helped. */
INLINE integer tile_height(integer strips) {
    if (VECTORS >= 3 && (strips > 4 || strips == 3)) return 3;
    return VECTORS >= 2 && strips >= 2 ? 2 : 1;
}

/* A tile that no call reaches is not compiled. So these constants come first in conditions: compilers leave out what a constant rules out
 * there. Three strips are closed at once only where the first tile of six or more has left them. Up to four whole strips, taken one by one,
 * need taller tiles only on the diagonal, if products end a chain and not each front. */
enum { CLOSES_THREE = VECTORS >= 6, ONE_BY_ONE = FEW_STRIPS && !FRONTS_HAVE_PRODUCTS && VECTORS <= 4 && n % LANES == 0 };

#define TILE(NAME, OPENS, CLOSES)            \
    do {                                     \
        if (CLOSES && what == CLOSE)         \
            close_##NAME(p, strip, j);       \
        else if (OPENS && what != CLOSE)     \
            NAME(p, strip, j, what == OPEN); \
        else                                 \
            __builtin_trap();                \
    } while (0)
#define TILE_OF_HEIGHT(NAME)                          \
    do {                                              \
        if (VECTORS >= 3 && height == 3)              \
            TILE(NAME##3, !ONE_BY_ONE, CLOSES_THREE); \
        else if (VECTORS >= 2 && height == 2)         \
            TILE(NAME##2, !ONE_BY_ONE, 1);            \
        else                                          \
            TILE(NAME##1, 1, 1);                      \
    } while (0)

/* The tiles of `height` strips at the pivot tile's columns j .. j + LANES - 1. */
INLINE void panel_tiles(const panel* p, integer strip, integer height, integer j, const work what) {
    if (SQUARE && TAIL == 0) {
        TILE_OF_HEIGHT(tile_);
        return;
    }
    const integer end = j + LANES;
    for (; j < end && j + WIDTH <= n; j += WIDTH) TILE_OF_HEIGHT(tile_);
#if BLOCK % TILE_WIDTH
    if (j < end && j < n) TILE_OF_HEIGHT(tail_);
#endif
}

INLINE void panel_strips(const panel* p, integer first, integer end, integer j, const work what) {
    for (integer v = first, height; v < end; v += height) {
        height = ONE_BY_ONE && what == WHOLE ? 1 : tile_height(end - v);
        panel_tiles(p, v, height, j, what);
    }
}

/* How a product a b' is spared: only what lies on or below its diagonal tiles; a is upper triangular, with zeros below. */
enum { FULL = 0, LOWER = 1, UPPER_LEFT = 2 };

/* target = (add ? target : 0) - a b' */
NOINLINE void subtract_product(real* target, int add, const real* a, const real* b, int shape) {
    const panel p = {
        .target = target, .start = add ? stored(target) : zero(), .before = a, .multipliers = b, .upper = shape & UPPER_LEFT ? LANES : 0};
    for (integer v = 0; v < VECTORS; ++v) panel_strips(&p, shape & LOWER ? v : 0, VECTORS, v * LANES, WHOLE);
}

/* ---- cpu/tridiagonal/tile/load.c ---- */
/* Loads of D and of couplings into stored blocks, and of right-hand sides. */

/* target = A with element (r, c) at r row + c column. With `lower`, what stands above the diagonal is left open: it may
 * be loaded or not, and nothing uses it. */
INLINE void load_block(real* target, const real* a, integer row, integer column, const int lower) {
    for (integer r = 0; r < n; r += LANES) {
        real* strip = target + at(r, 0);
        const integer end = lower ? smaller(r + LANES, n) : n;
        if (n >= LANES && row == 1) {
            for (integer c = 0; c < end; ++c) store(strip + c * LANES, load_rows(a + c * column, r));
        } else if (n >= LANES && column == 1) { /* transposed in registers; the last tile overlaps the one before it */
            for (integer c = 0; c < end; c += LANES) {
                const integer from = smaller(c, n - LANES);
                vec v[LANES];
                UNROLL for (int k = 0; k < LANES; ++k) {
                    v[k] = (vec){};
                    if (n % LANES == 0 || r + k < n) v[k] = *(const loose*)(a + (r + k) * row + from);
                }
                transpose(v);
                UNROLL for (int k = 0; k < LANES; ++k) store(strip + (from + k) * LANES, v[k]);
            }
        } else {
            for (integer c = 0; c < end; ++c)
                for (integer k = 0; k < LANES; ++k) strip[c * LANES + k] = r + k < n ? a[(r + k) * row + c * column] : 0;
        }
    }
}

/* target = a stored block, transposed. */
NOINLINE void load_transposed(real* target, const real* a) {
    for (integer c = 0; c < n; ++c)
        for (integer r = 0; r < LD; ++r) target[at(r, c)] = r < n ? a[at(c, r)] : 0;
}

/* D with what is added to its diagonal. */
NOINLINE void load_diagonal_block(const trifold_args* args, integer member, integer block, real* target) {
    load_block(target, d_of(args, member, block), D_ROW, D_COLUMN, 1);
    if (!args->diagonal && !args->shift) return;
    for (integer k = 0; k < n; ++k) target[at(k, k)] += diagonal_term(args, member, block, k);
}

/* Pivots below this are raised to it: a multiple of the largest magnitude on the diagonal with what is added to it. */
INLINE real pivot_floor(const trifold_args* args, integer member, integer block) {
    if (__builtin_expect(!(args->pivot_floor > 0), 1)) return -(real)__builtin_inf();
    const real* d = d_of(args, member, block);
    real largest = 0;
    for (integer k = 0; k < n; ++k) {
        const real entry = d[k * (D_ROW + D_COLUMN)] + diagonal_term(args, member, block, k), size = entry < 0 ? -entry : entry;
        if (size > largest && size <= LARGEST) largest = size;
    }
    return (real)args->pivot_floor * largest;
}

/* The updates that the chains on both sides of a separator have left for it: minus the sum of their products. */
NOINLINE void add_updates(const trifold_args* args, integer member, integer block, real* target) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = update_of(args, side, member, block);
        for (integer r = 0; r < LD; r += LANES)
            for (integer i = at(r, 0); i < at(r, smaller(r + LANES, n)); i += LANES) store(target + i, load(target + i) + load(update + i));
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
            load_transposed(target, a);
        else
            for (integer i = 0; i < n * LD; i += LANES) store(target + i, load(a + i));
        return;
    }
    const real* a = e_of(args, member, block_at(level, low));
    if (transposed)
        load_block(target, a, E_COLUMN, E_ROW, 0);
    else
        load_block(target, a, E_ROW, E_COLUMN, 0);
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

/* ---- cpu/tridiagonal/tile/diagonal.c ---- */
/* Variant "tile": the tiles that begin on the diagonal. Their later columns have the first half of their first strip above the diagonal,
 * where results are not used. A processor that carries out a vector in two halves can leave that half out. */

#if HALF_VECTORS
enum { HALF = WIDTH / 2 };
typedef real half __attribute__((vector_size(sizeof(vec) / 2), may_alias));

/* multiply_column(); columns HALF .. of the first strip have their second halves in `below`. */
INLINE void multiply_diagonal_column(const int H, vec* c, half* below, const real* a, const real* b) {
    const half last = *(const half*)(a + LANES / 2);
    multiply_column(H, HALF, c, a, b);
    UNROLL for (int w = HALF; w < WIDTH; ++w) {
        if (H > 1) multiply_column(H - 1, 1, c + w * H + 1, a + STRIP, b + w);
        below[w - HALF] -= last * (b[w] - (half){});
    }
}

INLINE void multiply_diagonal(const int H, vec* c, const real* a, const real* b, integer count, expected* next) {
    half below[HALF];
    UNROLL for (int w = 0; w < HALF; ++w) below[w] = ((const half*)&c[(w + HALF) * H])[1];
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        fetch(next, k);
        UNROLL for (int u = 0; u < 4; ++u) multiply_diagonal_column(H, c, below, a + (k + u) * LANES, b + (k + u) * LANES);
    }
    if (n % 4 != 0) ROLLED for (; k < count; ++k) multiply_diagonal_column(H, c, below, a + k * LANES, b + k * LANES);
    UNROLL for (int w = 0; w < HALF; ++w)((half*)&c[(w + HALF) * H])[1] = below[w];
}

/* A full tile of D, but for what waits for its pivots. */
INLINE void diagonal_tile(const int H, const panel* p, integer strip) {
    vec c[3 * WIDTH];
    real* target = p->target + strip * STRIP;
    const integer j = strip * LANES;
    start_tile(H, WIDTH, c, p, strip, j);
    fetch_start(p, strip + (H > 1), strip + H, j + WIDTH);
    if (p->before) multiply_diagonal(H, c, p->before + strip * STRIP, p->multipliers + across(j, 0), n, p->next);
    multiply_diagonal(H, c, target, p->factor + across(j, 0), j, p->next);
    store_tile(H, WIDTH, c, target + j * LANES);
}
NOINLINE void diagonal_1(const panel* p, integer strip) { diagonal_tile(1, p, strip); }
NOINLINE void diagonal_2(const panel* p, integer strip) { diagonal_tile(2, p, strip); }
NOINLINE void diagonal_3(const panel* p, integer strip) { diagonal_tile(3, p, strip); }
#endif

/* The pivot tile at strip v and the strips below it, `height` in all, left open. */
INLINE void open_diagonal(const panel* p, integer v, integer height) {
#if HALF_VECTORS
    if (n % LANES == 0 || (v + 1) * LANES <= n) {
        (VECTORS >= 3 && height == 3 ? diagonal_3 : VECTORS >= 2 && height == 2 ? diagonal_2 : diagonal_1)(p, v);
        return;
    }
#endif
    panel_tiles(p, v, height, v * LANES, OPEN);
}

/* ---- cpu/tridiagonal/tile/front.c ---- */
/* One front: its column tiles, the pivot test and the log determinant.
 *
 * Rows stand in strips of LANES, and columns go in tiles of as many; pivot tile v is where strip v meets column tile v. For six strips:
 *
 *                  v = 0   1   2   3   4   5
 *      D  strip 0      P                           P   the pivots of a tile, in registers
 *         strip 1      o   P                       o   opened with P before its pivots, closed after them
 *         strip 2      o   o   P                   b   opened between the pivots of P, closed after them
 *         strip 3      b   o   o   P               w   the whole tile at once, after the pivots of P
 *         strip 4      b   w   w   o   P           k   the whole tile at once, between the pivots of tile k
 *         strip 5      b   w   w   o   o   P       e   at the end
 *      R and G         1   2   3   4   5   e
 *
 * To open a tile is to subtract the products that wait for no pivot of its columns; to close it is to solve with these. A chain of pivots
 * is all latency, so the processor needs other work between them: that is the backlog.
 *
 * How the tiles are made follows from the processor, and from the size n of a block:
 *
 *      vectors                   LANES  WIDTH  SQUARE  HALF_VECTORS
 *      32 bytes, 16 registers    f64 4      4       1             0
 *                                f32 8      4       0             0
 *      64 bytes, 32 registers    f64 8      8       1   1 on Zen 4
 *                                f32 16     8       0             0
 *
 *      n > 5 LANES                                                  CLOSES_THREE   three strips can be closed at once
 *      HALF_VECTORS and n <= 5 LANES                                FEW_STRIPS     the backlog takes strips one by one
 *      and whole tiles, n <= 4 LANES, products end chains only      ONE_BY_ONE     so does everything but the diagonal
 *      n % LANES, n % WIDTH                                         PIVOT_TAIL, TAIL   columns of the last tiles of pivots and registers */

/* A front's blocks; null where it has no such neighbour. `previous_*` are those of the front before in the chain, whose Schur
 * update this front applies while it factors. */
typedef struct {
    real *factor, *next, *behind;
    const real *previous_next, *previous_behind;
    const real *d, *e;  /* where D and the coupling to the next block stand if they have not been copied to factor and next */
    expected* expected; /* of the next front; may be null */
} front;

/* Tiles that wait for nothing, to be done between the pivots: the last `left` strips of panels laid end to end, from `strip` of
 * the first of these on. */
typedef struct {
    const panel* p;
    integer j, strip, left;
    int left_open;
} backlog;

/* Few strips are taken one by one: more pieces between the pivots. There they are in line, so that what the pivots have in registers stays
 * there; elsewhere only in small blocks, where a call would count, since each takes long to compile. */
enum { IN_LINE = FEW_STRIPS && VECTORS <= 2 };
INLINE void work_off(backlog* b, integer left, const int in_line) {
    while (b->left > left) {
        const integer height = FEW_STRIPS ? 1 : tile_height(VECTORS - b->strip);
        if (in_line)
            panel_tile(1, WIDTH, b->p, b->strip, b->j, b->left_open);
        else
            panel_tiles(b->p, b->strip, height, b->j, b->left_open ? OPEN : WHOLE);
        b->left -= height;
        if ((b->strip += height) < VECTORS) continue;
        b->strip = 0;
        ++b->p;
    }
}

enum { EARLY = FEW_STRIPS ? 2 : 0 }; /* pivots whose share of other work comes before the first, which waits for its sums */

#if REAL_BYTES == 4
typedef int real_bits;
enum { MANTISSA_BITS = 23, BIAS = 127 };
#else
typedef long long real_bits;
enum { MANTISSA_BITS = 52, BIAS = 1023 };
#endif
typedef real_bits bits __attribute__((vector_size(VECTOR_LANES * REAL_BYTES)));

/* Whether squares of a tile's elements could leave the range: an element's square is at most the product of two entries of the diagonal. It
 * is lost where it is too small beside that of a pivot, which is no smaller than a diagonal's entry times the unit roundoff. */
INLINE int squares_leave(const int W, const vec* c) {
    const real_bits low = (real_bits)(BIAS - (MANTISSA_BITS == 52 ? 450 : 38)) << MANTISSA_BITS;
    const real_bits high = (real_bits)(BIAS + BIAS / 2 - 1) << MANTISSA_BITS;
    vec entries = spread(1);
    UNROLL for (int w = 0; w < W; ++w) entries[w] = c[w][w];
    const bits diagonal = (bits)entries, outside = (diagonal < low) | (diagonal > high);
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= outside[lane];
    return any != 0;
}

/* pivot_tile() without squares, for tiles of any size: every pivot is what the columns before it leave, a product later. */
COLD void pivot_tile_apart(const int W, real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
    real *l = factor + j * (n + LANES), *reciprocal = factor + n * LD + j;
    vec diagonal = spread(1);
    for (int k = 0; k < W; ++k) {
        vec column = load(l + k * LANES);
        real d = column[k];
        diagonal[k] = d;
        d = floor > d ? floor : d;
        const real inverse = 1 / d, root = square_root(d), scale = root * inverse;
        const vec multiplier = column * spread(inverse);
        reciprocal[k] = scale;
        store(unit + k * LANES, multiplier);
        for (int w = k + 1; w < W; ++w) store(l + w * LANES, load(l + w * LANES) - multiplier * spread(column[w]));
        column *= spread(scale);
        column[k] = root;
        store(l + k * LANES, column);
    }
    store(raw + j, diagonal);
    work_off(others, 0, 0);
}

/* Pivot k of a tile; gives the next one. */
INLINE real pivot_step(const int W, const int k, real d, real floor, vec* c, vec* diagonal, real* reciprocal, real* unit, real* l) {
    (*diagonal)[k] = d;
    d = floor > d ? floor : d;
    const real inverse = 1 / d, root = square_root(d), scale = root * inverse;
    reciprocal[k] = scale;
    if (k + 1 < W) {
        const real next = c[k][k + 1];
        d = c[k + 1][k + 1] - next * next * inverse;
    }
    const vec multiplier = c[k] * spread(inverse);
    store(unit + k * LANES, multiplier);
    UNROLL for (int w = k + 1; w < W; ++w) c[w] -= multiplier * spread(c[k][w]);
    c[k] *= spread(scale);
    c[k][k] = root;
    store(l + k * LANES, c[k]);
    return d;
}

/* Cholesky of the W by W tile at column j. The pivots go to `raw`, for a test afterwards; those below the floor
 * are raised to it. The columns divided by their pivots go to `unit`, for the rows below.
 *
 * The chain of pivots is what a front waits for. So the next pivot is computed on its own, one division and one
 * multiply-add after this one; the square roots stand beside the chain; and other work stands between the pivots: the core
 * overlaps what is near in program order. */
INLINE void pivot_tile(const int W, real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
    real *l = factor + j * (n + LANES), *reciprocal = factor + n * LD + j;
    const unsigned count = (unsigned)others->left;
    vec c[LANES], diagonal = spread(1); /* ones change no outcome where a block ends */
    if (EARLY) work_off(others, count * (unsigned)(W - EARLY) / (unsigned)W, IN_LINE);
    load_tile(1, W, c, l);
    if (__builtin_expect(squares_leave(W, c), 0)) return pivot_tile_apart(W, factor, j, floor, raw, unit, others);
    real d = c[0][0];
    /* Not a loop: the compiler would copy the work in line to every turn of it before it finds most of them without any. LANES is in the
     * conditions because it is a constant when they are read, which W is not. */
#define TWO_PIVOTS(k)                                                                         \
    if (k < LANES && k < W) {                                                                 \
        d = pivot_step(W, k, d, floor, c, &diagonal, reciprocal, unit, l);                    \
        if (k + 1 < W) d = pivot_step(W, k + 1, d, floor, c, &diagonal, reciprocal, unit, l); \
        if (VECTORS > 1 && k + 2 + EARLY < LANES && k + 2 + EARLY < W)                        \
            work_off(others, count*(unsigned)(W - 2 - EARLY - k) / (unsigned)W, FEW_STRIPS);  \
    }
    TWO_PIVOTS(0)
    TWO_PIVOTS(2)
    TWO_PIVOTS(4)
    TWO_PIVOTS(6)
    TWO_PIVOTS(8)
    TWO_PIVOTS(10)
    TWO_PIVOTS(12)
    TWO_PIVOTS(14)
#undef TWO_PIVOTS
    store(raw + j, diagonal);
    work_off(others, 0, IN_LINE);
}

#define PIVOT_TILE(W, NAME)                                                                           \
    NOINLINE void NAME(real* factor, integer j, real floor, real* raw, real* unit, backlog* others) { \
        pivot_tile(W, factor, j, floor, raw, unit, others);                                           \
    }
#if BLOCK >= VECTOR_LANES
PIVOT_TILE(LANES, pivot_whole)
#endif
#if BLOCK % VECTOR_LANES
PIVOT_TILE(PIVOT_TAIL, pivot_tail)
#endif

INLINE void pivots(real* factor, integer j, real floor, real* raw, real* unit, backlog* others) {
#if BLOCK % VECTOR_LANES == 0
    pivot_whole(factor, j, floor, raw, unit, others);
#elif BLOCK < VECTOR_LANES
    pivot_tail(factor, j, floor, raw, unit, others);
#else
    (j + LANES > n ? pivot_tail : pivot_whole)(factor, j, floor, raw, unit, others);
#endif
}

/* Factors the front and solves its panels, one pivot tile's columns after another. Between the pivots of a tile stand the panels'
 * columns of the tile before; there are none for the first, which takes products of its own rows instead. */
NOINLINE void factor_front(const front* f, real floor, real* raw) {
    real unit[2 * LANES * LANES] __attribute__((aligned(64))); /* of this pivot tile and of the one before */
    const panel rows = {.target = f->factor,
                        .start = f->d ? users(f->d, D_LEADING) : stored(f->factor),
                        .before = f->previous_next,
                        .multipliers = f->previous_next,
                        .factor = f->factor,
                        .unit = unit,
                        .next = f->expected};
    panel borders[2];
    int border = 0;
    if (f->next)
        borders[border++] = (panel){.target = f->next,
                                    .start = f->e ? users(f->e, E_LEADING) : stored(f->next),
                                    .factor = f->factor,
                                    .unit = unit,
                                    .next = f->expected};
    if (HAS_FILL && f->behind)
        borders[border++] = (panel){.target = f->behind,
                                    .start = f->previous_behind ? zero() : stored(f->behind),
                                    .before = f->previous_behind,
                                    .multipliers = f->previous_next,
                                    .factor = f->factor,
                                    .unit = unit};
    const integer strips = border * VECTORS;
    for (integer v = 0; v < VECTORS; ++v) {
        const integer j = v * LANES, height = tile_height(VECTORS - v), top = v + height;
        backlog others = {&rows, j, top, VECTORS - top, 1};
        if (v > 0) others = (backlog){borders, j - LANES, 0, strips, 0};
        open_diagonal(&rows, v, height);
        pivots(f->factor, j, floor, raw, unit + v % 2 * LANES * LANES, &others);
        if (height > 1) panel_tiles(&rows, v + 1, height - 1, j, CLOSE);
        panel_strips(&rows, top, VECTORS, j, v > 0 ? WHOLE : CLOSE);
    }
    backlog last = {borders, (VECTORS - 1) * LANES, 0, strips, 0};
    work_off(&last, 0, IN_LINE && TAIL == 0);
}

/* ---- the test of the pivots and their logarithms ---- */

#define MANTISSA (((real_bits)1 << MANTISSA_BITS) - 1)
#define ONE ((real_bits)BIAS << MANTISSA_BITS)
#define TINY ((real)(sizeof(real) == 8 ? 0x1p-1000 : 0x1p-100))

/* Raised pivots as they were used; an infinite one stays, and fails. Returns how many there are. */
COLD int raise_pivots(real* raw, real floor) {
    int raised = 0;
    for (integer k = 0; k < n; ++k) {
        if (!(floor > raw[k]) || raw[k] < -LARGEST) continue;
        raw[k] = floor;
        ++raised;
    }
    return raised;
}

/* First row whose pivot is not positive and finite with a finite reciprocal; else SMALL where a pivot is below TINY, or -1. As integers,
 * usual pivots are what stands between TINY and infinity. */
enum { SMALL = -2 };
INLINE integer test_pivots(const real* raw) {
    const real_bits least = (real_bits)(BIAS - (MANTISSA_BITS == 52 ? 1000 : 100)) << MANTISSA_BITS;
    const bits infinity = (bits){} + ((real_bits)(2 * BIAS + 1) << MANTISSA_BITS);
    bits failed = {};
    for (int v = 0; v < VECTORS; ++v) {
        const bits d = (bits)load(raw + v * LANES);
        failed |= (d < least) | (d >= infinity);
    }
    real_bits any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= failed[lane];
    if (__builtin_expect(any == 0, 1)) return -1;
    for (integer k = 0; k < n; ++k)
        if (!(raw[k] > 0 && raw[k] <= LARGEST && 1 / raw[k] <= LARGEST)) return k;
    return SMALL;
}

/* The greater of `most` and `count` diagonal entries over their pivots, lane by lane, from the reciprocals of the pivots' roots. */
INLINE vec larger_quotients(vec most, const real* d, const real* reciprocal, const int count) {
    vec entry = {}, scale = {};
    UNROLL for (int lane = 0; lane < count; ++lane) entry[lane] = d[lane * (D_ROW + D_COLUMN)];
    if (count == LANES)
        scale = load(reciprocal);
    else
        UNROLL for (int lane = 0; lane < count; ++lane) scale[lane] = reciprocal[lane];
    const bits quotient = (bits)(entry * scale * scale), greater = quotient > (bits)most; /* positive numbers are ordered as integers are */
    return (vec)((greater & quotient) | (~greater & (bits)most));
}
/* The same with what the options add. */
COLD vec larger_quotients_with_terms(vec most, const trifold_args* args, integer member, integer block, const real* reciprocal) {
    for (integer k = 0; k < n; ++k) {
        const real entry = d_of(args, member, block)[k * (D_ROW + D_COLUMN)] + diagonal_term(args, member, block, k);
        most = larger_quotients(most, &entry, reciprocal + k, 1);
    }
    return most;
}
/* The same of all entries of a front that has been factored. The chain does this one front late: what it reads is in the cache then, and no
 * longer on its way there, and the processor does it beside the next front's pivots. */
INLINE vec larger_reductions(vec most, const trifold_args* args, integer member, integer block, const real* factor) {
    const real *d = d_of(args, member, block), *reciprocal = factor + n * LD;
    if (__builtin_expect(args->diagonal || args->shift, 0)) return larger_quotients_with_terms(most, args, member, block, reciprocal);
    integer k = 0;
    for (; k + LANES <= n; k += LANES) most = larger_quotients(most, d + k * (D_ROW + D_COLUMN), reciprocal + k, LANES);
    return n % LANES ? larger_quotients(most, d + k * (D_ROW + D_COLUMN), reciprocal + k, n % LANES) : most;
}
INLINE real largest_lane(vec values) {
    real largest = values[0];
    for (int lane = 1; lane < LANES; ++lane) largest = values[lane] > largest ? values[lane] : largest;
    return largest;
}

/* A product of pivots, mantissa and exponent apart: one logarithm serves a chain. */
typedef struct {
    double mantissa;
    integer exponent;
} scaled;

INLINE scaled normalized(double mantissa, integer exponent) {
    union {
        double value;
        integer bits;
    } u = {mantissa};
    exponent += (u.bits >> 52) - 1023;
    u.bits = (u.bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
    return (scaled){u.value, exponent};
}

/* Subnormals have no exponent of their own. Those near them are multiplied by 2^60, one by one: large ones would overflow. */
COLD void lift_tiny(vec* d, bits* exponents) {
    for (int lane = 0; lane < LANES; ++lane)
        if ((*d)[lane] < TINY) {
            __asm__ volatile(""); /* else compilers multiply first and choose afterwards */
            (*d)[lane] *= (real)0x1p60;
            (*exponents)[lane] -= 60;
        }
}

INLINE scaled times_pivots(scaled product, const real* raw, int has_tiny) {
    vec mantissas = spread(1);
    bits exponents = {};
    for (int v = 0; v < VECTORS; ++v) {
        vec d = load(raw + v * LANES);
        if (__builtin_expect(has_tiny, 0)) lift_tiny(&d, &exponents);
        exponents += ((bits)d >> MANTISSA_BITS) - BIAS;
        mantissas *= (vec)(((bits)d & MANTISSA) | ONE);
        if (v % 32 == 31) { /* they are below 2^32, so their product over the lanes is finite */
            exponents += 32;
            mantissas *= spread((real)0x1p-32);
        }
    }
    double mantissa = 1;
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        mantissa *= (double)mantissas[lane];
        product.exponent += exponents[lane];
    }
    return normalized(product.mantissa * mantissa, product.exponent);
}

/* log of the product: the exponent, and the series of atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). */
COLD double logarithm(scaled product) {
    const int above = product.mantissa > 1.41421356237309514547;
    const double m = product.mantissa * (above ? 0.5 : 1), s = (m - 1) / (m + 1), q = s * s;
    double sum = 0;
    UNROLL for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * q;
    return (double)(product.exponent + above) * 0.693147180559945309417 + 2 * (s + s * sum);
}

NOINLINE void fill_not_a_number(real* target, integer count) {
    if (!target) return;
    for (integer i = 0; i < count; ++i) target[i] = NOT_A_NUMBER;
}

/* Whatever a failed front hands on is NaN, and so is all that follows from it. */
static void poison_front(const front* f) {
    fill_not_a_number(f->factor, STORAGE_FACTOR);
    fill_not_a_number(f->next, STORAGE_PANEL);
    fill_not_a_number(f->behind, STORAGE_PANEL);
}

/* ---- cpu/tridiagonal/tile/sweep.c ---- */
/* Forward and backward sweeps, one right-hand side at a time. */

INLINE void subtract_rhs_updates(const trifold_args* args, integer member, integer block, real* y) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const real* update = rhs_update_of(args, side, member, block);
        for (integer i = 0; i < columns_of(args) * LD; i += LANES) store(y + i, load(y + i) - load(update + i));
    }
}

/* Sum over `count` pivot columns of strip(k) y(k), in four sums for their latency. */
INLINE vec strip_times(const real* strip, const real* y, integer count) {
    vec sum[4] = {{}, {}, {}, {}};
    integer k = 0;
    for (; k + 4 <= count; k += 4) {
        UNROLL for (int u = 0; u < 4; ++u) sum[u] += load(strip + (k + u) * LANES) * spread(y[k + u]);
    }
    for (; k < count; ++k) sum[0] += load(strip + k * LANES) * spread(y[k]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* target (+)= panel y. */
NOINLINE void vector_product(real* target, const real* panel, const real* y, int add) {
    for (int v = 0; v < VECTORS; ++v) {
        const vec product = strip_times(panel + v * STRIP, y, n);
        store(target + v * LANES, add ? load(target + v * LANES) + product : product);
    }
}

/* y(tile) = L(tile)^-1 c, in scalars and before the division by the diagonal: a step of the chain is one multiply-add. */
INLINE void forward_tile(const int W, const real* l, const real* reciprocal, vec c, real* y) {
    real t[LANES];
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = 0; k < W; ++k) {
        UNROLL for (int w = k + 1; w < W; ++w) t[w] -= l[k * LANES + w] * reciprocal[k] * t[k];
        y[k] = t[k] * reciprocal[k];
    }
}

/* y = L^-1 (y - previous_next previous_y). */
NOINLINE void forward_column(const real* factor, const real* previous_next, const real* previous_y, real* y) {
    for (integer j = 0; j < n; j += LANES) {
        vec c = load(y + j);
        if (previous_next) c -= strip_times(previous_next + at(j, 0), previous_y, n);
        if (j > 0) c -= strip_times(factor + at(j, 0), y, j);
        const real *tile = factor + at(j, j), *reciprocal = factor + n * LD + j;
#if BLOCK % VECTOR_LANES
        if (j + LANES > n) {
            forward_tile(PIVOT_TAIL, tile, reciprocal, c, y + j);
            return;
        }
#endif
        forward_tile(LANES, tile, reciprocal, c, y + j);
    }
}

/* sum[w] += panel(rows, w) x(rows), W pivot columns, strips first .. VECTORS - 1 from the last down. */
INLINE void transposed_products(const int W, vec* sum, const real* panel, const real* x, int first) {
    for (int v = VECTORS - 1; v >= first; --v) {
        const vec rows = load(x + v * LANES);
        UNROLL for (int w = 0; w < W; ++w) sum[w] += load(panel + v * STRIP + w * LANES) * rows;
    }
}

/* x(tile) = L(tile)^-T c. */
INLINE vec backward_tile(const int W, const real* l, const real* reciprocal, vec c) {
    real t[LANES];
    vec x = {};
    UNROLL for (int k = 0; k < W; ++k) t[k] = c[k];
    UNROLL for (int k = W - 1; k >= 0; --k) {
        UNROLL for (int w = 0; w < k; ++w) t[w] -= l[w * LANES + k] * reciprocal[k] * t[k];
        x[k] = t[k] * reciprocal[k];
    }
    return x;
}

/* x = L^-T (x - next' x_next - behind' x_behind); panels are null where there is no such neighbour. */
INLINE void backward_columns(const int W, integer j, const real* factor, const real* next, const real* behind, const real* x_next,
                             const real* x_behind, real* x) {
    vec sum[LANES];
    UNROLL for (int w = 0; w < LANES; ++w) sum[w] = (vec){};
    if (next) transposed_products(W, sum, next + at(0, j), x_next, 0);
    if (behind) transposed_products(W, sum, behind + at(0, j), x_behind, 0);
    transposed_products(W, sum, factor + at(0, j), x, (int)(j / LANES) + 1);
    const vec c = load(x + j) - sum_lanes(sum);
    store(x + j, backward_tile(W, factor + at(j, j), factor + n * LD + j, c));
}

NOINLINE void backward_column(const real* factor, const real* next, const real* behind, const real* x_next, const real* x_behind, real* x) {
    integer j = n / LANES * LANES;
#if BLOCK % VECTOR_LANES
    backward_columns(PIVOT_TAIL, j, factor, next, behind, x_next, x_behind, x);
#endif
    while ((j -= LANES) >= 0) backward_columns(LANES, j, factor, next, behind, x_next, x_behind, x);
}

/* In f64, whatever the precision: squares have twice the exponents of their roots. */
typedef double squares __attribute__((vector_size(VECTOR_LANES * 8)));
INLINE double sum_of_squares(const real* y) {
    squares sum = {};
    for (integer r = 0; r < LD; r += LANES) {
        const squares wide = __builtin_convertvector(load(y + r), squares);
        sum += wide * wide;
    }
    double total = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) total += sum[lane];
    return sizeof(real) == 8 && __builtin_expect(total < LEAST_NORMAL, 0) ? tiny_square(total, y, n) : total;
}

/* The forward sweep over one front: y from b, out to x. `previous_y` belongs to `previous_next`, the panel before. */
INLINE void forward_front(const trifold_args* args, const trifold_level* level, integer member, integer block, const real* previous_next,
                          const real* previous_y, real* y) {
    load_rhs(b_of(args, member, block), &args->b_strides, columns_of(args), y);
    if (level->index > 0) subtract_rhs_updates(args, member, block, y);
    const real* factor = factor_of(args, member, block);
    for (integer c = 0; c < columns_of(args); ++c) forward_column(factor, previous_next, previous_y + c * LD, y + c * LD);
    store_rhs(y, &args->x_strides, columns_of(args), x_of(args, member, block));
    double* quadratic = block_quadratic_of(args, member, block);
    for (integer c = 0; c < columns_of(args); ++c) quadratic[c] = sum_of_squares(y + c * LD);
}

/* What a front leaves for a separator's right-hand side. */
INLINE void update_rhs(real* slot, integer columns, const real* panel, const real* y, int add) {
    for (integer c = 0; c < columns; ++c) vector_product(slot + c * LD, panel, y + c * LD, add);
}

/* One worker's room: the right-hand sides of two fronts and of the separator behind. */
INLINE real* rhs_scratch(void* scratch, integer which) { return (real*)scratch + which * STORAGE_VECTOR; }

KERNEL_PART void forward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const real* previous_next = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
        forward_front(args, level, member, block, previous_next, previous_y, y);
        if (c->behind >= 0)
            update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), columns_of(args),
                       behind_of(args, member, block), y, k > 0 || level->index > 0);
        previous_next = next_of(args, member, block);
    }
    if (c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), columns_of(args), previous_next,
                   rhs_scratch(scratch, ~c->length & 1), level->index > 0);
}

/* Adds what is no number where x has an infinity or NaN, else zeros. */
INLINE vec add_trouble(vec trouble, const real* x, integer count) {
    for (integer r = 0; r < count; r += LANES) trouble += load(x + r) * 0;
    return trouble;
}
INLINE int is_trouble(vec trouble) {
    int any = 0;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= trouble[lane] != 0;
    return any;
}

KERNEL_PART void backward_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, void* scratch) {
    const integer columns = columns_of(args);
    real* x_behind = rhs_scratch(scratch, 2);
    vec trouble = {};
    if (begins_descent(args, level)) set_range(&range_of(args, member)->solution, 0);
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
        trouble = add_trouble(trouble, x, columns * LD);
    }
    if (__builtin_expect(is_trouble(trouble), 0)) set_range(&range_of(args, member)->solution, 1);
}

/* ---- cpu/tridiagonal/tile/factor.c ---- */
/* The factorization of a chain, with or without the right-hand sides riding along. */

INLINE int add_to_slot(const trifold_level* level, integer k) { return k > 0 || level->index > 0; }

/* What the last front of a chain leaves for the separators: - R R' ahead, the coupling of ahead and behind. */
static void finish_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const front* last) {
    if (c->ahead < 0) return;
    subtract_product(update_of(args, side_ahead(c), member, block_at(level, c->ahead)), add_to_slot(level, 0), last->next, last->next,
                     LOWER);
    if (!HAS_FILL || c->behind < 0) return;
    const integer low = next_position(level, smaller(c->ahead, c->behind));
    real* coupling = coupling_of(args, member, level->next_coupling + low);
    const int upward = c->step > 0; /* stored as A(higher, lower) */
    subtract_product(coupling, 0, upward ? last->next : last->behind, upward ? last->behind : last->next, FULL);
}

static void load_front(const trifold_args* args, const trifold_level* level, integer member, const chain* c, integer k, front* f) {
    const integer position = c->first + k * c->step, block = block_at(level, position);
    const int has_next = k + 1 < c->length || c->ahead >= 0;
    f->previous_next = k > 0 ? f->next : 0;
    f->previous_behind = k > 0 ? f->behind : 0;
    f->factor = factor_of(args, member, block);
    f->next = has_next ? next_of(args, member, block) : 0;
    f->behind = c->behind >= 0 ? behind_of(args, member, block) : 0;
    const int direct = DIRECT != 0 && level->index == 0;
    f->d = direct && !args->diagonal && !args->shift ? d_of(args, member, block) : 0;
    f->e = direct && c->step > 0 ? e_of(args, member, block) : 0;
    if (!f->d) load_diagonal_block(args, member, block, f->factor);
    if (f->next && !f->e) load_coupling(args, level, member, position + c->step, position, f->next);
    if (f->behind && k == 0) load_coupling(args, level, member, c->behind, position, f->behind);
}

/* D, the coupling ahead, and what the front writes that is k-th in its chain; or nothing. */
static expected* expect_front(const trifold_args* args, const trifold_level* level, integer member, const chain* c, integer k,
                              expected* next) {
    if (FETCHED_LINES == 0 || k >= c->length || level->index > 0) return 0;
    const integer position = c->first + k * c->step, block = block_at(level, position), low = smaller(position, position + c->step);
    const int d_by_columns = D_ROW == 1, growth = d_by_columns ? -1 : 1;
    *next = (expected){0};
    next->reads.first = (area){d_of(args, member, block), d_by_columns ? D_COLUMN + 1 : D_ROW, d_by_columns ? n : 1, growth, n};
    next->writes.first = (area){factor_of(args, member, block), STRIP, LANES * LANES, LANES * LANES, VECTORS};
    if (k + 1 == c->length && c->ahead < 0) return next;
    next->reads.second = (area){e_of(args, member, block_at(level, low)), E_ROW == 1 ? E_COLUMN : E_ROW, n, 0, n};
    next->writes.second = (area){next_of(args, member, block), 0, n * LD, 0, 1};
    return next;
}

KERNEL_PART void factor_chain(const trifold_args* args, const trifold_level* level, integer member, const chain* c, const int with_rhs,
                              void* scratch) {
    real raw[LD] __attribute__((aligned(64)));
    front f = {0};
    expected next;
    scaled determinant = {1, 0};
    const integer step = level->scale * c->step, last = block_at(level, c->first + (c->length - 1) * c->step);
    vec reduction = {};
    int fed_by_failed = 0;
    for (integer k = 0; k < c->length; ++k) {
        const integer block = block_at(level, c->first + k * c->step);
        if (k > 0) reduction = larger_reductions(reduction, args, member, block - step, f.factor);
        load_front(args, level, member, c, k, &f);
        f.expected = expect_front(args, level, member, c, k + 1, &next);
        const real floor = pivot_floor(args, member, block);
        if (level->index > 0) {
            add_updates(args, member, block, f.factor);
            fed_by_failed |= is_poisoned(args, member, block);
        }
        factor_front(&f, floor, raw);
        *floors_of(args, member, block) = __builtin_expect(args->pivot_floor > 0, 0) ? raise_pivots(raw, floor) : 0;
        const integer row = test_pivots(raw);
        if (__builtin_expect(record_front(args, member, block, level->index, row, fed_by_failed), 0)) {
            fed_by_failed = 1;
            poison_front(&f);
        }
        determinant = times_pivots(determinant, raw, row == SMALL);
        *block_log_determinant_of(args, member, block) = k + 1 < c->length ? 0 : logarithm(determinant);
        if (HAS_FILL && f.behind)
            subtract_product(update_of(args, side_behind(c), member, block_at(level, c->behind)), add_to_slot(level, k), f.behind, f.behind,
                             LOWER);
        if (with_rhs) {
            real *y = rhs_scratch(scratch, k & 1), *previous_y = rhs_scratch(scratch, ~k & 1);
            forward_front(args, level, member, block, f.previous_next, previous_y, y);
            if (HAS_FILL && f.behind)
                update_rhs(rhs_update_of(args, side_behind(c), member, block_at(level, c->behind)), columns_of(args), f.behind, y,
                           add_to_slot(level, k));
        }
    }
    reduction = larger_reductions(reduction, args, member, last, f.factor);
    *reduction_of(args, member, last) = (double)largest_lane(reduction);
    finish_chain(args, level, member, c, &f);
    if (with_rhs && c->ahead >= 0)
        update_rhs(rhs_update_of(args, side_ahead(c), member, block_at(level, c->ahead)), columns_of(args), f.next,
                   rhs_scratch(scratch, ~c->length & 1), add_to_slot(level, 0));
    if (c->ahead >= 0) mark_poison(args, side_ahead(c), member, block_at(level, c->ahead), level->index, fed_by_failed);
    if (c->behind >= 0) mark_poison(args, side_behind(c), member, block_at(level, c->behind), level->index, fed_by_failed);
}

/* ---- cpu/tridiagonal/finish.c ---- */
/* Results of a member from those of its blocks, in a fixed order. Tasks are members. */

COLD void finish_factor(const trifold_args* args, integer member) {
    integer worst = SOUND, floors = 0;
    double sum = 0, reduction = 1;
    ROLLED for (integer block = 0; block < HORIZON; ++block) {
        worst = smaller(worst, *failure_of(args, member, block));
        floors += *floors_of(args, member, block);
        sum += *block_log_determinant_of(args, member, block);
        const double other = *reduction_of(args, member, block);
        if (other > reduction) reduction = other;
    }
    trifold_status* status = (trifold_status*)workspace_at(args, OFFSET_STATUS) + member;
    double* log_determinant = (double*)workspace_at(args, OFFSET_LOG_DETERMINANT) + member;
    const int sound = worst == SOUND;
    const double least = sound ? 1 / reduction : 0, least_sound = (double)trifold_nearly_singular * (REAL_BYTES == 8 ? 0x1p-52 : 0x1p-23);
    const int accepted = args->accept_nearly_singular || args->pivot_floor > 0;
    *status =
        (trifold_status){sound ? -1 : worst / n % HORIZON, sound ? 0 : worst % n, floors, least, sound && !accepted && least < least_sound};
    *log_determinant = sound ? sum : __builtin_nan("");
}

/* Neither too large nor too small for f64. */
INLINE int in_range(double sum) { return sum == 0 || (sum >= LEAST_NORMAL && sum <= 1.79769313486231570814527423731704357e+308); }

COLD void finish_forward(const trifold_args* args, integer member) {
    double* quadratic = (double*)workspace_at(args, OFFSET_QUADRATIC) + member * MOST_COLUMNS;
    for (integer column = 0; column < columns_of(args); ++column) {
        double sum = 0;
        ROLLED for (integer block = 0; block < HORIZON; ++block) sum += block_quadratic_of(args, member, block)[column];
        quadratic[column] = in_range(sum) ? sum : __builtin_nan("");
    }
}

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
KERNEL TRIFOLD_KERNEL_FINISH_FACTOR(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                    void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_factor(args, member);
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
KERNEL TRIFOLD_KERNEL_FINISH_FORWARD(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task,
                                     void* scratch) {
    (void)level, (void)scratch;
    for (integer member = first_task; member < last_task; ++member)
        if (is_active(args, member)) finish_forward(args, member);
}
#endif

/* ---- cpu/tridiagonal/tile/entry.c ---- */
/* The kernels of variant "tile". A task is one chain of one member. */

#define CHAIN_KERNEL(NAME, CALL)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        for (integer task = first_task; task < last_task; ++task) {                                                                   \
            const integer member = task / level->chains;                                                                              \
            if (!is_active(args, member)) continue;                                                                                   \
            const chain c = find_chain(level, task % level->chains);                                                                  \
            CALL;                                                                                                                     \
        }                                                                                                                             \
        (void)scratch;                                                                                                                \
    }
#ifdef TRIFOLD_KERNEL_FACTOR
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_chain(args, level, member, &c, 0, scratch))
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_chain(args, level, member, &c, 1, scratch))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain(args, level, member, &c, scratch))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
CHAIN_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain(args, level, member, &c, scratch))
#endif

