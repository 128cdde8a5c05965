/* Variant getrf: factorization, right-hand sides along with it. A lane has a row of D, of the blocks right of it, and of those below. */
#include "gpu/pivots.cuh"
#include "gpu/tridiagonal/getrf/factors.cuh"
#include "gpu/tridiagonal/team/team.cuh"
#include "gpu/tridiagonal/team/stage.cuh"
#include "gpu/tridiagonal/team/verdict.cuh"

constexpr int fill_width = has_fill ? padded : 1; /* columns of rows that only schedules with fill have */

struct FactorShared {
    Task task;
    alignas(16) real row[panels][padded][padded]; /* rows of U, Z and H, in the order of the pivots */
    struct {
        alignas(16) real slot[2][has_slots ? update_storage : vector_width]; /* updates of the diagonal block, column-major */
        RhsStage rhs;
        alignas(16) real d[storage], below[storage], right[storage]; /* as they are stored */
    } stage[depth];
    alignas(16) real solved[riders * padded]; /* y */
    alignas(16) real top[padded];             /* the largest entries of the rows of U, Z and H */
};
static_assert(sizeof(FactorShared) == lu_factor_bytes(padded, riders, panels, has_slots, depth, sizeof(real)), "host and device disagree");
static_assert(pitch<FactorShared> * teams == SharedBytes::factor, "host and device disagree");

/* This lane's rows of a front. The rows of the next block and of the separator behind begin as R and G, and what the front leaves to them
 * is summed up meanwhile. */
struct Rows {
    real d[padded], z[padded], h[fill_width], r[padded], g[fill_width];
};
/* Updates that a front leaves: R Z and the sum of G H; and for the next front, the rows of H and G that it begins with, - R H and - G Z.
 * Sums are products of rows of R and G with the largest entries of U's rows. */
struct Carry {
    real next[padded] = {}, behind[fill_width] = {}, h[fill_width] = {}, g[fill_width] = {};
    real y[panels][riders] = {}; /* -R y, the sum of -G y */
    real sums[2] = {};
};

/* Elements from one line to the next of a block on chip, whose contiguous index runs first. It has no padding. */
constexpr int stage_line = block_size;
/* Starts the copy of a block. */
TRIFOLD_DEVICE void fetch_block(real* to, const real* from, trifold_int pitch) {
    if (comes_in_pieces && pitch == padded && are_aligned(from, from)) return fetch_pieces(to, from, true);
    if (pitch == block_size) {
#pragma unroll
        for (int at = 0; at < block_size * block_size; at += team)
            if (at + team_lane() < block_size * block_size) copy_element_async(to + at + team_lane(), from + at + team_lane());
        return;
    }
#pragma unroll 1
    for (int at = team_lane(); at < block_size * block_size; at += team)
        copy_element_async(to + at, from + at % block_size + at / block_size * pitch);
}
/* Row `row` of a block on chip: across its contiguous index, or along it. Padding is zero. */
TRIFOLD_DEVICE void load_own_row(real (&line)[padded], const real* block, int row, bool across) {
    const int step = across ? stage_line : 1;
    block += across ? row : row * stage_line;
#pragma unroll
    for (int c = 0; c < padded; ++c) line[c] = c < block_size ? block[c * step] : real(0);
}
template <bool Riders>
TRIFOLD_DEVICE void fetch_front(FactorShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                trifold_int k) {
    if (k < task.chain.length) {
        auto& to = shared.stage[k % depth];
        const trifold_int position = position_of(task.chain, k), block = block_at(level, position), next = position + task.chain.step;
        const trifold_int pitch = level.index > 0 ? trifold_int(padded) : e_pitch;
        fetch_block(to.d, D_OF(args, task.member, block), d_pitch);
        if (has_next(task.chain, k)) {
            fetch_block(to.below, stored_coupling(args, level, task.member, next, position).first, pitch);
            fetch_block(to.right, stored_coupling(args, level, task.member, position, next).first, pitch);
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

/* This lane's rows of the first front's couplings to the separator behind the chain. */
TRIFOLD_DEVICE void load_behind(Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    if (chain.behind < 0 || chain.length == 0 || team_lane() >= block_size) return;
    const Stored g = stored_coupling(args, level, task.member, chain.behind, chain.first),
                 h = stored_coupling(args, level, task.member, chain.first, chain.behind);
#pragma unroll
    for (int c = 0; c < block_size && c < fill_width; ++c) {
        carry.g[c] = g.first[team_lane() * g.row + c * g.column];
        carry.h[c] = h.first[team_lane() * h.row + c * h.column];
    }
}

/* The rows of front k. Returns the sum of D's row: its largest entry, with those of the couplings that are loaded, and what fronts before
 * have added. Where there is no front, the identity: that changes nothing that a team knows. */
TRIFOLD_DEVICE real load_rows(Rows& a, const FactorShared& shared, const Carry& carry, const trifold_args& args, const trifold_level& level,
                              const Task& task, trifold_int k, Verdict& verdict) {
    const auto& stage = shared.stage[k % depth];
    const int row = team_lane();
    const bool exists = k < task.chain.length && row < padded, own = exists && row < block_size;
    const trifold_int position = position_of(task.chain, k), block = block_at(level, position);
    const bool coupled = exists && has_next(task.chain, k),
               low = has_slots && exists && level.index > 0 && has_side(args, task.member, block, 0);
    const bool high = has_slots && exists && level.index > 0 && has_side(args, task.member, block, 1);
    const int at = exists ? row : 0;
    real d[padded], below[padded], right[padded], term = 0;
    int most = 0, largest_of_row = 0;
    if (own && (args.diagonal != nullptr || args.shift != nullptr)) term = diagonal_term(args, task.member, block, row);
    load_own_row(d, stage.d, own ? row : 0, D::row == 1);
    load_own_row(below, stage.below, own ? row : 0, level.index > 0 || E::row == 1);
    load_own_row(right, stage.right, own ? row : 0, level.index > 0 || E::row == 1);
    Stored lower{}, upper{};
    if (closes_ring(level) && own)
        lower = stored_coupling(args, level, task.member, 1, 0), upper = stored_coupling(args, level, task.member, 0, 1);
#pragma unroll
    for (int c = 0; c < padded; ++c) {
        real value = own ? d[c] : row == c ? real(1) : real(0);
        if (c == row) value += term;
        if (c < block_size) raise_word(most, value);
        if (low) value -= stage.slot[0][at + c * padded];
        if (high) value -= stage.slot[1][at + c * padded];
        if (closes_ring(level) && own && c < block_size)
            value += lower.first[row * lower.row + c * lower.column] + upper.first[row * upper.row + c * upper.column];
        a.d[c] = value - carry.next[c];
        a.r[c] = coupled && own ? below[c] : real(0);
        a.z[c] = coupled && own ? right[c] : real(0);
    }
    largest_of_row = most;
#pragma unroll
    for (int c = 0; c < block_size; ++c) {
        raise_word(largest_of_row, a.z[c]);
        if (level.index == 0) raise_word(most, a.r[c]);
    }
    if (level.index == 0) most = larger(most, largest_of_row);
    if constexpr (has_fill) {
#pragma unroll
        for (int c = 0; c < padded; ++c) {
            a.g[c] = carry.g[c];
            a.h[c] = carry.h[c];
            if (k == 0) raise_word(largest_of_row, a.h[c]);
            if (k == 0 && level.index == 0) raise_word(most, a.g[c]), raise_word(most, a.h[c]);
        }
    }
    if (own) raise_to(verdict.most[1], static_cast<double>(number_of_word(most)));
    real sum = number_of_word(largest_of_row) + carry.sums[0];
    if (low) sum += stage.slot[0][at + storage];
    if (high) sum += stage.slot[1][at + storage];
    return sum;
}

/* The largest of keys that lanes of a team have. */
TRIFOLD_DEVICE unsigned greatest_of_team(unsigned key) {
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const unsigned other = shuffle_xor(key, mask);
        if (other > key) key = other;
    }
    return key;
}
/* a -= m u, from column `first` on. */
template <int Width>
TRIFOLD_DEVICE void subtract_row(real (&a)[Width], real m, const real (&u)[padded], int first) {
#pragma unroll
    for (int c = 0; c < Width; ++c)
        if (c >= first && c < block_size) a[c] -= m * u[c];
}
TRIFOLD_DEVICE void load_row(real (&to)[padded], const real (&from)[padded]) {
#pragma unroll
    for (int c = 0; c < padded; c += vector_width) {
        real v[vector_width];
        load_vector(v, from + c);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) to[c + k] = v[k];
    }
}
TRIFOLD_DEVICE void store_row(real (&to)[padded], const real* from) {
#pragma unroll
    for (int c = 0; c < padded; c += vector_width) {
        real v[vector_width];
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = from[c + k];
        store_vector(to + c, v);
    }
}

/* Eliminates the columns one after another. The row of the pivot is the one with the largest entry, of equals the lowest. It is given to
 * all lanes, and rows stay where they are. `y` are right-hand sides, which turn into L^-1 P b, and -R y, -G y. `failure` is the number that
 * a failure in the first column has; `sum` that of the lane's row. Returns the row's place in the order of the pivots. */
template <bool Riders>
TRIFOLD_DEVICE int factor_rows(Rows& a, Carry& carry, FactorShared& shared, real sum, bool is_front, trifold_int failure,
                               Verdict& verdict) {
    const int row = team_lane();
    auto& y = carry.y;
    bool candidate = row < padded;
    int place = row;
    real own_pivot = 1, own_inverse = 1;
#pragma unroll
    for (int c = 0; c < padded; ++c) carry.next[c] = 0;
#pragma unroll
    for (int c = 0; c < fill_width; ++c) carry.h[c] = carry.g[c] = 0;
#pragma unroll
    for (int j = 0; j < block_size; ++j) { /* padding is the identity already */
        const int chosen = lane_of_key(greatest_of_team(candidate ? key_of_lane(size_key(a.d[j]), row) : 0u));
        const real mine = may_divide(a.d[j]) ? reciprocal(a.d[j]) : static_cast<real>(not_a_number()); /* while the pivot is searched */
        const real inverse = value_of_lane(mine, chosen);
        if (!(inverse == inverse) && verdict.failure == sound) verdict.failure = failure + j;
        const int from = value_of_lane(place, chosen);
        if (place == j) place = from;
        if (row == 0) verdict.pivots += static_cast<int>(from != j);
        if (row == chosen) {
            candidate = false, place = j, own_pivot = a.d[j], own_inverse = inverse;
            store_row(shared.row[0][j], a.d);
            store_row(shared.row[1][j], a.z);
            if constexpr (has_fill) store_row(shared.row[panels - 1][j], a.h);
            if (Riders) {
#pragma unroll
                for (int c = 0; c < riders; ++c) shared.solved[c * padded + j] = y[0][c];
            }
        }
        warp_sync();
        const real m = candidate ? a.d[j] * inverse : real(0), r = a.r[j] * inverse;
        if (candidate) a.d[j] = m;
        a.r[j] = r;
        real u[padded], z[padded];
        load_row(u, shared.row[0][j]);
        load_row(z, shared.row[1][j]);
        subtract_row(a.d, m, u, j + 1);
        subtract_row(a.r, r, u, j + 1);
        subtract_row(a.z, m, z, 0);
        subtract_row(carry.next, -r, z, 0);
        if constexpr (has_fill) {
            const real g = a.g[j] * inverse;
            a.g[j] = g;
            real h[padded];
            load_row(h, shared.row[panels - 1][j]);
            subtract_row(a.g, g, u, j + 1);
            subtract_row(a.h, m, h, 0);
            subtract_row(carry.h, r, h, 0);
            subtract_row(carry.g, g, z, 0);
            subtract_row(carry.behind, -g, h, 0);
        }
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                const real solved = shared.solved[c * padded + j];
                y[0][c] -= m * solved;
                y[1][c] -= r * solved;
                if constexpr (has_fill) y[panels - 1][c] -= a.g[j] * solved;
            }
        }
    }
    int top_word = size_word(own_pivot);
#pragma unroll
    for (int c = 0; c < block_size; ++c) {
        if (c > place) raise_word(top_word, a.d[c]);
        if (c == place) a.d[c] = own_inverse;
        raise_word(top_word, a.z[c]);
        if constexpr (has_fill) raise_word(top_word, a.h[c]);
    }
    const real top = number_of_word(top_word);
    if (row < padded) shared.top[place] = top;
    warp_sync();
    carry.sums[0] = 0;
#pragma unroll
    for (int k = 0; k < block_size; ++k) {
        const real of_pivot = shared.top[k];
        if (k < place) sum += size_of_number(a.d[k]) * of_pivot;
        carry.sums[0] += size_of_number(a.r[k]) * of_pivot;
        if constexpr (has_fill) carry.sums[1] += size_of_number(a.g[k]) * of_pivot;
    }
    if (row < block_size && is_front) {
        verdict.product *= tame(static_cast<double>(size_of_number(own_inverse)), verdict.scales);
        verdict.product = tame(verdict.product, verdict.scales);
        verdict.pivots += static_cast<int>(own_pivot < 0);
        raise_to(verdict.reduction, static_cast<double>(sum * size_of_number(own_inverse)));
        raise_to(verdict.most[0], static_cast<double>(sum + top));
    }
    return place;
}

/* L and U, R and Z, G and H, and the order of the rows; y to X. */
template <bool Riders>
TRIFOLD_DEVICE void store_rows(const Rows& a, const real (&y)[panels][riders], int place, const trifold_args& args, const Task& task,
                               trifold_int block, bool coupled) {
    const int row = team_lane();
    if (row >= padded) return;
    real *lu = factor_of(args, task.member, block), *below = next_of(args, task.member, block);
    order_of(args, task.member, block)[place] = row;
#pragma unroll
    for (int c = 0; c < padded; ++c) lu[place + c * padded] = a.d[c];
    if (coupled) {
#pragma unroll
        for (int c = 0; c < padded; ++c) below[row + c * padded] = a.r[c], below[storage + place + c * padded] = a.z[c];
    }
    if constexpr (has_fill) {
        real* behind = behind_of(args, task.member, block);
        if (task.chain.behind >= 0) {
#pragma unroll
            for (int c = 0; c < padded; ++c) behind[row + c * padded] = a.g[c], behind[storage + place + c * padded] = a.h[c];
        }
    }
    if (Riders && place < block_size) {
#pragma unroll
        for (int c = 0; c < riders; ++c)
            if (c < args.columns) static_cast<real*>(args.x)[rhs_at(args.x_strides, task.member, block, place, c)] = y[0][c];
    }
}

/* Adds a lane's row, and its sum, to a separator's slot. */
template <int Width>
TRIFOLD_DEVICE void leave_row(real* slot, bool add, const real (&row)[Width], real sum) {
    real* to = slot + team_lane();
#pragma unroll
    for (int c = 0; c < Width; ++c) to[c * padded] = (add ? to[c * padded] : real(0)) + row[c];
    to[storage] = (add ? to[storage] : real(0)) + sum;
}
/* Writes the chain's updates of the separators at its ends, and the couplings that it leaves between them. */
TRIFOLD_DEVICE void leave_chain(const Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    const bool add = level.index > 0;
    if (team_lane() >= padded) return;
    if (chain.ahead >= 0)
        leave_row(update_of(args, task.member, block_at(level, chain.ahead), side_ahead(chain)), add, carry.next, carry.sums[0]);
    if constexpr (has_fill) {
        if (chain.behind < 0) return;
        leave_row(update_of(args, task.member, block_at(level, chain.behind), side_behind(chain)), add, carry.behind, carry.sums[1]);
        if (chain.ahead < 0) return;
        real* lower =
            buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, task.member, chain) * panel_storage + team_lane();
        const bool up = chain.step > 0; /* the separator ahead is the higher one */
#pragma unroll
        for (int c = 0; c < padded; ++c) {
            lower[c * padded] = up ? carry.h[c] : carry.g[c];
            lower[storage + c * padded] = up ? carry.g[c] : carry.h[c];
        }
    }
}

template <bool Riders>
TRIFOLD_DEVICE void factor_chain(FactorShared& shared, const trifold_args& args, const trifold_level& level) {
    const Task& task = shared.task;
    const Columns columns{0, static_cast<int>(args.columns)};
#pragma unroll
    for (int k = 0; k < depth; ++k) fetch_front<Riders>(shared, args, level, task, k);
    Verdict verdict;
    Carry carry;
    if constexpr (has_fill) load_behind(carry, args, level, task);
#pragma unroll 1
    for (trifold_int k = 0; k < task.steps; ++k) {
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        Rows a;
        const real sum = load_rows(a, shared, carry, args, level, task, k, verdict);
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
        const trifold_int failure = (level.index * horizon_of(args) + block) * block_size;
        const int place = factor_rows<Riders>(a, carry, shared, sum, is_front, failure, verdict);
        if (is_front) store_rows<Riders>(a, carry.y, place, args, task, block, has_next(task.chain, k));
        warp_sync();
        if (k + 1 != task.chain.length) continue;
        if (has_slots) leave_chain(carry, args, level, task);
        if (has_slots && Riders) leave_rhs(carry.y, args, level, task, columns);
        carry = {};
    }
    wait_copies<0>();
    leave_verdict(verdict, args, level, task);
}
