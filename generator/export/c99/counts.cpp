#include <functional>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// Calls `count(first, full)` for each pair of rows or columns; `full` unless it is an odd last one, its own partner.
void for_pairs(std::int64_t block, const std::function<void(std::int64_t, bool)>& count) {
    for (std::int64_t first = 0; first < block; first += 2) count(first, first + 1 < block);
}

/// solve_columns of templates/export/c99/solver/panel.c: tiles of rows from `first` on, columns j and its partner.
void add_columns(OperationCounts& counts, std::int64_t block, std::int64_t width, std::int64_t j, bool full, std::int64_t first,
                 bool ldlt) {
    for (auto r = first; r < block; r += 2) {
        counts.multiply_subtract += 4 * (width + j) + (full ? 2 : 0);
        counts.multiply += ldlt ? full : full ? 4 : 2;
    }
}

/// take_rows of templates/export/c99/solver/ldlt.c.
void add_rows(OperationCounts& counts, std::int64_t width, std::int64_t j, bool ldlt) { counts.multiply += ldlt ? 2 * (width + j) : 0; }

void add_block(OperationCounts& counts, std::int64_t block, std::int64_t width, bool ldlt = false) {
    for_pairs(block, [&](std::int64_t j, bool full) {
        add_rows(counts, width, j, ldlt);
        counts.multiply_subtract += 3 * (width + j) + (full ? 1 : 0);
        counts.multiply += full ? 1 : 0;
        counts.divide += full ? 2 : 1;
        if (!ldlt) counts.square_root += full ? 2 : 1;
        add_columns(counts, block, width, j, full, j + 2, ldlt);
    });
}

/// All rows of a panel, whose products run over `width` columns.
void add_panel(OperationCounts& counts, std::int64_t block, std::int64_t width, bool ldlt = false) {
    for_pairs(block, [&](std::int64_t j, bool full) {
        add_rows(counts, width, j, ldlt);
        add_columns(counts, block, width, j, full, 0, ldlt);
    });
}

/// Of a block by a block, and of a block by a vector.
std::int64_t product(std::int64_t block) { return (block + 1) / 2 * ((block + 1) / 2) * 4 * block; }
std::int64_t vector_product(std::int64_t block) { return (block + 1) / 2 * 2 * block; }

/// One sweep over one block and one right-hand side; `width` columns of the coupling.
void add_sweep(OperationCounts& counts, std::int64_t block, std::int64_t width, bool backward, bool ldlt = false) {
    for_pairs(block, [&](std::int64_t r, bool full) {
        const auto solved = backward ? block - 1 - (full ? r + 1 : r) : r;
        counts.multiply_subtract += 2 * (width + solved) + (full ? 1 : 0);
        counts.multiply += full ? 2 : 1;
        if (ldlt && backward) counts.add += full ? 2 : 1;
    });
}

OperationCounts& operator+=(OperationCounts& sum, const OperationCounts& part) {
    sum.multiply_subtract += part.multiply_subtract;
    sum.multiply += part.multiply;
    sum.divide += part.divide;
    sum.square_root += part.square_root;
    sum.add += part.add;
    return sum;
}

OperationCounts operator*(std::int64_t times, OperationCounts counts) {
    for (auto* count : {&counts.multiply_subtract, &counts.multiply, &counts.divide, &counts.square_root, &counts.add}) *count *= times;
    return counts;
}

/// Where a chain of templates/export/c99/solver/partitioned.c stands.
struct Place {
    bool behind, ahead;
};
Place place(const std::vector<ExportedChain>& chains, std::size_t c) {
    const bool forward = chains[c].step > 0;
    return {forward && c > 0, !forward || c + 1 < chains.size()};
}

OperationCounts chain_factor(std::int64_t n, std::int64_t length, const Place& at) {
    OperationCounts counts;
    for (std::int64_t k = 0; k < length; ++k) {
        const auto width = k > 0 ? n : 0;
        add_block(counts, n, width);
        if (k + 1 < length || at.ahead) add_panel(counts, n, 0);
        if (at.behind) {
            add_panel(counts, n, width);
            counts.multiply_subtract += product(n);
        }
    }
    counts.multiply_subtract += product(n) * (at.ahead + (at.ahead && at.behind));
    return counts;
}

OperationCounts chain_solve(std::int64_t n, std::int64_t length, const Place& at) {
    OperationCounts counts;
    for (std::int64_t k = 0; k < length; ++k) {
        add_sweep(counts, n, k > 0 ? n : 0, false);
        add_sweep(counts, n, k + 1 < length || at.ahead ? n : 0, true);
        counts.multiply_subtract += 2 * at.behind * vector_product(n);
    }
    counts.multiply_subtract += at.ahead * vector_product(n);
    return counts;
}

OperationCounts partitioned_factor(std::int64_t n, const std::vector<ExportedChain>& chains) {
    OperationCounts counts;
    for (std::size_t c = 0; c < chains.size(); ++c) counts += chain_factor(n, chains[c].length, place(chains, c));
    for (std::size_t s = 0; s + 1 < chains.size(); ++s) {
        counts.add += n * (n + 1);
        add_block(counts, n, s > 0 ? n : 0);
        if (s + 2 < chains.size()) add_panel(counts, n, 0);
    }
    return counts;
}

OperationCounts partitioned_solve(std::int64_t n, const std::vector<ExportedChain>& chains) {
    OperationCounts counts;
    for (std::size_t c = 0; c < chains.size(); ++c) counts += chain_solve(n, chains[c].length, place(chains, c));
    for (std::size_t s = 0; s + 1 < chains.size(); ++s) {
        counts.add += 2 * n;
        add_sweep(counts, n, s > 0 ? n : 0, false);
        add_sweep(counts, n, s + 2 < chains.size() ? n : 0, true);
    }
    return counts;
}

}  // namespace

OperationCounts exported_factor_counts(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (const auto chains = exported_chains(request); !chains.empty()) return partitioned_factor(spec.block, chains);
    const bool ldlt = request.factorization == Factorization::ldlt;
    OperationCounts first, later;
    add_block(first, spec.block, 0, ldlt);
    add_panel(later, spec.block, 0, ldlt);
    add_block(later, spec.block, spec.block, ldlt);
    return first += (spec.horizon - 1) * later;
}

OperationCounts exported_solve_counts(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (const auto chains = exported_chains(request); !chains.empty()) return spec.rhs * partitioned_solve(spec.block, chains);
    const bool ldlt = request.factorization == Factorization::ldlt;
    OperationCounts end, inner;
    for (const bool backward : {false, true}) {
        add_sweep(end, spec.block, 0, backward, ldlt);
        add_sweep(inner, spec.block, spec.block, backward, ldlt);
    }
    return spec.rhs * (end += (spec.horizon - 1) * inner);
}

std::int64_t correction_flops(const ExportRequest& request, bool fused) {
    const auto block = request.spec.block, horizon = request.spec.horizon;
    const auto products = block * block * (3 * horizon - 2);
    // A product and its error take 3 flops or 11, a sum and its error 6, and what both lose 2 more.
    return request.spec.rhs * (products * (fused ? 11 : 19) + 2 * horizon * block);
}

}  // namespace trifold
