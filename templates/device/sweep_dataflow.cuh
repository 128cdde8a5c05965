/* Forward and backward sweeps over all fronts in one launch, a thread block each: a front has its factors on chip before it
 * waits for the fronts it needs, so that only vectors travel on the critical path. */
constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS;
constexpr int sweep_threads = 4 * padded, sweep_warps = sweep_threads / warp_lanes;
constexpr int factor_leading = padded + vector_width;
constexpr int rows_of_lane = (padded + warp_lanes - 1) / warp_lanes;

struct SweepShared {
    trifold_int ticket;
    alignas(16) real factor[factor_leading * padded]; /* L, its diagonal tiles inverted; column-major */
    real running[columns_at_once][padded];            /* right-hand sides on their way to solutions */
    real solved[columns_at_once][2 * padded];         /* forward: y; backward: x of the next and behind */
};
static_assert(sizeof(SweepShared) == TRIFOLD_SHARED_SWEEP, "host and device disagree");

TRIFOLD_DEVICE void fetch_factor(SweepShared& shared, const real* from) {
    constexpr int vectors = padded / vector_width;
#pragma unroll 4
    for (int e = thread_index(); e < vectors * padded; e += sweep_threads)
        copy_async(shared.factor + e % vectors * vector_width + e / vectors * factor_leading, from + e * vector_width);
    end_copies();
}

/* running = L^-1 running, a warp a column. */
TRIFOLD_DEVICE void solve_lower(SweepShared& shared, int columns) {
    const int lane = thread_index() % warp_lanes;
#pragma unroll 1
    for (int c = thread_index() / warp_lanes; c < columns; c += sweep_warps) {
        real* b = shared.running[c];
        real own[rows_of_lane];
#pragma unroll
        for (int q = 0; q < rows_of_lane; ++q) own[q] = lane + q * warp_lanes < padded ? b[lane + q * warp_lanes] : real(0);
#pragma unroll 1
        for (int j = 0; j < padded; j += 8) {
            const real* inverse = shared.factor + j + j * factor_leading;
            real y[2] = {};
            if (lane < 8) {
#pragma unroll
                for (int k = 0; k < 8; ++k) y[k % 2] += k <= lane ? inverse[lane + k * factor_leading] * b[j + k] : real(0);
            }
            warp_sync();
            if (lane < 8) b[j + lane] = y[0] + y[1];
            warp_sync();
#pragma unroll
            for (int q = 0; q < rows_of_lane; ++q) {
                const int r = lane + q * warp_lanes;
                if (r < j + 8 || r >= padded) continue;
                real sum[2] = {};
#pragma unroll
                for (int k = 0; k < 8; ++k) sum[k % 2] += shared.factor[r + (j + k) * factor_leading] * b[j + k];
                own[q] -= sum[0] + sum[1];
                if (r < j + 16) b[r] = own[q];
            }
            warp_sync();
        }
    }
}

/* running = L^-T running, a warp a column. */
TRIFOLD_DEVICE void solve_upper(SweepShared& shared, int columns) {
    const int lane = thread_index() % warp_lanes;
#pragma unroll 1
    for (int c = thread_index() / warp_lanes; c < columns; c += sweep_warps) {
        real* b = shared.running[c];
        real own[rows_of_lane];
#pragma unroll
        for (int q = 0; q < rows_of_lane; ++q) own[q] = lane + q * warp_lanes < padded ? b[lane + q * warp_lanes] : real(0);
#pragma unroll 1
        for (int j = padded - 8; j >= 0; j -= 8) {
            const real* inverse = shared.factor + j + j * factor_leading;
            real x[2] = {};
            if (lane < 8) {
#pragma unroll
                for (int k = 0; k < 8; ++k) x[k % 2] += k >= lane ? inverse[k + lane * factor_leading] * b[j + k] : real(0);
            }
            warp_sync();
            if (lane < 8) b[j + lane] = x[0] + x[1];
            warp_sync();
#pragma unroll
            for (int q = 0; q < rows_of_lane; ++q) {
                const int r = lane + q * warp_lanes;
                if (r >= j) continue;
                real sum[2] = {};
#pragma unroll
                for (int k = 0; k < 8; ++k) sum[k % 2] += shared.factor[j + k + r * factor_leading] * b[j + k];
                own[q] -= sum[0] + sum[1];
                if (r >= j - 8) b[r] = own[q];
            }
            warp_sync();
        }
    }
}

TRIFOLD_DEVICE void store_solution(const real (*values)[padded], const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        if (r < block_size) static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = values[c][r];
    }
}

/* The squared norm of the solved block, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    const int lane = thread_index() % warp_lanes;
    double* to = buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC) + block_index(member, block) * TRIFOLD_RHS + columns.first;
    for (int c = thread_index() / warp_lanes; c < columns.count; c += sweep_warps) {
        double sum = 0;
        for (int r = lane; r < block_size; r += warp_lanes) sum += static_cast<double>(shared.running[c][r]) * static_cast<double>(shared.running[c][r]);
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = sum;
    }
}

/* A row of [R; G] in two threads, each with half of its columns. */
constexpr int half_depth = padded / 2;
TRIFOLD_DEVICE void fetch_half_row(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int row = thread_index() / 2, first = thread_index() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    const real* from = (ahead ? next_of(args, member, front.block) : behind_of(args, member, front.block)) + row % padded + first * padded;
#pragma unroll
    for (int k = 0; k < half_depth; ++k) a[k] = exists ? from[k * padded] : real(0);
}

/* The right-hand sides of a front as all fronts before it leave them; the first pass waits for these. */
TRIFOLD_DEVICE void gather_running(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front, Columns columns) {
    constexpr int each = (columns_at_once + 3) / 4;
    real value[each];
#pragma unroll
    for (int q = 0; q < each; ++q) {
        const int e = thread_index() + q * sweep_threads, r = e % padded, c = e / padded;
        const bool inside = c < columns.count && r < block_size;
        value[q] = inside ? static_cast<const real*>(args.b)[rhs_at(args.b_strides, member, front.block, r, columns.first + c)] : real(0);
    }
#pragma unroll 1
    for (int k = 0; k < front.level; ++k) {
        const trifold_int distance = trifold_int(1) << k, left = front.block - distance;
        const trifold_int right = front.block + distance < TRIFOLD_HORIZON ? front.block + distance : -1;
        if (columns.first == 0) await_fronts(args, Kind::forward, member, front.run, left, right);
        const real* from_left = neighbour_rhs_of(args, member, left, 1) + columns.first * padded;
        const real* from_right = neighbour_rhs_of(args, member, right < 0 ? left : right, 0) + columns.first * padded;
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int e = thread_index() + q * sweep_threads;
            if (e >= padded * columns.count) continue;
            value[q] -= from_left[e];
            if (right >= 0) value[q] -= from_right[e];
        }
    }
#pragma unroll
    for (int q = 0; q < each; ++q) {
        const int e = thread_index() + q * sweep_threads;
        if (e < padded * columns_at_once) shared.running[e / padded][e % padded] = value[q];
    }
}

/* R y and G y, for the neighbours. */
TRIFOLD_DEVICE void leave_updates(const SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front, const real (&a)[half_depth],
                                  Columns columns) {
    const int row = thread_index() / 2, first = thread_index() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    real* to = neighbour_rhs_of(args, member, front.block, ahead ? 1 : 0) + columns.first * padded + row % padded;
#pragma unroll 1
    for (int c = 0; c < columns.count; ++c) {
        real sum[4] = {};
#pragma unroll
        for (int k = 0; k < half_depth; ++k) sum[k % 4] += a[k] * shared.running[c][first + k];
        real total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        total += shuffle_xor(total, 1);
        if (first == 0 && exists) to[c * padded] = total;
    }
}

TRIFOLD_DEVICE void forward_front(const trifold_args& args, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::forward, shared.ticket);
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_half_row(a, args, member, front);
    wait_copies<0>();
#pragma unroll 1
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const Columns columns = columns_from(args, first, columns_at_once);
        gather_running(shared, args, member, front, columns);
        block_sync();
        solve_lower(shared, columns.count);
        block_sync();
        leave_updates(shared, args, member, front, a, columns);
        if (first + columns_at_once >= args.columns) {
            block_sync();
            if (thread_index() == 0) release_front(args, Kind::forward, member, front, false);
        }
        store_solution(shared.running, args, member, front.block, columns);
        store_quadratic(shared, args, member, front.block, columns);
        block_sync();
    }
}

/* A column of [R; G] in four threads, each with every fourth row. */
TRIFOLD_DEVICE void fetch_quarter_column(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int column = thread_index() / 4, first = thread_index() % 4;
    const real* next = next_of(args, member, front.block) + column * padded + first;
    const real* behind = behind_of(args, member, front.block) + column * padded + first;
#pragma unroll
    for (int k = 0; k < half_depth; ++k) {
        const int r = 4 * k;
        if (r < padded)
            a[k] = front.next >= 0 ? next[r] : real(0);
        else
            a[k] = front.behind >= 0 ? behind[r - padded] : real(0);
    }
}

/* running = the right-hand sides less what the neighbours' solutions take from them. */
TRIFOLD_DEVICE void subtract_neighbours(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front, const real (&a)[half_depth],
                                        Columns columns) {
    const int column = thread_index() / 4, first = thread_index() % 4;
#pragma unroll 1
    for (int c = 0; c < columns.count; ++c) {
        real sum[4] = {};
#pragma unroll
        for (int k = 0; k < half_depth; ++k) sum[k % 4] += a[k] * shared.solved[c][first + 4 * k];
        real total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        total += shuffle_xor(total, 1);
        total += shuffle_xor(total, 2);
        if (first == 0) shared.running[c][column] -= total;
    }
}

TRIFOLD_DEVICE void load_rhs(real* to, int leading, const void* from, const trifold_strides& strides, trifold_int member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        const bool inside = block >= 0 && r < block_size;
        to[r + c * leading] = inside ? static_cast<const real*>(from)[rhs_at(strides, member, block, r, columns.first + c)] : real(0);
    }
}

TRIFOLD_DEVICE void backward_front(const trifold_args& args, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::backward, shared.ticket);
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_quarter_column(a, args, member, front);
    wait_copies<0>();
#pragma unroll 1
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const Columns columns = columns_from(args, first, columns_at_once);
        load_rhs(shared.running[0], padded, args.b, args.b_strides, member, front.block, columns);
        if (first == 0) await_fronts(args, Kind::backward, member, front.run, front.next, front.behind);
        load_rhs(shared.solved[0], 2 * padded, args.x, args.x_strides, member, front.next, columns);
        load_rhs(shared.solved[0] + padded, 2 * padded, args.x, args.x_strides, member, front.behind, columns);
        block_sync();
        subtract_neighbours(shared, args, member, front, a, columns);
        block_sync();
        solve_upper(shared, columns.count);
        block_sync();
        store_solution(shared.running, args, member, front.block, columns);
        block_sync();
    }
    if (thread_index() == 0) release_front(args, Kind::backward, member, front, false);
}
