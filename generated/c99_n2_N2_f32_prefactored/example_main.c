/* Solves a problem, checks X in double precision, and prints a checksum of its bits. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "admm_solver.h"

typedef uint32_t admm_bits;
static const double tolerance = 1e-5;
enum { SIZE = ADMM_HORIZON * ADMM_BLOCK * ADMM_RHS };

/* A made-up right-hand side of multiples of 1/16, the same on every machine. */
static admm_real b[SIZE];

static void make_problem(void) {
    uint32_t state = 1;
    int i;
    for (i = 0; i < SIZE; ++i) {
        state = state * 1664525U + 1013904223U;
        b[i] = (admm_real)((int)(state >> 27) - 16) / 16;
    }
}

/* The matrix of admm_data.c. */
static const admm_real* const d = admm_data_d;
static const admm_real* const e = admm_data_e;
static admm_real x[SIZE];

enum { PROBLEMS = ADMM_SHIFTS };
static const double shifts[PROBLEMS] = ADMM_SHIFT_LIST;

static admm_status run_example(int problem) { return admm_solve(problem, b, x); }

/* Row (i, r) of (A + shift I) x in double precision, for column c of X; and the sum of the row's absolute values. */
static double multiply_row(double shift, int i, int r, int c, double* sum) {
    double value = 0;
    int k;
    for (k = 0; k < ADMM_BLOCK; ++k) {
        const int row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */
        const double a = (double)d[ADMM_D(i, row, column)] + (r == k ? shift : 0);
        value += a * (double)x[(i * ADMM_BLOCK + k) * ADMM_RHS + c];
        *sum += fabs(a);
        if (i > 0) {
            const double before = (double)e[ADMM_E(i - 1, r, k)];
            value += before * (double)x[((i - 1) * ADMM_BLOCK + k) * ADMM_RHS + c];
            *sum += fabs(before);
        }
        if (i + 1 < ADMM_HORIZON) {
            const double after = (double)e[ADMM_E(i, k, r)];
            value += after * (double)x[((i + 1) * ADMM_BLOCK + k) * ADMM_RHS + c];
            *sum += fabs(after);
        }
    }
    return value;
}

static double larger(double a, double b_) { return a > b_ ? a : b_; }

/* ||A x - b|| / (||A|| ||x|| + ||b||), the largest elements; norms of A by rows. */
static double relative_residual(double shift) {
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    int i;
    for (i = 0; i < SIZE; ++i) {
        double sum = 0;
        const double ax = multiply_row(shift, i / ADMM_RHS / ADMM_BLOCK, i / ADMM_RHS % ADMM_BLOCK, i % ADMM_RHS, &sum);
        residual = larger(residual, fabs(ax - (double)b[i]));
        norm_a = larger(norm_a, sum);
        norm_x = larger(norm_x, fabs((double)x[i]));
        norm_b = larger(norm_b, fabs((double)b[i]));
    }
    return residual / (norm_a * norm_x + norm_b);
}

/* FNV-1a over the bits of X, value by value from the lowest byte. */
static uint32_t checksum(uint32_t hash) {
    int i;
    unsigned byte;
    for (i = 0; i < SIZE; ++i) {
        admm_bits bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (byte = 0; byte < sizeof bits; ++byte) {
            hash = (hash ^ (uint32_t)(bits >> (8 * byte) & 0xff)) * 16777619U;
        }
    }
    return hash;
}

/* Solves one problem, checks it, and adds it to the checksum. */
static int solve(int problem, uint32_t* hash) {
    const admm_status status = run_example(problem);
    double residual;
    if (status.code != ADMM_OK) {
        printf("status %d at block %d, row %d\n", (int)status.code, status.block, status.row);
        return 0;
    }
    residual = relative_residual(shifts[problem]);
    printf("n = %d, N = %d, m = %d: x[0] = %.9g\n", ADMM_BLOCK, ADMM_HORIZON, ADMM_RHS, (double)x[0]);
    printf("relative residual %.1e: %s\n", residual, residual <= tolerance ? "good" : "too large");
    *hash = checksum(*hash);
    return residual <= tolerance;
}

int main(void) {
    uint32_t hash = 2166136261U;
    int problem, good = 1;
    make_problem();
    for (problem = 0; problem < PROBLEMS; ++problem) {
        good &= solve(problem, &hash);
    }
    printf("checksum of the bits of X: %08lx\n", (unsigned long)hash);
    return good ? 0 : 1;
}
