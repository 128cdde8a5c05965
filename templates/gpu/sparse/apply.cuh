/* The preconditioner of a subdomain, a thread block each: its vector is in shared memory. */
#include "gpu/sparse/factor.cuh"

/* What the blocks of a slot take from component i of the level's row t. */
TRIFOLD_DEVICE real slot_product(const Context& c, const Tile& tile, const trifold_sparse_slot& slot, int t, int i, const real* v) {
    const int column = at<const unsigned short>(c, c.launch.slot_columns)[slot.columns + t] * block;
    const factor_real* a = tile.stream + slot.place + block * t + i;
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j) sum += static_cast<real>(a[j * (block * slot.rows)]) * v[column + j];
    return sum;
}
/* The same of transposed blocks, whose places are listed. */
TRIFOLD_DEVICE real turned_product(const Tile& tile, const trifold_sparse_reference& r, int i, const real* x) {
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j) sum += static_cast<real>(tile.stream[place_in(r, j, i)]) * x[j];
    return sum;
}
template <bool turned>
TRIFOLD_DEVICE real slot_value(const Context& c, const Tile& tile, const trifold_sparse_slot& slot, int t, int i, const real* v) {
    if (!turned) return slot_product(c, tile, slot, t, i, v);
    const int column = at<const unsigned short>(c, c.launch.slot_columns)[slot.columns + t] * block;
    return turned_product(tile, at<const trifold_sparse_reference>(c, c.launch.turned_references)[slot.place + t], i, v + column);
}
/* Component i of D^-1 v, or of its transposed, for the level's row t. */
template <bool turned>
TRIFOLD_DEVICE real scaled_value(const Context& c, const Tile& tile, const trifold_sparse_level& level, int t, int i, const real* own) {
    if (turned) return turned_product(tile, at<const trifold_sparse_reference>(c, c.launch.turned_references)[level.diagonal + t], i, own);
    real sum = 0;
#pragma unroll
    for (int j = 0; j < block; ++j)
        sum += static_cast<real>(tile.stream[level.diagonal + j * (block * level.rows) + block * t + i]) * own[j];
    return sum;
}

/* One of the sweeps over a triangle. The second of two scales by D^-1 first. */
template <bool turned, bool scales>
TRIFOLD_DEVICE void sweep(const Context& c, const Tile& tile, int which, real* v) {
    for (int level = tile.schedule.levels[which]; level < tile.schedule.levels[which + 1]; ++level) {
        const trifold_sparse_level l = level_at(c, level);
        const trifold_sparse_slot* slots = at<const trifold_sparse_slot>(c, c.launch.slots) + l.first_slot;
        for (int pass = 0; pass * rows_at_once < l.rows; ++pass) {
            const Lane lane = lane_at(pass);
            const bool works = lane.works && lane.row < l.rows;
            real sum = 0;
            int own = 0;
            if (works) {
                own = row_at(c, l, lane.row) * block;
                sum = scales ? scaled_value<turned>(c, tile, l, lane.row, lane.component, v + own) : v[own + lane.component];
                for (int s = 0; s < l.slots && lane.row < slots[s].rows; ++s)
                    sum -= slot_value<turned>(c, tile, slots[s], lane.row, lane.component, v);
            }
            if (scales) warp_sync();
            if (works) v[own + lane.component] = sum;
        }
        block_sync();
    }
}

/* v = M^-1 v, or with M'. All threads have written v before, and none may read it before this returns. */
TRIFOLD_DEVICE void solve_tile(const Context& c, real* v) {
    block_sync();
    if (!has_factors) return;
    const Tile tile = tile_at(c);
    if (c.launch.transposed) {
        sweep<true, false>(c, tile, trifold_sparse_u_turned, v);
        sweep<true, true>(c, tile, trifold_sparse_l_turned, v);
    } else {
        sweep<false, false>(c, tile, trifold_sparse_l, v);
        sweep<false, true>(c, tile, trifold_sparse_u, v);
    }
}
TRIFOLD_DEVICE void store_solved(real* to, const real* v, int count) {
    for (int k = thread_index(); k < count; k += sparse_threads) to[k] = v[k];
}

TRIFOLD_DEVICE void apply_to_arrays(const Context& c, const Part& part, real* v) {
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        for (int k = thread_index(); k < part.count(); k += sparse_threads)
            v[k] = static_cast<const real*>(c.args.b)[outer_place(c, part, k, column)];
        solve_tile(c, v);
        for (int k = thread_index(); k < part.count(); k += sparse_threads)
            static_cast<real*>(c.args.x)[outer_place(c, part, k, column)] = v[k];
        block_sync();
    }
}

#if METHOD == METHOD_BICGSTAB
/* x += alpha z + omega y; r = s - omega t, where the last turn left that to do. p = r + beta (p - omega v); z = M^-1 p. */
TRIFOLD_DEVICE void first_of_tile(const Context& c, const Part& part, const trifold_sparse_state& s, const Pieces& w, real* v) {
    const real alpha = static_cast<real>(s.alpha), omega = static_cast<real>(s.omega), beta = static_cast<real>(s.beta);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        real r = w.r[k];
        if (s.pending) {
            w.x[k] += alpha * w.z[k] + omega * w.y[k];
            r -= omega * w.t[k];
            w.r[k] = r;
        }
        w.p[k] = v[k] = s.beta == 0 ? r : r + beta * (w.p[k] - omega * w.v[k]);
    }
    solve_tile(c, v);
    store_solved(w.z, v, part.count());
}
/* s = r - alpha v, in the place of r; y = M^-1 s. */
TRIFOLD_DEVICE void second_of_tile(const Context& c, const Part& part, const trifold_sparse_state& s, const Pieces& w, real* v) {
    const real alpha = static_cast<real>(s.alpha);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) w.r[k] = v[k] = w.r[k] - alpha * w.v[k];
    solve_tile(c, v);
    store_solved(w.y, v, part.count());
}
#elif METHOD == METHOD_CG
/* x += alpha p; r -= alpha v, where the last turn left that to do. z = M^-1 r. */
TRIFOLD_DEVICE void first_of_tile(const Context& c, const Part& part, const trifold_sparse_state& s, const Pieces& w, real* v) {
    const real alpha = static_cast<real>(s.alpha);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        real r = w.r[k];
        if (s.pending) {
            w.x[k] += alpha * w.p[k];
            r -= alpha * w.v[k];
            w.r[k] = r;
        }
        v[k] = r;
    }
    solve_tile(c, v);
    store_solved(w.z, v, part.count());
}
#elif METHOD == METHOD_GMRES
TRIFOLD_DEVICE real* basis_of(const Context& c, trifold_int system, trifold_int k, const Part& part) {
    return vector_of(c, system, trifold_sparse_basis + k) + part.first * block;
}
/* The next vector is r or what was left of v, scaled; z = M^-1 of it. */
TRIFOLD_DEVICE void first_of_tile(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w,
                                  real* v) {
    const real alpha = static_cast<real>(s.alpha), *from = s.inner == 0 ? w.r : w.v;
    real* to = basis_of(c, system, s.inner, part);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) to[k] = v[k] = alpha * from[k];
    solve_tile(c, v);
    store_solved(w.z, v, part.count());
}
/* The end of a cycle: x += M^-1 V y. */
TRIFOLD_DEVICE void renew_tile(const Context& c, const Part& part, trifold_int system, const trifold_sparse_state& s, const Pieces& w,
                               real* v) {
    const small_matrices m = small_at(c, system);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) {
        real sum = 0;
        for (trifold_int j = 0; j < s.inner; ++j) sum += static_cast<real>(m.solution[j]) * basis_of(c, system, j, part)[k];
        v[k] = sum;
    }
    solve_tile(c, v);
    for (int k = thread_index(); k < part.count(); k += sparse_threads) w.x[k] += v[k];
}
#endif

TRIFOLD_DEVICE void precondition_tile(const Context& c) {
    const Part part = rows_of(tile_of(c));
    real* v = static_cast<real*>(shared_memory());
    if (c.launch.step == trifold_sparse_plain) {
        apply_to_arrays(c, part, v);
        return;
    }
    for (trifold_int column = 0; column < c.args.used_columns; ++column) {
        const trifold_int system = system_of(c, column);
        const trifold_sparse_state s = *state_of(c, system);
        const Pieces w = pieces_of(c, part, system);
        const bool renews = c.launch.step == trifold_sparse_renews;
        if (renews ? !(is_renewing(s) && s.pending) : !is_at_work(s)) continue;
#if METHOD == METHOD_GMRES
        if (renews)
            renew_tile(c, part, system, s, w, v);
        else
            first_of_tile(c, part, system, s, w, v);
#else
        if (METHOD == METHOD_CG || c.launch.step == trifold_sparse_first) first_of_tile(c, part, s, w, v);
#if METHOD == METHOD_BICGSTAB
        if (c.launch.step == trifold_sparse_second) second_of_tile(c, part, s, w, v);
#endif
#endif
#if METHOD == METHOD_CG
        double rz = dot(w.r, v, part.count()), rr = dot(w.r, w.r, part.count());
        block_sync();
        double* room = static_cast<double*>(shared_memory());
        leave_sum(c, system, 0, rz, room);
        leave_sum(c, system, 1, rr, room);
#endif
        block_sync();
    }
}
