/* A last look at solutions: whether they are in the normal range, and within the bound of the backward error, for which they are refined.
 * An image is seldom so rough, so a thread block does it alone. */
#include "gpu/grid/pixels.cuh"
#include "gpu/grid/records.cuh"
#include "gpu/grid/sweep.cuh"

constexpr int max_steps = 4, refine_threads = grid_wide_threads, refine_warps = refine_threads / warp_lanes;

/* The greatest of all threads' numbers, none of which is negative. */
TRIFOLD_DEVICE double block_max(double mine) {
    double* const of_warps = static_cast<double*>(shared_memory());
    mine = warp_max(mine);
    block_sync();
    if (lane_index() == 0) of_warps[warp_index()] = mine;
    block_sync();
    for (int q = 0; q < refine_warps; ++q)
        if (of_warps[q] > mine) mine = of_warps[q];
    return mine;
}
TRIFOLD_DEVICE real* front_vector() { return static_cast<real*>(shared_memory()) + refine_warps * (sizeof(double) / sizeof(real)); }

/* x becomes T^-1 x, where T is a lower (`up`) or upper triangle of W, or of W'. `scaled`: its diagonal is not 1. */
template <bool up>
TRIFOLD_DEVICE void solve_alone(const Context& c, const Front& f, real* x, bool transposed, bool scaled) {
    const real* const w = w_of(c, f);
    for (int q = 0; q < f.s; ++q) {
        const int k = up ? q : f.s - 1 - q;
        block_sync();
        const real solved = scaled ? x[k] / w[k + trifold_int(k) * f.S] : x[k];
        for (int i = thread_index(); i < f.s; i += refine_threads)
            if (up ? i > k : i < k) x[i] -= (transposed ? w[k + trifold_int(i) * f.S] : w[i + trifold_int(k) * f.S]) * solved;
        block_sync();
        if (scaled && thread_index() == 0) x[k] = solved;
    }
    block_sync();
}

TRIFOLD_DEVICE void forward_alone(const Context& c, const Front& f, int column) {
    const bool merges = c.launch.levels > 1, transposed = c.launch.transposed != 0;
    real* const x = front_vector();
    const PartVectors parts = merges ? vectors_of(c, f) : PartVectors{};
    for (int k = thread_index(); k < f.s; k += refine_threads) {
        const grid_pixel from = grid_eliminated_pixel(&f.box, transposed ? k : pivots_of(c, f)[k]);
        const real value = times_power(right_hand_side(c, f.member, from, column), exponent_in(c, f, from));
        x[k] = value + (merges ? left_at(parts, from, column) : real(0));
    }
    solve_alone<true>(c, f, x, transposed, transposed);
    for (int k = thread_index(); k < f.s; k += refine_threads) solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column] = x[k];
    const real* const panel = transposed ? z_of(c, f) : y_of(c, f);
    for (int i = thread_index(); i < f.r; i += refine_threads) {
        real sum = merges ? left_at(parts, grid_kept_pixel(&f.box, i), column) : real(0);
        for (int k = 0; k < f.s; ++k) sum -= panel[i + trifold_int(k) * f.R] * x[k];
        vector_of(c, f)[trifold_int(column) * f.R + i] = sum;
    }
    block_sync();
}

TRIFOLD_DEVICE void backward_alone(const Context& c, const Front& f, int column) {
    const bool transposed = c.launch.transposed != 0;
    real* const x = front_vector();
    const real* const panel = transposed ? y_of(c, f) : z_of(c, f);
    for (int k = warp_index(); k < f.s; k += refine_warps) {
        real sum = 0;
        for (int i = lane_index(); i < f.r; i += warp_lanes) {
            const grid_pixel pixel = kept_pixel(f, i);
            sum += panel[i + trifold_int(k) * f.R] * times_power(solution_at(c, f, pixel)[column], -exponent_out(c, f, pixel));
        }
        for (int apart = warp_lanes / 2; apart > 0; apart /= 2) sum += shuffle_xor(sum, apart);
        if (lane_index() == 0) x[k] = solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column] - sum;
    }
    solve_alone<false>(c, f, x, transposed, !transposed);
    for (int k = thread_index(); k < f.s; k += refine_threads) {
        const grid_pixel to = grid_eliminated_pixel(&f.box, transposed ? pivots_of(c, f)[k] : k);
        solution_at(c, f, to)[column] = times_power(x[k], exponent_out(c, f, to));
    }
    block_sync();
}

/* work(x, y) for each pixel of the caller's image. */
template <class Work>
TRIFOLD_DEVICE void each_pixel(const Context& c, const Work& work) {
    for (trifold_int pixel = thread_index(); pixel < c.launch.pixels; pixel += refine_threads)
        work(pixel % c.launch.pitch - c.launch.origin % c.launch.pitch, pixel / c.launch.pitch - c.launch.origin / c.launch.pitch);
    block_sync();
}

/* Solves for the residual of a panel, which stands in the place of its solution then. */
TRIFOLD_DEVICE void solve_residual(const Context& c, trifold_int member) {
    const trifold_grid_level* const all = global_pointer(reinterpret_cast<const trifold_grid_level*>(workspace_at(c, c.launch.all_levels)));
    const int levels = static_cast<int>(c.launch.level_count);
    trifold_grid_args args = c.args;
    trifold_grid_launch launch = c.launch;
    const Context here = {args, launch};
    args.b = args.x = workspace_at(c, launch.residual);
    args.columns = args.used_columns;
    args.first_column = args.begins = args.in_place = 0;
    for (int turn = 0; turn < 2 * levels; ++turn) {
        const int number = turn < levels ? turn : 2 * levels - 1 - turn, level = number > 0;
        launch.level[0] = all[number - level];
        launch.level[level] = all[number];
        launch.levels = level + 1;
        const int across = static_cast<int>(all[number].x_halvings), boxes = 1 << (across + static_cast<int>(all[number].y_halvings));
        for (int place = 0; place < boxes; ++place) {
            const Front f = front_at(here, level, static_cast<int>(member), place & ((1 << across) - 1), place >> across);
            for (int column = 0; column < args.used_columns; ++column)
                turn < levels ? forward_alone(here, f, column) : backward_alone(here, f, column);
        }
    }
    if (launch.edge >= 0) each_pixel(here, [&](trifold_int x, trifold_int y) { finish_ring(here, member, x, y); });
}

/* Writes b - A x of a member's panel. Whether each row has a backward error within the bound. */
TRIFOLD_DEVICE bool residual_is_small(const Context& c, trifold_int member) {
    bool large = false;
    for (int column = 0; column < c.args.used_columns; ++column) {
        double most = 0;
        each_pixel(c, [&](trifold_int x, trifold_int y) {
            const double size = size_of(static_cast<double>(x_at(c, member, pixel_at(c, x, y))[column]));
            if (size > most) most = size;
        });
        most = block_max(most);
        each_pixel(c, [&](trifold_int x, trifold_int y) {
            double sizes = 0;
            const double left = residual_of(c, member, x, y, column, sizes);
            residual_at(c, member, x, y)[column] = static_cast<real>(left);
            const double b = size_of(static_cast<double>(original_b(c, member, pixel_at(c, x, y))[column]));
            large = large || !(size_of(left) <= c.launch.bound * (sizes * most + b));
        });
    }
    return block_max(large ? 1.0 : 0.0) == 0;
}

TRIFOLD_DEVICE void give_up(const Context& c, trifold_int member) {
    trifold_grid_status* const status = status_of(c, member);
    const bool taken = status->rough > 1 || c.args.accepts || status->left != trifold_grid_all;
    block_sync();
    if (taken) return;
    if (thread_index() == 0) status->left = trifold_grid_inaccurate;
    each_pixel(c, [&](trifold_int x, trifold_int y) {
        for (int column = 0; column < c.args.used_columns; ++column)
            x_at(c, member, pixel_at(c, x, y))[column] = static_cast<real>(not_a_number());
    });
}

/* Notes columns of x all of which are below the normal range, though not all of b is zero. A warp has a column. The first elements of most
 * show that they are not. */
TRIFOLD_DEVICE void note_vanished(const Context& c, trifold_int member) {
    const double min_normal = static_cast<double>(power_of_two(-scale_max));
    for (int column = warp_index(); column < c.args.used_columns; column += refine_warps) {
        bool found = false, given = false;
        for (trifold_int pixel = lane_index(); pixel - lane_index() < c.launch.pixels && !found; pixel += warp_lanes) {
            const real value = pixel < c.launch.pixels ? x_at(c, member, pixel)[column] : real(0);
            found = warp_max(size_of(static_cast<double>(value))) >= min_normal;
        }
        for (trifold_int pixel = lane_index(); pixel < c.launch.pixels && !found; pixel += warp_lanes)
            given = given || original_b(c, member, pixel)[column] != 0;
        note_left(c, member, given);
    }
}

/* Refines the solution of a rough image until it is within the bound. */
TRIFOLD_DEVICE void refine_rough(const Context& c, trifold_int member) {
    const trifold_grid_status* const status = status_of(c, member);
    trifold_grid_args args = c.args;
    const Context here = {args, c.launch};
    args.stencil = workspace_at(c, c.launch.stencil);
    for (int step = 0;; ++step) {
        block_sync();
        const bool all = status->left == trifold_grid_all;
        if (!all || residual_is_small(here, member)) return;
        if (step == max_steps) return give_up(here, member);
        solve_residual(here, member);
        each_pixel(here, [&](trifold_int x, trifold_int y) { correct(here, member, x, y); });
    }
}

TRIFOLD_DEVICE void look_at_solution(const Context& c) {
    wait_for_launches();
    const trifold_int member = group_y();
    const trifold_grid_status* const status = status_of(c, member);
    if (c.args.step || grid_has_failed(&status->record, c.args.accepts)) return;
    note_vanished(c, member);
    if (!symmetric && status->rough) refine_rough(c, member);
}

#ifdef TRIFOLD_KERNEL_REFINE
GRID_KERNEL(REFINE, refine_threads, look_at_solution(c))
#endif
