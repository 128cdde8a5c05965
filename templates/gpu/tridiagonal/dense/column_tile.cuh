/* Elimination of a column tile, 8 wide, by one warp: the 8 by 8 pivot tile, and rows below it. */
#include "gpu/tridiagonal/dense/pivots.cuh"

/* The places that the eight pivots and the reciprocals of their roots are stored to; null: they are not. */
template <class T>
struct KeptAs {
    T* pivots;
    real* reciprocals;
    TRIFOLD_METHOD void keep(int c, real pivot, real reciprocal) const {
        if (pivots != nullptr) pivots[c] = pivot;
        if (reciprocals != nullptr) reciprocals[c] = reciprocal;
    }
};
typedef KeptAs<double> Kept;

/* Loads the lower part of the tile at `at`. Elements above the diagonal that are loaded along with it are not used. */
TRIFOLD_DEVICE void load_tile(real (&d)[8][8], const real* at, int leading) {
#pragma unroll
    for (int c = 0; c < 8; ++c)
#pragma unroll
        for (int r = c / vector_width * vector_width; r < 8; r += vector_width) {
            real v[vector_width];
            load_vector(v, at + r + c * leading);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (r + e >= c) d[r + e][c] = v[e];
        }
}

/* Whether 0 < x < limit, by the first halves of their bits alone in double precision: not all of x near the limit pass. */
TRIFOLD_DEVICE bool is_below(real x, real limit) {
    unsigned x_bits[sizeof(real) / 4], limit_bits[sizeof(real) / 4];
    copy_bits(x_bits, x), copy_bits(limit_bits, limit);
    return x_bits[sizeof(real) / 4 - 1] < limit_bits[sizeof(real) / 4 - 1];
}

/* Does what eliminate_quickly() does, where pivots have both signs. Roots are those of their sizes, both ways to the second pivot must find
 * the same sign, and `negative` gets a bit for each that is. */
template <int Sets, class T>
TRIFOLD_DEVICE bool eliminate_signed(real (&d)[8][8], real (&a)[Sets][8], KeptAs<T> kept, unsigned& negative) {
    constexpr real most = sizeof(real) == 8 ? real(1e100) : real(1e12f), least = real(1) / most;
    bool stands = true;
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
        const real p = d[c][c], b = d[c + 1][c], q = d[c + 1][c + 1], size = by_sign(p, p);
        const real signed_minor = p * (p * q - b * b), minor = by_sign(signed_minor, signed_minor), guess = approximate_rsqrt(minor);
        const real scale = quick_rsqrt(size), second = corrected_rsqrt(minor, guess, guess * size), l = b * scale, turned = by_sign(l, p);
        const real r = q - l * turned, other = by_sign(r, r);
        stands = stands && size >= least && other >= least && is_below(size, most) && is_below(other, most) &&
                 sign_bit(signed_minor) == sign_bit(r) && minor >= least * least * least && minor <= largest;
        negative |= sign_bit(p) << c | sign_bit(r) << (c + 1);
        if (thread_index() % warp_lanes == 0) kept.keep(c, p, by_sign(scale, p)), kept.keep(c + 1, r, by_sign(second, r));
#pragma unroll
        for (int k = c + 2; k < 8; ++k) d[k][c] *= scale, d[k][c + 1] = (d[k][c + 1] - d[k][c] * turned) * second;
#pragma unroll
        for (int s = 0; s < Sets; ++s) a[s][c] *= scale, a[s][c + 1] = (a[s][c + 1] - a[s][c] * turned) * second;
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
            const real x = by_sign(d[k][c], p), y = by_sign(d[k][c + 1], r);
#pragma unroll
            for (int i = k; i < 8; ++i) d[i][k] = (d[i][k] - d[i][c] * x) - d[i][c + 1] * y;
#pragma unroll
            for (int s = 0; s < Sets; ++s) a[s][k] = (a[s][k] - a[s][c] * x) - a[s][c + 1] * y;
        }
    }
    return stands;
}

/* The tile d, which every lane has for itself, and a lane's rows a, in registers, two pivots at a time: with p, b, q the 2 by 2
 * pivot, 1 / L11 = rsqrt(p) and 1 / L22 = p rsqrt(p (p q - b^2)) start together. Returns whether the result may stand: every pivot
 * is above the floor and of a size that the products of three of its like do not overflow. */
template <int Sets, class T = double>
TRIFOLD_DEVICE bool eliminate_quickly(real (&d)[8][8], real (&a)[Sets][8], real floor, KeptAs<T> kept, unsigned& negative) {
    if constexpr (has_signs) return eliminate_signed(d, a, kept, negative);
    constexpr real most = sizeof(real) == 8 ? real(1e100) : real(1e12f), least = real(1) / most;
    const real lowest = floor > least ? floor : least;
    bool stands = true;
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
        const real p = d[c][c], b = d[c + 1][c], q = d[c + 1][c + 1];
        const real minor = p * (p * q - b * b), guess = approximate_rsqrt(minor);
        const real scale = quick_rsqrt(p), second = corrected_rsqrt(minor, guess, guess * p), l = b * scale, r = q - l * l;
        stands = stands && p >= lowest && r >= lowest && is_below(p, most) && is_below(r, most);
        if (thread_index() % warp_lanes == 0) kept.keep(c, p, scale), kept.keep(c + 1, r, second);
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
            d[k][c] *= scale;
            d[k][c + 1] = (d[k][c + 1] - d[k][c] * l) * second;
        }
#pragma unroll
        for (int s = 0; s < Sets; ++s) {
            a[s][c] *= scale;
            a[s][c + 1] = (a[s][c + 1] - a[s][c] * l) * second;
        }
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
#pragma unroll
            for (int i = k; i < 8; ++i) d[i][k] = (d[i][k] - d[i][c] * d[k][c]) - d[i][c + 1] * d[k][c + 1];
#pragma unroll
            for (int s = 0; s < Sets; ++s) a[s][k] = (a[s][k] - a[s][c] * d[k][c]) - a[s][c + 1] * d[k][c + 1];
        }
    }
    return stands;
}

/* A lane's row after that, as others find it: of L with marks, or instead of the identity of the inverse. */
TRIFOLD_DEVICE void finish_row(real (&a)[8], unsigned negative, bool of_identity) {
    if constexpr (has_signs) {
#pragma unroll
        for (int c = 0; c < 8; ++c) a[c] = of_identity ? by_bit(a[c], negative, c) : marked(a[c], negative >> c & 1u);
    }
}

/* The squares left of the diagonal in row r of L's tile, from its inverse, X = inverse(k, c), which outlives it: L X = 1. */
template <class P, class Inverse>
TRIFOLD_DEVICE real squares_in_tile(const P* pivots, int r, const Inverse& inverse) {
    real sum = 0, l[8];
#pragma unroll
    for (int c = 7; c >= 0; --c) {
        real rest = c == r ? real(1) : real(0);
#pragma unroll
        for (int k = c + 1; k < 8; ++k) rest -= l[k] * inverse(k, c);
        l[c] =
            rest * (static_cast<real>(by_sign(pivots[c], pivots[c])) * inverse(c, c)); /* the diagonal of L is the pivot times that of X */
        if (c < r) sum += l[c] * l[c];
    }
    return sum;
}

/* Eliminates a column tile in shared memory, one pivot at a time with every test: for tiles with a pivot that is raised or fails, or that
 * is out of the quick way's range. The tile begins at row and column `first` of `panel`, and the rows end before `end`. `row` is the
 * panel's first row in the block. */
template <class T = double>
TRIFOLD_DEVICE void eliminate_one_by_one(real* panel, int leading, int first, int end, int row, Pivots& pivots, KeptAs<T> kept) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(pivots.floor);
#pragma unroll 1
    for (int j = first; j < first + 8; ++j) {
        real* column = panel + j * leading;
        real pivot = column[j];
        const bool raised = pivot < floor && pivot >= -largest && may_be_raised(pivots, row + j);
        if (raised) pivot = floor;
        const bool passes = is_pivot(pivot);
        const real scale = passes ? inverse_sqrt(by_sign(pivot, pivot)) : static_cast<real>(not_a_number());
        warp_sync();
        if (lane == 0) {
            if (!passes && pivots.failed_row < 0) pivots.failed_row = row + j;
            pivots.floors += static_cast<int>(raised);
            column[j] = pivot * scale;
            kept.keep(j - first, pivot, by_sign(scale, pivot));
        }
        for (int r = j + 1 + lane; r < end; r += warp_lanes) column[r] = marked(column[r] * scale, sign_bit(pivot));
        warp_sync();
        for (int r = j + 1 + lane; r < end; r += warp_lanes)
            for (int k = j + 1; k < first + 8 && k <= r; ++k) panel[r + k * leading] -= column[r] * by_sign(column[k], pivot);
        warp_sync();
    }
}
/* eliminate_one_by_one() as a call: inlined, it would take registers where a caller has none to spare. */
template <class T = double>
TRIFOLD_FUNCTION void eliminate_carefully(real* panel, int leading, int first, int end, int row, Pivots& pivots, KeptAs<T> kept) {
    eliminate_one_by_one(panel, leading, first, end, row, pivots, kept);
}
