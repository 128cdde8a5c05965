/* Forward and backward sweeps over all fronts in one launch, a thread block each. A front has its factors on chip before it waits for the
 * numbers that it needs, which travel as messages. So only vectors are on the critical path, and two products of a matrix and a vector are
 * all that happens between an arrival and the next departure. */
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"

constexpr int sweep_threads = 4 * padded, sweep_warps = sweep_threads / warp_lanes;

/* Whether a front will have to wait for its neighbours: not at the first level, nor at others with more fronts than a device has room for.
 * A front that waits makes inverses of long diagonal tiles meanwhile, which shorten the way from arrival to departure. */
TRIFOLD_DEVICE bool will_wait(const trifold_args& args, const Front& front) {
    return front.level > 0 && (fronts_of(args) >> front.level) <= waiting_fronts;
}

/* A thread's number. Rows of [R; G] take most of a thread's registers from its first load on. If there are many fronts, values that follow
 * from the number are computed again at each use, which frees registers. Short horizons are faster if these values are kept. */
TRIFOLD_DEVICE int sweep_thread() { return sweeps_reread ? thread_opaque() : thread_index(); }

/* The words in which a front leaves its updates of its neighbours' right-hand sides: side 0 for the one behind, side 1 for the next. */
TRIFOLD_DEVICE trifold_word* update_words(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::update_words(args)) + (side * fronts_of(args) + block_index(args, member, block)) * words;
}

/* Its y, where the backward sweep begins early. */
TRIFOLD_DEVICE trifold_word* forward_words(const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::forward_words(args)) + block_index(args, member, block) * words;
}

/* The columns of a call, and those that one pass treats. If the Spec has one column, the compiler knows that there is one pass. */
TRIFOLD_DEVICE int columns_of(const trifold_args& args) { return max_columns == 1 ? 1 : static_cast<int>(args.columns); }
TRIFOLD_DEVICE Columns pass_from(const trifold_args& args, int first) {
    return columns_at_once == 1 ? Columns{first, 1} : columns_from(args, first, columns_at_once);
}
/* The first column of a thread block, and from one of its passes to the next. */
TRIFOLD_DEVICE int first_column_of(const Front& front) { return front.panel * columns_at_once; }
constexpr int pass_step = sharers * columns_at_once;

/* Tiles above the diagonal are not looked at. */
TRIFOLD_DEVICE void fetch_factor(SweepShared& shared, const real* from) {
    constexpr int vectors = padded / vector_width, together = sweep_threads / vectors; /* columns at once */
    const int r = sweep_thread() % vectors * vector_width, c = sweep_thread() / vectors, end = r / 8 * 8 + 8;
#pragma unroll 2
    for (int k = c; k < end; k += together) copy_async(shared.factor + r + k * factor_leading, from + r + k * padded);
    end_copies();
}

/* L below the diagonal. W, the inverse of a wider diagonal tile, takes the place above it by its transpose, so that L stays. */
TRIFOLD_DEVICE real& lower_at(SweepShared& shared, int r, int c) { return shared.factor[r + c * factor_leading]; }
TRIFOLD_DEVICE real& inverse_at(SweepShared& shared, int r, int c) { return shared.factor[c + r * factor_leading]; }

/* The inverses of tiles of `Width` columns from those of 8. A warp has eight columns of W, each tile from those
 * above it: W_ij = -W_ii (sum over k = j .. i - 1 of L_ik W_kj). */
template <int Width>
TRIFOLD_DEVICE void widen_inverses(SweepShared& shared) {
    constexpr int each = 64 / warp_lanes;
    const int lane = sweep_thread() % warp_lanes, r = lane % 8;
#pragma unroll 1
    for (int j = sweep_thread() / warp_lanes * 8; j < padded; j += sweep_warps * 8) {
        const int end = j / Width * Width + Width < padded ? j / Width * Width + Width : padded;
        for (int c = lane / 8; c < r; c += warp_lanes / 8) inverse_at(shared, j + r, j + c) = lower_at(shared, j + r, j + c);
        warp_sync();
#pragma unroll 1
        for (int i = j + 8; i < end; i += 8) {
            real sum[each] = {};
#pragma unroll 1
            for (int k = j; k < i; k += 8)
#pragma unroll 4
                for (int t = 0; t < 8; ++t)
#pragma unroll
                    for (int q = 0; q < each; ++q) {
                        const int c = lane / 8 + q * (warp_lanes / 8);
                        if (k > j || t >= c) sum[q] += lower_at(shared, i + r, k + t) * inverse_at(shared, k + t, j + c);
                    }
#pragma unroll
            for (int q = 0; q < each; ++q) inverse_at(shared, i + r, j + lane / 8 + q * (warp_lanes / 8)) = sum[q];
            warp_sync();
#pragma unroll
            for (int q = 0; q < each; ++q) {
                sum[q] = 0;
#pragma unroll
                for (int t = 0; t < 8; ++t)
                    if (t <= r) sum[q] -= lower_at(shared, i + r, i + t) * inverse_at(shared, i + t, j + lane / 8 + q * (warp_lanes / 8));
            }
            warp_sync();
#pragma unroll
            for (int q = 0; q < each; ++q) inverse_at(shared, i + r, j + lane / 8 + q * (warp_lanes / 8)) = sum[q];
            warp_sync();
        }
    }
}

/* The sum of term(k), k = 0 .. Width - 1, by four threads side by side. */
template <int Width, class Term>
TRIFOLD_DEVICE real sum_of_four(const Term& term) {
    const int part = sweep_thread() % 4;
    real sum[2] = {};
#pragma unroll
    for (int k = 0; k < Width / 4; ++k) sum[k % 2] += term(4 * k + part);
    real total = sum[0] + sum[1];
    total += shuffle_xor(total, 1);
    return total + shuffle_xor(total, 2);
}

/* Columns whose sums a thread has side by side, so that it loads an element of a factor once for all of them. */
constexpr int abreast = columns_at_once < 4 ? columns_at_once : 4;
static_assert(columns_at_once % abreast == 0, "whole groups of columns");

/* Adds up sums of `Count` columns over `Lanes` threads side by side, which share the totals: a thread has `Count / Lanes` of them from
 * column total_column on, and where there are fewer columns than threads, several have the same. */
template <int Count, int Lanes>
TRIFOLD_DEVICE void add_up(real (&sum)[Count], int lane) {
    int count = Count;
#pragma unroll
    for (int mask = Lanes / 2; mask > 0; mask /= 2) {
        if (count > 1) {
            count /= 2;
            const bool upper = (lane & mask) != 0;
#pragma unroll
            for (int c = 0; c < Count / 2; ++c) {
                if (c >= count) continue;
                const real other = upper ? sum[c] : sum[c + count], own = upper ? sum[c + count] : sum[c];
                sum[c] = own + shuffle_xor(other, mask);
            }
        } else {
            sum[0] += shuffle_xor(sum[0], mask);
        }
    }
}
template <int Count, int Lanes>
TRIFOLD_DEVICE int total_column(int lane) {
    return Count >= Lanes ? lane * (Count / Lanes) : lane / (Lanes / Count);
}

/* use(c, total) for columns c below `columns`, where total is the sum of element(k) x(c, k), k = 0 .. Width - 1, by four threads side by
 * side. One of them calls it for each column. */
template <int Width, class Element, class X, class Use>
TRIFOLD_DEVICE void sum_columns(int columns, const Element& element, const X& x, const Use& use) {
    if constexpr (columns_at_once == 1) {
        const real total = sum_of_four<Width>([&](int k) { return element(k) * x(0, k); });
        if (sweep_thread() % 4 == 0) use(0, total);
    } else {
        const int part = sweep_thread() % 4;
#pragma unroll 1
        for (int first = 0; first < columns; first += abreast) {
            real sum[abreast] = {};
#pragma unroll
            for (int k = 0; k < Width / 4; ++k) {
                const real a = element(4 * k + part);
#pragma unroll
                for (int c = 0; c < abreast; ++c) sum[c] += a * x(first + c, 4 * k + part);
            }
            add_up<abreast, 4>(sum, part);
            const int c = first + total_column<abreast, 4>(part);
            if (part % (4 / abreast) == 0 && c < columns) use(c, sum[0]);
        }
    }
}

/* solved = L^-1 running, a tile after the other; a row in four threads. */
template <int Width>
TRIFOLD_DEVICE void solve_lower(SweepShared& shared, int columns) {
    const int row = sweep_thread() / 4;
#pragma unroll 1
    for (int j = 0; j < padded; j += Width) {
        if (row >= j && row < j + Width)
            sum_columns<Width>(
                columns, [&](int k) { return j + k <= row ? inverse_at(shared, row, j + k) : real(0); },
                [&](int c, int k) { return j + k <= row ? shared.running[c][j + k] : real(0); },
                [&](int c, real y) { shared.solved[c][row] = y; });
        block_sync();
        if (j + Width >= padded) return;
        if (row >= j + Width)
            sum_columns<Width>(
                columns, [&](int k) { return lower_at(shared, row, j + k); }, [&](int c, int k) { return shared.solved[c][j + k]; },
                [&](int c, real taken) { shared.running[c][row] -= taken; });
        block_sync();
    }
}

/* x = L^-T running, a tile after the other from the last; a row in four threads, of which one delivers it: deliver(c, row, x). */
template <int Width, class Deliver>
TRIFOLD_DEVICE void solve_upper(SweepShared& shared, int columns, const Deliver& deliver) {
    const int row = sweep_thread() / 4;
    const auto inside = [](int r) { return padded % Width == 0 || r < padded; };
#pragma unroll 1
    for (int j = (padded - 1) / Width * Width; j >= 0; j -= Width) {
        if (row >= j && row < j + Width) {
            const auto counts = [&](int k) { return j + k >= row && inside(j + k); };
            sum_columns<Width>(
                columns, [&](int k) { return counts(k) ? inverse_at(shared, j + k, row) : real(0); },
                [&](int c, int k) { return counts(k) ? shared.running[c][j + k] : real(0); },
                [&](int c, real x) {
                    deliver(c, row, x);
                    if (j > 0) shared.solved[c][row] = x;
                });
        }
        block_sync();
        if (row < j)
            sum_columns<Width>(
                columns, [&](int k) { return inside(j + k) ? lower_at(shared, j + k, row) : real(0); },
                [&](int c, int k) { return inside(j + k) ? shared.solved[c][j + k] : real(0); },
                [&](int c, real taken) { shared.running[c][row] -= taken; });
        if (j > 0) block_sync();
    }
}

/* An element of the forward sweep's solution, and the entry of L's inverse that has the sign of its pivot. */
TRIFOLD_DEVICE real pivot_at(const SweepShared& shared, int r) { return shared.factor[r * (factor_leading + 1)]; }
TRIFOLD_DEVICE real solution_at(const SweepShared& shared, int c, int r) { return by_sign(shared.solved[c][r], pivot_at(shared, r)); }
TRIFOLD_DEVICE void store_solution(const SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block,
                                   Columns columns) {
#pragma unroll 1
    for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        if (r < stored_rows(args, block))
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = solution_at(shared, c, r);
    }
}

/* The squared norm of the solved block, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block,
                                    Columns columns) {
    const int lane = sweep_thread() % warp_lanes;
    double* to = buffer<double>(args, Offset::block_quadratic(args)) + block_index(args, member, block) * max_columns + columns.first;
    for (int c = sweep_thread() / warp_lanes; c < columns.count; c += sweep_warps) {
        double sum = 0;
        for (int r = lane; r < block_size; r += warp_lanes)
            sum += square_of(shared.solved[c][r], has_signs ? pivot_at(shared, r) : real(1));
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = sum;
    }
}

/* Right-hand sides as the caller has them. */
TRIFOLD_DEVICE void load_running(SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        const bool inside = r < rows_of(args, member, block);
        shared.running[c][r] =
            inside ? static_cast<const real*>(args.b)[rhs_at(args.b_strides, member, block, r, columns.first + c)] : real(0);
    }
}

/* The forward sweep's solution to the backward sweep of the same front, early: args.x is then the backward sweep's alone. */
TRIFOLD_DEVICE void send_running(const SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                 Columns columns) {
    if constexpr (overlaps) {
        trifold_word* to = forward_words(args, member, front.block) + columns.first * padded * message_words;
        for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads)
            send(to + e * message_words, solution_at(shared, e / padded, e % padded), front.run);
    }
}
TRIFOLD_DEVICE void receive_running(SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    if constexpr (overlaps) {
        const trifold_int run = last_run(args, member, Kind::forward);
        const trifold_word* from = forward_words(args, member, block) + columns.first * padded * message_words;
        for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads)
            shared.running[e / padded][e % padded] = receive(look(from + e * message_words), from + e * message_words, run);
    }
}

/* A row of [R; G] in two threads, each with half of its columns. */
constexpr int half_depth = padded / 2;
TRIFOLD_DEVICE void fetch_half_row(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int row = sweep_thread() / 2, half = sweep_thread() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    const real* from = (ahead ? next_of(args, member, front.block) : behind_of(args, member, front.block)) + row % padded + half * padded;
#pragma unroll
    for (int k = 0; k < half_depth; ++k) a[k] = exists ? from[k * padded] : real(0);
}

/* Subtracts the updates of all earlier fronts from this front's right-hand sides. Those of both sides are polled together, since they
 * arrive together, and by no more threads than need them, because polling keeps others from memory. */
TRIFOLD_DEVICE void gather_updates(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front, Columns columns) {
    constexpr int each = (columns_at_once + 3) / 4;
    const auto element = [](int q) { return sweep_thread() + q * sweep_threads; };
    const auto inside = [&](int q) { return element(q) < padded * columns.count; };
    real taken[each] = {};
#pragma unroll 1
    for (int k = 0; k < front.level; ++k) {
        const Pair pair = pair_of(args, front, k);
        const bool has_left = !is_ring || pair.left >= 0, has_right = pair.right < path_of(args);
        const trifold_word* from_left =
            update_words(args, member, has_left ? pair.left : pair.right, has_left ? 1 : 0) + columns.first * padded * message_words;
        const trifold_word* from_right =
            has_right ? update_words(args, member, pair.right, 0) + columns.first * padded * message_words : from_left;
        Message left[each], right[each];
        bool all = false;
        while (!all) {
            all = true;
#pragma unroll
            for (int q = 0; q < each; ++q) {
                if (!inside(q)) continue;
                left[q] = look(from_left + element(q) * message_words), right[q] = look(from_right + element(q) * message_words);
                all = all && has_come(left[q], front.run) && has_come(right[q], front.run);
            }
            if (!all) spin();
        }
#pragma unroll
        for (int q = 0; q < each; ++q) {
            if (!inside(q)) continue;
            if (has_left) taken[q] += content_of(left[q]);
            if (has_right) taken[q] += content_of(right[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < each; ++q)
        if (inside(q)) shared.running[element(q) / padded][element(q) % padded] -= taken[q];
}

/* R y and G y, for the neighbours. */
TRIFOLD_DEVICE void leave_updates(const SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                  const real (&a)[half_depth], Columns columns) {
    const int row = sweep_thread() / 2, half = sweep_thread() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    trifold_word* to = update_words(args, member, front.block, ahead ? 1 : 0) + (columns.first * padded + row % padded) * message_words;
    if constexpr (columns_at_once == 1) {
        real sum[2] = {};
#pragma unroll
        for (int k = 0; k < half_depth; ++k) sum[k % 2] += a[k] * shared.solved[0][half + k];
        real total = sum[0] + sum[1];
        total += shuffle_xor(total, 1);
        if (sweep_thread() % 2 == 0 && exists) send(to, total, front.run);
    } else {
        constexpr int each = abreast / 2;
#pragma unroll 1
        for (int first = 0; first < columns.count; first += abreast) {
            real sum[abreast] = {};
#pragma unroll
            for (int k = 0; k < half_depth; k += vector_width)
#pragma unroll
                for (int c = 0; c < abreast; ++c) {
                    real y[vector_width];
                    load_vector(y, shared.solved[first + c] + half + k);
#pragma unroll
                    for (int e = 0; e < vector_width; ++e) sum[c] += a[k + e] * y[e];
                }
            add_up<abreast, 2>(sum, sweep_thread() % 2);
#pragma unroll
            for (int q = 0; q < each; ++q) {
                const int c = first + total_column<abreast, 2>(sweep_thread() % 2) + q;
                if (c < columns.count && exists) send(to + c * padded * message_words, sum[q], front.run);
            }
        }
    }
}

template <int Width>
TRIFOLD_DEVICE void sweep_forward(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                  const real (&a)[half_depth], bool sends) {
    widen_inverses<Width>(shared);
#pragma unroll 1
    for (int first = first_column_of(front); first < columns_of(args); first += pass_step) {
        const Columns columns = pass_from(args, first);
        if (first > first_column_of(front)) {
            load_running(shared, args, member, front.block, columns);
            block_sync();
        }
        gather_updates(shared, args, member, front, columns);
        block_sync();
        solve_lower<Width>(shared, columns.count);
        leave_updates(shared, args, member, front, a, columns);
        if (sends)
            send_running(shared, args, member, front, columns);
        else
            store_solution(shared, args, member, front.block, columns);
        store_quadratic(shared, args, member, front.block, columns);
    }
}

/* `sends`: the backward sweep begins early. */
TRIFOLD_DEVICE void forward_front(const trifold_args& args, trifold_int member, bool sends) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::forward, shared.ticket);
    start_dependents();
    if (first_column_of(front) >= columns_of(args)) return;
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_half_row(a, args, member, front);
    load_running(shared, args, member, front.block, pass_from(args, first_column_of(front)));
    wait_copies<0>();
    block_sync();
    if (will_wait(args, front))
        sweep_forward<long_inverse>(shared, args, member, front, a, sends);
    else
        sweep_forward<short_inverse>(shared, args, member, front, a, sends);
}

/* A column of [R; G] in four threads, each with every fourth vector of rows. */
TRIFOLD_DEVICE int quarter_row(int k) { return (k / vector_width * 4 + sweep_thread() % 4) * vector_width; }
TRIFOLD_DEVICE void fetch_quarter_column(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int column = sweep_thread() / 4 * padded;
    const real* next = next_of(args, member, front.block) + column;
    const real* behind = behind_of(args, member, front.block) + column;
#pragma unroll
    for (int k = 0; k < half_depth; k += vector_width) {
        const int r = quarter_row(k);
        real v[vector_width] = {};
        if (r < padded && front.next >= 0) load_vector(v, next + r);
        if (r >= padded && front.behind >= 0) load_vector(v, behind + r - padded);
#pragma unroll
        for (int e = 0; e < vector_width; ++e) a[k + e] = v[e];
    }
}

/* running = the right-hand sides, less the couplings times the neighbours' solutions. */
TRIFOLD_DEVICE void subtract_neighbours(SweepShared& shared, const real (&a)[half_depth], int columns) {
    if constexpr (columns_at_once > 1) {
        const int part = sweep_thread() % 4;
#pragma unroll 1
        for (int first = 0; first < columns; first += abreast) {
            real sum[abreast] = {};
#pragma unroll
            for (int k = 0; k < half_depth; k += vector_width)
#pragma unroll
                for (int c = 0; c < abreast; ++c) {
                    real x[vector_width];
                    load_vector(x, shared.solved[first + c] + quarter_row(k));
#pragma unroll
                    for (int e = 0; e < vector_width; ++e) sum[c] += a[k + e] * x[e];
                }
            add_up<abreast, 4>(sum, part);
            const int c = first + total_column<abreast, 4>(part);
            if (part % (4 / abreast) == 0 && c < columns) shared.running[c][sweep_thread() / 4] -= sum[0];
        }
    } else {
        real sum[vector_width] = {};
#pragma unroll
        for (int k = 0; k < half_depth; k += vector_width) {
            real x[vector_width];
            load_vector(x, shared.solved[0] + quarter_row(k));
#pragma unroll
            for (int e = 0; e < vector_width; ++e) sum[e] += a[k + e] * x[e];
        }
        real total = sum[0] + sum[1];
#pragma unroll
        for (int e = 2; e < vector_width; e += 2) total += sum[e] + sum[e + 1];
        total += shuffle_xor(total, 1);
        total += shuffle_xor(total, 2);
        if (sweep_thread() % 4 == 0) shared.running[0][sweep_thread() / 4] -= total;
    }
}

/* x of the next and behind; zeros where there is none. */
TRIFOLD_DEVICE void gather_neighbours(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                      Columns columns) {
    constexpr int together = columns_at_once == 1 ? 1 : 2;
    const auto place = [&](int e) -> const trifold_word* {
        const trifold_int block = e / padded % 2 == 0 ? front.next : front.behind;
        if (e >= 2 * padded * columns.count || block < 0) return nullptr;
        return solution_words(args, member, block) + ((columns.first + e / (2 * padded)) * padded + e % padded) * message_words;
    };
#pragma unroll 1
    for (int first = sweep_thread(); first < 2 * padded * columns.count; first += together * sweep_threads) {
        const trifold_word* from[together];
        Message messages[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            from[q] = place(first + q * sweep_threads);
            if (from[q] != nullptr) messages[q] = look(from[q]);
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int e = first + q * sweep_threads;
            if (e >= 2 * padded * columns.count) continue;
            shared.solved[e / (2 * padded)][e % (2 * padded)] = from[q] == nullptr ? real(0) : receive(messages[q], from[q], front.run);
        }
    }
}

template <int Width>
TRIFOLD_DEVICE void sweep_backward(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                   const real (&a)[half_depth], trifold_start start) {
    trifold_word* words = solution_words(args, member, front.block);
    widen_inverses<Width>(shared);
#pragma unroll 1
    for (int first = first_column_of(front); first < columns_of(args); first += pass_step) {
        const Columns columns = pass_from(args, first);
        if (start == trifold_during_forward)
            receive_running(shared, args, member, front.block, columns);
        else if (first > first_column_of(front))
            load_running(shared, args, member, front.block, columns);
        gather_neighbours(shared, args, member, front, columns);
        block_sync();
        subtract_neighbours(shared, a, columns.count);
        if (front.panel > 0 && is_last(front) && sweep_thread() == 0) receive(look(words), words, front.run); /* see begin_solution */
        block_sync();
        solve_upper<Width>(shared, columns.count, [&](int c, int row, real x) {
            const int column = first + c;
            send(words + (column * padded + row) * message_words, x, front.run);
            if (row >= stored_rows(args, front.block)) return;
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, column)] = x;
            watch(args, member, Result::solution, x);
        });
    }
}

TRIFOLD_DEVICE void backward_front(const trifold_args& args, trifold_int member, trifold_start start) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    Front front = claim_front(args, member, Kind::backward, shared.ticket);
    if (first_column_of(front) >= columns_of(args)) return;
    if (is_last(front) && front.panel == 0) {
        if (ends_sweep && start == trifold_during_factor) return; /* the factorization's front has solved it */
        if (sweep_thread() == sweep_threads - 1) begin_solution(args, member);
    }
    if (start == trifold_during_factor) {
        const trifold_int run = last_run(args, member, Kind::factor);
        if (sweep_thread() == 0) await_everything(args, member, front.block, run);
        block_sync();
        front.run = early_run(run);
    }
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_quarter_column(a, args, member, front);
    if (start != trifold_during_forward) load_running(shared, args, member, front.block, pass_from(args, first_column_of(front)));
    wait_copies<0>();
    block_sync();
    if (will_wait(args, front) && !is_last(front)) /* the last front waits for no other */
        sweep_backward<long_inverse>(shared, args, member, front, a, start);
    else
        sweep_backward<short_inverse>(shared, args, member, front, a, start);
}
