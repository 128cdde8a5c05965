/* Factorization by teams, right-hand sides along with it. */
#include "gpu/tridiagonal/dense/pivots.cuh"
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/team/stage.cuh"
#include "gpu/tridiagonal/team/verdict.cuh"

struct FactorShared {
    Task task;
    alignas(16) real panel[panels - 1][padded][padded]; /* L by columns; then the rows of R and of G */
    struct {
        alignas(16) real slot[2][has_slots ? update_storage : vector_width]; /* updates of the diagonal block, column-major */
        RhsStage rhs;
        alignas(16) real d[padded * (padded | 1)], e[padded * (padded | 1)]; /* in the order they are stored in */
    } stage[depth];
    alignas(16) real solved[riders * padded]; /* y */
};
static_assert(sizeof(FactorShared) == factor_bytes(padded, riders, panels, has_slots, has_signs, depth, sizeof(real)),
              "host and device disagree");
static_assert(pitch<FactorShared> * teams == SharedBytes::factor, "host and device disagree");

/* The sign of a pivot, from the bits of those that are negative. */
TRIFOLD_DEVICE real sign_of(unsigned negative, int row) { return negative >> row & 1u ? real(-1) : real(1); }

/* The updates that a front leaves to the next one of its chain, or the chain to its separators: this lane's row of them. */
struct Carry {
    real next[padded] = {};      /* R R' */
    real across[padded] = {};    /* G of the next front: -G R' */
    real behind[padded] = {};    /* the sum of G G' */
    real y[panels][riders] = {}; /* -R y, the sum of -G y */
    real squares[2] = {};        /* sums of squares, where pivots have signs: of R, of G of all fronts */
};

/* Does the contiguous index of the stored coupling of positions p and q run along the rows of A(p, q)? */
TRIFOLD_DEVICE bool rows_contiguous(const trifold_level& level, trifold_int p, trifold_int q) {
    return (level.index > 0 || E::row == 1) == (p > q);
}

/* Starts the copy of an element that is the caller's; another one is known. */
TRIFOLD_DEVICE void fetch_element(real* to, const real* from, real otherwise) {
    if (from != nullptr)
        copy_element_async(to, from);
    else
        *to = otherwise;
}
/* D's lower triangle and the coupling to the next block, where blocks are views. */
TRIFOLD_DEVICE void fetch_views(real* d, real* e, const trifold_args& args, trifold_int member, trifold_int block, trifold_int coupled) {
    const Given own = given_diagonal(args, member, block);
    const real unit = unit_of(args, member, block);
    Given coupling{};
    if (coupled >= 0) coupling = given_coupling(args, member, coupled);
#pragma unroll 1
    for (int at = team_lane(); at < padded * padded; at += team) {
        const int u = at % padded, v = at / padded, place = u + v * stage_leading;
        const int r = D::row == 1 ? u : v, c = D::row == 1 ? v : u;
        if (c <= r) fetch_element(d + place, own.at(r, c), r == c ? unit : real(0));
        if (coupled >= 0) fetch_element(e + place, E::row == 1 ? coupling.at(u, v) : coupling.at(v, u), 0);
    }
}

/* Starts loads of D's lower triangle, the coupling to the next block, the updates of the chains below and the right-hand sides; padding is
 * the identity, or zeros. */
template <bool Riders>
TRIFOLD_DEVICE void fetch_front(FactorShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                trifold_int k) {
    if (k < task.chain.length) {
        auto& to = shared.stage[k % depth];
        const trifold_int position = position_of(task.chain, k), block = block_at(level, position);
        const real* d = D_OF(args, task.member, block);
        const real* e = global_pointer(coupling_at(args, level, task.member, position, position + task.chain.step));
        const trifold_int pitch_of_e = level.index > 0 ? padded : e_pitch;
        const bool coupled = has_next(task.chain, k);
        const trifold_int next = block_at(level, position + task.chain.step);
        const bool views = has_views && !(is_whole(args, task.member, block) && (!coupled || is_whole(args, task.member, next)));
        const bool views_coupling = views && level.index == 0;
        if (views) fetch_views(to.d, to.e, args, task.member, block, !views_coupling || !coupled ? -1 : task.chain.step > 0 ? block : next);
        if (!views && comes_in_pieces && are_aligned(args.d, args.e)) {
            fetch_pieces(to.d, d, true);
            fetch_pieces(to.e, e, coupled);
        } else {
#pragma unroll 1
            for (int at = team_lane(); at < padded * padded; at += team) {
                const int u = at % padded, v = at / padded, place = u + v * stage_leading;
                const bool inside = u < block_size && v < block_size, lower = D::row == 1 ? v <= u : u <= v;
                if (!views && inside && lower) copy_element_async(to.d + place, d + u + v * d_pitch);
                if (!views && !inside) to.d[place] = u == v ? real(1) : real(0);
                if (!views_coupling && !inside) to.e[place] = 0;
                if (!views_coupling && inside && coupled) copy_element_async(to.e + place, e + u + v * pitch_of_e);
            }
        }
        if (has_slots && level.index > 0) {
#pragma unroll
            for (int side = 0; side < 2; ++side)
                if (has_side(args, task.member, block, side))
#pragma unroll 1
                    for (int at = team_lane() * vector_width; at < static_cast<int>(update_storage); at += team * vector_width)
                        copy_async(to.slot[side] + at, update_of(args, task.member, block, side) + at);
        }
        if (Riders) fetch_running(to.rhs, args, level, task.member, block, {0, static_cast<int>(args.columns)});
    }
    end_copies();
}

/* This lane's row of the first front's coupling to the separator behind the chain. */
TRIFOLD_DEVICE void load_behind(Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    if (chain.behind < 0 || chain.length == 0 || team_lane() >= block_size) return;
    if (has_views && level.index == 0) {
        const bool below = chain.behind > chain.first;
        const Given given = given_coupling(args, task.member, below ? chain.first : chain.behind);
#pragma unroll
        for (int c = 0; c < block_size; ++c) carry.across[c] = below ? given.value(team_lane(), c) : given.value(c, team_lane());
        return;
    }
    const real* from = global_pointer(coupling_at(args, level, task.member, chain.behind, chain.first));
    const trifold_int pitch_of_e = level.index > 0 ? padded : e_pitch;
    const bool along = rows_contiguous(level, chain.behind, chain.first);
    from += along ? team_lane() : team_lane() * pitch_of_e;
#pragma unroll
    for (int c = 0; c < block_size; ++c) carry.across[c] = from[along ? c * pitch_of_e : c];
}

/* The floor to which smaller pivots of the block are raised. `diagonal`: this row's diagonal entry as the caller gave it. */
TRIFOLD_DEVICE real find_floor(real diagonal, int rows, const trifold_args& args) {
    if (!(args.pivot_floor > 0)) return static_cast<real>(-infinity());
    double most = team_lane() < rows ? static_cast<double>(diagonal < 0 ? -diagonal : diagonal) : 0;
    if (!(most <= static_cast<double>(largest))) most = 0;
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const double other = shuffle_xor(most, mask);
        if (other > most) most = other;
    }
    return static_cast<real>(args.pivot_floor * most);
}

/* This lane's row of every panel, its diagonal entry as the caller gave it, the squares of the row in the fronts before, and the pivots'
 * floor. Where there is no front, the identity: that changes nothing that a team knows. */
TRIFOLD_DEVICE real load_rows(real (&a)[panels][padded], real& diagonal, real& squares, const FactorShared& shared, const Carry& carry,
                              const trifold_args& args, const trifold_level& level, const Task& task, trifold_int k) {
    const auto& stage = shared.stage[k % depth];
    const int row = team_lane();
    const bool exists = k < task.chain.length && row < padded;
    const trifold_int position = position_of(task.chain, k), block = block_at(level, position);
    const bool coupled = exists && has_next(task.chain, k), along = rows_contiguous(level, position + task.chain.step, position);
    const bool low = has_slots && exists && level.index > 0 && has_side(args, task.member, block, 0);
    const bool high = has_slots && exists && level.index > 0 && has_side(args, task.member, block, 1);
    const int at = exists ? row : 0;
    real d[padded], e[padded], term = 0;
    diagonal = 0;
    if (exists && row < block_size && (args.diagonal != nullptr || args.shift != nullptr))
        term = diagonal_term(args, task.member, block, row);
    load_line(d, stage.d, at, D::row == 1);
    load_line(e, stage.e, at, along);
#pragma unroll
    for (int c = 0; c < padded; ++c) {
        real value = row == c ? real(1) : real(0);
        if (exists && c <= row) value = d[c];
        if (c == row) value += term, diagonal = value;
        if (low && c <= row) value -= stage.slot[0][at + c * padded];
        if (high && c <= row) value -= stage.slot[1][at + c * padded];
        if (closes_ring(level) && exists && c <= row && row < block_size) value += own_coupling(args, level, task.member, row, c);
        a[0][c] = value - carry.next[c];
        a[1][c] = coupled ? e[c] : real(0);
        if constexpr (has_fill) a[2][c] = carry.across[c];
    }
    if constexpr (has_signs) {
        squares = carry.squares[0];
        if (low) squares += stage.slot[0][at + storage];
        if (high) squares += stage.slot[1][at + storage];
    }
    const real floor = find_floor(diagonal, exists ? rows_of(args, task.member, block) : block_size, args);
    return k < task.chain.length ? floor : static_cast<real>(-infinity());
}

/* The upper half of a double, or a float, as an integer: positive numbers have the order of theirs, and others are outside of them. */
TRIFOLD_DEVICE int word_of(double value) {
    long long bits;
    copy_bits(bits, value);
    return static_cast<int>(bits >> 32);
}
TRIFOLD_DEVICE int word_of(float value) {
    int bits;
    copy_bits(bits, value);
    return bits;
}

/* Pivots between these two need no closer look: integers are compared sooner than doubles. */
constexpr real max_plain = sizeof(real) == 8 ? real(1e290) : real(1e30f), min_plain = real(1) / max_plain;

/* 1 / sqrt of a pivot, and its test. Nearly all pivots pass the first test, which the root need not wait for. `least`: the word of the
 * larger of the floor and min_plain. */
TRIFOLD_DEVICE real scale_of(real& d, real floor, int least, int row, int rows, trifold_int failure, Verdict& verdict) {
    const real quick = quick_rsqrt(d);
    const int word = word_of(d);
    if (word > least && word < word_of(max_plain)) return quick;
    if (d < floor && d >= -largest && row < rows) {
        d = floor;
        if (row == team_lane()) ++verdict.pivots;
    }
    const bool passes = is_pivot(d);
    if (!passes && verdict.failure == sound) verdict.failure = failure + row;
    return passes ? inverse_sqrt(d) : static_cast<real>(not_a_number());
}

/* The panels, column after column: every lane its rows. `y` are the right-hand sides of the pivot's rows, which turn into S y, and -R y,
 * -G y. `failure` is the number that a failure of the first row has. `squares`: those of this lane's row in the fronts before. Returns
 * which pivots are negative, as bits. */
template <bool Riders>
TRIFOLD_DEVICE unsigned factor_rows(real (&a)[panels][padded], real (&y)[panels][riders], FactorShared& shared, real diagonal, real squares,
                                    real floor, int rows, trifold_int failure, Verdict& verdict) {
    const int row = team_lane();
    unsigned negative = 0;
    const int least = word_of(floor > min_plain ? floor : min_plain);
    real next = a[0][0]; /* on the lane of the next pivot's row, that pivot: it needs nothing of others */
#pragma unroll
    for (int j = 0; j < padded; ++j) {
        real own[panels];
        const real pivot = value_of_lane(next, j);
        real d = by_sign(pivot, pivot);
        const real scale = scale_of(d, floor, least, j, rows, failure, verdict);
#pragma unroll
        for (int p = 0; p < panels; ++p) own[p] = p > 0 || row > j ? a[p][j] * scale : real(0);
        if (j + 1 < padded) next = a[0][j + 1] - own[0] * by_sign(own[0], pivot);
        const real kept = row == j ? by_sign(scale, pivot) : own[0];
        if (row < padded) shared.panel[0][j][row] = kept;
        if (Riders && row == j) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                y[0][c] *= scale;
                shared.solved[c * padded + j] = y[0][c];
            }
        }
#pragma unroll
        for (int p = 0; p < panels; ++p) {
            a[p][j] = p == 0 ? kept : own[p];
            own[p] = by_sign(own[p], pivot); /* S stands between the two factors of each product */
        }
        if constexpr (has_signs) squares += own[0] * own[0], negative |= static_cast<unsigned>(pivot < 0) << j;
        warp_sync();
#pragma unroll
        for (int c = j + 1; c < padded; ++c) {
            const real other = shared.panel[0][j][c];
#pragma unroll
            for (int p = 0; p < panels; ++p) a[p][c] -= own[p] * other;
        }
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c)
#pragma unroll
                for (int p = 0; p < panels; ++p) y[p][c] -= own[p] * shared.solved[c * padded + j];
        }
    }
    if (row < block_size) {
        const real scale = shared.panel[0][row][row], reciprocal = by_sign(scale, scale);
        verdict.product *= tame(static_cast<double>(reciprocal), verdict.scales);
        verdict.product = tame(verdict.product, verdict.scales);
        const real entry = by_sign(diagonal, diagonal), sum = has_signs ? entry + squares : entry;
        const double reduction = static_cast<double>(sum * reciprocal * reciprocal);
        if (reduction > verdict.reduction) verdict.reduction = reduction;
        if constexpr (has_signs) {
            verdict.pivots += static_cast<int>(scale < 0);
            if (row < rows) raise_to(verdict.most[0], static_cast<double>(sum)), raise_to(verdict.most[1], static_cast<double>(entry));
        }
    }
    return negative;
}

/* L, its diagonal inverted, R and G; S y to X. */
template <bool Riders>
TRIFOLD_DEVICE void store_rows(const real (&a)[panels][padded], const real (&y)[panels][riders], unsigned negative,
                               const trifold_args& args, trifold_int member, trifold_int block, Verdict& verdict) {
    const int row = team_lane();
    if (row >= padded) return;
#pragma unroll
    for (int p = 0; p < panels; ++p) {
        real* to = (p == 0 ? factor_of(args, member, block) : p == 1 ? next_of(args, member, block) : behind_of(args, member, block)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = a[p][c];
    }
    if (Riders && row < block_size) {
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            verdict.squares[c] += square_of(y[0][c], sign_of(negative, row));
            if (c < args.columns && row < stored_rows(args, block))
                static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, row, c)] = y[0][c];
        }
    }
}

/* Products of this lane's rows of R and G with everybody's, R S and G S. */
TRIFOLD_DEVICE void multiply_rows(Carry& carry, const real (&a)[panels][padded], unsigned negative, FactorShared& shared) {
    const int row = team_lane();
    if (row < padded) {
#pragma unroll
        for (int p = 1; p < panels; ++p)
#pragma unroll
            for (int c = 0; c < padded; c += vector_width) {
                real v[vector_width];
#pragma unroll
                for (int k = 0; k < vector_width; ++k) v[k] = by_sign(a[p][c + k], sign_of(negative, c + k));
                store_vector(&shared.panel[p - 1][row][c], v);
            }
    }
    warp_sync();
#pragma unroll
    for (int c = 0; c < padded; ++c) {
        real next = 0, across = 0;
#pragma unroll
        for (int k = 0; k < padded; k += vector_width) {
            real r[vector_width], g[vector_width];
            load_vector(r, &shared.panel[0][c][k]);
            if constexpr (has_fill) load_vector(g, &shared.panel[1][c][k]);
#pragma unroll
            for (int v = 0; v < vector_width; ++v) {
                next += a[1][k + v] * r[v];
                if constexpr (has_fill) across -= a[2][k + v] * r[v], carry.behind[c] += a[2][k + v] * g[v];
            }
        }
        carry.next[c] = next;
        if constexpr (has_fill) carry.across[c] = across;
    }
    if constexpr (has_signs) {
        carry.squares[0] = 0;
#pragma unroll
        for (int k = 0; k < padded; ++k) {
            carry.squares[0] += a[1][k] * a[1][k];
            if constexpr (has_fill) carry.squares[1] += a[2][k] * a[2][k];
        }
    }
}

/* Writes the chain's updates of the separators at its ends, and the coupling that it leaves between them. */
TRIFOLD_DEVICE void leave_chain(const Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    const int row = team_lane();
    const bool add = level.index > 0;
    if (row >= padded) return;
    if (chain.ahead >= 0) {
        real* to = update_of(args, task.member, block_at(level, chain.ahead), side_ahead(chain)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = (add ? to[c * padded] : real(0)) + carry.next[c];
        if constexpr (has_signs) to[storage] = (add ? to[storage] : real(0)) + carry.squares[0];
    }
    if constexpr (has_fill) {
        if (chain.behind < 0) return;
        real* to = update_of(args, task.member, block_at(level, chain.behind), side_behind(chain)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = (add ? to[c * padded] : real(0)) + carry.behind[c];
        if constexpr (has_signs) to[storage] = (add ? to[storage] : real(0)) + carry.squares[1];
        if (chain.ahead < 0) return;
        real* coupling = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, task.member, chain) * storage;
        const bool up = chain.step > 0; /* the separator behind is the lower one then, and its row a column */
#pragma unroll
        for (int c = 0; c < padded; ++c) coupling[up ? c + row * padded : row + c * padded] = carry.across[c];
    }
}

template <bool Riders>
TRIFOLD_DEVICE void factor_chain(FactorShared& shared, const trifold_args& args, const trifold_level& level) {
    const Task& task = shared.task;
    const Columns columns{0, static_cast<int>(args.columns)};
#pragma unroll
    for (int k = 0; k < depth; ++k) fetch_front<Riders>(shared, args, level, task, k);
    Verdict verdict;
    if (has_slots && Riders) gather_quadratic(verdict.squares, args, level, task, columns);
    Carry carry;
    if (has_fill) load_behind(carry, args, level, task);
#pragma unroll 1
    for (trifold_int k = 0; k < task.steps; ++k) {
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        real a[panels][padded], diagonal, squares = 0;
        const real floor = load_rows(a, diagonal, squares, shared, carry, args, level, task, k);
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                carry.y[0][c] = carry.y[1][c];
                if (team_lane() < padded)
                    carry.y[0][c] += running_value(args, shared.stage[k % depth].rhs, level, task.member, block, c * padded + team_lane());
                carry.y[1][c] = 0;
            }
        }
        warp_sync();
        fetch_front<Riders>(shared, args, level, task, k + depth);
        const bool is_front = k < task.chain.length;
        const int rows = has_views && is_front ? rows_of(args, task.member, block) : is_front || !has_signs ? block_size : 0;
        const trifold_int failure = (level.index * horizon_of(args) + block) * block_size;
        const unsigned negative = factor_rows<Riders>(a, carry.y, shared, diagonal, squares, floor, rows, failure, verdict);
        if (k < task.chain.length) store_rows<Riders>(a, carry.y, negative, args, task.member, block, verdict);
        multiply_rows(carry, a, negative, shared);
        if (k + 1 != task.chain.length) continue;
        if (has_slots) leave_chain(carry, args, level, task);
        if (has_slots && Riders) leave_rhs(carry.y, args, level, task, columns);
        carry = {};
    }
    wait_copies<0>();
    leave_verdict(verdict, args, level, task);
    if (Riders) leave_quadratic(verdict.squares, args, level, task, columns);
}
