#include <algorithm>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

OperationCounts operator+(const OperationCounts& a, const OperationCounts& b) {
    return {a.multiply_subtract + b.multiply_subtract, a.multiply + b.multiply, a.divide + b.divide, a.square_root + b.square_root,
            a.add + b.add};
}

OperationCounts operator*(std::int64_t times, const OperationCounts& counts) {
    return {times * counts.multiply_subtract, times * counts.multiply, times * counts.divide, times * counts.square_root,
            times * counts.add};
}

/// A block: rows k and below of column k have products with `width` columns of the block before and with k of its own.
OperationCounts block_counts(std::int64_t n, std::int64_t width, bool ldlt) {
    OperationCounts counts{.multiply = n, .divide = n, .square_root = ldlt ? 0 : n, .add = n};  // multiplies and adds test pivots
    for (std::int64_t k = 0; k < n; ++k) {
        counts.multiply_subtract += (n - k) * (width + k);
        counts.multiply += ldlt ? width + k : n - 1 - k;  // multipliers are scaled once; or what is below the pivot is
    }
    return counts;
}

/// All rows of a panel, whose products run over `width` columns.
OperationCounts panel_counts(std::int64_t n, std::int64_t width, bool ldlt, std::int64_t rows) {
    OperationCounts counts;
    for (std::int64_t k = 0; k < n; ++k) counts = counts + OperationCounts{rows * (width + k), ldlt ? width + k : rows};
    return counts;
}

/// Sums of rows, for pivots of both signs, which are not tested otherwise.
OperationCounts sums_counts(std::int64_t n, std::int64_t blocks) {
    const auto squares = blocks * n * (n - 1) / 2 + (blocks - 1) * n * n;
    return {.multiply = 2 * squares + 1, .divide = 2, .add = squares - blocks * n};
}

/// Blocks that are eliminated one after another, and whether separators stand at their ends: all blocks of the sequential schedule; a chain
/// of templates/export/c99/partitioned.c; or all separators there.
struct CountedRow {
    std::int64_t length;
    bool behind = false, ahead = false, ldlt = false;
};

std::vector<CountedRow> counted_rows(const ExportRequest& request) {
    const auto chains = exported_chains(request);
    if (chains.empty()) return {{.length = chain_blocks(request.spec), .ldlt = request.factorization == Factorization::ldlt}};
    std::vector<CountedRow> rows{{.length = std::ssize(chains) - 1}};
    for (std::size_t c = 0; c < chains.size(); ++c) {
        const bool forward = chains[c].step > 0;
        rows.push_back({chains[c].length, forward && c > 0, !forward || c + 1 < chains.size()});
    }
    return rows;
}

OperationCounts factor_counts(std::int64_t n, const CountedRow& row) {
    const OperationCounts product{.multiply_subtract = n * n * n};  // two blocks
    const auto front = [&](std::int64_t width) {
        return block_counts(n, width, row.ldlt) + row.behind * (panel_counts(n, width, false, n) + product);
    };
    return front(0) + (row.length - 1) * front(n) + (row.length - 1 + row.ahead) * panel_counts(n, 0, row.ldlt, n) +
           row.ahead * (1 + row.behind) * product;
}

/// Both sweeps over one right-hand side.
OperationCounts solve_counts(std::int64_t n, const CountedRow& row) {
    const auto couplings = row.length - 1 + row.ahead + row.length * row.behind;  // in each sweep
    return {.multiply_subtract = row.length * n * (n - 1) + 2 * couplings * n * n,
            .multiply = 2 * row.length * n,
            .add = row.ldlt ? row.length * n : 0};
}

/// Blocks that get what the chains on both sides add to them.
std::int64_t separators_of(const ExportRequest& request) { return std::max<std::int64_t>(std::ssize(exported_chains(request)) - 1, 0); }

/// Elements of the tip that a block's products are subtracted from: where tiles are whole, those up to the diagonal's tiles.
std::int64_t tip_elements(std::int64_t tip, const Tiling& tiling) {
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < tip; r += tiling.rows)
        count += std::min(tiling.rows, tip - r) * ((r + tiling.rows + tiling.columns - 1) / tiling.columns * tiling.columns);
    return tip % tiling.columns == 0 ? count : tip * tip;
}

/// A factorization without that of the chain: sections load_ring, close_ring, reduce_border and factor_tip of shapes.c.
OperationCounts shape_counts(const ExportRequest& request) {
    const auto& spec = request.spec;
    const auto n = spec.block, chain = chain_blocks(spec), tip = tip_rows(spec), products = tip * (tip - 1) * (tip + 1) / 6;
    const bool ldlt = request.factorization == Factorization::ldlt;
    const OperationCounts product{.multiply_subtract = n * tip_elements(tip, tiling_of(request)), .multiply = ldlt ? tip * n : 0};
    const OperationCounts factor{.multiply_subtract = products, .multiply = tip + products, .divide = tip};
    const OperationCounts load{.add = !spec.ring ? 0 : spec.horizon == 1 ? n * (n + 1) : n * n};
    if (tip == 0) return load;
    return load + panel_counts(n, 0, ldlt, tip) + (chain - 1) * panel_counts(n, n, ldlt, tip) + chain * product + factor;
}

/// A solution of the tip for one right-hand side, and what the chain has to do with it.
OperationCounts tip_solve_counts(const ExportRequest& request) {
    const auto rows = chain_blocks(request.spec) * request.spec.block, tip = tip_rows(request.spec);
    const bool scales = request.factorization == Factorization::ldlt && tip > 0;
    return {.multiply_subtract = tip * (2 * rows + tip - 1), .multiply = 2 * tip + scales * rows, .add = tip + scales * rows};
}

}  // namespace

OperationCounts exported_factor_counts(const ExportRequest& request) {
    const auto n = request.spec.block;
    OperationCounts counts = shape_counts(request);
    counts.add += separators_of(request) * n * (n + 1);
    for (const auto& row : counted_rows(request)) counts = counts + factor_counts(n, row);
    return has_signs(request.spec) ? counts + sums_counts(n, request.spec.horizon) : counts;
}

OperationCounts exported_solve_counts(const ExportRequest& request) {
    const auto n = request.spec.block;
    auto column = tip_solve_counts(request);
    column.add += separators_of(request) * 2 * n;
    for (const auto& row : counted_rows(request)) column = column + solve_counts(n, row);
    // The test of X: check_finite in templates/export/c99/solver.c.
    const OperationCounts test{.multiply_subtract = x_elements(request.spec), .add = 3};
    return test + request.spec.rhs * column;
}

std::int64_t correction_flops(const ExportRequest& request, bool fused) {
    const auto block = request.spec.block, horizon = request.spec.horizon;
    const auto products = block * block * (3 * horizon - 2);
    // A product and its error take 3 flops or 11, a sum and its error 6, and what both lose 2 more.
    return request.spec.rhs * (products * (fused ? 11 : 19) + 2 * horizon * block);
}

}  // namespace trifold
