#include <functional>

#include "generator/export.hpp"

namespace trifold {
namespace {

/// Calls `count(first, full)` for each pair of rows or columns; `full` unless it is an odd last one, its own partner.
void for_pairs(std::int64_t block, const std::function<void(std::int64_t, bool)>& count) {
    for (std::int64_t first = 0; first < block; first += 2) count(first, first + 1 < block);
}

/// solve_columns of templates/c99/blocks.c: tiles of rows from `first` on, columns j and its partner.
void add_columns(OperationCounts& counts, std::int64_t block, std::int64_t width, std::int64_t j, bool full, std::int64_t first) {
    for (auto r = first; r < block; r += 2) {
        counts.multiply_subtract += 4 * (width + j) + (full ? 2 : 0);
        counts.multiply += full ? 4 : 2;
    }
}

void add_block(OperationCounts& counts, std::int64_t block, std::int64_t width) {
    for_pairs(block, [&](std::int64_t j, bool full) {
        counts.multiply_subtract += 3 * (width + j) + (full ? 1 : 0);
        counts.multiply += full ? 1 : 0;
        counts.divide += full ? 2 : 1;
        counts.square_root += full ? 2 : 1;
        add_columns(counts, block, width, j, full, j + 2);
    });
}

void add_coupling(OperationCounts& counts, std::int64_t block) {
    for_pairs(block, [&](std::int64_t j, bool full) { add_columns(counts, block, 0, j, full, 0); });
}

/// One sweep over one block and one right-hand side; `width` columns of the coupling.
void add_sweep(OperationCounts& counts, std::int64_t block, std::int64_t width, bool backward) {
    for_pairs(block, [&](std::int64_t r, bool full) {
        const auto solved = backward ? block - 1 - (full ? r + 1 : r) : r;
        counts.multiply_subtract += 2 * (width + solved) + (full ? 1 : 0);
        counts.multiply += full ? 2 : 1;
    });
}

OperationCounts& operator+=(OperationCounts& sum, const OperationCounts& part) {
    sum.multiply_subtract += part.multiply_subtract;
    sum.multiply += part.multiply;
    sum.divide += part.divide;
    sum.square_root += part.square_root;
    return sum;
}

OperationCounts operator*(std::int64_t times, OperationCounts counts) {
    for (auto* count : {&counts.multiply_subtract, &counts.multiply, &counts.divide, &counts.square_root}) *count *= times;
    return counts;
}

}  // namespace

OperationCounts exported_factor_counts(const Spec& spec) {
    OperationCounts first, later;
    add_block(first, spec.block, 0);
    add_coupling(later, spec.block);
    add_block(later, spec.block, spec.block);
    return first += (spec.horizon - 1) * later;
}

OperationCounts exported_solve_counts(const Spec& spec) {
    OperationCounts end, inner;
    for (const bool backward : {false, true}) {
        add_sweep(end, spec.block, 0, backward);
        add_sweep(inner, spec.block, spec.block, backward);
    }
    return spec.rhs * (end += (spec.horizon - 1) * inner);
}

}  // namespace trifold
