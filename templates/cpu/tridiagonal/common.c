/* Geometry of chains, addresses in the workspace, loads of D and E, and failures, for all CPU kernels of the family.
 *
 * The workspace holds for each block (its layout is the variant's choice):
 *   factor    L (lower triangle), then LD reciprocals of its diagonal or, in variant "lanes", in place of it
 *   next      R = A(next, i) L^-T: column k holds the rows of the next block at pivot column k
 *   behind    G = A(behind, i) L^-T: column k holds the rows of the block behind at pivot column k
 *   update    what chains add to a separator;   coupling  A(higher position, lower position)
 *   rhs_update  one column of LD a right-hand side
 */
#include "cpu/tridiagonal/constants.c"
#include "cpu/vectors.c"
#include "tridiagonal/doubt.h"

enum { n = BLOCK, LD = LEADING, INTERLEAVE = GROUP_MEMBERS };

/* A function that kernels consist of. A unit without that kernel does not call it. */
#define KERNEL_PART static __attribute__((unused))
/* A Program's kernels are those whose name the generator defines. They are static in a unit that calls them itself. */
#ifdef TRIFOLD_STATIC_KERNELS
#define KERNEL static __attribute__((unused)) void
#else
#define KERNEL void
#endif
/* Off the main path: small code, sooner compiled. */
#define COLD static __attribute__((noinline, cold, unused))

#define LEAST_NORMAL 2.22507385850720138309e-308 /* least normal number of f64 */

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

/* Functions of their own have an argument of signs only in units that need it. */
#if HAS_SIGNS
#define WITH_SIGNS(...) , __VA_ARGS__
#else
#define WITH_SIGNS(...)
#endif

/* Signs of numbers, such as pivots. */
#if REAL_BYTES == 8
typedef long long real_word;
#else
typedef int real_word;
#endif
typedef real_word real_words __attribute__((vector_size(sizeof(vec))));
#define SIGN_BIT ((real_word)(1ULL << (REAL_BYTES * 8 - 1)))
INLINE vec with_sign_of(vec x, vec other) { return (vec)((real_words)x ^ ((real_words)other & SIGN_BIT)); }
INLINE vec size_of_all(vec x) { return (vec)((real_words)x & ~SIGN_BIT); }
INLINE real size_of_real(real x) { return x < 0 ? -x : x; }

/* log(x 2^e), x in [1, 2), with no library: atanh series about x = sqrt(2). */
INLINE double log_of(double x, double e) {
    const double s = (x - 1.41421356237309504880) / (x + 1.41421356237309504880), q = s * s;
    double sum = 1.0 / 23;
    for (int k = 21; k > 0; k -= 2) sum = sum * q + 1.0 / k;
    return 2 * s * sum + (e + 0.5) * 0.693147180559945309417;
}

/* ---- geometry ---- */

/* One chain of a level. Positions; `behind` and `ahead` are -1 where the path ends. */
typedef struct {
    integer first, length, step, behind, ahead;
} chain;

INLINE char* workspace_at(const trifold_args* args, integer offset) { return (char*)args->workspace + offset; }
/* The lengths of all members; and the number of blocks that kernels treat of a member. */
INLINE integer* lengths_of(const trifold_args* args) {
    return (integer*)workspace_at(args, OFFSET_RANGE + MEMBERS * (integer)sizeof(trifold_range));
}
#if CLIPS
#define BLOCKS_OF(args, member) lengths_of(args)[member]
#else
#define BLOCKS_OF(args, member) ((void)(member), HORIZON)
#endif

/* A chain as far as a member with `blocks` blocks has them. One that runs backwards then begins at the last of these. */
COLD chain clip(chain c, const trifold_level* level, integer blocks) {
    const integer rest = blocks - level->base, there = rest > 0 ? (rest + level->scale - 1) / level->scale : 0;
    if (c.step < 0 && c.first >= there)
        c = (chain){there - 1, c.length - (c.first - (there - 1)), c.step, -1, c.ahead};
    else if (c.step > 0)
        c.length = smaller(c.length, there - c.first);
    if (c.ahead >= there) c.ahead = -1;
    return c.length > 0 ? c : (chain){0, 0, c.step, -1, -1};
}

INLINE chain find_chain(const trifold_args* args, const trifold_level* level, integer c, integer member) {
    integer k = 0;
    while (k + 1 < level->runs && c >= level->run[k].count) c -= level->run[k++].count;
    const trifold_run* run = &level->run[k];
    const integer first = run->first + c * run->stride, behind = first - run->step, ahead = first + run->length * run->step;
    const integer end = IS_RING && level->size > 1 ? level->size + 1 : level->size;
#if CLIPS
    const chain whole = {first, run->length, run->step, behind < level->size ? behind : -1, ahead < end ? ahead : -1};
    return clip(whole, level, BLOCKS_OF(args, member));
#else
    (void)args, (void)member;
    return (chain){first, run->length, run->step, behind < level->size ? behind : -1, ahead < end ? ahead : -1};
#endif
}

INLINE integer block_at(const trifold_level* level, integer position) {
    if (IS_RING && position == level->size) position = 0;
    return level->base + level->scale * position;
}

/* Position in the next level of a separator of this one. */
INLINE integer next_position(const trifold_level* level, integer position) {
    if (IS_RING && position == level->size) return level->next_size;
    return (block_at(level, position) - level->next_base) / level->next_scale;
}

/* Which side of the separators at its ends a chain updates: side 0 is written from below the separator, 1 from above. */
INLINE int side_ahead(const chain* c) { return c->step > 0 ? 0 : 1; }
INLINE int side_behind(const chain* c) { return c->step > 0 ? 1 : 0; }

/* Whether a block that is left after level 0 has a neighbour there on that side, so that the slot has been written. */
INLINE int has_slot(const trifold_args* args, integer member, integer block, int side) {
    return IS_RING || (side == 0 ? block > 0 : block + 1 < BLOCKS_OF(args, member));
}

/* ---- addresses; `group` counts groups of INTERLEAVE members ---- */

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
INLINE integer slot_index(const trifold_args* args, integer side, integer members, integer member, integer block) {
    return (side * members + member) * SEPARATORS + (block - SEPARATOR_BASE) / SEPARATOR_SCALE;
}
INLINE real* update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, OFFSET_UPDATE, slot_index(args, side, MEMBERS / INTERLEAVE, group, block), STORAGE_UPDATE);
}
INLINE real* rhs_update_of(const trifold_args* args, int side, integer group, integer block) {
    return reals_at(args, OFFSET_RHS_UPDATE, slot_index(args, side, MEMBERS / INTERLEAVE, group, block), STORAGE_VECTOR);
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
    return (real*)args->inverse_coupling + (member * (HORIZON - !IS_RING) + block) * n * n;
}

/* Rows of a block that B and X have, and those of D, E and B that are used: others have the identity. */
INLINE integer stored_rows(const trifold_args* args, integer block) { return TAIL_ROWS < n && block + 1 == HORIZON ? TAIL_ROWS : n; }
INLINE int* size_of(const trifold_args* args, integer member, integer block) {
    return (int*)(lengths_of(args) + MEMBERS) + member * HORIZON + block;
}
INLINE integer rows_of(const trifold_args* args, integer member, integer block) {
    return HAS_SIZES ? *size_of(args, member, block) : stored_rows(args, block);
}
/* Row r of a block's right-hand sides, from their first. The stage of a band is that of its blocks, which are several of the caller's. */
INLINE integer row_at(const trifold_strides* s, integer r) {
    return BANDWIDTH > 1 ? r / (n / BANDWIDTH) * (s->stage / BANDWIDTH) + r % (n / BANDWIDTH) * s->row : r * s->row;
}
/* The caller's block in place (p, q) of a block of D or, `ahead`, of the coupling A(block + 1, block), where blocks are several of a band;
 * null where there are zeros. */
typedef struct {
    const real* first;
    integer row, column;
} given;
INLINE given given_block(const trifold_args* args, integer member, integer block, int ahead, integer p, integer q) {
    const integer distance = (ahead ? BANDWIDTH : 0) + p - q, own = block * BANDWIDTH + q;
    if (distance < 0 || distance > BANDWIDTH) return (given){0, 0, 0};
    if (distance == 0) return (given){d_of(args, member, own), D_ROW, D_COLUMN};
    return (given){e_of(args, member, own) + (distance - 1) * E_NEXT, E_ROW, E_COLUMN};
}

/* The number that is added to entry `row` of D's diagonal when it is loaded; and that entry before, one beyond the rows of the block. */
INLINE real diagonal_term(const trifold_args* args, integer member, integer block, integer row) {
    real sum = 0;
    if (HAS_VIEWS && row >= rows_of(args, member, block)) return sum;
    if (args->diagonal)
        sum += ((const real*)args->diagonal)[(member * HORIZON + block) * n - (TAIL_ROWS < n ? member * (n - TAIL_ROWS) : 0) + row];
    if (args->shift) sum += ((const real*)args->shift)[member];
    return sum;
}

INLINE real given_entry(const trifold_args* args, integer member, integer block, integer row) {
    if (HAS_VIEWS && row >= rows_of(args, member, block)) return 1;
    if (BANDWIDTH == 1) return d_of(args, member, block)[row * (D_ROW + D_COLUMN)];
    return d_of(args, member, block * BANDWIDTH + row / (n / BANDWIDTH))[row % (n / BANDWIDTH) * (D_ROW + D_COLUMN)];
}

/* Right-hand sides of this call: known where the Spec has one, which spares loops that the compiler would prepare for more. */
INLINE integer columns_of(const trifold_args* args) { return PANEL_COLUMNS == 1 ? 1 : args->columns; }

INLINE int is_active(const trifold_args* args, integer member) { return !args->active || args->active[member] != 0; }

/* ---- results of one front ---- */

/* A sum of squares below the normal range. It is zero only if all roots are: squares that have vanished count as the least number of all,
 * so that finish_forward sees that there were some. */
COLD double tiny_square(double sum, const real* y, integer count) {
    for (integer r = 0; r < count && sum == 0; ++r)
        if (y[r] != 0) sum = 4.94065645841246544177e-324;
    return sum;
}

/* Whether a sum of squares, with the signs of pivots, is below the normal range. */
#if HAS_SIGNS
#define is_tiny(sum) ((sum) < LEAST_NORMAL && (sum) > -LEAST_NORMAL)
#else
#define is_tiny(sum) ((sum) < LEAST_NORMAL)
#endif

#define SOUND 0x7fffffffffffffffLL /* failure[][] of a front that went well */
#define FED_BY_FAILED (SOUND - 1)  /* verdict on a front whose inputs had failed already */

INLINE integer record_index(const trifold_args* args, integer member, integer block) { return member * RECORDS + block; }
INLINE integer* failure_of(const trifold_args* args, integer member, integer block) {
    return (integer*)workspace_at(args, OFFSET_FAILURE) + record_index(args, member, block);
}
INLINE int* floors_of(const trifold_args* args, integer member, integer block) {
    return (int*)workspace_at(args, OFFSET_FLOORS) + record_index(args, member, block);
}
INLINE int* poison_of(const trifold_args* args, int side, integer member, integer block) {
    return (int*)workspace_at(args, OFFSET_POISON) + slot_index(args, side, MEMBERS, member, block);
}
INLINE double* block_log_determinant_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_BLOCK_LOG_DETERMINANT) + record_index(args, member, block);
}
/* Zero until a chain ends there: its largest diagonal entry over its pivot. */
INLINE double* reduction_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_REDUCTION) + record_index(args, member, block);
}
/* Records of pivots of both signs: how many are negative; and what row of A has the largest sum of squares in L, and the largest entry on
 * its diagonal, as reduction_of() until a chain ends there. */
INLINE int* negatives_of(const trifold_args* args, integer member, integer block) {
    return floors_of(args, member, block) + MEMBERS * RECORDS;
}
INLINE double* grown_of(const trifold_args* args, integer member, integer block) {
    return reduction_of(args, member, block) + MEMBERS * RECORDS;
}
INLINE double* largest_of(const trifold_args* args, integer member, integer block) {
    return reduction_of(args, member, block) + 2 * MEMBERS * RECORDS;
}
INLINE double* block_quadratic_of(const trifold_args* args, integer member, integer block) {
    return (double*)workspace_at(args, OFFSET_BLOCK_QUADRATIC) + record_index(args, member, block) * MOST_COLUMNS;
}

INLINE trifold_range* range_of(const trifold_args* args, integer member) {
    return (trifold_range*)workspace_at(args, OFFSET_RANGE) + member;
}
/* Chains of one member may end side by side, and all say the same. */
INLINE void set_range(int* range, int left) { __atomic_store_n(range, left, __ATOMIC_RELAXED); }
/* Whether the level has the last block of a ring, which the levels before have left coupled to itself. */
INLINE int closes_ring(const trifold_level* level) { return IS_RING && level->next_size == 0; }
/* Whether a level is the last one. It has one chain, with which backward sweeps and inverses begin. */
INLINE int begins_descent(const trifold_args* args, const trifold_level* level) { return level->next_size == 0 && args->first_column == 0; }

/* Whether a chain that updated a front at a higher level had failed. */
INLINE int is_poisoned(const trifold_args* args, integer member, integer block) {
    return (has_slot(args, member, block, 0) && *poison_of(args, 0, member, block)) ||
           (has_slot(args, member, block, 1) && *poison_of(args, 1, member, block));
}

/* A chain that starts at level 0 owns its slots' first value; later ones add theirs. */
INLINE void mark_poison(const trifold_args* args, int side, integer member, integer block, integer level, int poisoned) {
    int* slot = poison_of(args, side, member, block);
    *slot = (level > 0 && *slot) || poisoned;
}

/* Writes the record of a front: `row` is the first failing row or -1. Returns whether later fronts are poisoned. */
INLINE int record_front(const trifold_args* args, integer member, integer block, integer level, integer row, int fed_by_failed) {
    integer failure = SOUND;
    if (fed_by_failed)
        failure = FED_BY_FAILED;
    else if (row >= 0)
        failure = (level * HORIZON + block) * n + row;
    *failure_of(args, member, block) = failure;
    return failure != SOUND;
}
