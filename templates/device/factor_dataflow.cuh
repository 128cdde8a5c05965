/* Factorization of all fronts in one launch, a thread block each, for blocks up to 64 (double) or 96 (single).
 *
 * A front pulls its Schur updates: D_i -= R_j R_j' + G_k G_k' for the fronts j to the left and k to the right that were
 * eliminated before, level by level; its couplings are -R_k G_k' and -G_j R_j' of the last such pair. So earlier levels' updates
 * overlap the waiting, nobody writes to another's data, and the sums have one order.
 *
 * The panel: two warps take turns at the column tiles of D, their lanes holding the rows, the tile itself redundantly in registers,
 * two pivots at a time: with a, b, c the 2 by 2 pivot, 1 / L11 = rsqrt(a) and 1 / L22 = a rsqrt(a (a c - b^2)) start together.
 * Right-hand sides ride along as rows below D's. The other warps hold a row of [R; G] a lane and follow a tile behind. */
constexpr int tiles = padded / 8;
constexpr int riders = TRIFOLD_RIDERS; /* right-hand sides that ride along */
constexpr int pivot_warps = tiles < 2 ? tiles : 2;
constexpr int stacked_rows = 2 * padded, stacked_warps = (stacked_rows + warp_lanes - 1) / warp_lanes;
constexpr int warps = pivot_warps + stacked_warps;
constexpr int row_sets = (padded + warp_lanes - 1) / warp_lanes; /* rows of D a lane has */
constexpr int lower_leading = TRIFOLD_LOWER_LEADING, stacked_leading = TRIFOLD_STACKED_LEADING;
constexpr int bands = (padded + 15) / 16; /* a warp multiplies bands of 16 rows by strips of 8 columns */
constexpr int lower_squares = bands * (bands + 1) / 2, lower_rounds = (lower_squares + warps - 1) / warps;
static_assert(threads == warps * warp_lanes && padded >= 8, "host and device disagree");

/* Named barriers: tile t is there; the warps of the stack have met. */
constexpr int tile_barrier = 1, stack_barrier = tile_barrier + tiles;

struct FrontShared {
    Pivots pivots;
    trifold_int ticket;
    double diagonal[padded];
    real inverse[tiles][64];                      /* of the diagonal tiles, column-major */
    alignas(16) real reciprocal[padded];          /* of L's diagonal */
    alignas(16) real lower[lower_leading * padded];     /* D, then L, and below it b', then y'; column-major */
    alignas(16) real stacked[stacked_leading * padded]; /* rows: R, G */
    alignas(16) real left[lower_leading * padded];      /* R of the front to the left */
    alignas(16) real right[lower_leading * padded];     /* G of the front to the right */
};
static_assert(sizeof(FrontShared) == TRIFOLD_SHARED_FACTOR, "host and device disagree");

/* A warp's product of a band and a strip, four elements a lane: by tensor instructions two rows by two columns, else four rows. */
struct Patch {
    real at[2][2];
};
TRIFOLD_DEVICE int patch_row(int k) {
    const int lane = thread_index() % warp_lanes;
    return use_tensor ? k / 2 * 8 + lane / 4 : lane % 4 * 4 + k;
}
TRIFOLD_DEVICE int patch_column(int k) {
    const int lane = thread_index() % warp_lanes;
    return use_tensor ? lane % 4 * 2 + k % 2 : lane / 4;
}

/* patches += Sign times the band at `a` times the strips from `b` on, over `depth` columns; strips from `strips` on do not exist. Of
 * a band that is half padding (not `whole`) the first half is taken twice, and nobody looks at the second. */
template <int Sign, int Quads, int Strips, class P>
TRIFOLD_DEVICE void multiply_band(P (&patches)[Strips], const real* a, int a_leading, const real* b, int b_leading, bool whole, int strips, int depth) {
    const int lane = thread_index() % warp_lanes;
    if constexpr (use_tensor) {
        a += lane / 4 + lane % 4 * a_leading, b += lane / 4 + lane % 4 * b_leading;
        const int second = whole ? 8 : 0;
#pragma unroll 2
        for (int k = 0; k < depth; k += 4 * Quads) {
            double lines[2][Quads];
#pragma unroll
            for (int i = 0; i < Quads; ++i) {
                const int at = (k + 4 * i) * a_leading;
                lines[0][i] = Sign * a[at], lines[1][i] = Sign * a[at + second];
            }
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                if (strip >= strips) continue;
                double others[Quads];
#pragma unroll
                for (int i = 0; i < Quads; ++i) others[i] = b[strip * 8 + (k + 4 * i) * b_leading];
                tensor_multiply<Quads>(patches[strip].at[0], patches[strip].at[1], lines, others);
            }
        }
    } else {
        a += whole ? lane % 4 * 4 : lane % 2 * 4, b += lane / 4;
#pragma unroll 4
        for (int k = 0; k < depth; ++k) {
            real line[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) line[v] = Sign * a[v + k * a_leading];
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                const real other = strip < strips ? b[strip * 8 + k * b_leading] : real(0);
#pragma unroll
                for (int v = 0; v < 4; ++v) patches[strip].at[v / 2][v % 2] += line[v] * other;
            }
        }
    }
}
constexpr int block_quads = padded % 16 == 0 ? 4 : 2;

/* use(value, r, c) for the elements of the patch at (row, column) that lie within a block. */
template <class Use>
TRIFOLD_DEVICE void each_element(const Patch& patch, int row, int column, const Use& use) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int r = row + patch_row(k), c = column + patch_column(k);
        if (padded % 16 == 0 || (r < padded && c < padded)) use(patch.at[k / 2][k % 2], r, c);
    }
}

/* Starts the copy of a block of the workspace, all threads together. */
TRIFOLD_DEVICE void copy_block(real* to, int leading, const real* from) {
    constexpr int vectors = padded / vector_width;
#pragma unroll 4
    for (int e = thread_index(); e < vectors * padded; e += threads)
        copy_async(to + e % vectors * vector_width + e / vectors * leading, from + e * vector_width);
}

/* ---- before the panel: D, the couplings and the right-hand sides as this front finds them ---- */

/* Right-hand sides into the rows below D. */
TRIFOLD_DEVICE void load_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int e = thread_index(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        const trifold_strides& s = args.b_strides;
        const bool inside = r < block_size && c < args.columns;
        lower[padded + c + r * lower_leading] =
            inside ? static_cast<const real*>(args.b)[rhs_at(s, member, block, r, c)] : real(0);
    }
}
TRIFOLD_DEVICE void update_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int left, trifold_int right) {
    const real* from_left = neighbour_rhs_of(args, member, left, 1);
    const real* from_right = right < 0 ? nullptr : neighbour_rhs_of(args, member, right, 0);
    for (int e = thread_index(); e < riders * padded; e += threads) {
        real* at = lower + padded + e / padded + e % padded * lower_leading;
        if (e / padded >= args.columns) continue;
        real value = *at - from_left[e];
        if (from_right != nullptr) value -= from_right[e];
        *at = value;
    }
}

/* A band by two strips. */
struct TwoStrips {
    Patch strips[2];
};
/* use(square, row, column) for this warp's squares of the lower part of a block. */
template <class Use>
TRIFOLD_DEVICE void each_lower_square(TwoStrips (&squares)[lower_rounds], const Use& use) {
#pragma unroll
    for (int round = 0; round < lower_rounds; ++round) {
        int row = 0, column = thread_index() / warp_lanes + round * warps;
        while (column > row) column -= ++row;
        if (row < bands) use(squares[round], row * 16, column * 16);
    }
}

/* The updates of D by all fronts eliminated before, and the last pair's operands for the couplings on their way to where they
 * are needed. Returns whether one of those fronts failed. */
template <bool Riders>
TRIFOLD_DEVICE bool pull_updates(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    TwoStrips sums[lower_rounds]{};
    bool fed = false;
#pragma unroll 1
    for (int k = 0; k < front.level; ++k) {
        const trifold_int distance = trifold_int(1) << k, left = front.block - distance;
        const trifold_int right = front.block + distance < TRIFOLD_HORIZON ? front.block + distance : -1;
        const bool last = k + 1 == front.level;
        if (await_fronts(args, Kind::factor, member, front.run, left, right)) fed = true;
        copy_block(shared.left, lower_leading, next_of(args, member, left));
        if (right >= 0) copy_block(shared.right, lower_leading, behind_of(args, member, right));
        if (Riders) update_riders(shared.lower, args, member, left, right);
        end_copies();
        if (last) {
            if (front.next >= 0) copy_block(shared.stacked, stacked_leading, next_of(args, member, right));
            if (front.behind >= 0) copy_block(shared.stacked + padded, stacked_leading, behind_of(args, member, left));
            end_copies();
            wait_copies<1>();
        } else {
            wait_copies<0>();
        }
        block_sync();
        each_lower_square(sums, [&](TwoStrips& sum, int row, int column) {
            const bool whole = row + 8 < padded;
            const int strips = column + 8 < padded ? 2 : 1;
            multiply_band<1, block_quads>(sum.strips, shared.left + row, lower_leading, shared.left + column, lower_leading, whole, strips, padded);
            if (right >= 0)
                multiply_band<1, block_quads>(sum.strips, shared.right + row, lower_leading, shared.right + column, lower_leading, whole, strips, padded);
        });
        if (!last) block_sync();
    }
    if (front.level > 0)
        each_lower_square(sums, [&](const TwoStrips& sum, int row, int column) {
#pragma unroll
            for (int strip = 0; strip < 2; ++strip)
                each_element(sum.strips[strip], row, column + strip * 8, [&](real value, int r, int c) {
                    if (r >= c) shared.lower[r + c * lower_leading] -= value;
                });
        });
    wait_copies<0>();
    return fed;
}

/* -R_k G_k' and -G_j R_j' where R_k and G_j stand, by the warps of the stack: one has all of a band. */
TRIFOLD_DEVICE void make_couplings(FrontShared& shared, const Front& front) {
#pragma unroll 1
    for (int unit = thread_index() / warp_lanes - pivot_warps; unit < 2 * bands; unit += stacked_warps) {
        const bool ahead = unit < bands;
        if ((ahead ? front.next : front.behind) < 0) continue;
        const int row = unit % bands * 16;
        real* band = shared.stacked + (ahead ? 0 : padded) + row;
        Patch products[tiles]{};
        multiply_band<-1, block_quads>(products, band, stacked_leading, ahead ? shared.right : shared.left, lower_leading, row + 8 < padded, tiles, padded);
        warp_sync();
#pragma unroll
        for (int strip = 0; strip < tiles; ++strip)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (row + patch_row(k) < padded) band[patch_row(k) + (strip * 8 + patch_column(k)) * stacked_leading] = products[strip].at[k / 2][k % 2];
    }
    named_sync(stack_barrier, stacked_warps * warp_lanes);
}

/* The lower triangle of D, the identity in the padding, on its way. */
TRIFOLD_DEVICE void fetch_diagonal(real* to, const trifold_args& args, trifold_int member, trifold_int block) {
    const real* from = global_pointer(static_cast<const real*>(args.d)) + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
#pragma unroll 4
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int r = TRIFOLD_D_ROW == 1 ? at.u : at.v, c = TRIFOLD_D_ROW == 1 ? at.v : at.u;
        if (c > r) continue;
        real* element = to + r + c * lower_leading;
        if (r < block_size)
            copy_element_async(element, from + r * TRIFOLD_D_ROW + c * TRIFOLD_D_COLUMN);
        else
            *element = r == c ? real(1) : real(0);
    }
}
/* The original coupling A(neighbour, block), zeros in the padding, on its way. */
TRIFOLD_DEVICE void fetch_coupling(real* to, const trifold_args& args, trifold_int member, trifold_int neighbour, trifold_int block) {
    const bool below = neighbour > block; /* then it is E of the block, else the neighbour's transposed */
    const real* from = global_pointer(static_cast<const real*>(args.e)) + member * TRIFOLD_E_MEMBER + (below ? block : neighbour) * TRIFOLD_E_STAGE;
#pragma unroll 4
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int i = TRIFOLD_E_ROW == 1 ? at.u : at.v, j = TRIFOLD_E_ROW == 1 ? at.v : at.u;
        real* element = to + (below ? i + j * stacked_leading : j + i * stacked_leading);
        if (i < block_size && j < block_size)
            copy_element_async(element, from + i * TRIFOLD_E_ROW + j * TRIFOLD_E_COLUMN);
        else
            *element = 0;
    }
}

/* A neighbour that does not exist is coupled by zeros. */
TRIFOLD_DEVICE void clear_rows(real* to) {
    for (int e = thread_index(); e < padded * padded; e += threads) to[e % padded + e / padded * stacked_leading] = 0;
}

template <bool Riders>
TRIFOLD_DEVICE bool load_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    fetch_diagonal(shared.lower, args, member, front.block);
    if (front.level == 0) {
        if (front.next >= 0) fetch_coupling(shared.stacked, args, member, front.next, front.block);
        if (front.behind >= 0) fetch_coupling(shared.stacked + padded, args, member, front.behind, front.block);
    }
    end_copies();
    if (front.next < 0) clear_rows(shared.stacked);
    if (front.behind < 0) clear_rows(shared.stacked + padded);
    if (Riders) load_riders(shared.lower, args, member, front.block);
    start_pivots(shared.pivots, args, member, front.block);
    wait_copies<0>();
    block_sync();
    if (args.diagonal != nullptr || args.shift != nullptr) {
        for (int r = thread_index(); r < block_size; r += threads) shared.lower[r * (lower_leading + 1)] += diagonal_term(args, member, front.block, r);
        block_sync();
    }
    const bool fed = pull_updates<Riders>(shared, args, member, front);
    block_sync();
    return fed;
}

/* ---- the panel ---- */

/* Column tile t of `Sets` times 32 rows, less what the tiles before it take: from shared memory to a lane a row. `wait(s)` returns when
 * L's tile s is there. Rows from `limit` on do not exist. */
template <int Sets, class Wait>
TRIFOLD_DEVICE void update_rows(real (&a)[Sets][8], real* rows, int leading, int limit, const real* lower, int t, const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    real* columns = rows + t * 8 * leading;
    if constexpr (use_tensor) {
        if (t > 0) {
            struct {
                Patch strips[1];
            } sums[2 * Sets];
#pragma unroll
            for (int h = 0; h < 2 * Sets; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int r = h * 16 + patch_row(k);
                    sums[h].strips[0].at[k / 2][k % 2] = r < limit ? columns[r + patch_column(k) * leading] : real(0);
                }
#pragma unroll 1
            for (int s = 0; s < t; ++s) {
                wait(s);
#pragma unroll
                for (int h = 0; h < 2 * Sets; ++h)
                    if (h * 16 < limit)
                        multiply_band<-1, 2>(sums[h].strips, rows + h * 16 + s * 8 * leading, leading, lower + t * 8 + s * 8 * lower_leading, lower_leading,
                                             h * 16 + 8 < limit, 1, 8);
            }
#pragma unroll
            for (int h = 0; h < 2 * Sets; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int r = h * 16 + patch_row(k);
                    if (r < limit) columns[r + patch_column(k) * leading] = sums[h].strips[0].at[k / 2][k % 2];
                }
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
        if (s + 1 == t) named_sync(tile_barrier + s, tile_party(s));
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
    named_arrive(tile_barrier + t, tile_party(t));
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
        follow_tile(a, shared, shared.stacked + first, stacked_leading, stacked_rows - first, t, [&] { named_sync(tile_barrier + t, tile_party(t)); });
        if (to != nullptr) {
#pragma unroll
            for (int c = 0; c < 8; ++c) to[(t * 8 + c) * padded] = a[0][c];
        }
        if (Riders && first == 0) follow_tile(a, shared, shared.lower + padded, lower_leading, riders, t, [] {});
    }
}

/* ---- after the panel ---- */

/* R and G of a failed front, once more, by the warps of the stack. */
TRIFOLD_DEVICE void spoil_neighbours(const trifold_args& args, trifold_int member, const Front& front) {
    const real nan = static_cast<real>(not_a_number());
    for (int e = thread_index() - pivot_warps * warp_lanes; e < padded * padded; e += stacked_warps * warp_lanes) {
        if (front.next >= 0) next_of(args, member, front.block)[e] = nan;
        if (front.behind >= 0) behind_of(args, member, front.block)[e] = nan;
    }
}

/* L, its diagonal tiles inverted. */
TRIFOLD_DEVICE void store_lower(const FrontShared& shared, real* to) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const int r = e % padded, c = e / padded;
        real value = shared.lower[r + c * lower_leading];
        if (r / 8 == c / 8) value = shared.inverse[c / 8][r % 8 + c % 8 * 8];
        if (r >= c / 8 * 8) to[e] = value;
    }
}

/* What the neighbours subtract from their right-hand sides: R y and G y; and y itself. */
TRIFOLD_DEVICE void leave_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int workers = stacked_warps * warp_lanes;
    const int first = thread_index() - pivot_warps * warp_lanes;
#pragma unroll 1
    for (int e = first; e < 2 * padded * static_cast<int>(args.columns); e += workers) {
        const int row = e % (2 * padded), c = e / (2 * padded);
        const bool ahead = row < padded;
        if ((ahead ? front.next : front.behind) < 0) continue;
        real sum[4] = {};
#pragma unroll 4
        for (int k = 0; k < padded; k += 4)
#pragma unroll
            for (int q = 0; q < 4; ++q) sum[q] += shared.stacked[row + (k + q) * stacked_leading] * shared.lower[padded + c + (k + q) * lower_leading];
        neighbour_rhs_of(args, member, front.block, ahead ? 1 : 0)[c * padded + row % padded] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}
TRIFOLD_DEVICE void store_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    const trifold_strides& s = args.x_strides;
    for (int e = thread_index(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        if (r < block_size && c < args.columns)
            static_cast<real*>(args.x)[rhs_at(s, member, block, r, c)] = shared.lower[padded + c + r * lower_leading];
    }
    for (int c = thread_index(); c < args.columns; c += threads) {
        double sum = 0;
        for (int r = 0; r < block_size; ++r) {
            const double y = static_cast<double>(shared.lower[padded + c + r * lower_leading]);
            sum += y * y;
        }
        buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC)[block_index(member, block) * TRIFOLD_RHS + c] = sum;
    }
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void spoil(FrontShared& shared) {
    const real nan = static_cast<real>(not_a_number());
    for (int e = thread_index(); e < lower_leading * padded; e += threads) shared.lower[e] = nan;
    for (int e = thread_index(); e < tiles * 64; e += threads) shared.inverse[e / 64][e % 64] = nan;
    for (int e = thread_index(); e < stacked_leading * padded; e += threads) shared.stacked[e] = nan;
}

/* The warps of the stack let the fronts that wait for this one go on. */
template <bool Riders>
TRIFOLD_DEVICE void leave_front(const FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool failed) {
    if (Riders) {
        named_sync(stack_barrier, stacked_warps * warp_lanes);
        leave_riders(shared, args, member, front);
    }
    named_sync(stack_barrier, stacked_warps * warp_lanes);
    if (thread_index() == pivot_warps * warp_lanes) release_front(args, Kind::factor, member, front, failed);
}

template <bool Riders>
TRIFOLD_DEVICE void factor_front(const trifold_args& args, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::factor, shared.ticket);
    const int warp = thread_index() / warp_lanes;
    const bool fed = load_front<Riders>(shared, args, member, front);
    const bool in_stack = warp >= pivot_warps;
    if (in_stack) {
        if (front.level > 0) make_couplings(shared, front);
        follow<Riders>(shared, args, member, front);
    } else {
#pragma unroll 1
        for (int t = warp; t < tiles; t += pivot_warps) factor_column_tile(shared, t);
    }
    /* The last tile's barrier has shown every failure to the warps of the stack. */
    if (in_stack && !fed && shared.pivots.failed_row < 0) leave_front<Riders>(shared, args, member, front, false);
    block_sync();
    report_pivots(args, front.level, member, front.block, fed, shared.pivots, shared.diagonal);
    if (fed || shared.pivots.failed_row >= 0) {
        spoil(shared);
        block_sync();
        if (in_stack) {
            spoil_neighbours(args, member, front);
            leave_front<Riders>(shared, args, member, front, true);
        }
    }
    store_lower(shared, factor_of(args, member, front.block));
    if (Riders) store_riders(shared, args, member, front.block);
}
