/* A textbook's block tridiagonal Cholesky factorization, in place of the solver of an exported project: the plain loops that a user would
 * write, with the sizes as constants. It tests the sign of a pivot, and nothing else. */
#include <math.h>

#include "btd_solver.h"

enum { n = BTD_BLOCK, N = BTD_HORIZON, BLOCK = n * n };

#define ROOT(x) (sizeof(btd_real) == sizeof(float) ? (btd_real)sqrtf((float)(x)) : (btd_real)sqrt((double)(x)))

static btd_status outcome(btd_code code, int block, int row) {
    btd_status status;
    status.code = code;
    status.block = block;
    status.row = row;
    return status;
}

btd_workspace* btd_init(void* memory) { return (btd_workspace*)memory; }

btd_status btd_factor(btd_workspace* restrict w, const btd_real* restrict d, const btd_real* restrict e) {
    for (int i = 0; i < N; ++i) {
        btd_real* l = w->own_diagonal + i * BLOCK;
        for (int r = 0; r < n; ++r) {
            for (int c = 0; c <= r; ++c) {
                btd_real sum = d[i * BLOCK + r * n + c];
                if (i > 0) {
                    const btd_real* before = w->own_coupling + (i - 1) * BLOCK;
                    for (int k = 0; k < n; ++k) sum -= before[r * n + k] * before[c * n + k];
                }
                for (int k = 0; k < c; ++k) sum -= l[r * n + k] * l[c * n + k];
                if (r > c) {
                    l[r * n + c] = sum / l[c * n + c];
                } else {
                    if (!(sum > 0)) return outcome(BTD_NOT_POSITIVE_DEFINITE, i, r);
                    l[r * n + r] = ROOT(sum);
                }
            }
        }
        if (i + 1 < N) {
            btd_real* next = w->own_coupling + i * BLOCK;
            for (int r = 0; r < n; ++r) {
                for (int c = 0; c < n; ++c) {
                    btd_real sum = e[i * BLOCK + r * n + c];
                    for (int k = 0; k < c; ++k) sum -= next[r * n + k] * l[c * n + k];
                    next[r * n + c] = sum / l[c * n + c];
                }
            }
        }
    }
    return outcome(BTD_OK, -1, -1);
}

btd_status btd_solve(const btd_workspace* w, const btd_real* b, btd_real* x) {
    for (int i = 0; i < N; ++i) {
        const btd_real* l = w->own_diagonal + i * BLOCK;
        for (int r = 0; r < n; ++r) {
            btd_real sum = b[i * n + r];
            if (i > 0) {
                const btd_real* before = w->own_coupling + (i - 1) * BLOCK;
                for (int k = 0; k < n; ++k) sum -= before[r * n + k] * x[(i - 1) * n + k];
            }
            for (int k = 0; k < r; ++k) sum -= l[r * n + k] * x[i * n + k];
            x[i * n + r] = sum / l[r * n + r];
        }
    }
    for (int i = N - 1; i >= 0; --i) {
        const btd_real* l = w->own_diagonal + i * BLOCK;
        for (int r = n - 1; r >= 0; --r) {
            btd_real sum = x[i * n + r];
            if (i + 1 < N) {
                const btd_real* next = w->own_coupling + i * BLOCK;
                for (int k = 0; k < n; ++k) sum -= next[k * n + r] * x[(i + 1) * n + k];
            }
            for (int k = r + 1; k < n; ++k) sum -= l[k * n + r] * x[i * n + k];
            x[i * n + r] = sum / l[r * n + r];
        }
    }
    return outcome(BTD_OK, -1, -1);
}

btd_status btd_factor_solve(btd_workspace* w, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    const btd_status status = btd_factor(w, d, e);
    return status.code == BTD_OK ? btd_solve(w, b, x) : status;
}
