/* A front before its panel: D, the couplings and the right-hand sides as it finds them. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/verdict.cuh"
#include "gpu/tridiagonal/dataflow/flags.cuh"
#include "gpu/tridiagonal/dataflow/front.cuh"
#include "gpu/tridiagonal/dataflow/message.cuh"

/* Right-hand sides into the rows below D. */
TRIFOLD_DEVICE void load_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int e = front_thread(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        const trifold_strides& s = args.b_strides;
        const bool inside = r < rows_of(args, member, block) && c < args.columns;
        lower[padded + c + r * lower_leading] = inside ? static_cast<const real*>(args.b)[rhs_at(s, member, block, r, c)] : real(0);
    }
}
TRIFOLD_DEVICE void update_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int left, trifold_int right) {
    const real* from_left = neighbour_rhs_of(args, member, left, 1);
    const real* from_right = right < 0 ? nullptr : neighbour_rhs_of(args, member, right, 0);
    for (int e = front_thread(); e < riders * padded; e += threads) {
        real* at = lower + padded + e / padded + e % padded * lower_leading;
        if (e / padded >= args.columns) continue;
        real value = *at - (is_ring && left < 0 ? real(0) : from_left[e]);
        if (from_right != nullptr) value -= from_right[e];
        *at = value;
    }
}

/* A band by the strips of 16 columns. */
constexpr int square_strips = 16 / strip_columns;
struct BandSquare {
    Patch strips[square_strips];
};
/* Who pulls: all, or the warps of the stack while those of the pivots receive messages. */
enum class Crew { all, stack };
template <Crew By>
struct Pulling {
    static constexpr int first = By == Crew::all ? 0 : pivot_warps, count = warps - first, rounds = (lower_squares + count - 1) / count;
    static constexpr int leading = By == Crew::all ? pulled_leading : stacked_leading;
};
template <Crew By>
TRIFOLD_DEVICE void meet_crew(FrontShared& shared) {
    if (By == Crew::all)
        block_sync();
    else
        meet(shared, stack_barrier);
}

/* use(square, row, column) for this warp's squares of the lower part of a block. */
template <Crew By, class Use>
TRIFOLD_DEVICE void each_lower_square(BandSquare (&squares)[Pulling<By>::rounds], const Use& use) {
#pragma unroll
    for (int round = 0; round < Pulling<By>::rounds; ++round) {
        int row = 0, column = front_thread() / warp_lanes - Pulling<By>::first + round * Pulling<By>::count;
        while (column > row) column -= ++row;
        if (row < bands) use(squares[round], row * 16, column * 16);
    }
}

/* The updates of D by the fronts eliminated before whose flags tell, and if the last pair is among them, its operands for the
 * couplings are fetched. The last pair of the tip is one front, which takes D's coupling with itself away too: R G' + G R'. Returns whether
 * one of those fronts failed. */
template <Crew By, bool Riders>
TRIFOLD_DEVICE bool pull_updates(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int leading = Pulling<By>::leading, workers = Pulling<By>::count * warp_lanes;
    const int worker = front_thread() - Pulling<By>::first * warp_lanes;
    real* const r = By == Crew::all ? left_of(shared) : shared.stacked;
    real* const g = By == Crew::all ? right_of(shared) : shared.stacked + padded;
    BandSquare sums[Pulling<By>::rounds]{};
    bool fed = false;
    const int pairs = front.level - static_cast<int>(gets_messages(front));
#pragma unroll 1
    for (int k = 0; k < pairs; ++k) {
        const Pair pair = pair_of(args, front, k);
        const trifold_int left = pair.left, right = pair.right < path_of(args) ? pair.right : -1;
        const bool last = k + 1 == front.level, has_left = !is_ring || left >= 0;
        if (await_fronts(args, member, front.run, left, right)) fed = true;
        if (has_left) copy_block(r, leading, next_of(args, member, left), worker, workers);
        if (right >= 0) copy_block(g, leading, behind_of(args, member, right), worker, workers);
        if (Riders && !in_registers) update_riders(shared.lower, args, member, left, right);
        end_copies();
        if (has_signs && worker < padded) shared.diagonal[padded + worker] += pair_squares(args, member, pair, worker);
        if (By == Crew::all && last && has_room) {
            if (front.next >= 0 && (!is_ring || right >= 0)) copy_block(shared.stacked, stacked_leading, next_of(args, member, right));
            if (front.behind >= 0) copy_block(shared.stacked + padded, stacked_leading, behind_of(args, member, left));
            end_copies();
            wait_copies<1>();
        } else {
            wait_copies<0>();
        }
        meet_crew<By>(shared);
        if (has_signs && is_ring && last && is_last(front)) add_cross_squares(shared, r, g, leading, worker, workers);
        each_lower_square<By>(sums, [&](BandSquare& sum, int row, int column) {
            const bool whole = row + 8 < padded;
            const int count = column + 16 <= padded ? square_strips : 1;
            if (has_left)
                multiply_band<1, block_quads, strip_columns>(sum.strips, r + row, leading, r + column, leading, whole, count, padded);
            if (right >= 0)
                multiply_band<1, block_quads, strip_columns>(sum.strips, g + row, leading, g + column, leading, whole, count, padded);
            if constexpr (is_ring) {
                if (!last || !is_last(front)) return;
                multiply_band<1, block_quads, strip_columns>(sum.strips, r + row, leading, g + column, leading, whole, count, padded);
                multiply_band<1, block_quads, strip_columns>(sum.strips, g + row, leading, r + column, leading, whole, count, padded);
            }
        });
        if (!last) meet_crew<By>(shared);
    }
    if (pairs > 0)
        each_lower_square<By>(sums, [&](const BandSquare& sum, int row, int column) {
#pragma unroll
            for (int strip = 0; strip < square_strips; ++strip)
                each_element(sum.strips[strip], row, column + strip * strip_columns, [&](real value, int r, int c) {
                    if (r >= c) shared.lower[r + c * lower_leading] -= value;
                });
        });
    wait_copies<0>();
    return fed;
}

/* R_k and G_j to where they are needed, by the warps of the stack, where they had no place while D took its updates. */
TRIFOLD_DEVICE void fetch_stack(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, trifold_int left,
                                trifold_int right) {
    const int worker = front_thread() - pivot_warps * warp_lanes, workers = stacked_warps * warp_lanes;
    if (front.next >= 0 && (!is_ring || right >= 0))
        copy_block(shared.stacked, stacked_leading, next_of(args, member, right), worker, workers);
    if (front.behind >= 0) copy_block(shared.stacked + padded, stacked_leading, behind_of(args, member, left), worker, workers);
    end_copies();
    wait_copies<0>();
    meet(shared, stack_barrier);
}

/* The operands of the coupling to the tip, where the last pair has no right front, by the warps of the stack: those of an earlier child, or
 * E and minus the identity. */
TRIFOLD_DEVICE void fetch_ahead(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const int worker = front_thread() - pivot_warps * warp_lanes, workers = stacked_warps * warp_lanes;
    const trifold_int child = ahead_child(args, front);
    if (child >= 0) {
        copy_block(shared.stacked, stacked_leading, next_of(args, member, child), worker, workers);
        if (has_room) copy_block(right_of(shared), pulled_leading, behind_of(args, member, child), worker, workers);
        end_copies();
        wait_copies<0>();
    } else {
        const real* from = E_OF(args, member, front.block);
        Given given{};
        if (is_band) given = given_coupling(args, member, front.block);
#pragma unroll 4
        for (int e = worker; e < padded * padded; e += workers) {
            const int r = e % padded, c = e / padded;
            real value = 0;
            if (r < block_size && c < block_size) value = is_band ? given.value(r, c) : from[r * E::row + c * E::column];
            shared.stacked[r + c * stacked_leading] = value;
            if (in_registers) right_of(shared)[r + c * pulled_leading] = r == c ? real(-1) : real(0);
        }
    }
    meet(shared, stack_barrier);
}

/* Computes -R_k G_k' and -G_j R_j' in the places of R_k and G_j, by the warps of the stack. One warp has all of a band. */
TRIFOLD_DEVICE void make_couplings(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const trifold_int distance = trifold_int(1) << (front.level - 1), left = front.block - distance;
    const trifold_int right = is_ring ? ahead_child(args, front) : front.block + distance;
    if (!has_room) fetch_stack(shared, args, member, front, left, is_ring ? right_child(args, front) : right);
    if (is_ring && lacks_right_child(args, front)) fetch_ahead(shared, args, member, front);
#pragma unroll 1
    for (int unit = front_thread() / warp_lanes - pivot_warps; unit < 2 * bands; unit += stacked_warps) {
        const bool ahead = unit < bands;
        if ((ahead ? front.next : front.behind) < 0 || (is_ring && ahead && right < 0)) continue;
        const int row = unit % bands * 16;
        real* band = shared.stacked + (ahead ? 0 : padded) + row;
        Patch products[strips]{};
        const real* other = ahead ? right_of(shared) : left_of(shared);
        if (!has_room) other = ahead ? behind_of(args, member, right) : next_of(args, member, left);
        multiply_band<-1, block_quads, strip_columns>(products, band, stacked_leading, other, has_room ? lower_leading : padded,
                                                      row + 8 < padded, strips, padded);
        warp_sync();
#pragma unroll
        for (int strip = 0; strip < strips; ++strip)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (row + patch_row(k) < padded)
                    band[patch_row(k) + (strip * strip_columns + patch_column(k)) * stacked_leading] = element(products[strip], k);
    }
    meet(shared, stack_barrier);
}

/* A thread's elements of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the other. use(du, dv) for
 * those at (first_u() + du, first_v() + dv), constants, so that addresses are made once. */
TRIFOLD_DEVICE int first_u() { return static_cast<int>(static_cast<unsigned>(front_thread()) % strip); }
TRIFOLD_DEVICE int first_v() { return static_cast<int>(static_cast<unsigned>(front_thread()) / strip); }
template <class Use>
TRIFOLD_DEVICE void each_place(const Use& use) {
    constexpr int lines = threads / strip;
#pragma unroll lines_together
    for (int dv = 0; dv < padded; dv += lines) {
        if (padded % lines != 0 && first_v() + dv >= padded) continue;
#pragma unroll
        for (int du = 0; du < padded; du += strip) use(du, dv);
    }
}

/* Starts copies of the lower triangle of D, with the identity in the padding. */
TRIFOLD_DEVICE void fetch_diagonal(real* to, const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr bool by_columns = D::row == 1;
    constexpr int u_to = by_columns ? 1 : lower_leading, v_to = by_columns ? lower_leading : 1;
    constexpr trifold_int u_from = by_columns ? D::row : D::column, v_from = by_columns ? D::column : D::row;
    const real* from = D_OF(args, member, block);
    const int u = first_u(), v = first_v();
    from += u * u_from + v * v_from, to += u * u_to + v * v_to;
    Given given{};
    if (is_band) given = given_diagonal(args, member, block);
    const int rows = rows_of(args, member, block);
    const real unit = unit_of(args, member, block);
    each_place([&](int du, int dv) {
        const int r = by_columns ? u + du : v + dv, c = by_columns ? v + dv : u + du;
        if (c > r) return;
        if (r < rows)
            copy_element_async(to + (du * u_to + dv * v_to), is_band ? given.at(r, c) : from + (du * u_from + dv * v_from));
        else
            to[du * u_to + dv * v_to] = r == c ? unit : real(0);
    });
}
/* Starts copies of the original coupling A(neighbour, block), with zeros in the padding. */
template <bool Below> /* then it is E of the block, else the neighbour's transposed */
TRIFOLD_DEVICE void fetch_coupling(real* to, const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr bool by_columns = E::row == 1;
    constexpr int u_to = by_columns == Below ? 1 : stacked_leading, v_to = by_columns == Below ? stacked_leading : 1;
    constexpr trifold_int u_from = by_columns ? E::row : E::column, v_from = by_columns ? E::column : E::row;
    const trifold_int original = Below ? block : is_ring && block == 0 ? path_of(args) : block - 1;
    const real* from = E_OF(args, member, original);
    Given given{};
    if (is_band) given = given_coupling(args, member, original);
    int last_u = block_size, last_v = block_size;
    if (has_sizes)
        last_u = rows_of(args, member, by_columns ? original + 1 : original),
        last_v = rows_of(args, member, by_columns ? original : original + 1);
    const int u = first_u(), v = first_v();
    from += u * u_from + v * v_from, to += u * u_to + v * v_to;
    each_place([&](int du, int dv) {
        const real* own = by_columns ? given.at(u + du, v + dv) : given.at(v + dv, u + du);
        if (is_band && own != nullptr)
            copy_element_async(to + (du * u_to + dv * v_to), own);
        else if (!is_band && u + du < last_u && v + dv < last_v)
            copy_element_async(to + (du * u_to + dv * v_to), from + (du * u_from + dv * v_from));
        else
            to[du * u_to + dv * v_to] = 0;
    });
}

/* A neighbour that does not exist is coupled by zeros. */
TRIFOLD_DEVICE void clear_rows(real* to) {
    for (int e = front_thread(); e < padded * padded; e += threads) to[e % padded + e / padded * stacked_leading] = 0;
}

/* Adds E + E' to D of a ring of one block, which is coupled to itself. */
TRIFOLD_DEVICE void add_own_coupling(FrontShared& shared, const trifold_args& args, trifold_int member) {
    for (int e = front_thread(); e < block_size * block_size; e += threads) {
        const int r = e % block_size, c = e / block_size;
        if (r >= c) shared.lower[r + c * lower_leading] += own_coupling(args, trifold_level{}, member, r, c);
    }
    block_sync();
}

template <bool Riders>
TRIFOLD_DEVICE void load_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    fetch_diagonal(shared.lower, args, member, front.block);
    fetch_entries(shared.entry, args, member, front.block, front_thread(), threads);
    if (front.level == 0) {
        if (front.next >= 0) fetch_coupling<true>(shared.stacked, args, member, front.block);
        if (front.behind >= 0) fetch_coupling<false>(shared.stacked + padded, args, member, front.block);
    }
    end_copies();
    if (front.next < 0) clear_rows(shared.stacked);
    if (front.behind < 0) clear_rows(shared.stacked + padded);
    if (Riders) load_riders(shared.lower, args, member, front.block);
    for (int r = front_thread(); has_signs && r < 2 * padded; r += threads) shared.diagonal[padded + r] = 0;
    start_pivots(shared.pivots, args, member, front.block);
    wait_copies<0>();
    block_sync();
    if (args.diagonal != nullptr || args.shift != nullptr) {
        for (int r = front_thread(); r < block_size; r += threads)
            shared.lower[r * (lower_leading + 1)] += diagonal_term(args, member, front.block, r);
        block_sync();
    }
    if (is_ring && path_of(args) == 0) add_own_coupling(shared, args, member);
}
/* Pulls the updates of the fronts that were eliminated earlier, for a front that gets messages. The warps of the stack do this. */
TRIFOLD_DEVICE bool pull_before_messages(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const bool fed = pull_updates<Crew::stack, false>(shared, args, member, front);
    if (front_thread() == pivot_warps * warp_lanes) shared.ticket = static_cast<trifold_int>(fed);
    arrive(shared, pulled_barrier, 0);
    return fed;
}
