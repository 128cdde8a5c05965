/* Block tridiagonal systems: what a launch passes to a kernel. One text for the host library, generated C and device code, so both sides
 * agree; every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_TRIDIAGONAL_ARGS_H
#define TRIFOLD_TRIDIAGONAL_ARGS_H

#include "integer.h"

/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* The constants of a launch that treats one level. The blocks that remain when a level starts are base + scale * p for positions p = 0 ..
 * size - 1. A chain's neighbours are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;                            /* level number, from 0 */
    trifold_int base, scale, size;                /* remaining blocks */
    trifold_int next_base, next_scale, next_size; /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;          /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                     /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* When a launch that treats all levels may begin: after the launch before it has ended; or early, when all fronts of a factorization or of
 * a forward sweep have been claimed but need not be done. */
typedef enum { trifold_after, trifold_during_factor, trifold_during_forward } trifold_start;

/* The constants of a launch that treats all levels, or that gathers what they leave. Its kernels find levels by arithmetic. */
typedef struct {
    trifold_int start;  /* a trifold_start */
    trifold_int groups; /* thread blocks that share a member, in kernels that treat members as a whole */
    trifold_int unused[24];
} trifold_all_levels;

/* Mixed precision: the constants of a launch of refinement. */
typedef struct {
    trifold_int round; /* 0: the first solution */
    trifold_int unused[25];
} trifold_refinement;

/* The vector of the chain that a kernel of the border reads: none; from the workspace, where it was swept along with F; X; or B. */
typedef enum { trifold_no_vector, trifold_along, trifold_in_x, trifold_in_b } trifold_vector;

/* A border of A: the constants of a launch of its kernels. Places are bytes from the start of the workspace. Their operand has F in `d`, C
 * in `e`, the tip's right-hand sides in `diagonal` with the strides `x_strides`, and its solution in `inverse_diagonal`. That of the
 * selected inverse has where its blocks in the places of F and C are written in `x` and `b`. */
typedef struct {
    trifold_int horizon, couplings;                  /* blocks of the chain, and of its E */
    trifold_int vector, factors, subtracts;          /* a trifold_vector; 1: S, or its outcome, is new; 1: x = y - Y times the tip's x */
    trifold_int along, y, columns;                   /* right-hand sides that are swept along with F; Y; columns of a block of both */
    trifold_int products, splits;                    /* parts of Y'[Y y], which sum over `splits` parts of the chain's rows */
    trifold_int s, t;                                /* S, row-major; the tip's right-hand sides, column by column */
    trifold_int chain_status, chain_log_determinant; /* results of the chain and of the tip, and those of the whole */
    trifold_int chain_quadratic, chain_quadratics;
    trifold_int tip_status, tip_log_determinant, tip_quadratic;
    trifold_int status, log_determinant, quadratic;
    trifold_int z, range; /* for the selected inverse: L^-T Y; the chain's outcomes */
    trifold_int unused[2];
} trifold_border;

/* The constants of a launch. Each kernel takes one of these, so a kernel that reads another's does not compile. All have the size of the
 * largest, so that those who launch need not know which. */
typedef union {
    trifold_level level;
    trifold_all_levels all_levels;
    trifold_refinement refinement;
    trifold_border border;
} trifold_constants;

/* Strides in elements: element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column. */
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

/* Outcome of a member's factorization by pivots of both signs; those of all members stand behind their statuses. Growth is the largest sum
 * of a row's squares in the factor over the largest entry of A, and the status has the least pivot over the sum of its row. In the factor
 * of a general matrix the products of a row of L and the largest entries of the rows of U stand for the squares. Where few digits are
 * left, by templates/tridiagonal/doubt.h, nearly_singular of the status is 1. */
typedef struct {
    trifold_int negative; /* pivots below zero and, of a general matrix, interchanges: det A has the sign of (-1)^negative */
    double growth;
} trifold_inertia;

/* Results of a member that have left the range of the precision: they hold infinities or NaN. 0: none, 1: some. A sweep's or inverse's
 * first chain, which is that of the last level, sets it to 0, and whoever finds such an element after it to 1. */
typedef struct {
    int solution; /* X of the last backward sweep */
    int inverse;  /* of the last selected inverse */
} trifold_range;

/* Members may have lengths of their own, their numbers of blocks, each a trifold_int behind the ranges of all. Where the caller's number is
 * not from 0 to N it is this one, and the row of the member's status is -1. Blocks may have sizes of their own, their numbers of rows, each
 * an int behind the lengths. Where the caller's number is not from 0 to n it is -1, the block fails, and the row of the status is -2. */
enum { trifold_odd_length = -1, trifold_odd_size = -2 };

/* Mixed precision: outcome of the refinement of a member's solution, for the worst of a call's columns. */
typedef struct {
    trifold_int iterations; /* corrections of the first solution; -1: never solved */
    trifold_int converged;  /* 1, or 0: the solution is NaN */
    double backward_error;  /* the largest |b - A x| / (|A| |x| + |b|) of a row */
} trifold_refined;

typedef struct {
    const void* d; /* D; strides are constants of the unit, or open sizes */
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
    void* inverse_diagonal;             /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks; a factorization has
                                           const int sizes [batch][N] */
    void* inverse_coupling;             /* [batch][N-1][n][n], row-major: block (i+1, i); a factorization has const int lengths [batch],
                                           or U of a general matrix, as E */
    void* workspace;                    /* factor, slots and results; offsets are constants of the unit, or open sizes */
    trifold_int first_column;           /* of the caller's right-hand sides: those before it had calls of their own */
    trifold_int accept_nearly_singular; /* 1: a least pivot below the bound is no failure; nor is it with a pivot floor */
    /* The Program's sizes, which a unit's text may leave open, so that it serves every number of blocks, systems and right-hand sides:
     * generator/tridiagonal/open_sizes.hpp. Kernels of GPUs have them by value, in the constant memory of a launch. */
#ifdef TRIFOLD_SIZES_BY_VALUE
    trifold_int sizes[TRIFOLD_SIZES_BY_VALUE];
#else
    const trifold_int* sizes;
#endif
} trifold_args;

#endif
