/* Factorization of a panel in shared memory: rows 0 .. size - 1 are the pivot block, the rows below it ride along. The
 * panel is column-major; its leading dimension is 4 modulo 8. Tiles of `w` columns; the diagonal tiles are left inverted. */

/* What pivots are tested against, and what became of them. One per thread block, in shared memory. */
struct Pivots {
    double floor;    /* smaller pivots are raised to it; minus infinity: none */
    double log_sum;  /* sum of the pivots' logarithms */
    int failed_row;  /* first row whose pivot failed, or -1 */
    int floors;      /* pivots raised */
};

constexpr real largest = sizeof(real) == 8 ? real(1.7976931348623157e308) : real(3.402823466e38f);
/* Whether a pivot may stand: above the largest number whose reciprocal is infinite, and finite. */
TRIFOLD_DEVICE bool is_pivot(real d) { return d > (sizeof(real) == 8 ? real(0x1p-1024) : real(0x1p-128)) && d <= largest; }
constexpr real smallest_normal = sizeof(real) == 8 ? real(2.2250738585072014e-308) : real(1.175494351e-38f);

/* `scaled`, which is y, about 1 / sqrt(x), or a multiple of it, after one correction of third order. */
TRIFOLD_DEVICE real corrected_rsqrt(real x, real y, real scaled) {
    const real e = real(1) - (x * y) * y;
    if (sizeof(real) == 4) return scaled + e * (real(0.5) * scaled); /* y is good to 22 digits already */
    return scaled + (e * scaled) * (real(0.5) + real(0.375) * e);
}

/* 1 / sqrt(x) for x so far from the ends of the range that nothing need be scaled; callers test. */
TRIFOLD_DEVICE real quick_rsqrt(real x) {
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, y);
}

/* 1 / sqrt(d) for 0 < d. The hardware flushes subnormal numbers, so these are scaled, by a factor that joins where nothing waits
 * for it. */
TRIFOLD_DEVICE real inverse_sqrt(real d) {
    constexpr real root = sizeof(real) == 8 ? real(0x1p128) : real(0x1p32f);
    const bool tiny = d < smallest_normal;
    const real x = tiny ? d * root * root : d;
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, tiny ? y * root : y);
}

/* Factors the w by w tile at `at` and leaves the factor's inverse there. Called by one warp; every lane factors the tile
 * redundantly in registers, which costs less than one shuffle a column. `row` is the tile's first row in the block, of
 * which the first `rows` are real and the rest padding. */
template <int w>
TRIFOLD_DEVICE void factor_tile(real* at, int leading, int row, int rows, Pivots& pivots, double* diagonal) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(pivots.floor);
    real t[w][w], inverse[w];
#pragma unroll
    for (int c = 0; c < w; ++c)
#pragma unroll
        for (int r = c; r < w; ++r) t[r][c] = at[r + c * leading];
    int failed = -1, floors = 0;
#pragma unroll
    for (int c = 0; c < w; ++c) {
        real d = t[c][c];
        if (d < floor && row + c < rows) d = floor, ++floors;
        const bool passes = is_pivot(d);
        if (!passes && failed < 0) failed = row + c;
        if (lane == 0) diagonal[row + c] = d;
        inverse[c] = passes ? inverse_sqrt(d) : static_cast<real>(not_a_number());
#pragma unroll
        for (int r = c + 1; r < w; ++r) t[r][c] *= inverse[c];
#pragma unroll
        for (int k = c + 1; k < w; ++k)
#pragma unroll
            for (int r = k; r < w; ++r) t[r][k] -= t[r][c] * t[k][c];
    }
    warp_sync();
    if (lane == 0) {
        if (failed >= 0 && pivots.failed_row < 0) pivots.failed_row = failed;
        pivots.floors += floors;
    }
    /* Lane c solves for column c of the inverse. */
    real z[w];
#pragma unroll
    for (int r = 0; r < w; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= t[r][k] * z[k];
        z[r] = sum * inverse[r];
    }
    if (lane < w) {
#pragma unroll
        for (int r = 0; r < w; ++r) at[r + lane * leading] = z[r];
    }
    warp_sync();
}

/* Rows first .. last of column tile `at` times the transposed inverse of the diagonal tile. A thread takes whole rows. */
template <int w>
TRIFOLD_DEVICE void solve_rows(real* panel, int leading, int j, int first, int last) {
    const real* inverse = panel + j + j * leading;
#pragma unroll 1
    for (int r = first + thread_index(); r < last; r += threads) {
        real* at = panel + r + j * leading;
        real a[w];
#pragma unroll
        for (int c = 0; c < w; ++c) a[c] = at[c * leading];
#pragma unroll
        for (int c = w - 1; c >= 0; --c) {
            real sum = 0;
#pragma unroll
            for (int k = 0; k <= c; ++k) sum += a[k] * inverse[c + k * leading];
            at[c * leading] = sum;
        }
    }
}

/* The same for the diagonal tile at row and column c, by one warp. */
TRIFOLD_DEVICE void update_tile(real* panel, int leading, int j, int c) {
#pragma unroll 1
    for (int e = thread_index() % warp_lanes; e < 64; e += warp_lanes) {
        const int r = c + e % 8, s = c + e / 8;
        real sum = panel[r + s * leading];
#pragma unroll
        for (int k = j; k < j + 8; ++k) sum -= panel[r + k * leading] * panel[s + k * leading];
        panel[r + s * leading] = sum;
    }
    warp_sync();
}

/* The first warp factors the next diagonal tile while the others update the rest, so its latency hides behind theirs.
 * `rows` is a multiple of vector_width. Starts and ends with the panel visible to all threads. */
template <int Size, int w>
TRIFOLD_DEVICE void factor_panel(real* panel, int leading, int rows, int real_rows, int row, Pivots& pivots, double* diagonal) {
    static_assert(threads > warp_lanes || Size == w, "one warp cannot look ahead");
#pragma unroll 1
    for (int j = 0; j < Size; j += w) {
        if (thread_index() < warp_lanes) {
            if (Size > w && j > 0) update_tile(panel, leading, j - w, j);
            factor_tile<w>(panel + j * (leading + 1), leading, row + j, real_rows, pivots, diagonal);
        } else if (Size > w && j > 0) {
            update_trailing(panel, leading, j - w, Size, rows);
        }
        block_sync();
        solve_rows<w>(panel, leading, j, j + w, rows);
        block_sync();
    }
}

/* Before a block's pivots: floor from the largest diagonal entry of D as the caller gave it. By the whole thread block. */
TRIFOLD_DEVICE void start_pivots(Pivots& pivots, const trifold_args& args, trifold_int member, trifold_int block) {
    if (thread_index() >= warp_lanes) return;
    double floor = -infinity();
    if (args.pivot_floor > 0) {
        const real* d = static_cast<const real*>(args.d) + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
        double most = -infinity();
        for (int r = thread_index(); r < block_size; r += warp_lanes) {
            const double value = static_cast<double>(d[r * (TRIFOLD_D_ROW + TRIFOLD_D_COLUMN)] + diagonal_term(args, member, block, r));
            if (value > most) most = value;
        }
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
            const double other = shuffle_xor(most, mask);
            if (other > most) most = other;
        }
        floor = args.pivot_floor * most;
    }
    if (thread_index() == 0) pivots.floor = floor, pivots.log_sum = 0, pivots.failed_row = -1, pivots.floors = 0;
}

/* The front's logarithms, by a warp, from the pivots' diagonal. */
template <class T>
TRIFOLD_DEVICE void report_logarithms(const trifold_args& args, trifold_int member, trifold_int block, const T* diagonal) {
    double sum = 0;
    for (int r = thread_index() % warp_lanes; r < block_size; r += warp_lanes) sum += natural_log(static_cast<double>(diagonal[r]));
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (thread_index() % warp_lanes == 0) buffer<double>(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)[block_index(member, block)] = sum;
}
/* The front's verdict, by one thread, after the panel. */
TRIFOLD_DEVICE void report_verdict(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed, const Pivots& pivots) {
    const trifold_int index = block_index(member, block);
    trifold_int verdict = sound;
    if (pivots.failed_row >= 0) verdict = (level * TRIFOLD_HORIZON + block) * block_size + pivots.failed_row;
    if (fed) verdict = fed_by_failure;
    buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index] = verdict;
    buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index] = pivots.floors;
}
/* Both, by the whole thread block. */
TRIFOLD_DEVICE void report_pivots(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed, const Pivots& pivots,
                                  const double* diagonal) {
    if (thread_index() < warp_lanes) report_logarithms(args, member, block, diagonal);
    if (thread_index() == 0) report_verdict(args, level, member, block, fed, pivots);
}

/* Was the block fed, through its slots, by a front that failed? */
TRIFOLD_DEVICE bool is_poisoned(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    if (level.index == 0) return false;
    return (has_side(block, 0) && poison_of(args, member, block, 0) != 0) || (has_side(block, 1) && poison_of(args, member, block, 1) != 0);
}

/* Passes a chain's verdict on to the separators beside it; one thread. */
TRIFOLD_DEVICE void pass_poison(const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain, bool failed) {
    const bool add = level.index > 0;
    if (chain.ahead >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
    if (chain.behind >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.behind), side_behind(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
}
