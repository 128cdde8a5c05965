/* Products of the panels of a front that shared memory holds whole, and copies to the workspace. */
#include "gpu/tridiagonal/fused/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/dense/products.cuh"

/* Copies panel rows row .. row + padded - 1 to a block of the workspace. */
TRIFOLD_DEVICE void store_rows(real* to, const real* panel, int row) {
    constexpr int vectors = padded / vector_width;
#pragma unroll 4
    for (int e = thread_opaque(); e < vectors * padded; e += threads) {
        const int r = e % vectors * vector_width, c = e / vectors;
        real v[vector_width];
        load_vector(v, panel + row + r + c * panel_leading);
        store_vector(to + r + c * padded, v);
    }
}

/* A product A B' of panel rows from `a` and `b` on, for a block of the workspace: set or added, or set to its negative;
 * the lower part only where so asked. */
struct Product {
    int a, b;
    real* to;
    bool lower, add, negative;
};

TRIFOLD_DEVICE void multiply_out(const real* panel, const double* pivots, const Product& product) {
    multiply_panels(panel, panel_leading, pivots, product.a, product.b, product.lower, [&](const real(&sum)[vector_width], int r, int c) {
        real v[vector_width] = {};
        real* at = product.to + r + c * padded;
        if (product.add) load_vector(v, at);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = product.negative ? -sum[k] : v[k] + sum[k];
        store_vector(at, v);
    });
}

template <int Width>
TRIFOLD_DEVICE void subtract_vector(real* at, const real (&sum)[Width]) {
    real v[vector_width];
    load_vector(v, at);
#pragma unroll
    for (int k = 0; k < vector_width; ++k) v[k] -= sum[k];
    store_vector(at, v);
}
/* The pivot rows less a product of two panels, or the lower part of one. The pivots are still those of the front before. */
TRIFOLD_DEVICE void update_pivot(real* panel, const double* pivots, int a, int b, bool lower) {
    multiply_panels(panel, panel_leading, pivots, a, b, lower,
                    [&](const real(&sum)[vector_width], int r, int c) { subtract_vector(panel + r + c * panel_leading, sum); });
}

/* -A B' to the place of the pivot block, which is stored by now; and from there to A's. */
TRIFOLD_DEVICE void multiply_fill(real* panel, const double* pivots, int a, int b) {
    multiply_panels(panel, panel_leading, pivots, a, b, false, [&](const real(&sum)[vector_width], int r, int c) {
        real v[vector_width];
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = -sum[k];
        store_vector(panel + r + c * panel_leading, v);
    });
    block_sync();
#pragma unroll 1
    for (int e = thread_index() * vector_width; e < padded * padded; e += threads * vector_width) {
        real v[vector_width];
        real* at = panel + e % padded + e / padded * panel_leading;
        load_vector(v, at);
        store_vector(at + a, v);
    }
    block_sync();
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void poison(real* panel) {
#pragma unroll 1
    for (int e = thread_index(); e < panel_leading * padded; e += threads) panel[e] = static_cast<real>(not_a_number());
    block_sync();
}
