/* Factorization by teams, right-hand sides along with it. */
constexpr int stage_leading = padded | 1; /* odd, so that lanes read rows without bank conflicts */

struct FactorShared {
    alignas(16) real panel[padded][panel_rows]; /* columns of [L; R], L's diagonal inverted */
    struct {
        real d[padded * stage_leading], e[padded * stage_leading]; /* in the order of the caller's arrays */
        real b[riders * padded];
    } stage[2];                   /* of a block and the next */
    real solved[riders * padded]; /* y */
    real carried[riders * padded]; /* -R y, for the next block */
};
static_assert(sizeof(FactorShared) * teams == TRIFOLD_SHARED_FACTOR, "host and device disagree");

/* What a team knows of its member. */
struct Verdict {
    trifold_int block = -1; /* of the first pivot that failed, and its row */
    int row = 0, floors = 0;
    double product = 1; /* of the pivots of this lane's rows, times 2^(600 scales) */
    int scales = 0;
    double squares[riders] = {};
};

/* Numbers far from one are scaled, so that products of them neither overflow nor vanish. */
TRIFOLD_DEVICE double tame(double value, int& scales) {
    if (value > 0x1p400) {
        value *= 0x1p-600;
        ++scales;
    } else if (value < 0x1p-400) {
        value *= 0x1p600;
        --scales;
    }
    return value;
}

/* D's lower triangle, the coupling to the next block and the right-hand sides on their way; padding is the identity, or zeros. */
template <bool Riders>
TRIFOLD_DEVICE void fetch_block(FactorShared& shared, const trifold_args& args, const Member& member, trifold_int block) {
    if (member.exists && block < TRIFOLD_HORIZON) {
        auto& to = shared.stage[block % 2];
        const real* d = global_pointer(static_cast<const real*>(args.d)) + member.index * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
        const real* e = global_pointer(static_cast<const real*>(args.e)) + member.index * TRIFOLD_E_MEMBER + block * TRIFOLD_E_STAGE;
        const bool has_next = block + 1 < TRIFOLD_HORIZON;
#pragma unroll 4
        for (int k = team_lane(); k < padded * padded; k += team) {
            const int u = k % padded, v = k / padded, at = u + v * stage_leading;
            const int r = TRIFOLD_D_ROW == 1 ? u : v, c = TRIFOLD_D_ROW == 1 ? v : u;
            const int i = TRIFOLD_E_ROW == 1 ? u : v, j = TRIFOLD_E_ROW == 1 ? v : u;
            const bool inside = u < block_size && v < block_size;
            if (inside && c <= r) copy_element_async(to.d + at, d + r * TRIFOLD_D_ROW + c * TRIFOLD_D_COLUMN);
            if (!inside) to.d[at] = u == v ? real(1) : real(0), to.e[at] = 0;
            if (inside && has_next) copy_element_async(to.e + at, e + i * TRIFOLD_E_ROW + j * TRIFOLD_E_COLUMN);
        }
        if (Riders) fetch_columns(to.b, args.b, args.b_strides, member, block, {0, static_cast<int>(args.columns)});
    }
    end_copies();
}

/* D -= R R' with the R that the block before has left in the panel; a lane has squares of 2 by 2 of the lower part. */
TRIFOLD_DEVICE void update_diagonal(FactorShared& shared, real* d) {
    constexpr int pairs = padded / 2, squares = pairs * (pairs + 1) / 2;
#pragma unroll 1
    for (int square = team_lane(); square < squares; square += team) {
        int p = 0, q = square;
        while (q > p) q -= ++p;
        real sum[2][2] = {};
#pragma unroll 4
        for (int k = 0; k < padded; ++k) {
            const real* column = shared.panel[k] + padded;
            const real a[2] = {column[2 * p], column[2 * p + 1]}, b[2] = {column[2 * q], column[2 * q + 1]};
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[e / 2][e % 2] += a[e / 2] * b[e % 2];
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int r = 2 * p + e / 2, c = 2 * q + e % 2;
            if (r >= c) d[TRIFOLD_D_ROW == 1 ? r + c * stage_leading : c + r * stage_leading] -= sum[e / 2][e % 2];
        }
    }
}

/* What smaller pivots of the block are raised to, from D as the caller gave it. */
TRIFOLD_DEVICE real find_floor(const real* d, const trifold_args& args, const Member& member, trifold_int block) {
    if (!(args.pivot_floor > 0)) return static_cast<real>(-infinity());
    double most = -infinity();
    if (member.exists)
        for (int r = team_lane(); r < block_size; r += team) {
            const double value = static_cast<double>(d[r * (stage_leading + 1)] + diagonal_term(args, member.index, block, r));
            if (value > most) most = value;
        }
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const double other = shuffle_xor(most, mask);
        if (other > most) most = other;
    }
    return static_cast<real>(args.pivot_floor * most);
}

/* This lane's rows of the panel, from the stage. */
TRIFOLD_DEVICE void load_rows(real (&a)[row_sets][padded], const FactorShared& shared, const trifold_args& args, const Member& member, trifold_int block) {
    const auto& stage = shared.stage[block % 2];
    const bool has_next = block + 1 < TRIFOLD_HORIZON, has_term = args.diagonal != nullptr || args.shift != nullptr;
#pragma unroll
    for (int s = 0; s < row_sets; ++s) {
        const int row = row_of(s), r = row < padded ? row : row - padded;
        const bool in_pivot = row < padded, exists = in_pivot || (has_next && row < panel_rows);
        const int step = (in_pivot ? TRIFOLD_D_ROW == 1 : TRIFOLD_E_ROW == 1) ? stage_leading : 1;
        const real* from = (in_pivot ? stage.d : stage.e) + (exists ? r * (step == 1 ? stage_leading : 1) : 0);
        real term = 0;
        if (has_term && in_pivot && row < block_size && member.exists) term = diagonal_term(args, member.index, block, row);
#pragma unroll
        for (int k = 0; k < padded; ++k) {
            a[s][k] = exists && (!in_pivot || k <= row) ? from[k * step] : real(0);
            if (k == row) a[s][k] += term;
        }
    }
}

/* 1 / sqrt of a pivot, and what becomes of it. Nearly all pivots pass the first test, after which nothing waits for the others. */
TRIFOLD_DEVICE real scale_of(real& d, real floor, bool in_block, trifold_int block, int row, Verdict& verdict) {
    constexpr real most = sizeof(real) == 8 ? real(1e290) : real(1e30f);
    if (d >= floor && d > real(1) / most && d < most) return quick_rsqrt(d);
    if (d < floor && in_block) d = floor, ++verdict.floors;
    const bool passes = d > real(0) && d <= largest;
    if (!passes && verdict.block < 0) verdict.block = block, verdict.row = row;
    return passes ? inverse_sqrt(d) : static_cast<real>(not_a_number());
}

/* The panel, column after column: every lane its rows. `y` are the right-hand sides of the pivot's rows and, on those of R, become -R y. */
template <bool Riders>
TRIFOLD_DEVICE void factor_rows(real (&a)[row_sets][padded], real (&y)[row_sets][riders], FactorShared& shared, real floor, trifold_int block,
                                Verdict& verdict) {
    real pivots[row_sets];
#pragma unroll
    for (int s = 0; s < row_sets; ++s) pivots[s] = 1;
    real next[row_sets]; /* on the lane of the next pivot's row, that pivot: it needs nothing of others */
#pragma unroll
    for (int s = 0; s < row_sets; ++s) next[s] = a[s][0];
#pragma unroll
    for (int j = 0; j < padded; ++j) {
        real own[row_sets], d = value_of_row(next, j);
        const real scale = scale_of(d, floor, j < block_size, block, j, verdict);
#pragma unroll
        for (int s = 0; s < row_sets; ++s) {
            const int row = row_of(s);
            if (row == j) pivots[s] = d;
            own[s] = row > j ? a[s][j] * scale : real(0);
            if (j + 1 < padded) next[s] = a[s][j + 1] - own[s] * own[s];
            a[s][j] = row == j ? scale : own[s];
            if (row < panel_rows) shared.panel[j][row] = a[s][j];
            if (Riders && row == j) {
#pragma unroll
                for (int c = 0; c < riders; ++c) {
                    y[s][c] *= scale;
                    shared.solved[c * padded + j] = y[s][c];
                }
            }
        }
        warp_sync();
#pragma unroll
        for (int k = j + 1; k < padded; ++k) {
            const real other = shared.panel[j][k];
#pragma unroll
            for (int s = 0; s < row_sets; ++s) a[s][k] -= own[s] * other;
        }
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c)
#pragma unroll
                for (int s = 0; s < row_sets; ++s) y[s][c] -= own[s] * shared.solved[c * padded + j];
        }
    }
#pragma unroll
    for (int s = 0; s < row_sets; ++s)
        if (row_of(s) < block_size) {
            verdict.product *= tame(static_cast<double>(pivots[s]), verdict.scales);
            verdict.product = tame(verdict.product, verdict.scales);
        }
}

/* L, its diagonal inverted, and R; y to X, and what the next block takes of it. */
template <bool Riders>
TRIFOLD_DEVICE void store_rows(const real (&a)[row_sets][padded], const real (&y)[row_sets][riders], FactorShared& shared, const trifold_args& args,
                               const Member& member, trifold_int block, Verdict& verdict) {
#pragma unroll
    for (int s = 0; s < row_sets; ++s) {
        const int row = row_of(s), r = row < padded ? row : row - padded;
        if (row >= panel_rows) continue;
        if (member.exists) {
            real* to = (row < padded ? factor_of(args, member.index, block) : next_of(args, member.index, block)) + r;
#pragma unroll
            for (int k = 0; k < padded; ++k) to[k * padded] = a[s][k];
        }
        if constexpr (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                if (row >= padded) shared.carried[c * padded + r] = y[s][c];
                if (row >= block_size) continue;
                verdict.squares[c] += static_cast<double>(y[s][c]) * static_cast<double>(y[s][c]);
                if (member.exists && c < args.columns) static_cast<real*>(args.x)[rhs_at(args.x_strides, member.index, block, row, c)] = y[s][c];
            }
        }
    }
}

TRIFOLD_DEVICE void store_verdict(const trifold_args& args, const Member& member, const Verdict& verdict) {
    constexpr double log_scale = 600 * 0.693147180559945309417;
    const double sum = sum_of_team(natural_log(verdict.product) + verdict.scales * log_scale);
    if (!member.exists || team_lane() != 0) return;
    const bool failed = verdict.block >= 0;
    buffer<trifold_status>(args, TRIFOLD_OFFSET_STATUS)[member.index] = {static_cast<int>(verdict.block), verdict.row, verdict.floors};
    buffer<double>(args, TRIFOLD_OFFSET_LOG_DETERMINANT)[member.index] = failed ? not_a_number() : sum;
}

template <bool Riders>
TRIFOLD_DEVICE void factor_member(const trifold_args& args, const Member& member) {
    FactorShared& shared = shared_of_team<FactorShared>();
    Verdict verdict;
    fetch_block<Riders>(shared, args, member, 0);
    fetch_block<Riders>(shared, args, member, 1);
#pragma unroll 1
    for (trifold_int block = 0; block < TRIFOLD_HORIZON; ++block) {
        auto& stage = shared.stage[block % 2];
        wait_copies<1>();
        warp_sync();
        const real floor = find_floor(stage.d, args, member, block);
        if (block > 0) {
            if (args.pivot_floor > 0) warp_sync();
            update_diagonal(shared, stage.d);
            warp_sync();
        }
        real a[row_sets][padded], y[row_sets][riders];
        load_rows(a, shared, args, member, block);
#pragma unroll
        for (int s = 0; s < row_sets; ++s)
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                const int row = row_of(s), at = c * padded + row;
                y[s][c] = Riders && row < padded ? stage.b[at] + (block > 0 ? shared.carried[at] : real(0)) : real(0);
            }
        warp_sync();
        fetch_block<Riders>(shared, args, member, block + 2);
        factor_rows<Riders>(a, y, shared, floor, block, verdict);
        store_rows<Riders>(a, y, shared, args, member, block, verdict);
    }
    wait_copies<0>();
    store_verdict(args, member, verdict);
    if (Riders) store_quadratic(verdict.squares, args, member, {0, static_cast<int>(args.columns)});
    warp_sync();
}
