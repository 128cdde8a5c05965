/* Sweeps: forward from the leaf tiles to the last line, w <- L^-1 P w and d <- d - Y w; backward, x = U^-1 (w - Z x). With A' the factors change places.
 * Between both, the solution's array holds w at the pixels that a front eliminates. */
#include "gpu/grid/gather.cuh"

/* b less what the ring's values take from it. */
TRIFOLD_DEVICE real right_hand_side(const Context& c, trifold_int member, grid_pixel at, int column) {
    real value = b_at(c, member, pixel_at(c, at.x, at.y))[column];
    if (c.launch.transposed || !is_beside_ring(c, at.x, at.y)) return value;
    const real* stencil = edge_of(c, member, at.x, at.y);
    for (int k = 0; k < 9; ++k) {
        const int to_x = at.x + k % 3 - 1, to_y = at.y + k / 3 - 1;
        if (!is_inside(c, to_x, to_y)) value -= stencil[k] * b_at(c, member, pixel_at(c, to_x, to_y))[column];
    }
    return value;
}

/* What the parts of a merge have left of a right-hand side. */
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
TRIFOLD_DEVICE real* solution_at(const Context& c, const Front& f, grid_pixel pixel) { return x_at(c, f.member, pixel_at(c, pixel.x, pixel.y)); }
TRIFOLD_DEVICE bool has_failed(const Context& c, const Front& f) {
    const trifold_grid_status* status = reinterpret_cast<const trifold_grid_status*>(workspace_at(c, c.launch.status)) + f.member;
    return f.r == 0 && status->record.problem != trifold_grid_sound;
}

/* ---- small fronts: teams of lanes, whole warps, have one each; all of a thread block take the same steps ---- */

constexpr int sweep_threads = grid_sweep_threads, small_width = grid_tile_width;

struct Team {
    int lane, lanes, number;
    real *w, *kept; /* shared memory of the team: two columns of what is eliminated, one of what is kept */
};
TRIFOLD_DEVICE Team team_of(const Context& c) {
    Team team;
    team.lanes = static_cast<int>(c.launch.tile);
    team.number = thread_index() / team.lanes;
    team.lane = thread_index() % team.lanes;
    const int apart = 2 * small_width + static_cast<int>(c.launch.level[c.launch.levels - 1].kept);
    team.w = static_cast<real*>(shared_memory()) + team.number * apart;
    team.kept = team.w + 2 * small_width;
    return team;
}
/* The team's front, or the last one where there are no more; `exists` tells. */
TRIFOLD_DEVICE Front front_of_team(const Context& c, const Team& team, bool& exists) {
    const trifold_grid_level& level = c.launch.level[c.launch.levels - 1];
    const trifold_int boxes = trifold_int(1) << (level.x_halvings + level.y_halvings);
    const trifold_int place = group_x() * (sweep_threads / team.lanes) + team.number;
    exists = place < boxes;
    return front_of_launch(c, exists ? place : boxes - 1);
}

TRIFOLD_DEVICE void forward_small(const Context& c) {
    const Team team = team_of(c);
    bool exists;
    const Front f = front_of_team(c, team, exists);
    const bool merges = c.launch.leaves == 0, turned = c.launch.transposed && !symmetric;
    const int lane = lane_index(), k = team.lane;
    PartVectors parts;
    if (merges) parts = vectors_of(c, f);
    const real *w = w_of(c, f), *panel = turned ? z_of(c, f) : y_of(c, f);
    const bool first_warp = team.lane < warp_lanes;
    const real inverse = first_warp && k < f.s ? inverses_of(c, f)[k] : real(1);
    const int from = first_warp && k < f.s && !turned && !symmetric ? pivots_of(c, f)[k] : k;
    for (int column = 0; column < c.args.used_columns; ++column) {
        if (first_warp) {
            real x = 0;
            if (k < f.s) {
                const grid_pixel pixel = grid_eliminated_pixel(&f.box, from);
                x = right_hand_side(c, f.member, pixel, column);
                if (merges) x += left_at(parts, pixel, column);
            }
            for (int i = 0; i < small_width; ++i) {
                if (i >= f.s) break;
                if (lane == i && (turned || symmetric)) x *= inverse;
                const real solved = shuffle(x, i);
                if (lane > i && lane < f.s) x -= (turned ? w[i + lane * f.S] : w[lane + i * f.S]) * solved;
            }
            if (k < f.s) team.w[k] = x;
        }
        block_sync();
        /* The front's own right-hand sides have been read; those of others stand elsewhere. */
        if (exists && first_warp && k < f.s) solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column] = team.w[k];
        real* d = vector_of(c, f) + trifold_int(column) * f.R;
        for (int i = team.lane; i < f.r && exists; i += team.lanes) {
            real sum = merges ? left_at(parts, grid_kept_pixel(&f.box, i), column) : real(0);
#pragma unroll 4
            for (int j = 0; j < f.s; ++j) sum -= panel[i + j * f.R] * team.w[j];
            d[i] = sum;
        }
        block_sync();
    }
}

TRIFOLD_DEVICE void backward_small(const Context& c) {
    const Team team = team_of(c);
    bool exists;
    const Front f = front_of_team(c, team, exists);
    const bool turned = c.launch.transposed && !symmetric, failed = has_failed(c, f);
    const int lane = lane_index(), warps = team.lanes / warp_lanes;
    const real *w = w_of(c, f), *panel = turned ? y_of(c, f) : z_of(c, f);
    const bool first_warp = team.lane < warp_lanes;
    const real inverse = first_warp && lane < f.s ? inverses_of(c, f)[lane] : real(1);
    for (int column = 0; column < c.args.used_columns; ++column) {
        for (int i = team.lane; i < f.r; i += team.lanes) team.kept[i] = solution_at(c, f, grid_kept_pixel(&f.box, i))[column];
        block_sync();
        for (int k = team.lane; k < f.s; k += team.lanes)
            team.w[k] = failed ? static_cast<real>(not_a_number()) : solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column];
        /* Four columns at a time, so that their loads are on their way together. */
        constexpr int together = 4;
        for (int k = team.lane / warp_lanes * together; k < f.s; k += warps * together) {
            real sum[together] = {};
            for (int i = lane; i < f.r; i += warp_lanes) {
                const real value = team.kept[i];
#pragma unroll
                for (int q = 0; q < together; ++q)
                    if (k + q < f.s) sum[q] += panel[i + (k + q) * f.R] * value;
            }
            for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
#pragma unroll
                for (int q = 0; q < together; ++q) sum[q] += shuffle_xor(sum[q], apart);
            }
#pragma unroll
            for (int q = 0; q < together; ++q)
                if (lane == q && k + q < f.s) team.w[small_width + q + k] = sum[q];
        }
        block_sync();
        if (first_warp) {
            real x = lane < f.s ? team.w[lane] - team.w[small_width + lane] : real(0);
            for (int k = 0; k < small_width; ++k) {
                const int i = f.s - 1 - k;
                if (i < 0) break;
                if (lane == i && !turned) x *= inverse;
                const real solved = shuffle(x, i);
                if (lane < i) x -= (turned || symmetric ? w[i + lane * f.S] : w[lane + i * f.S]) * solved;
            }
            if (exists && lane < f.s) {
                const int to = turned ? pivots_of(c, f)[lane] : lane;
                solution_at(c, f, grid_eliminated_pixel(&f.box, to))[column] = x;
            }
        }
        block_sync();
    }
}

/* ---- fronts that thread blocks share ---- */

constexpr int wide_threads = grid_wide_threads, triangle_threads = grid_triangle_threads;

/* x <- T^-1 x, T a triangle of W, tile by tile from its first row on (`up`) or from its last. `upper`: which inverses; `turned`: of their transposes, and
 * of W's. `x` and `part`, for tile_width by triangle_threads / tile_width, in shared memory. */
template <bool turned>
TRIFOLD_DEVICE void solve_triangle(const Context& c, const Front& f, real* x, real* part, bool up, int upper) {
    const real* w = w_of(c, f);
    const int tiles = (f.s + tile_width - 1) / tile_width, i = thread_index() % tile_width, group = thread_index() / tile_width;
    constexpr int groups = triangle_threads / tile_width, each = tile_width / groups;
    real inverses[each];
    const auto fetch_inverse = [&](int tile) {
        const real* inverse = inverse_tile(c, f, tile, upper);
        const int size = smaller(tile_width, f.s - tile * tile_width);
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int j = group * each + q;
            inverses[q] = j < size ? (turned ? inverse[j + i * tile_width] : inverse[i + j * tile_width]) : real(0);
        }
    };
    fetch_inverse(up ? 0 : tiles - 1);
    for (int t = 0; t < tiles; ++t) {
        const int tile = up ? t : tiles - 1 - t, first = tile * tile_width, size = smaller(tile_width, f.s - first);
        const int from = up ? first + size : 0, end = up ? f.s : first, mine = from + thread_index();
        const trifold_int apart = turned ? 1 : f.S;
        const auto row_at = [&](int row) { return turned ? w + first + trifold_int(row) * f.S : w + row + trifold_int(first) * f.S; };
        /* Half of what comes after the tile is on its way before the tile is solved; registers hold no more. */
        constexpr int half = tile_width / 2;
        real ahead[half], sum = 0;
#pragma unroll
        for (int j = 0; j < half; ++j) ahead[j] = mine < end && j < size ? row_at(mine)[j * apart] : real(0);
#pragma unroll
        for (int q = 0; q < each; ++q) {
            const int j = group * each + q;
            if (j < size) sum += inverses[q] * x[first + j];
        }
        if (t + 1 < tiles) fetch_inverse(up ? tile + 1 : tile - 1);
        part[i + group * tile_width] = sum;
        block_sync();
        if (thread_index() < size) {
            real all = 0;
#pragma unroll
            for (int q = 0; q < groups; ++q) all += part[thread_index() + q * tile_width];
            x[first + thread_index()] = all;
        }
        block_sync();
        if (mine < end) {
            real less = 0, behind[half];
#pragma unroll
            for (int j = 0; j < half; ++j) behind[j] = half + j < size ? row_at(mine)[(half + j) * apart] : real(0);
#pragma unroll
            for (int j = 0; j < half; ++j)
                if (j < size) less += ahead[j] * x[first + j];
#pragma unroll
            for (int j = 0; j < half; ++j)
                if (half + j < size) less += behind[j] * x[first + half + j];
            x[mine] -= less;
        }
#pragma unroll 1
        for (int row = mine + triangle_threads; row < end; row += triangle_threads) {
            const real* at = row_at(row);
            real less = 0;
#pragma unroll 4
            for (int j = 0; j < size; ++j) less += at[j * apart] * x[first + j];
            x[row] -= less;
        }
        block_sync();
    }
}

TRIFOLD_DEVICE void forward_pivots(const Context& c) {
    const Front f = front_of_launch(c, group_x());
    real *x = static_cast<real*>(shared_memory()), *part = x + f.level->eliminated;
    const PartVectors parts = vectors_of(c, f);
    const bool turned = c.launch.transposed && !symmetric;
    for (int column = 0; column < c.args.used_columns; ++column) {
#pragma unroll 1
        for (int k = thread_index(); k < f.s; k += triangle_threads) {
            const grid_pixel pixel = grid_eliminated_pixel(&f.box, turned || symmetric ? k : pivots_of(c, f)[k]);
            x[k] = right_hand_side(c, f.member, pixel, column) + left_at(parts, pixel, column);
        }
        block_sync();
        if (turned)
            solve_triangle<true>(c, f, x, part, true, 1);
        else
            solve_triangle<false>(c, f, x, part, true, 0);
#pragma unroll 1
        for (int k = thread_index(); k < f.s; k += triangle_threads) solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column] = x[k];
        block_sync();
    }
}

constexpr int kept_rows = grid_tile_rows; /* of a thread block */
TRIFOLD_DEVICE void forward_kept(const Context& c) {
    const int tiles = static_cast<int>(c.launch.tile), top = static_cast<int>(group_x() % tiles) * kept_rows;
    const Front f = front_of_launch(c, group_x() / tiles);
    if (top >= f.r) return;
    real *x = static_cast<real*>(shared_memory()), *part = x + f.level->eliminated;
    const PartVectors parts = vectors_of(c, f);
    const real* panel = c.launch.transposed && !symmetric ? z_of(c, f) : y_of(c, f);
    constexpr int groups = wide_threads / kept_rows;
    const int i = thread_index() % kept_rows, group = thread_index() / kept_rows;
    for (int column = 0; column < c.args.used_columns; ++column) {
        for (int k = thread_index(); k < f.s; k += wide_threads) x[k] = solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column];
        block_sync();
        real sum = 0;
        if (top + i < f.r) {
#pragma unroll 8
            for (int k = group; k < f.s; k += groups) sum += panel[top + i + trifold_int(k) * f.R] * x[k];
        }
        part[i + group * kept_rows] = sum;
        block_sync();
        if (thread_index() < kept_rows && top + i < f.r) {
            real value = left_at(parts, grid_kept_pixel(&f.box, top + i), column);
            for (int q = 0; q < groups; ++q) value -= part[i + q * kept_rows];
            vector_of(c, f)[trifold_int(column) * f.R + top + i] = value;
        }
        block_sync();
    }
}

constexpr int kept_columns = grid_kept_columns, kept_chunk = grid_kept_chunk;
TRIFOLD_DEVICE void backward_kept(const Context& c) {
    constexpr int warps = wide_threads / warp_lanes;
    const int tiles = static_cast<int>(c.launch.tile), lane = lane_index();
    const Front f = front_of_launch(c, group_x() / tiles);
    const int first = static_cast<int>(group_x() % tiles) * warps * kept_columns;
    if (first >= f.s) return;
    const int left = first + warp_index() * kept_columns;
    real* kept = static_cast<real*>(shared_memory());
    const real* panel = c.launch.transposed && !symmetric ? y_of(c, f) : z_of(c, f);
    for (int column = 0; column < c.args.used_columns; ++column) {
        real sum[kept_columns] = {};
        for (int chunk = 0; chunk < f.r; chunk += kept_chunk) {
            const int count = smaller(kept_chunk, f.r - chunk);
            for (int i = thread_index(); i < count; i += wide_threads) kept[i] = solution_at(c, f, grid_kept_pixel(&f.box, chunk + i))[column];
            block_sync();
#pragma unroll 2
            for (int i = lane; i < count; i += warp_lanes) {
                const real value = kept[i];
#pragma unroll
                for (int q = 0; q < kept_columns; ++q)
                    if (left + q < f.s) sum[q] += panel[chunk + i + trifold_int(left + q) * f.R] * value;
            }
            block_sync();
        }
#pragma unroll
        for (int q = 0; q < kept_columns; ++q) {
            for (int apart = warp_lanes / 2; apart > 0; apart /= 2) sum[q] += shuffle_xor(sum[q], apart);
            if (lane == 0 && left + q < f.s) solution_at(c, f, grid_eliminated_pixel(&f.box, left + q))[column] -= sum[q];
        }
    }
}

TRIFOLD_DEVICE void backward_pivots(const Context& c) {
    const Front f = front_of_launch(c, group_x());
    real *x = static_cast<real*>(shared_memory()), *part = x + f.level->eliminated;
    const bool turned = c.launch.transposed && !symmetric, failed = has_failed(c, f);
    for (int column = 0; column < c.args.used_columns; ++column) {
        for (int k = thread_index(); k < f.s; k += triangle_threads)
            x[k] = failed ? static_cast<real>(not_a_number()) : solution_at(c, f, grid_eliminated_pixel(&f.box, k))[column];
        block_sync();
        if (turned || symmetric)
            solve_triangle<true>(c, f, x, part, false, 0);
        else
            solve_triangle<false>(c, f, x, part, false, 1);
        for (int k = thread_index(); k < f.s; k += triangle_threads)
            solution_at(c, f, grid_eliminated_pixel(&f.box, turned ? pivots_of(c, f)[k] : k))[column] = x[k];
        block_sync();
    }
}
