/* A small front, by one thread block: W and its panels stay in shared memory, D goes through it tile by tile. */
#include "gpu/grid/gather.cuh"
#include "gpu/grid/leaf.cuh"
#include "gpu/grid/pivots.cuh"
#include "gpu/grid/products.cuh"

/* Shared memory of a front. */
template <int Width>
struct Chip {
    real *w, *y, *z, *d; /* d: of a leaf tile alone, columns of R elements */
    int w_leading, leading;
    Places* places; /* of the parent's pixels: s eliminated ones, then r kept ones */
    int* order;
    real* inverses;
    trifold_grid_record* records;
};
template <int Width>
TRIFOLD_DEVICE Chip<Width> chip_of(const Front& f, bool leaf, int warps) {
    Chip<Width> chip;
    char* at = static_cast<char*>(shared_memory());
    chip.records = reinterpret_cast<trifold_grid_record*>(at);
    at += warps * sizeof(trifold_grid_record);
    chip.w_leading = Width + 1;
    chip.leading = leading_of(f.r);
    chip.w = reinterpret_cast<real*>(at);
    chip.y = chip.w + Width * (Width + 1);
    chip.z = symmetric ? chip.y : chip.y + f.s * chip.leading;
    chip.inverses = chip.z + f.s * chip.leading;
    chip.d = chip.inverses + Width;
    chip.places = reinterpret_cast<Places*>(chip.d + (leaf ? f.R * f.R : 0));
    chip.order = reinterpret_cast<int*>(chip.places + f.s + f.r);
    return chip;
}

template <int Threads, int Width>
TRIFOLD_DEVICE void gather_small(const Parts& parts, const Front& f, const Chip<Width>& chip) {
    for (int k = thread_index(); k < f.s + f.r; k += Threads)
        chip.places[k] = k < f.s ? places_eliminated(parts, f, k) : places_kept(parts, f, k - f.s);
    block_sync();
    /* Columns of W and Y, then those of Z: lanes have neighbours in memory, and several loads on their way. */
    constexpr int together = 4;
    const int rows = f.s + f.r, count = f.s * rows;
    for (int begin = thread_index(); begin < count; begin += together * Threads) {
        real values[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int index = begin + q * Threads, i = index % rows, k = index / rows;
            values[q] = index < count ? gathered(parts, chip.places[i], chip.places[k]) : real(0);
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int index = begin + q * Threads, i = index % rows, k = index / rows;
            if (index < count) (i < f.s ? chip.w[i + k * chip.w_leading] : chip.y[i - f.s + k * chip.leading]) = values[q];
        }
    }
    if (symmetric) return;
    for (int begin = thread_index(); begin < f.s * f.r; begin += together * Threads) {
        real values[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int index = begin + q * Threads, k = index % f.s, i = index / f.s;
            values[q] = index < f.s * f.r ? gathered(parts, chip.places[k], chip.places[f.s + i]) : real(0);
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int index = begin + q * Threads, k = index % f.s, i = index / f.s;
            if (index < f.s * f.r) chip.z[i + k * chip.leading] = values[q];
        }
    }
}

template <int Threads, int Width>
TRIFOLD_DEVICE void gather_leaf(const Context& c, const Front& f, const Chip<Width>& chip, trifold_grid_record& record) {
    const int panel = f.s * chip.leading;
    for (int k = thread_index(); k < Width * (Width + 1); k += Threads) chip.w[k] = 0;
    for (int k = thread_index(); k < panel; k += Threads) chip.y[k] = 0;
    for (int k = thread_index(); k < panel && !symmetric; k += Threads) chip.z[k] = 0;
    for (int k = thread_index(); k < f.R * f.R; k += Threads) chip.d[k] = 0;
    block_sync();
    read_leaf<Threads>(c, f, record, [&](int row, int column, real value) {
        if (column < f.s)
            (row < f.s ? chip.w[row + column * chip.w_leading] : chip.y[row - f.s + column * chip.leading]) = value;
        else if (row < f.s)
            chip.z[column - f.s + row * chip.leading] = value;
        else
            chip.d[(column - f.s) * f.R + row - f.s] = value;
    });
}

/* A thread has rows of Y U^-1, or Y L^-T, and of (L^-1 P Z)'. */
template <int Threads, int Width>
TRIFOLD_DEVICE void solve_panels(const Front& f, const Chip<Width>& chip) {
    const int s = f.s, leading = chip.w_leading;
    for (int t = thread_index(); t < (symmetric ? f.r : 2 * f.r); t += Threads) {
        const bool is_y = t < f.r;
        real* at = is_y ? chip.y + t : chip.z + (t - f.r);
        const bool lower = symmetric || !is_y;
        real a[Width];
#pragma unroll
        for (int k = 0; k < Width; ++k) a[k] = k < s ? at[(!symmetric && !is_y ? chip.order[k] : k) * chip.leading] : real(0);
        /* Column k of the result takes its multiple from those behind it. */
        const int step = lower ? 1 : leading, next = lower ? leading : 1;
#pragma unroll
        for (int k = 0; k < Width; ++k) {
            if (k >= s) break;
            if (symmetric || is_y) a[k] *= chip.inverses[k];
            const real* from = chip.w + k * next;
#pragma unroll
            for (int i = k + 1; i < Width; ++i) a[i] -= a[k] * (i < s ? from[i * step] : real(0));
        }
#pragma unroll
        for (int k = 0; k < Width; ++k)
            if (k < s) at[k * chip.leading] = a[k];
    }
}

template <int Threads, int Width>
TRIFOLD_DEVICE void store_factor(const Context& c, const Front& f, const Chip<Width>& chip) {
    constexpr int warps = Threads / warp_lanes;
    real *w = w_of(c, f), *y = y_of(c, f), *z = z_of(c, f);
    for (int k = warp_index(); k < f.s; k += warps) {
        for (int i = lane_index(); i < f.s; i += warp_lanes) w[i + k * f.S] = chip.w[i + k * chip.w_leading];
        for (int i = lane_index(); i < f.r; i += warp_lanes) y[i + k * f.R] = chip.y[i + k * chip.leading];
        if (!symmetric)
            for (int i = lane_index(); i < f.r; i += warp_lanes) z[i + k * f.R] = chip.z[i + k * chip.leading];
    }
    for (int k = thread_index(); k < f.s; k += Threads) {
        inverses_of(c, f)[k] = chip.inverses[k];
        if (!symmetric) pivots_of(c, f)[k] = pivoting ? chip.order[k] : k;
    }
}

/* D less Y Z'. */
template <int Threads, int Width>
TRIFOLD_DEVICE void leave_update(const Context& c, const Front& f, const Chip<Width>& chip, const Parts* parts) {
    constexpr int warps = Threads / warp_lanes;
    const int squares = (f.r + 15) / 16;
    const Places* kept = chip.places + f.s;
    real* d = update_of(c, f);
    for (int square = warp_index(); square < squares * squares; square += warps) {
        const int top = square % squares * 16, left = square / squares * 16;
        if (symmetric && top < left) continue;
        const auto is_kept = [&](int i, int j) { return top + i < f.r && left + j < f.r && !(symmetric && top + i < left + j); };
        WarpTile<1, 1> before, tile;
        before.each([&](real& element, int i, int j) {
            element = !is_kept(i, j) ? real(0) : parts == nullptr ? chip.d[(left + j) * f.R + top + i] : gathered(*parts, kept[top + i], kept[left + j]);
        });
        tile.clear();
        tile.add(chip.y + top, chip.leading, 16, chip.z + left, chip.leading, f.s);
        tile.minus(before);
        tile.each([&](real& element, int i, int j) {
            if (is_kept(i, j)) d[trifold_int(left + j) * f.R + top + i] = -element;
        });
    }
}

template <int Threads, int Width>
TRIFOLD_DEVICE void eliminate(const Context& c) {
    constexpr int warps = Threads / warp_lanes;
    const Front f = front_of_launch(c, group_x());
    const bool leaf = c.launch.leaves != 0;
    const Chip<Width> chip = chip_of<Width>(f, leaf, warps);
    trifold_grid_record record = new_record();
    Parts parts;
    if (leaf) {
        gather_leaf<Threads>(c, f, chip, record);
        record = sum_of_records(record);
        if (lane_index() == 0) chip.records[warp_index()] = record;
    } else {
        parts = parts_of(c, f);
        gather_small<Threads>(parts, f, chip);
    }
    block_sync();
    if (warp_index() == 0) {
        for (int k = 1; k < warps && leaf; ++k) add_record(record, chip.records[k]);
        factor_small<Width>(c, f, chip.w, chip.w_leading, chip.order, chip.inverses, record);
        if (thread_index() == 0) *record_of(c, f) = leaf ? placed(f, record, 0) : with_parts(c, f, record);
    }
    block_sync();
    solve_panels<Threads>(f, chip);
    block_sync();
    store_factor<Threads>(c, f, chip);
    leave_update<Threads>(c, f, chip, leaf ? nullptr : &parts);
}
