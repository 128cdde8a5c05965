/* Sweeps. The forward one goes from the leaf tiles to the last line: w <- L^-1 P w and d <- d - Y w. The backward one returns: x = U^-1 (w
 * - Z x). With A' the factors change places. Between the two, the solution's array holds w at the pixels that a front eliminates. */
#include "gpu/grid/entry.cuh"
#include "gpu/grid/gather.cuh"

/* b of a pixel, less the ring's values times their couplings. */
TRIFOLD_DEVICE real right_hand_side(const Context& c, trifold_int member, grid_pixel at, int column) {
    real value = b_at(c, member, pixel_at(c, at.x, at.y))[column];
    if (c.launch.transposed || !is_next_to_ring(c, at.x, at.y)) return value;
    const real* stencil = edge_of(c, member, at.x, at.y);
#pragma unroll 1
    for (int k = 0; k < 9; ++k) {
        const int to_x = at.x + k % 3 - 1, to_y = at.y + k / 3 - 1;
        if (!is_inside(c, to_x, to_y)) value -= stencil[k] * b_at(c, member, pixel_at(c, to_x, to_y))[column];
    }
    return value;
}

/* The vectors that the two parts of a merge have left for it. */
struct PartVectors {
    Front first, second;
    const real *first_vector, *second_vector;
};
TRIFOLD_DEVICE PartVectors vectors_of(const Context& c, const Front& f) {
    PartVectors parts;
    parts.first = part_of(c, f, 0);
    parts.second = part_of(c, f, 1);
    parts.first_vector = vector_of(c, parts.first);
    parts.second_vector = vector_of(c, parts.second);
    return parts;
}
TRIFOLD_DEVICE real left_at(const PartVectors& parts, grid_pixel pixel, int column) {
    const int a = grid_place_in_part(&parts.first.box, pixel.x, pixel.y), b = grid_place_in_part(&parts.second.box, pixel.x, pixel.y);
    const real first = parts.first_vector[trifold_int(column) * parts.first.R + (a >= 0 ? a : 0)];
    const real second = parts.second_vector[trifold_int(column) * parts.second.R + (b >= 0 ? b : 0)];
    return (a >= 0 ? first : real(0)) + (b >= 0 ? second : real(0));
}
TRIFOLD_DEVICE real* solution_at(const Context& c, const Front& f, grid_pixel pixel) {
    return x_at(c, f.member, pixel_at(c, pixel.x, pixel.y));
}
TRIFOLD_DEVICE bool has_failed(const Context& c, const Front& f) {
    return f.r == 0 && grid_has_failed(&status_of(c, f.member)->record, c.args.accepts) != 0;
}

/* Starts the copies of columns to shared memory, where they are grid_pitch apart: an odd number of vectors, against bank conflicts along
 * rows and columns. */
TRIFOLD_DEVICE void fetch_columns(real* to, int pitch, const real* from, trifold_int stride, int rows, int columns, int lane, int lanes) {
    const int vectors = rows / vector_width;
    if (vectors == 0) return;
    const int across = lanes / vectors, along = lanes - across * vectors;
    int column = lane / vectors, vector = lane - column * vectors;
#pragma unroll 1
    for (; column < columns; column += across) {
        copy_async(to + column * pitch + vector * vector_width, from + column * stride + vector * vector_width);
        vector += along;
        if (vector >= vectors) vector -= vectors, ++column;
    }
}
TRIFOLD_DEVICE int pitch_of(int rows) { return static_cast<int>(grid_pitch(rows, sizeof(real))); }
/* The exponent of the least power of two that is at least `count`. */
TRIFOLD_DEVICE int power_over(int count) {
    int power = 0;
    while ((1 << power) < count) ++power;
    return power;
}

/* ---- small fronts: each has a team of lanes, a part of a warp or the thread block ---- */

constexpr int sweep_threads = grid_sweep_threads, team_lanes = grid_team_lanes, small_width = grid_tile_width;
static_assert(warp_lanes % team_lanes == 0 && sweep_threads % warp_lanes == 0 && small_width <= warp_lanes,
              "teams are parts of a warp, or whole warps");

/* A lane for each pixel that a front eliminates: launches choose the kernel by that. */
template <int lanes>
struct Team {
    static constexpr int warps = lanes > warp_lanes ? lanes / warp_lanes : 1, together = lanes / warps; /* lanes of a warp */
    int lane, most; /* most: pixels that a front of the level eliminates */
    bool exists;    /* without a front a team takes the same steps with the last one, and stores nothing */
    Front f;
    real *w, *panel, *kept, *x, *sums; /* shared memory: W; Y or Z'; vectors of kept and eliminated pixels; sums of warps */
    int w_pitch, panel_pitch;

    TRIFOLD_METHOD void sync() const {
        if (lanes > warp_lanes)
            block_sync();
        else
            warp_sync();
    }
    TRIFOLD_METHOD bool leads() const { return lane < warp_lanes; } /* the warp that solves with the triangle */
};
/* Describes the team's front and starts the copies of W and the panel, while the launch before is at work. */
template <int lanes>
TRIFOLD_DEVICE Team<lanes> team_of(const Context& c, bool z) {
    start_dependents();
    Team<lanes> team;
    const trifold_grid_level& level = c.launch.level[c.launch.levels - 1];
    const trifold_int boxes = trifold_int(1) << (level.x_halvings + level.y_halvings);
    const int number = thread_index() / lanes, eliminated = static_cast<int>(level.eliminated), kept = static_cast<int>(level.kept);
    const trifold_int place = group_x() * (sweep_threads / lanes) + number;
    team.lane = thread_index() % lanes;
    team.most = eliminated;
    team.exists = place < boxes;
    team.f = front_of_launch(c, team.exists ? place : boxes - 1);
    const Front& f = team.f;
    team.w = static_cast<real*>(shared_memory()) + number * static_cast<int>(grid_team_reals(eliminated, kept, team.warps, sizeof(real)));
    team.w_pitch = pitch_of(f.S);
    team.panel_pitch = pitch_of(f.R);
    team.panel = team.w + eliminated * pitch_of(eliminated);
    team.kept = team.panel + eliminated * pitch_of(kept);
    team.x = team.kept + kept;
    team.sums = team.x + small_width;
    fetch_columns(team.panel, team.panel_pitch, z ? z_of(c, f) : y_of(c, f), f.R, f.R, f.s, team.lane, lanes);
    fetch_columns(team.w, team.w_pitch, w_of(c, f), f.S, f.S, f.s, team.lane, lanes);
    end_copies();
    return team;
}

/* The lane's entry of T^-1 x, where T is a lower (`up`) or upper triangle of W, or of W' with `transposed`. `scaled`: its diagonal is
 * not 1. */
template <bool up, int lanes>
TRIFOLD_DEVICE real solve_small(const Team<lanes>& team, real x, real inverse, bool transposed, bool scaled) {
    const int lane = team.lane % team.together, others = lane_index() - lane, s = team.f.s, mine = lane < s ? lane : 0;
    const real* line = team.w + (transposed ? mine * team.w_pitch : mine);
    const int apart = transposed ? 1 : team.w_pitch;
#pragma unroll 2
    for (int k = 0; k < team.most; ++k) {
        const int i = up ? k : s - 1 - k, at = larger(i, 0); /* other teams may have more steps */
        const real entry = line[at * apart];
        if (scaled && lane == i) x *= inverse;
        const real solved = shuffle(x, others + at);
        if (up ? lane > i : lane < i) x -= entry * solved;
    }
    return x;
}

template <int lanes>
TRIFOLD_DEVICE void forward_small(const Context& c) {
    const bool merges = c.launch.leaves == 0, transposed = c.launch.transposed && !symmetric;
    const Team<lanes> team = team_of<lanes>(c, transposed);
    const Front& f = team.f;
    const int k = team.lane;
    const bool mine = k < f.s; /* only lanes of the leading warp, since s is at most 32 */
    PartVectors parts;
    if (merges) parts = vectors_of(c, f);
    const real inverse = mine ? pivot_reciprocals(c, f)[k] : real(1);
    const grid_pixel from = grid_eliminated_pixel(&f.box, mine && !transposed && !symmetric ? pivots_of(c, f)[k] : k);
    real* const to = solution_at(c, f, grid_eliminated_pixel(&f.box, k));
    const int exponent = mine ? exponent_in(c, f, from) : 0;
    wait_for_launches();
    if (!merges && group_x() == 0 && thread_index() == 0) begin_solution(c, f.member);
    for (int column = 0; column < c.args.used_columns; ++column) {
        real x = 0, left = 0;
        if (mine && team.exists) x = right_hand_side(c, f.member, from, column);
        if (merges && mine) left = left_at(parts, from, column);
        x = times_power(x, exponent) + left; /* all loads start before the first is waited for */
#pragma unroll 1
        for (int i = k; i < f.r && merges; i += lanes) team.kept[i] = left_at(parts, grid_kept_pixel(&f.box, i), column);
        wait_copies<0>();
        team.sync();
        if (team.leads()) {
            x = solve_small<true>(team, x, inverse, transposed, transposed || symmetric);
            if (mine) team.x[k] = x;
            /* The array may be that of right-hand sides: those of this front have been read, and others are elsewhere. */
            if (mine && team.exists) to[column] = x;
        }
        team.sync();
        real* const d = vector_of(c, f) + trifold_int(column) * f.R;
#pragma unroll 1
        for (int i = k; i < f.r; i += lanes) {
            real sum = merges ? team.kept[i] : real(0);
#pragma unroll 4
            for (int j = 0; j < f.s; ++j) sum -= team.panel[i + j * team.panel_pitch] * team.x[j];
            if (team.exists) d[i] = sum;
        }
        team.sync();
    }
}

/* Brings the solution of a front's kept pixels to shared memory. With A' it takes back the scale that stored solutions have. Several loads
 * are in flight together. */
template <int lanes>
TRIFOLD_DEVICE void gather_kept(const Context& c, const Team<lanes>& team, int column) {
    constexpr int together = 2;
    const Front& f = team.f;
#pragma unroll 1
    for (int first = team.lane; first < f.R; first += together * lanes) {
        real values[together];
        int exponents[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const grid_pixel pixel = kept_pixel(f, smaller(first + q * lanes, f.r - 1));
            values[q] = solution_at(c, f, pixel)[column];
            exponents[q] = exponent_out(c, f, pixel);
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int i = first + q * lanes;
            const real value = times_power(values[q], -exponents[q]);
            if (i < f.R) team.kept[i] = i < f.r ? value : real(0);
        }
    }
}

template <int lanes>
TRIFOLD_DEVICE void backward_small(const Context& c) {
    const bool transposed = c.launch.transposed && !symmetric;
    const Team<lanes> team = team_of<lanes>(c, !transposed);
    const Front& f = team.f;
    const int k = team.lane;
    const bool mine = k < f.s, failed = has_failed(c, f);
    const real inverse = mine ? pivot_reciprocals(c, f)[k] : real(1);
    const real* const from = solution_at(c, f, grid_eliminated_pixel(&f.box, k));
    const grid_pixel goes_to = grid_eliminated_pixel(&f.box, mine && transposed ? pivots_of(c, f)[k] : k);
    real* const to = solution_at(c, f, goes_to);
    const int exponent = mine ? exponent_out(c, f, goes_to) : 0;
    /* Each lane takes one column, and some of its rows. There are at least as many lanes as columns. */
    const int power = power_over(team.most), columns = 1 << power, group = k >> power, groups = lanes >> power, among = k & (columns - 1);
    const int own = among < f.s ? among : 0;
    bool left = false;
    wait_for_launches();
    for (int column = 0; column < c.args.used_columns; ++column) {
        real x = 0;
        if (mine && team.exists) x = failed ? static_cast<real>(not_a_number()) : from[column];
        gather_kept(c, team, column);
        wait_copies<0>();
        team.sync();
        real sum = 0;
#pragma unroll 2
        for (int i = group * vector_width; i < f.r; i += groups * vector_width) {
            real entry[vector_width], value[vector_width];
            load_vector(entry, team.panel + own * team.panel_pitch + i);
            load_vector(value, team.kept + i);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (i + e < f.r) sum += entry[e] * value[e];
        }
        for (int apart = columns; apart < team.together; apart *= 2) sum += shuffle_xor(sum, apart);
        if (team.warps > 1) {
            if (lane_index() < f.s) team.sums[warp_index() * small_width + lane_index()] = sum;
            team.sync();
            sum = 0;
            if (mine)
                for (int q = 0; q < team.warps; ++q) sum += team.sums[q * small_width + k];
        }
        if (team.leads()) {
            x = times_power(solve_small<false>(team, x - sum, inverse, transposed || symmetric, !transposed), exponent);
            if (mine && team.exists) {
                to[column] = x;
                left = left || has_left(x);
            }
        }
        team.sync();
    }
    note_left(c, f.member, left);
}

#ifdef TRIFOLD_KERNEL_FORWARD_SMALL
GRID_KERNEL(FORWARD_SMALL, sweep_threads, (forward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD_SMALL
GRID_KERNEL(BACKWARD_SMALL, sweep_threads, (backward_small<team_lanes>(c)))
#endif
#ifdef TRIFOLD_KERNEL_FORWARD
GRID_KERNEL(FORWARD, sweep_threads, (forward_small<sweep_threads>(c)))
#endif
#ifdef TRIFOLD_KERNEL_BACKWARD
GRID_KERNEL(BACKWARD, sweep_threads, (backward_small<sweep_threads>(c)))
#endif
