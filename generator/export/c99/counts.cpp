#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// A block: rows k and below of column k have products with `width` columns of the block before and with k of its own.
void add_block(OperationCounts& counts, std::int64_t block, std::int64_t width, bool ldlt = false) {
    for (std::int64_t k = 0; k < block; ++k) {
        counts.multiply_subtract += (block - k) * (width + k);
        counts.multiply += ldlt ? width + k : block - 1 - k;  // multipliers are scaled once; or what is below the pivot is
        counts.divide += 1;
        counts.multiply += 1;  // the test of the pivot
        counts.add += 1;
        counts.square_root += ldlt ? 0 : 1;
    }
}

/// All rows of a panel, whose products run over `width` columns.
void add_panel(OperationCounts& counts, std::int64_t block, std::int64_t width, bool ldlt = false) {
    for (std::int64_t k = 0; k < block; ++k) {
        counts.multiply_subtract += block * (width + k);
        counts.multiply += ldlt ? width + k : block;
    }
}

/// Multiply-subtracts of a block by a block, and of a block by a vector.
std::int64_t product(std::int64_t block) { return block * block * block; }
std::int64_t vector_product(std::int64_t block) { return block * block; }

/// One sweep over one block and one right-hand side; `width` columns of the coupling.
void add_sweep(OperationCounts& counts, std::int64_t block, std::int64_t width, bool backward, bool ldlt = false) {
    counts.multiply_subtract += block * width + block * (block - 1) / 2;
    counts.multiply += block;
    if (ldlt && backward) counts.add += block;
}

/// The test of X: check_finite in templates/export/c99/solver.c.
OperationCounts finite_test(const Spec& spec) { return {.multiply_subtract = spec.horizon * spec.block * spec.rhs, .add = 3}; }

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

/// Neighbours of a chain in templates/export/c99/partitioned.c: whether it has one on either side.
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
    auto counts = finite_test(spec);
    if (const auto chains = exported_chains(request); !chains.empty()) return counts += spec.rhs * partitioned_solve(spec.block, chains);
    const bool ldlt = request.factorization == Factorization::ldlt;
    OperationCounts end, inner;
    for (const bool backward : {false, true}) {
        add_sweep(end, spec.block, 0, backward, ldlt);
        add_sweep(inner, spec.block, spec.block, backward, ldlt);
    }
    return counts += spec.rhs * (end += (spec.horizon - 1) * inner);
}

std::int64_t correction_flops(const ExportRequest& request, bool fused) {
    const auto block = request.spec.block, horizon = request.spec.horizon;
    const auto products = block * block * (3 * horizon - 2);
    // A product and its error take 3 flops or 11, a sum and its error 6, and what both lose 2 more.
    return request.spec.rhs * (products * (fused ? 11 : 19) + 2 * horizon * block);
}

}  // namespace trifold
