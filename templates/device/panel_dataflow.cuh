/* The panel of a front: D factored, R, G and the right-hand sides behind it. */
/* Column tile t of `Sets` times 32 rows, less what the tiles before it take: from shared memory to a lane a row. `wait(s)` returns when
 * L's tile s is there. Rows from `limit` on do not exist. */
template <int Sets, class Wait>
TRIFOLD_DEVICE void update_rows(real (&a)[Sets][8], real* rows, int leading, int limit, const real* lower, int t, const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    real* columns = rows + t * 8 * leading;
    if constexpr (use_tensor) {
        if (t > 0) {
            constexpr int own_bands = Sets * warp_lanes / 16;
            Patch sums[own_bands][1];
            /* A strip of 16 columns reaches beyond the tile. */
            const auto inside = [&](int h, int k) { return h * 16 + patch_row(k) < limit && (strip_columns == 8 || patch_column(k) < 8); };
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k) element(sums[h][0], k) = inside(h, k) ? columns[h * 16 + patch_row(k) + patch_column(k) * leading] : real(0);
#pragma unroll 1
            for (int s = 0; s < t; ++s) {
                wait(s);
#pragma unroll
                for (int h = 0; h < own_bands; ++h)
                    if (h * 16 < limit)
                        multiply_band<-1, 2, 8>(sums[h], rows + h * 16 + s * 8 * leading, leading, lower + t * 8 + s * 8 * lower_leading, lower_leading,
                                                h * 16 + 8 < limit, 1, 8);
            }
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (inside(h, k)) columns[h * 16 + patch_row(k) + patch_column(k) * leading] = element(sums[h][0], k);
            warp_sync();
        }
    }
#pragma unroll
    for (int q = 0; q < Sets; ++q)
#pragma unroll
        for (int c = 0; c < 8; ++c) a[q][c] = lane + q * warp_lanes < limit ? columns[lane + q * warp_lanes + c * leading] : real(0);
    if constexpr (!use_tensor) {
#pragma unroll 1
        for (int s = 0; s < t; ++s) {
            wait(s);
            const real* m = lower + t * 8 + s * 8 * lower_leading;
#pragma unroll
            for (int k = 0; k < 8; ++k)
#pragma unroll
                for (int q = 0; q < Sets; ++q) {
                    const real own = rows[(lane + q * warp_lanes < limit ? lane + q * warp_lanes : 0) + (s * 8 + k) * leading];
#pragma unroll
                    for (int c = 0; c < 8; c += vector_width) {
                        real v[vector_width];
                        load_vector(v, m + k * lower_leading + c);
#pragma unroll
                        for (int e = 0; e < vector_width; ++e) a[q][c + e] -= own * v[e];
                    }
                }
        }
        if (t > 0) {
#pragma unroll
            for (int q = 0; q < Sets; ++q)
                if (lane + q * warp_lanes < limit)
#pragma unroll
                    for (int c = 0; c < 8; ++c) columns[lane + q * warp_lanes + c * leading] = a[q][c];
            warp_sync();
        }
    }
}

/* Column tile t of D where it stands, one pivot at a time with every test: for tiles with a pivot that is raised or fails, or
 * out of the range of the fast way. By one warp. */
TRIFOLD_FUNCTION void factor_tile_carefully(FrontShared& shared, int t) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(shared.pivots.floor);
#pragma unroll 1
    for (int j = t * 8; j < t * 8 + 8; ++j) {
        real* column = shared.lower + j * lower_leading;
        real pivot = column[j];
        const bool raised = pivot < floor && j < block_size;
        if (raised) pivot = floor;
        const bool passes = pivot > real(0) && pivot <= largest;
        const real scale = passes ? inverse_sqrt(pivot) : static_cast<real>(not_a_number());
        warp_sync();
        if (lane == 0) {
            if (!passes && shared.pivots.failed_row < 0) shared.pivots.failed_row = j;
            shared.pivots.floors += static_cast<int>(raised);
            shared.reciprocal[j] = scale;
            column[j] = pivot;
        }
        warp_sync();
        for (int r = j + lane; r < padded; r += warp_lanes) column[r] *= scale;
        warp_sync();
        for (int r = j + 1 + lane; r < padded; r += warp_lanes)
            for (int k = j + 1; k < t * 8 + 8; ++k) shared.lower[r + k * lower_leading] -= column[r] * column[k];
        warp_sync();
    }
}

/* 1 / sqrt(x) for x in the range that factor_tile_quickly tests. */
TRIFOLD_DEVICE real quick_rsqrt(real x) {
    const real y = approximate_rsqrt(x), e = real(1) - (x * y) * y;
    return y + (e * y) * (real(0.5) + real(0.375) * e);
}

/* Cholesky of the tile d, of which nothing is kept, and of the rows a, two pivots at a time. Returns whether it may stand: every pivot is above the floor and of a size that the products
 * of three of its like do not overflow. */
TRIFOLD_DEVICE bool factor_tile_quickly(real (&d)[8][8], real (&a)[row_sets][8], real* reciprocal, real floor) {
    constexpr real most = sizeof(real) == 8 ? real(1e100) : real(1e12f), least = real(1) / most;
    bool stands = true;
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
        const real p = d[c][c], b = d[c + 1][c], q = d[c + 1][c + 1];
        const real det = p * q - b * b;
        const real scale = quick_rsqrt(p), other = quick_rsqrt(det * p);
        const real second = other * p, l = b * scale, r = q - l * l;
        stands = stands && p >= floor && r >= floor && p > least && p < most && r > least && r < most;
        if (thread_index() % warp_lanes == 0) reciprocal[c] = scale, reciprocal[c + 1] = second;
#pragma unroll
        for (int r = c + 2; r < 8; ++r) {
            d[r][c] *= scale;
            d[r][c + 1] = (d[r][c + 1] - d[r][c] * l) * second;
        }
#pragma unroll
        for (int s = 0; s < row_sets; ++s) {
            a[s][c] *= scale;
            a[s][c + 1] = (a[s][c + 1] - a[s][c] * l) * second;
        }
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
#pragma unroll
            for (int r = k; r < 8; ++r) d[r][k] = (d[r][k] - d[r][c] * d[k][c]) - d[r][c + 1] * d[k][c + 1];
#pragma unroll
            for (int s = 0; s < row_sets; ++s) a[s][k] = (a[s][k] - a[s][c] * d[k][c]) - a[s][c + 1] * d[k][c + 1];
        }
    }
    return stands;
}

TRIFOLD_DEVICE void store_tile_rows(real* tile_columns, const real (&a)[row_sets][8], int t) {
#pragma unroll
    for (int q = 0; q < row_sets; ++q) {
        const int r = thread_index() % warp_lanes + q * warp_lanes;
        if (r < t * 8 || r >= padded) continue;
#pragma unroll
        for (int c = 0; c < 8; ++c) tile_columns[r + c * lower_leading] = a[q][c];
    }
}

/* The inverse of tile t's factor, column-major: lane c < 8 solves for column c; and the pivots. */
TRIFOLD_DEVICE void invert_tile(FrontShared& shared, int t) {
    const int lane = thread_index() % warp_lanes;
    const real* l = shared.lower + t * 8 * (lower_leading + 1);
    real z[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= l[r + k * lower_leading] * z[k];
        z[r] = sum * shared.reciprocal[t * 8 + r];
    }
    if (lane < 8) {
#pragma unroll
        for (int r = 0; r < 8; ++r) shared.inverse[t][r + lane * 8] = z[r];
        const real root = l[lane * (lower_leading + 1)];
        shared.diagonal[t * 8 + lane] = static_cast<double>(root) * static_cast<double>(root);
    }
}

/* Threads that meet at tile t's barrier: the warp that has factored it, the one that has the next, and the stack's. */
TRIFOLD_DEVICE int tile_party(int t) { return (1 + (t + 1 < tiles ? 1 : 0) + stacked_warps) * warp_lanes; }

/* The lower part of the 8 by 8 tile at `at`; what is loaded along with it from above the diagonal is not looked at. */
TRIFOLD_DEVICE void load_tile(real (&d)[8][8], const real* at) {
#pragma unroll
    for (int c = 0; c < 8; ++c)
#pragma unroll
        for (int r = c / vector_width * vector_width; r < 8; r += vector_width) {
            real v[vector_width];
            load_vector(v, at + r + c * lower_leading);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (r + e >= c) d[r + e][c] = v[e];
        }
}

/* Column tile t of up to 32 rows that follow L: a lane a row. The tiles before it are there; `wait()` returns when L's tile is. */
template <class Wait>
TRIFOLD_DEVICE void follow_tile(real (&a)[1][8], FrontShared& shared, real* rows, int leading, int limit, int t, const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    update_rows<1>(a, rows, leading, limit, shared.lower, t, [](int) {});
    wait();
    real l[8][8];
    load_tile(l, shared.lower + t * 8 * (lower_leading + 1));
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        a[0][c] *= shared.reciprocal[t * 8 + c];
#pragma unroll
        for (int k = c + 1; k < 8; ++k) a[0][k] -= a[0][c] * l[k][c];
    }
    if (lane < limit) {
#pragma unroll
        for (int c = 0; c < 8; ++c) rows[lane + (t * 8 + c) * leading] = a[0][c];
    }
    warp_sync();
}

/* Column tile t of D by one warp: the rows below it, and the tile itself in every lane. */
TRIFOLD_DEVICE void factor_column_tile(FrontShared& shared, int t) {
    real a[row_sets][8];
    update_rows<row_sets>(a, shared.lower, lower_leading, padded, shared.lower, t, [&](int s) {
        if (s + 1 == t) meet(shared, tile_barrier + s, tile_party(s));
    });
    real* own = shared.lower + t * 8 * lower_leading;
    real d[8][8];
    load_tile(d, own + t * 8);
    const bool stands = factor_tile_quickly(d, a, shared.reciprocal + t * 8, static_cast<real>(shared.pivots.floor));
    warp_sync();
    if (stands)
        store_tile_rows(own, a, t);
    else
        factor_tile_carefully(shared, t);
    warp_sync();
    named_arrive(shared.arrivals[tile_barrier + t], tile_barrier + t, tile_party(t));
    invert_tile(shared, t);
}

/* R and G, tile after tile, out to the workspace as they are done; the first warp has the right-hand sides too. */
template <bool Riders>
TRIFOLD_DEVICE void follow(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const int first = (thread_index() / warp_lanes - pivot_warps) * warp_lanes, row = first + thread_index() % warp_lanes;
    real* to = nullptr;
    if (row < padded && front.next >= 0) to = next_of(args, member, front.block) + row;
    if (row >= padded && row < 2 * padded && front.behind >= 0) to = behind_of(args, member, front.block) + row - padded;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        real a[1][8];
        follow_tile(a, shared, shared.stacked + first, stacked_leading, stacked_rows - first, t, [&] { meet(shared, tile_barrier + t, tile_party(t)); });
        if (to != nullptr) {
#pragma unroll
            for (int c = 0; c < 8; ++c) to[(t * 8 + c) * padded] = a[0][c];
        }
        if (Riders && first == 0) follow_tile(a, shared, shared.lower + padded, lower_leading, riders, t, [] {});
    }
}
