/* Solves A X = B, A symmetric positive definite and block tridiagonal: 2 blocks of 2 by 2, 1 right-hand side(s), f32.
 * Made by Trifold for c99:cortex-m4; do not edit. To make it again:
 *   trifold export --block 2 --horizon 2 --precision f32 --rhs 1 --target c99:cortex-m4 --prefix admm --prefactored D.npy E.npy --shift 0.1,1
 *
 * Memory: constants 96 bytes, B and X 16 each; stack at most 768; nothing else is written.
 * Work: solve 43 flops (16 multiply-subtract, 8 multiply, 3 add). It depends on no number but the sizes: every loop runs a
 *   fixed number of times.
 * Rounding: each multiply, subtract, divide and square root rounds once, to nearest, in single precision. Compiled without contraction
 *   (-ffp-contract=off) results are the same to the bit on every machine with IEEE 754 arithmetic.
 */
#ifndef ADMM_SOLVER_H
#define ADMM_SOLVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define ADMM_RESTRICT __restrict
#else
#define ADMM_RESTRICT restrict
#endif

/* n, N and m. */
#define ADMM_BLOCK 2
#define ADMM_HORIZON 2
#define ADMM_RHS 1
/* Blocks that hold couplings of factors: N - 1, but one where there is none, because arrays are not empty. */
#define ADMM_COUPLINGS 1
/* In D, index of element (r, c) of block i; in E, of the block that couples block i (columns) to block i + 1 (rows); and their sizes. */
#define ADMM_D(i, r, c) ((i) * 4 + (r) * 2 + (c) * 1)
#define ADMM_D_SIZE 8
#define ADMM_E(i, r, c) ((i) * 4 + (r) * 2 + (c) * 1)
#define ADMM_E_SIZE 4

typedef float admm_real;

/* The shifts for which there are factors. */
#define ADMM_SHIFTS 2
#define ADMM_SHIFT_LIST {0.1, 1}

/* The outcome of a call. `block` and `row` count from 0 and are -1 where the outcome concerns none. */
typedef enum {
    ADMM_OK = 0,
    /* A is not positive definite: the pivot of this block and row is not in (1 / largest finite, largest finite].
     * So end NaN and infinity in D or E too. */
    ADMM_NOT_POSITIVE_DEFINITE = 1,
    /* X has left the range of the precision from this block and row on, or B held NaN or infinity. */
    ADMM_OUT_OF_RANGE = 2,
    /* There is no factor: the last factorization failed, or there was none. */
    ADMM_NOT_FACTORED = 3,
    /* There are no factors for a shift of that index. Only a solver whose factors are constants returns this. */
    ADMM_NO_SUCH_SHIFT = 4,
    /* A is singular to the precision: this pivot is the first one below 64 FLT_EPSILON times the diagonal entry that it began with,
     * and may be all rounding. The factor and X are computed all the same, but X may have no digit that is right. */
    ADMM_NEARLY_SINGULAR = 5
} admm_code;

typedef struct {
    admm_code code;
    int block;
    int row;
} admm_status;

/* Factors of A + shift I for each shift, in admm_factors.c: L, of which the lower triangles are used, with 1 / L(k, k) on the diagonal; and
 * R = E L^-T. */
extern const admm_real admm_factor_diagonal[ADMM_SHIFTS][ADMM_HORIZON * ADMM_BLOCK * ADMM_BLOCK];
extern const admm_real admm_factor_coupling[ADMM_SHIFTS][ADMM_COUPLINGS * ADMM_BLOCK * ADMM_BLOCK];

/* Solves (A + shift I) X = B, where `shift` counts from 0 in the list above; where there is no such shift, X becomes NaN. B and X are
 * [N][n][m], row-major, without gaps. They do not overlap, but X may be B. Needs no memory; calls may run at the same time. */
admm_status admm_solve(int shift, const admm_real* b, admm_real* x);

/* The problem of admm_data.c. */
extern const admm_real admm_data_d[ADMM_D_SIZE];
extern const admm_real admm_data_e[ADMM_E_SIZE];

#ifdef __cplusplus
}
#endif

#endif
