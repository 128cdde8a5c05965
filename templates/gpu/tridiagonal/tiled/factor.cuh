/* Factorization of one chain by one thread block, the front in the workspace, where its factors stay: the pivot block in
 * its factor's place, R and G in theirs. Left-looking, by columns of 32. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/levels/sums.cuh"
#include "gpu/tridiagonal/verdict.cuh"
#include "gpu/tridiagonal/tiled/block_products.cuh"

/* Adds sign * A B' to a block, or sets it, in tiles; the lower part only where so asked. */
struct Product {
    const real *a, *b;
    real* to;
    real sign;
    bool add, lower;
};

TRIFOLD_DEVICE void multiply_out(FrontShared& shared, const Product& product) {
#pragma unroll 1
    for (int column = 0; column < padded; column += chunk) {
#pragma unroll 1
        for (int row = product.lower ? column : 0; row < padded; row += tile_rows) {
            Part part;
            part.clear();
            multiply_blocks(part, shared, product.a + row, product.b + column, padded, padded - row);
#pragma unroll
            for (int q = 0; q < part_rows; ++q) {
                if (row + part_row(q) >= padded) continue;
#pragma unroll
                for (int c = 0; c < part_columns; ++c) {
                    real* at = product.to + row + part_row(q) + static_cast<trifold_int>(column + part_column(c)) * padded;
                    real v[vector_width] = {};
                    if (product.add) load_vector(v, at);
#pragma unroll
                    for (int k = 0; k < vector_width; ++k) v[k] += product.sign * part.at[c][q][k];
                    store_vector(at, v);
                }
            }
        }
    }
}

/* The inverse of a factored 32 by 32 tile whose diagonal tiles of 8 are inverted already; lane c solves for column c. */
TRIFOLD_DEVICE void invert_tile(real* inverse, const real* factor) {
    const int c = thread_index();
    if (c < chunk) {
        real* z = inverse + c * b_leading;
#pragma unroll 1
        for (int t = 0; t < chunk; t += 8) {
            real sum[8];
#pragma unroll
            for (int r = 0; r < 8; ++r) sum[r] = t + r == c ? real(1) : real(0);
#pragma unroll 2
            for (int k = 0; k < t; ++k)
#pragma unroll
                for (int r = 0; r < 8; ++r) sum[r] -= factor[t + r + k * a_leading] * z[k];
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                real value = 0;
#pragma unroll
                for (int k = 0; k <= r; ++k) value += factor[t + r + (t + k) * a_leading] * sum[k];
                z[t + r] = value;
            }
        }
    }
    block_sync();
}

/* One tile of a column of the panel: brought up to date by the columns left of it, then times the transposed inverse of
 * the diagonal tile. Where it holds the diagonal tile, that is factored first. `rows` rows exist from `at` on. */
TRIFOLD_DEVICE void factor_rows(FrontShared& shared, real* at, const real* factor, int j, int rows, bool diagonal) {
    Part part;
    part.clear();
    multiply_blocks(part, shared, at, factor + j, j, rows);
    real* column = at + static_cast<trifold_int>(j) * padded;
#pragma unroll
    for (int q = 0; q < part_rows; ++q)
#pragma unroll
        for (int c = 0; c < part_columns; ++c) {
            real v[vector_width] = {};
            if (part_row(q) < rows) load_vector(v, column + part_row(q) + (part_column(c))*padded);
#pragma unroll
            for (int k = 0; k < vector_width; ++k) v[k] -= part.at[c][q][k];
            store_vector(shared.a + part_row(q) + (part_column(c))*a_leading, v);
        }
    block_sync();
    if (diagonal) {
        factor_panel<chunk, 8>(shared.a, a_leading, chunk, block_size, j, shared.pivots, shared.diagonal);
        invert_tile(shared.inverse, shared.a);
    }
    part.clear();
    multiply_chunk(part, shared.a, shared.inverse);
#pragma unroll
    for (int q = 0; q < part_rows; ++q)
#pragma unroll
        for (int c = 0; c < part_columns; ++c) {
            const int r = part_row(q), s = part_column(c);
            if (r >= rows) continue;
#pragma unroll
            for (int v = 0; v < vector_width; ++v) part.at[c][q][v] = by_sign(part.at[c][q][v], shared.inverse, s + s * b_leading);
            if (diagonal && r < chunk) load_vector(part.at[c][q], shared.inverse + r + s * b_leading);
            store_vector(column + r + s * padded, part.at[c][q]);
        }
    block_sync();
}

/* The front's blocks are brought to the workspace, unless the chain's previous front left them there. */
TRIFOLD_DEVICE void load_front(FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                               const Chain& chain, trifold_int position, bool has_next) {
    const bool first = position == chain.first, fill = chain.behind >= 0;
    const trifold_int block = block_at(level, position);
    if (first) load_diagonal(factor_of(args, member, block), padded, args, level, member, block);
    if constexpr (has_signs) {
        const real* panel = first ? nullptr : next_of(args, member, block_at(level, position - chain.step));
        start_sums(shared.diagonal + padded, args, level, member, block, panel, padded);
    }
#pragma unroll 1
    for (int part = first && fill ? 0 : 1; part < 2; ++part) {
        if (part == 1 && !has_next) break;
        real* to = part == 0 ? behind_of(args, member, block) : next_of(args, member, block);
        load_coupling(to, padded, args, level, member, part == 0 ? chain.behind : position + chain.step, position);
    }
}

TRIFOLD_DEVICE void poison(real* block) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * padded; e += threads) block[e] = static_cast<real>(not_a_number());
}

/* Writes the front's updates: of the next pivot or the separator ahead, of the separator behind, and their coupling. */
TRIFOLD_DEVICE void leave_front(FrontShared& shared, const trifold_args& args, const trifold_level& level, trifold_int member,
                                const Chain& chain, trifold_int position, bool last) {
    const trifold_int block = block_at(level, position), next = block_at(level, position + chain.step);
    const real *r = next_of(args, member, block), *g = behind_of(args, member, block);
    const bool first = position == chain.first, up = chain.step > 0, add = level.index > 0;
    const bool has_next = !last || chain.ahead >= 0, fill = chain.behind >= 0;
    if (!last) {
        load_diagonal(factor_of(args, member, next), padded, args, level, member, next);
        block_sync();
    }
#pragma unroll 1
    for (int part = has_next ? 0 : 1; part < (fill ? 3 : 1); ++part) {
        if (part == 2 && !has_next) break;
        Product product{r, r, nullptr, 1, add, true};
        if (part == 0 && last) product.to = update_of(args, member, next, side_ahead(chain));
        if (part == 0 && !last) product = {r, r, factor_of(args, member, next), -1, true, true};
        if (part == 1) product = {g, g, update_of(args, member, block_at(level, chain.behind), side_behind(chain)), 1, add || !first, true};
        if (part == 2 && !last) product = {g, r, behind_of(args, member, next), -1, false, false};
        if (part == 2 && last) {
            real* to = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, member, chain) * storage;
            product = {up ? r : g, up ? g : r, to, -1, false, false};
        }
        multiply_out(shared, product);
        if constexpr (has_signs)
            if (part == 1 || (part == 0 && last))
                leave_sums(product.to, product.add, product.a, part == 0 && closes_ring(level, chain) ? g : nullptr, padded);
    }
}

TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    if (thread_index() == 0) shared.chain = find_chain(args, level, number, member);
    block_sync();
    const Chain& chain = shared.chain;
    const bool fill = chain.behind >= 0;
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length, has_next = !last || chain.ahead >= 0;
        load_front(shared, args, level, member, chain, position, has_next);
        start_pivots(shared.pivots, args, member, block);
        block_sync();
        real* const blocks[3] = {factor_of(args, member, block), has_next ? next_of(args, member, block) : nullptr,
                                 fill ? behind_of(args, member, block) : nullptr};
#pragma unroll 1
        for (int j = 0; j < padded; j += chunk) {
#pragma unroll 1
            for (int part = 0; part < 3; ++part) {
                real* at = part == 0 ? blocks[0] : part == 1 ? blocks[1] : blocks[2];
                if (at == nullptr) continue;
#pragma unroll 1
                for (int row = part == 0 ? j : 0; row < padded; row += tile_rows)
                    factor_rows(shared, at + row, blocks[0], j, padded - row, part == 0 && row == j);
            }
        }
        if constexpr (has_signs) add_squares<chunk>(shared.diagonal + padded, blocks[0], padded, padded);
        const bool fed = failed || is_poisoned(args, level, member, block);
        report_pivots(args, level.index, member, block, fed, shared.pivots, shared.diagonal);
        failed = fed || shared.pivots.failed_row >= 0;
        if (failed) {
            block_sync();
            for (real* at : blocks)
                if (at != nullptr) poison(at);
        }
        block_sync();
        leave_front(shared, args, level, member, chain, position, last);
        block_sync();
    }
    if (thread_index() == 0) pass_poison(args, level, member, chain, failed);
}
