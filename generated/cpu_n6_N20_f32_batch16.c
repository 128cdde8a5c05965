/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 20 blocks of 6 by 6, f32, 1 right-hand side(s), up to 16 system(s); target cpu:x86-64-v3; schedule sequential; variant lanes.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 6 --horizon 20 --precision f32 --rhs 1 --batch 16 --schedule sequential --workers 1 --variant lanes --target cpu:x86-64-v3
 * Workspace: 119296 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 6
#define TRIFOLD_HORIZON 20LL
#define TRIFOLD_RHS 1
#define TRIFOLD_BATCH 16LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 0LL
#define TRIFOLD_SEPARATOR_BASE 0LL
#define TRIFOLD_SEPARATOR_SCALE 1LL
#define TRIFOLD_COUPLINGS 0LL
#define TRIFOLD_D_ROW 6LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 36LL
#define TRIFOLD_D_MEMBER 720LL
#define TRIFOLD_E_ROW 6LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 36LL
#define TRIFOLD_E_MEMBER 684LL
#define TRIFOLD_STORAGE_FACTOR 36LL
#define TRIFOLD_STORAGE_PANEL 36LL
#define TRIFOLD_STORAGE_UPDATE 36LL
#define TRIFOLD_STORAGE_COUPLING 36LL
#define TRIFOLD_STORAGE_VECTOR 6LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 768LL
#define TRIFOLD_OFFSET_QUADRATIC 1024LL
#define TRIFOLD_OFFSET_RANGE 1280LL
#define TRIFOLD_OFFSET_FACTOR 1536LL
#define TRIFOLD_OFFSET_NEXT 47616LL
#define TRIFOLD_OFFSET_BEHIND 93696LL
#define TRIFOLD_OFFSET_UPDATE 93696LL
#define TRIFOLD_OFFSET_COUPLING 93696LL
#define TRIFOLD_OFFSET_RHS_UPDATE 93696LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 93696LL
#define TRIFOLD_OFFSET_FAILURE 93696LL
#define TRIFOLD_OFFSET_FLOORS 96256LL
#define TRIFOLD_OFFSET_POISON 97536LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 97536LL
#define TRIFOLD_OFFSET_REDUCTION 100096LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 102656LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FORWARD btd_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n6_f32_x8664v3_cc691bea
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n6_f32_x8664v3_cc691bea
#define TRIFOLD_LANES 8
#define TRIFOLD_LEADING 6
#define TRIFOLD_INTERLEAVE 8
#define TRIFOLD_TILE 3
#define TRIFOLD_FAR 0
#define TRIFOLD_LOW_1 0, 8, 2, 10, 4, 12, 6, 14
#define TRIFOLD_HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#define TRIFOLD_LOW_2 0, 1, 8, 9, 4, 5, 12, 13
#define TRIFOLD_HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define TRIFOLD_LOW_4 0, 1, 2, 3, 8, 9, 10, 11
#define TRIFOLD_HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define TRIFOLD_SCRATCH_BYTES 14080
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

/* ---- cpu/tridiagonal/lanes/constants.c ---- */
/* What variant "lanes" is told. */

#define TILE_SIDE TRIFOLD_TILE /* rows and columns of a register tile */
#define IS_FAR TRIFOLD_FAR     /* 1: the batch is far larger than the caches, so that the next front is fetched; measured */

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

/* ---- cpu/tridiagonal/lanes/pieces.c ---- */
/* Variant "lanes": elements of the members' arrays, which lie apart, become vectors. */

/* The user's arrays are read in pieces of 16 bytes, which all vectors have at the same price; whole vectors would take shuffles across
 * them. */
enum { PIECE = 16 / REAL_BYTES };
typedef real piece __attribute__((vector_size(16), aligned(REAL_BYTES), may_alias));

#define TO_4 0, 1, 2, 3
#define TO_8 TO_4, 4, 5, 6, 7
#define TO_16 TO_8, 8, 9, 10, 11, 12, 13, 14, 15
#if VECTOR_LANES == 4
#define TO_LANES TO_4
#elif VECTOR_LANES == 8
#define TO_LANES TO_8
#define TO_HALF TO_4
#elif VECTOR_LANES == 16
#define TO_LANES TO_16
#define TO_HALF TO_8
#endif

/* The pieces at `offset` of the lanes i, i + PIECE, i + 2 PIECE .. side by side. */
INLINE vec join_pieces(const real* const base[LANES], int i, integer offset) {
#define AT(k) (*(const piece*)(base[i + (k) * PIECE] + offset))
#if VECTOR_LANES * REAL_BYTES == 16
    return AT(0);
#elif VECTOR_LANES * REAL_BYTES == 32
    return __builtin_shufflevector(AT(0), AT(1), TO_LANES);
#else
    return __builtin_shufflevector(__builtin_shufflevector(AT(0), AT(1), TO_HALF), __builtin_shufflevector(AT(2), AT(3), TO_HALF),
                                   TO_LANES);
#endif
#undef AT
}

/* Every PIECE by PIECE matrix of v, transposed. */
#define PIECE_STEP(v, w) TRANSPOSE_PART(v, w, PIECE)

/* PIECE consecutive elements of every lane's array: out[e * stride] takes element e of all lanes. */
INLINE void gather_piece(vec* out, integer stride, const real* const base[LANES], integer offset) {
    vec v[PIECE];
    UNROLL for (int i = 0; i < PIECE; ++i) v[i] = join_pieces(base, i, offset);
    STEPS(PIECE_STEP, v)
    UNROLL for (int i = 0; i < PIECE; ++i) out[i * stride] = v[i];
}
INLINE vec gather_element(const real* const base[LANES], integer offset) {
    vec v = {};
    UNROLL for (int lane = 0; lane < LANES; ++lane) v[lane] = base[lane][offset];
    return v;
}

/* ---- cpu/tridiagonal/lanes/fetch.c ---- */
/* Variant "lanes", batches far larger than the caches (IS_FAR): what the next front of a chain reads and writes comes to the second-level
 * cache while this one is worked on, a few lines every few columns of its products. The arrays of a group are too many streams for the
 * processor to foresee, all at once they would take the buffers that the products' own operands wait for, and the first-level cache is
 * full. */

enum {
    BLOCK_LINES = (n * n * REAL_BYTES + 63) / 64, /* of D or E, for each member */
    FETCHES = 2 * BLOCK_LINES,
    TILES = (n + TILE_SIDE - 1) / TILE_SIDE,
    PRODUCT_COLUMNS = n * TILES * (TILES + 1) / 2 + TILE_SIDE * (TILES - 1) * TILES * (4 * TILES + 1) / 6, /* of a front, all tiles */
    FETCH_EVERY = PRODUCT_COLUMNS > FETCHES ? PRODUCT_COLUMNS / FETCHES : 1,
    VECTORS_A_LINE = 64 / (int)sizeof(vec),
    WRITTEN = (n * n + n * (n + 1) / 2) / VECTORS_A_LINE, /* lines of L and R, about */
    FETCH_WRITES = (2 * WRITTEN * FETCH_EVERY + PRODUCT_COLUMNS) / (2 * PRODUCT_COLUMNS)
};

/* What is yet to be fetched. */
typedef struct {
    const char *d, *e; /* of the group's first member */
    const vec *l, *r;
    int line;              /* of D, then of E */
    int row, column, rest; /* of L, row after row of its triangle; then an element of R */
} ahead;

INLINE ahead nothing_ahead(void) { return (ahead){.line = FETCHES, .row = n, .rest = n * n}; }

INLINE void fetch_reads(ahead* f) {
    if (f->line == FETCHES) return;
    const int of_e = f->line >= BLOCK_LINES;
    const char* p = of_e ? f->e + 64 * (f->line - BLOCK_LINES) : f->d + 64 * f->line;
    UNROLL for (int lane = 0; lane < LANES; ++lane) __builtin_prefetch(p + lane * (of_e ? E_MEMBER : D_MEMBER) * REAL_BYTES, 0, 2);
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

/* Before column k of a product. */
INLINE void fetch(ahead* f, integer k) {
    if (!IS_FAR || !f || k % FETCH_EVERY) return;
    fetch_reads(f);
    UNROLL for (int i = 0; i < FETCH_WRITES; ++i) fetch_write(f);
}

/* ---- cpu/tridiagonal/lanes/lanes.c ---- */
/* Variant "lanes": the members of a group in the lanes of one vector, so that every operation of the scalar algorithm is
 * a vector operation and a member's result cannot depend on its neighbours. Element e of a block of group g stands at
 * (... * storage + e) * LANES + lane. Stored blocks are n by n, row-major; the diagonal of a factor holds 1 / l(j,j). */

enum { m = MOST_COLUMNS, AREA = n * n, TILE = TILE_SIDE, RHS_TILE = m < TILE ? m : TILE };

_Static_assert(INTERLEAVE == LANES && MEMBERS % LANES == 0, "groups fill their vectors");

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
} view;

INLINE view stored(const vec* p) { return (view){p, n, 1}; }
INLINE view transposed(view a) { return (view){a.p, a.column, a.row}; }
INLINE view part(view a, integer r, integer c) { return (view){a.p + r * a.row + c * a.column, a.row, a.column}; }

/* Where a block comes from: vectors, or the members' own arrays, `member` apart, whose elements become vectors on their way to
 * registers. */
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

/* t -= a b' over the first `count` columns of a and b; of a square tile only the lower triangle where `lower`. Fetches meanwhile. */
INLINE void tile_subtract(tile t, view a, view b, integer count, int rows, int cols, int lower, ahead* f) {
    ROLLED for (integer k = 0; k < count; ++k) {
        vec left[TILE], right[TILE];
        fetch(f, k);
        UNROLL for (int i = 0; i < rows; ++i) left[i] = a.p[i * a.row + k * a.column];
        UNROLL for (int j = 0; j < cols; ++j) right[j] = b.p[j * b.row + k * b.column];
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

/* out = (add ? out : 0) + sign a b: out is row-major, n by `width`. Where `lower`, at least the lower triangle. */
INLINE void multiply_any(vec* out, int add, int sign, view a, view b, int width, int step, int lower) {
    const view bt = transposed(b);
    int j = 0;
    for (; j + step <= width; j += step) multiply_strip(out, add, sign, a, bt, width, j, step, lower);
    if (width % step) multiply_strip(out, add, sign, a, bt, width, j, width % step, lower);
}
NOINLINE void multiply(vec* out, int add, int sign, view a, view b, int lower) { multiply_any(out, add, sign, a, b, n, TILE, lower); }
/* slot = (add ? slot : 0) + a x; x is n by m. */
NOINLINE void multiply_rhs(vec* slot, int add, const vec* a, const vec* x) {
    multiply_any(slot, add, 1, stored(a), (view){x, m, 1}, m, RHS_TILE, 0);
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
        UNROLL for (int k = 0; k < c; ++k) sum -= t[i][k] * l[c * n + j + k];
        t[i][c] = sum * l[c * n + j + c];
    }
    tile_store(t, (vec*)out.p + j * out.column, out.row, out.column, rows, cols);
}

INLINE void solve_strip(view out, source start, view before, view before_r, integer count, const vec* l, int height, int step, int j,
                        int cols, ahead* f) {
    before_r = part(before_r, j, 0);
    int i = 0;
    for (; i + step <= height; i += step)
        solve_tile(part(out, i, 0), source_part(start, i, j), part(before, i, 0), before_r, count, l + j * n, j, step, cols, f);
    if (height % step)
        solve_tile(part(out, i, 0), source_part(start, i, j), part(before, i, 0), before_r, count, l + j * n, j, height % step, cols, f);
}

/* Rows of a panel: out l' = start - before before_r', the update of the front before (its R; `count` is 0 or n, and
 * where it is 0 nothing of it is read) included. */
INLINE void solve_any(view out, source start, view before, view before_r, integer count, const vec* l, int height, int step, ahead* f) {
    int j = 0;
    for (; j + TILE <= n; j += TILE) solve_strip(out, start, before, before_r, count, l, height, step, j, TILE, f);
    if (n % TILE) solve_strip(out, start, before, before_r, count, l, height, step, j, n % TILE, f);
}
NOINLINE void solve_panel(vec* out, view start, const vec* before, const vec* before_r, const vec* l) {
    solve_any(stored(out), from_vectors(start), stored(before ? before : l), stored(before ? before_r : l), before ? n : 0, l, n, TILE, 0);
}
/* solve_panel() with right-hand sides, n by m, as rows. */
NOINLINE void solve_rhs(vec* out, const vec* start, const vec* before, const vec* before_r, const vec* l) {
    solve_any((view){out, 1, m}, from_vectors((view){start, 1, m}), (view){before ? before : start, 1, m}, stored(before ? before_r : l),
              before ? n : 0, l, m, RHS_TILE, 0);
}

/* ---- cpu/tridiagonal/lanes/arrays.c ---- */
/* The user's arrays for variant "lanes": elements of every member of a group, transposed on the way in and out. */

typedef struct {
    integer group;
    int any, all; /* some lane is active; every one is */
    int active[LANES];
    integer member[LANES]; /* whose data the lane reads: its own, or an active lane's where it is idle */
    mask which;            /* active lanes */
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

/* The way back, to active lanes only. */
INLINE void scatter_piece(real* const base[LANES], integer offset, const vec* in, integer stride, const lanes* g) {
    vec v[PIECE];
    UNROLL for (int i = 0; i < PIECE; ++i) v[i] = in[i * stride];
    STEPS(PIECE_STEP, v)
    UNROLL for (int i = 0; i < PIECE; ++i) {
        union {
            vec all;
            piece at[LANES / PIECE];
        } row = {v[i]};
        UNROLL for (int k = 0; k < LANES / PIECE; ++k) {
            if (g->active[i + k * PIECE]) *(piece*)(base[i + k * PIECE] + offset) = row.at[k];
        }
    }
}
INLINE void scatter_element(real* const base[LANES], integer offset, vec v, const lanes* g) {
    UNROLL for (int lane = 0; lane < LANES; ++lane) if (g->active[lane]) base[lane][offset] = v[lane];
}

/* At least the elements first .. end - 1 of `count`, all three constants or not, the last piece moved back to end with them. */
INLINE void gather_run(vec* out, const real* const base[LANES], integer offset, integer first, integer end, const integer count) {
    if (count < PIECE)
        for (integer k = first; k < end; ++k) out[k] = gather_element(base, offset + k);
    else
        for (integer k = first; k < end; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            gather_piece(out + from, 1, base, offset + from);
        }
}
INLINE void scatter_run(real* const base[LANES], const vec* in, const lanes* g, const integer count) {
    if (count < PIECE)
        for (integer k = 0; k < count; ++k) scatter_element(base, k, in[k], g);
    else
        for (integer k = 0; k < count; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            scatter_piece(base, from, in + from, 1, g);
        }
}

/* A block of constant strides, kept in the order of its memory; where `lower`, at least its lower triangle. */
INLINE view gather_block(vec* out, const real* const base[LANES], integer row, integer column, const int lower) {
    const int dense = (row == n && column == 1) || (row == 1 && column == n);
    if (dense && !lower)
        gather_run(out, base, 0, 0, AREA, AREA);
    else if (column == 1)
        for (integer r = 0; r < n; ++r) gather_run(out + r * n, base, r * row, 0, lower ? r + 1 : n, n);
    else if (row == 1)
        for (integer c = 0; c < n; ++c) gather_run(out + c * n, base, c * column, lower ? c : 0, n, n);
    else
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < n; ++c) out[r * n + c] = gather_element(base, r * row + c * column);
    return row == 1 && column != 1 ? (view){out, 1, n} : stored(out);
}

/* Where every lane is active the lanes' arrays are a constant distance apart, and addresses cost nothing. */
#define GATHER(NAME, FIRST, MEMBER, ROW, COLUMN, LOWER)                                                            \
    COLD view NAME##_some(vec* out, const real* first, const lanes* g) {                                           \
        const real* base[LANES];                                                                                   \
        for (int lane = 0; lane < LANES; ++lane) base[lane] = first + (g->member[lane] - g->member[0]) * (MEMBER); \
        return gather_block(out, base, ROW, COLUMN, LOWER);                                                        \
    }                                                                                                              \
    NOINLINE view NAME##_all(vec* out, const real* first) {                                                        \
        const real* base[LANES];                                                                                   \
        UNROLL for (int lane = 0; lane < LANES; ++lane) base[lane] = first + lane * (MEMBER);                      \
        return gather_block(out, base, ROW, COLUMN, LOWER);                                                        \
    }                                                                                                              \
    INLINE view NAME(vec* out, const trifold_args* args, const lanes* g, integer block) {                          \
        const real* first = FIRST(args, g->member[0], block);                                                      \
        return g->all ? NAME##_all(out, first) : NAME##_some(out, first, g);                                       \
    }
GATHER(gather_d, d_of, D_MEMBER, D_ROW, D_COLUMN, 1)
GATHER(gather_e, e_of, E_MEMBER, E_ROW, E_COLUMN, 0) /* A(block + 1, block) */

/* Right-hand sides of a block at base, n by m row-major; columns the call does not have are zero. */
INLINE int is_dense(trifold_strides s, integer columns) { return columns == m && s.row == m && (m == 1 || s.column == 1); }

COLD void gather_strided(vec* out, const real* const base[LANES], trifold_strides s, integer columns) {
    for (integer k = 0; k < n * m; ++k) out[k] = (vec){};
    for (integer c = 0; c < columns; ++c)
        for (integer r = 0; r < n; ++r) out[r * m + c] = gather_element(base, r * s.row + c * s.column);
}
/* Idle lanes have a factor of their own, with which other members' data could leave the range. */
COLD void clear_idle(vec* values, integer count, const lanes* g) {
    for (integer i = 0; i < count; ++i) values[i] = choose(g->which, values[i], (vec){});
}
NOINLINE void gather_rhs(vec* out, const real* array, trifold_strides s, integer columns, const lanes* g, integer block) {
    const real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns))
        gather_run(out, base, 0, 0, n * m, n * m);
    else
        gather_strided(out, base, s, columns);
    if (!g->all) clear_idle(out, n * m, g);
}

COLD void scatter_strided(real* const base[LANES], trifold_strides s, integer columns, const vec* in, const lanes* g) {
    for (integer c = 0; c < columns; ++c)
        for (integer r = 0; r < n; ++r) scatter_element(base, r * s.row + c * s.column, in[r * m + c], g);
}
NOINLINE void scatter_rhs(real* array, trifold_strides s, integer columns, const vec* in, const lanes* g, integer block) {
    real* base[LANES];
    for (int lane = 0; lane < LANES; ++lane) base[lane] = array + g->member[lane] * s.member + block * s.stage;
    if (is_dense(s, columns))
        scatter_run(base, in, g, n * m);
    else
        scatter_strided(base, s, columns, in, g);
}

/* ---- cpu/tridiagonal/lanes/factor.c ---- */
/* Variant "lanes": factorization, alone or with the right-hand sides riding along. */

typedef struct {
    vec d[AREA], e[AREA];      /* pivot block and coupling as loaded */
    vec own[2][3 * AREA];      /* where some lanes are idle: the factor of this front and of the one before, idle lanes and all */
    vec b[n * m], y[2][n * m]; /* right-hand sides of this front; solved ones of this front and of the one before */
    vec unit[2 * n];           /* zeros around a one */
} factor_scratch;
_Static_assert(sizeof(factor_scratch) <= SCRATCH_BYTES, "scratch");

/* What the pivots of a front and of its chain leave behind. */
typedef struct {
    vec floor;     /* smaller pivots are raised to it */
    mask sound;    /* lanes whose pivots have all passed so far; the others' reciprocals are NaN from the first that failed on */
    mask floors;   /* pivots raised */
    mask failed;   /* lanes whose chain has failed or was fed by a failed front */
    vec product;   /* mantissas of the reciprocals 1 / l(j,j) of the chain, multiplied */
    mask exponent; /* sum of their exponents */
    vec reduction; /* the chain's largest diagonal entry over its pivot */
    vec entry[n];  /* diagonal entries of the front as the caller gave them */
} pivots;

#if REAL_BYTES == 8
enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
#else
enum { MANTISSA_BITS = 23, EXPONENT_BIAS = 127 };
#endif

/* Splits the mantissa, in [1, 2), off a positive normal number and adds its exponent. */
INLINE vec take_exponent(vec x, mask* exponent) {
    const bits one = (bits)EXPONENT_BIAS << MANTISSA_BITS, low = ((bits)1 << MANTISSA_BITS) - 1;
    *exponent += ((mask)x >> MANTISSA_BITS) - EXPONENT_BIAS;
    return (vec)(((mask)x & low) | one);
}

/* log(x 2^e), x in [1, 2), with no library: atanh series about x = sqrt(2). */
INLINE double log_of(double x, double e) {
    const double s = (x - 1.41421356237309504880) / (x + 1.41421356237309504880), q = s * s;
    double sum = 1.0 / 23;
    for (int k = 21; k > 0; k -= 2) sum = sum * q + 1.0 / k;
    return 2 * s * sum + (e + 0.5) * 0.693147180559945309417;
}

/* The chain of pivots is what a front waits for: the next one is a division and a multiply-add away, the square roots and
 * the test stand beside the chain. A pivot whose reciprocal overflows fails like one that is zero. */
INLINE void pivot_tile(vec* l, source d, const vec* before_r, integer count, int j, int cols, const int floored, ahead* f, pivots* p) {
    mask sound = p->sound;
    tile t;
    tile_load(t, source_part(d, j, j), cols, cols);
    if (!floored) UNROLL for (int c = 0; c < cols; ++c) p->entry[j + c] = t[c][c]; /* else assemble_pivot() has kept them */
    const view r = stored(before_r + j * n), done = stored(l + j * n);
    tile_subtract(t, r, r, count, cols, cols, 1, f);
    tile_subtract(t, done, done, j, cols, cols, 1, f);
    UNROLL for (int c = 0; c < cols; ++c) {
        vec pivot = t[c][c];
        if (floored) {
            const mask low = (p->floor > pivot) & (pivot >= -LARGEST);
            pivot = choose(low, p->floor, pivot);
            p->floors -= low;
        }
        const vec reciprocal = 1 / pivot;
        vec root = pivot;
        UNROLL for (int lane = 0; lane < LANES; ++lane) root[lane] = square_root(pivot[lane]);
        sound &= (reciprocal > 0) & (reciprocal <= LARGEST);
        const vec scale = choose(sound, root * reciprocal, spread(NOT_A_NUMBER));
        p->product *= take_exponent(scale, &p->exponent);
        const vec reduction = p->entry[j + c] * reciprocal;
        p->reduction = choose(reduction > p->reduction, reduction, p->reduction);
        UNROLL for (int i = c + 1; i < cols; ++i) {
            const vec scaled = t[i][c] * reciprocal;
            UNROLL for (int k = c + 1; k <= i; ++k) t[i][k] -= scaled * t[k][c]; /* not the square, which could leave the range */
        }
        UNROLL for (int i = c + 1; i < cols; ++i) t[i][c] *= scale;
        t[c][c] = scale;
    }
    p->sound = sound;
    UNROLL for (int i = 0; i < cols; ++i) UNROLL for (int c = 0; c <= i; ++c) l[(j + i) * n + j + c] = t[i][c];
}

/* The column of tiles below a pivot tile. */
INLINE void strip_below(vec* l, source d, const vec* before_r, integer count, int j, int cols, ahead* f) {
    const view right = stored(before_r + j * n);
    int i = j + cols;
    for (; i + TILE <= n; i += TILE)
        solve_tile(stored(l + i * n), source_part(d, i, j), stored(before_r + i * n), right, count, l + j * n, j, TILE, cols, f);
    if (n % TILE && i < n)
        solve_tile(stored(l + i * n), source_part(d, i, j), stored(before_r + i * n), right, count, l + j * n, j, n % TILE, cols, f);
}

/* l l' = d - before_r before_r' */
INLINE void factor_pivot_any(vec* l, source d, const vec* before_r, const int floored, ahead* f, pivots* p) {
    const integer count = before_r ? n : 0;
    if (!before_r) before_r = l; /* not read */
    p->floors = (mask){};
    p->sound = ~p->floors;
    int j = 0;
    for (; j + TILE <= n; j += TILE) {
        pivot_tile(l, d, before_r, count, j, TILE, floored, f, p);
        strip_below(l, d, before_r, count, j, TILE, f);
    }
    if (n % TILE) pivot_tile(l, d, before_r, count, j, n % TILE, floored, f, p);
    p->product = take_exponent(p->product, &p->exponent);
}
NOINLINE void factor_pivot(vec* l, view d, const vec* before_r, pivots* p) { factor_pivot_any(l, from_vectors(d), before_r, 1, 0, p); }

/* factor_pivot() with D as it stands in the members' arrays, and the panel r l' = e with E as it stands there. */
NOINLINE void factor_original_pivot(vec* l, const real* d, const vec* before_r, ahead* f, pivots* p) {
    factor_pivot_any(l, (source){{}, d, D_MEMBER, D_ROW, D_COLUMN}, before_r, 0, f, p);
}
NOINLINE void solve_original_panel(vec* r, const real* e, const vec* l, ahead* f) {
    solve_any(stored(r), (source){{}, e, E_MEMBER, E_ROW, E_COLUMN}, stored(l), stored(l), 0, l, n, TILE, f);
}

COLD void add_to_diagonal(vec* d, const trifold_args* args, const lanes* g, integer block) {
    for (integer j = 0; j < n; ++j)
        for (int lane = 0; lane < LANES; ++lane) d[j * (n + 1)][lane] += diagonal_term(args, g->member[lane], block, j);
}

COLD void subtract_slots(vec* d, view shape, const trifold_args* args, const lanes* g, integer block) {
    for (int side = 0; side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const vec* slot = (const vec*)update_of(args, side, g->group, block);
        for (integer i = 0; i < n; ++i)
            for (integer j = 0; j <= i; ++j) d[i * shape.row + j * shape.column] -= slot[i * n + j];
    }
}

INLINE int adds_to_pivots(const trifold_args* args) { return args->diagonal || args->shift || args->pivot_floor > 0; }

/* D with what the caller adds to its diagonal and, beyond level 0, without the updates of the separator. */
NOINLINE view assemble_pivot(vec* out, const trifold_args* args, const lanes* g, integer block, int updated, pivots* p) {
    const view d = gather_d(out, args, g, block);
    if (args->diagonal || args->shift) add_to_diagonal(out, args, g, block);
    for (integer j = 0; j < n; ++j) p->entry[j] = out[j * (n + 1)];
    p->floor = spread(-LARGEST);
    if (args->pivot_floor > 0) {
        vec largest = {};
        for (integer j = 0; j < n; ++j) {
            const vec size = choose(p->entry[j] < 0, -p->entry[j], p->entry[j]);
            largest = choose((size > largest) & (size <= LARGEST), size, largest);
        }
        p->floor = largest * (real)args->pivot_floor;
    }
    if (updated) subtract_slots(out, d, args, g, block);
    return d;
}

/* A(to, from) of neighbouring positions, as a view of the stored or the gathered coupling. */
INLINE view coupling_between(vec* out, const trifold_args* args, const trifold_level* level, const lanes* g, integer to, integer from) {
    const integer low = smaller(to, from);
    const view a = level->index == 0 ? gather_e(out, args, g, block_at(level, low))
                                     : stored((const vec*)coupling_of(args, g->group, level->coupling + low));
    return to > from ? a : transposed(a);
}

/* Whether coupling_between() gathers A(position + step, position) in row-major order. */
INLINE int gathers_rows(integer step) { return (E_ROW == 1 && E_COLUMN != 1) == (step < 0); }

/* Right-hand sides of a block less the separator's updates. */
NOINLINE void assemble_rhs(vec* out, const trifold_args* args, const lanes* g, integer block, int updated) {
    gather_rhs(out, (const real*)args->b, args->b_strides, columns_of(args), g, block);
    for (int side = 0; updated && side < 2; ++side) {
        if (!has_slot(block, side)) continue;
        const vec* slot = (const vec*)rhs_update_of(args, side, g->group, block);
        for (integer k = 0; k < n * m; ++k) out[k] -= slot[k];
    }
}

/* In f64, whatever the precision: squares have twice the exponents of their roots. */
typedef double squares __attribute__((vector_size(VECTOR_LANES * 8)));
COLD double tiny_lane(double sum, const vec* y, int lane) {
    real values[n];
    for (integer r = 0; r < n; ++r) values[r] = y[r * m][lane];
    return tiny_square(sum, values, n);
}

/* y = L^-1 b of a front goes out, with its squares. */
NOINLINE void finish_rhs(const trifold_args* args, const lanes* g, integer block, const vec* y) {
    scatter_rhs((real*)args->x, args->x_strides, columns_of(args), y, g, block);
    for (integer c = 0; c < columns_of(args); ++c) {
        squares sum = {};
        for (integer r = 0; r < n; ++r) {
            const squares wide = __builtin_convertvector(y[r * m + c], squares);
            sum += wide * wide;
        }
        for (int lane = 0; lane < LANES; ++lane)
            if (g->active[lane])
                block_quadratic_of(args, g->member[lane], block)[c] =
                    sum[lane] < LEAST_NORMAL ? tiny_lane(sum[lane], y + c, lane) : sum[lane];
    }
}

/* Active lanes of a front's part of the factor go where it is kept. The others hold what another member made of its data: it raises no
 * exceptions that the member itself does not. */
COLD void deliver(vec* const kept[3], const vec* own, mask which) {
    for (int k = 0; k < 3; ++k)
        for (integer i = 0; kept[k] && i < AREA; ++i) kept[k][i] = choose(which, own[k * AREA + i], kept[k][i]);
}

/* A lane's first row whose pivot failed, or -1. */
INLINE integer failed_row(const vec* l, int lane) {
    for (integer j = 0; j < n; ++j)
        if (!(l[j * (n + 1)][lane] > 0)) return j;
    return -1;
}
COLD void record_trouble(const trifold_args* args, const lanes* g, integer block, integer level, const vec* l, pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!g->active[lane]) continue;
        const integer member = g->member[lane];
        p->failed[lane] = -record_front(args, member, block, level, failed_row(l, lane), p->failed[lane] != 0);
        *floors_of(args, member, block) = (int)p->floors[lane];
        *block_log_determinant_of(args, member, block) = 0;
    }
}
NOINLINE void record_lanes(const trifold_args* args, const lanes* g, integer block, integer level, const vec* l, pivots* p) {
    const mask trouble = ~p->sound | p->floors | p->failed;
    bits any = !g->all;
    UNROLL for (int lane = 0; lane < LANES; ++lane) any |= trouble[lane];
    if (any) return record_trouble(args, g, block, level, l, p);
    UNROLL for (int lane = 0; lane < LANES; ++lane) {
        *failure_of(args, g->member[0] + lane, block) = SOUND;
        *floors_of(args, g->member[0] + lane, block) = 0;
        *block_log_determinant_of(args, g->member[0] + lane, block) = 0;
    }
}

/* The chain's log determinant and reduction go to its last front. */
COLD void record_chain(const trifold_args* args, const lanes* g, integer block, const pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) {
        if (!g->active[lane]) continue;
        *block_log_determinant_of(args, g->member[lane], block) = -2 * log_of((double)p->product[lane], (double)p->exponent[lane]);
        *reduction_of(args, g->member[lane], block) = (double)p->reduction[lane];
    }
}

INLINE void join_poison(const trifold_args* args, const lanes* g, integer block, pivots* p) {
    for (int lane = 0; lane < LANES; ++lane) p->failed[lane] |= -is_poisoned(args, g->member[lane], block);
}
INLINE void pass_poison(const trifold_args* args, const lanes* g, int side, integer block, integer level, const pivots* p) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane]) mark_poison(args, side, g->member[lane], block, level, p->failed[lane] != 0);
}

/* The separators at the ends of a chain and their new coupling. */
COLD void end_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, const vec* r, const vec* fill,
                    const pivots* p) {
    if (c.behind >= 0) pass_poison(args, g, side_behind(&c), block_at(level, c.behind), level->index, p);
    if (c.ahead < 0) return;
    const integer ahead = block_at(level, c.ahead);
    vec* slot = (vec*)update_of(args, side_ahead(&c), g->group, ahead);
    multiply(slot, level->index > 0, 1, stored(r), transposed(stored(r)), 1);
    pass_poison(args, g, side_ahead(&c), ahead, level->index, p);
    if (c.behind < 0) return;
    const integer low = smaller(next_position(level, c.ahead), next_position(level, c.behind));
    vec* joint = (vec*)coupling_of(args, g->group, level->next_coupling + low);
    const int up = c.step > 0;
    multiply(joint, 0, -1, stored(up ? r : fill), transposed(stored(up ? fill : r)), 0);
}

/* The front at a position of the first level, on its way. */
INLINE ahead ahead_of(const trifold_args* args, const trifold_level* level, const lanes* g, integer position, integer step) {
    const integer block = block_at(level, position), coupling = smaller(block, block_at(level, position + step));
    return (ahead){(const char*)d_of(args, g->member[0], block),
                   (const char*)e_of(args, g->member[0], coupling),
                   (const vec*)factor_of(args, g->group, block),
                   (const vec*)next_of(args, g->group, block),
                   0,
                   0,
                   0,
                   0};
}

NOINLINE void factor_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, int forward, factor_scratch* s) {
    const int updated = level->index > 0, original = GATHERS_TILES && !updated && g->all && !adds_to_pivots(args);
    pivots p = {.product = spread(1)};
    vec *r = 0, *fill = 0, *y = 0;
    for (integer k = 0; k < 2 * n; ++k) s->unit[k] = (vec){};
    for (integer k = 0; k < c.length; ++k) {
        const integer position = c.first + k * c.step, block = block_at(level, position);
        const int has_next = k + 1 < c.length || c.ahead >= 0;
        vec* const kept[3] = {(vec*)factor_of(args, g->group, block), has_next ? (vec*)next_of(args, g->group, block) : 0,
                              c.behind >= 0 ? (vec*)behind_of(args, g->group, block) : 0};
        vec* const own = s->own[k % 2];
        vec* const parts[3] = {g->all ? kept[0] : own, g->all ? kept[1] : own + AREA, g->all ? kept[2] : own + 2 * AREA};
        const vec *l = parts[0], *r_before = r, *fill_before = fill, *y_before = y;
        ahead next = IS_FAR && k + 1 < c.length ? ahead_of(args, level, g, position + c.step, c.step) : nothing_ahead();
        if (original) {
            factor_original_pivot(parts[0], d_of(args, g->member[0], block), r_before, &next, &p);
        } else {
            const view d = assemble_pivot(s->d, args, g, block, updated, &p);
            if (updated) join_poison(args, g, block, &p);
            factor_pivot(parts[0], d, r_before, &p);
        }
        if (has_next) r = parts[1];
        if (has_next && original && c.step > 0) {
            solve_original_panel(r, e_of(args, g->member[0], block), l, &next);
        } else if (has_next) {
            vec* const loaded = gathers_rows(c.step) ? r : s->e; /* in place: the caches are narrow */
            solve_panel(r, coupling_between(loaded, args, level, g, position + c.step, position), 0, 0, l);
        }
        if (c.behind >= 0) {
            fill = parts[2];
            const view start = k == 0 ? coupling_between(s->e, args, level, g, c.behind, position) : (view){s->unit, 0, 0};
            solve_panel(fill, start, fill_before, r_before, l);
            vec* slot = (vec*)update_of(args, side_behind(&c), g->group, block_at(level, c.behind));
            multiply(slot, k > 0 || updated, 1, stored(fill), transposed(stored(fill)), 1);
        }
        if (forward) {
            assemble_rhs(s->b, args, g, block, updated);
            solve_rhs(y = s->y[k % 2], s->b, y_before, r_before, l);
            if (c.behind >= 0)
                multiply_rhs((vec*)rhs_update_of(args, side_behind(&c), g->group, block_at(level, c.behind)), k > 0 || updated, fill, y);
            finish_rhs(args, g, block, y);
        }
        if (!g->all) deliver(kept, own, g->which);
        record_lanes(args, g, block, level->index, l, &p);
        if (k + 1 == c.length) record_chain(args, g, block, &p);
    }
    end_chain(args, level, g, c, r, fill, &p);
    if (forward && c.ahead >= 0) multiply_rhs((vec*)rhs_update_of(args, side_ahead(&c), g->group, block_at(level, c.ahead)), updated, r, y);
}

KERNEL_PART void factor_only(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_chain(args, level, g, c, 0, (factor_scratch*)scratch);
}
KERNEL_PART void factor_forward(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_chain(args, level, g, c, 1, (factor_scratch*)scratch);
}

/* ---- cpu/tridiagonal/lanes/sweep.c ---- */
/* Variant "lanes": forward and backward sweeps with the stored factor. */

KERNEL_PART void forward_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    factor_scratch* s = (factor_scratch*)scratch;
    const int updated = level->index > 0;
    const vec *r = 0, *y = 0;
    for (integer k = 0; k < c.length; ++k) {
        const integer block = block_at(level, c.first + k * c.step);
        vec* out = s->y[k % 2];
        assemble_rhs(s->b, args, g, block, updated);
        solve_rhs(out, s->b, y, r, (const vec*)factor_of(args, g->group, block));
        if (c.behind >= 0)
            multiply_rhs((vec*)rhs_update_of(args, side_behind(&c), g->group, block_at(level, c.behind)), k > 0 || updated,
                         (const vec*)behind_of(args, g->group, block), out);
        finish_rhs(args, g, block, out);
        y = out;
        r = (const vec*)next_of(args, g->group, block);
    }
    if (c.ahead >= 0) multiply_rhs((vec*)rhs_update_of(args, side_ahead(&c), g->group, block_at(level, c.ahead)), updated, r, y);
}

/* One tile of solve_back(): rows are right-hand sides, columns j .. j + cols - 1 of L' x = y - R' x_next - G' x_behind. */
INLINE void back_tile(view x, view y, view next, const vec* r, view behind, const vec* fill, const vec* l, int j, int rows, int cols) {
    tile t;
    tile_load(t, from_vectors(part(y, 0, j)), rows, cols);
    const integer past = j + cols;
    tile_subtract(t, next, (view){r ? r + j : l, 1, n}, r ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, behind, (view){fill ? fill + j : l, 1, n}, fill ? n : 0, rows, cols, 0, 0);
    tile_subtract(t, part(x, 0, past), (view){l + past * n + j, 1, n}, n - past, rows, cols, 0, 0);
    UNROLL for (int c = cols - 1; c >= 0; --c) UNROLL for (int i = 0; i < rows; ++i) {
        vec sum = t[i][c];
        UNROLL for (int k = c + 1; k < cols; ++k) sum -= t[i][k] * l[(j + k) * n + j + c];
        t[i][c] = sum * l[(j + c) * n + j + c];
    }
    tile_store(t, (vec*)x.p + j * x.column, x.row, x.column, rows, cols);
}

INLINE void back_strip(view x, view y, view next, const vec* r, view behind, const vec* fill, const vec* l, int j, int cols) {
    int i = 0;
    for (; i + RHS_TILE <= m; i += RHS_TILE)
        back_tile(part(x, i, 0), part(y, i, 0), part(next, i, 0), r, part(behind, i, 0), fill, l, j, RHS_TILE, cols);
    if (m % RHS_TILE) back_tile(part(x, i, 0), part(y, i, 0), part(next, i, 0), r, part(behind, i, 0), fill, l, j, m % RHS_TILE, cols);
}

NOINLINE void solve_back(vec* x, const vec* y, const vec* next, const vec* r, const vec* behind, const vec* fill, const vec* l) {
    const view out = {x, 1, m}, in = {y, 1, m}, after = {r ? next : y, 1, m}, back = {fill ? behind : y, 1, m};
    int j = n - n % TILE;
    if (n % TILE) back_strip(out, in, after, r, back, fill, l, j, n % TILE);
    for (j -= TILE; j >= 0; j -= TILE) back_strip(out, in, after, r, back, fill, l, j, TILE);
}

typedef struct {
    vec y[n * m], x[2][n * m], ahead[n * m], behind[n * m];
} backward_scratch;
_Static_assert(sizeof(backward_scratch) <= SCRATCH_BYTES, "scratch");

COLD void clear_solution_range(const trifold_args* args, const lanes* g) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane]) set_range(&range_of(args, g->member[lane])->solution, 0);
}
COLD void mark_solution_range(const trifold_args* args, const lanes* g, vec trouble) {
    for (int lane = 0; lane < LANES; ++lane)
        if (g->active[lane] && trouble[lane] != 0) set_range(&range_of(args, g->member[lane])->solution, 1);
}

KERNEL_PART void backward_chain(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch) {
    backward_scratch* s = (backward_scratch*)scratch;
    const vec* next = 0;
    vec trouble = {};
    if (begins_descent(args, level)) clear_solution_range(args, g);
    if (c.behind >= 0) gather_rhs(s->behind, (const real*)args->x, args->x_strides, columns_of(args), g, block_at(level, c.behind));
    if (c.ahead >= 0) {
        gather_rhs(s->ahead, (const real*)args->x, args->x_strides, columns_of(args), g, block_at(level, c.ahead));
        next = s->ahead;
    }
    for (integer k = c.length; k-- > 0;) {
        const integer block = block_at(level, c.first + k * c.step);
        vec* x = s->x[k % 2];
        gather_rhs(s->y, (const real*)args->b, args->b_strides, columns_of(args), g, block);
        solve_back(x, s->y, next, next ? (const vec*)next_of(args, g->group, block) : 0, s->behind,
                   c.behind >= 0 ? (const vec*)behind_of(args, g->group, block) : 0, (const vec*)factor_of(args, g->group, block));
        scatter_rhs((real*)args->x, args->x_strides, columns_of(args), x, g, block);
        for (integer i = 0; i < n * m; ++i) trouble += x[i] * 0; /* not zero from the first infinity or NaN on */
        next = x;
    }
    mark_solution_range(args, g, trouble);
}

/* ---- cpu/tridiagonal/lanes/chains.c ---- */
/* Variant "lanes": the chains of a launch. A task is one chain of one group. */

typedef void chain_work(const trifold_args* args, const trifold_level* level, const lanes* g, chain c, void* scratch);

COLD void each_chain(const trifold_args* args, const trifold_level* level, integer first, integer last, void* scratch, chain_work* work) {
    for (integer task = first; task < last; ++task) {
        const lanes g = find_lanes(args, task / level->chains);
        if (g.any) work(args, level, &g, find_chain(level, task % level->chains), scratch);
    }
}

#define LANES_KERNEL(NAME, WORK)                                                                                                      \
    KERNEL NAME(const trifold_args* args, const trifold_level* level, trifold_int first_task, trifold_int last_task, void* scratch) { \
        each_chain(args, level, first_task, last_task, scratch, WORK);                                                                \
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

/* ---- cpu/tridiagonal/lanes/entry.c ---- */
/* The kernels of variant "lanes". */

#ifdef TRIFOLD_KERNEL_FACTOR
LANES_KERNEL(TRIFOLD_KERNEL_FACTOR, factor_only)
#endif
#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
LANES_KERNEL(TRIFOLD_KERNEL_FACTOR_FORWARD, factor_forward)
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
LANES_KERNEL(TRIFOLD_KERNEL_FORWARD, forward_chain)
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
LANES_KERNEL(TRIFOLD_KERNEL_BACKWARD, backward_chain)
#endif

