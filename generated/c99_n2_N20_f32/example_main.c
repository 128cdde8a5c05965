/* Solves a problem, checks X in double precision, and prints a checksum of its bits. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mpc_solver.h"

typedef uint32_t mpc_bits;
static const double tolerance = 1e-5;
enum { SIZE = MPC_HORIZON * MPC_BLOCK * MPC_RHS };

/* A made-up problem of the solver's size: A has random entries and a dominant diagonal. All numbers are small multiples of 1/16, so that
 * every machine makes the same ones, exactly. */
static mpc_real d[MPC_D_SIZE];
static mpc_real e[MPC_E_SIZE];
static mpc_real b[SIZE];

static mpc_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (mpc_real)((int)(state >> 27) - 16) / 16;
}

static void make_problem(void) {
    int i, r, c;
    for (i = 0; i < MPC_HORIZON; ++i) {
        for (r = 0; r < MPC_BLOCK; ++r) {
            for (c = 0; c < r; ++c) {
                d[MPC_D(i, r, c)] = random_number();
                d[MPC_D(i, c, r)] = d[MPC_D(i, r, c)];
            }
            d[MPC_D(i, r, r)] = 3 * MPC_BLOCK + 1;
        }
    }
    for (i = 0; i + 1 < MPC_HORIZON; ++i) {
        for (r = 0; r < MPC_BLOCK; ++r) {
            for (c = 0; c < MPC_BLOCK; ++c) {
                e[MPC_E(i, r, c)] = random_number();
            }
        }
    }
    for (i = 0; i < SIZE; ++i) {
        b[i] = random_number();
    }
}

static mpc_workspace workspace;
static mpc_real x[SIZE];

enum { PROBLEMS = 1 };
static const double shifts[PROBLEMS] = {0};

static mpc_status run_example(int problem) {
    (void)problem;
    mpc_init(&workspace);
    return mpc_factor_solve(&workspace, d, e, b, x);
}

/* Row (i, r) of (A + shift I) x in double precision, for column c of X; and the sum of the row's absolute values. */
static double multiply_row(double shift, int i, int r, int c, double* sum) {
    double value = 0;
    int k;
    for (k = 0; k < MPC_BLOCK; ++k) {
        const int row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */
        const double a = (double)d[MPC_D(i, row, column)] + (r == k ? shift : 0);
        value += a * (double)x[(i * MPC_BLOCK + k) * MPC_RHS + c];
        *sum += fabs(a);
        if (i > 0) {
            const double before = (double)e[MPC_E(i - 1, r, k)];
            value += before * (double)x[((i - 1) * MPC_BLOCK + k) * MPC_RHS + c];
            *sum += fabs(before);
        }
        if (i + 1 < MPC_HORIZON) {
            const double after = (double)e[MPC_E(i, k, r)];
            value += after * (double)x[((i + 1) * MPC_BLOCK + k) * MPC_RHS + c];
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
        const double ax = multiply_row(shift, i / MPC_RHS / MPC_BLOCK, i / MPC_RHS % MPC_BLOCK, i % MPC_RHS, &sum);
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
        mpc_bits bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (byte = 0; byte < sizeof bits; ++byte) {
            hash = (hash ^ (uint32_t)(bits >> (8 * byte) & 0xff)) * 16777619U;
        }
    }
    return hash;
}

/* Solves one problem, checks it, and adds it to the checksum. */
static int solve(int problem, uint32_t* hash) {
    const mpc_status status = run_example(problem);
    double residual;
    if (status.code != MPC_OK) {
        printf("status %d at block %d, row %d\n", (int)status.code, status.block, status.row);
        return 0;
    }
    residual = relative_residual(shifts[problem]);
    printf("n = %d, N = %d, m = %d: x[0] = %.9g\n", MPC_BLOCK, MPC_HORIZON, MPC_RHS, (double)x[0]);
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
