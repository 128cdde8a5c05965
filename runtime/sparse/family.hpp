#pragma once
#include <trifold/sparse.hpp>

#include "generator/sparse/fields.hpp"
#include "runtime/session/family.hpp"

namespace trifold {

template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 7> names_of<SparseEnd>{
    "converged", "stagnated", "breakdown", "not_a_number", "limit", "singular", "out_of_range"};

/// The operations of SparseOperation, and behind them update.
extern const Family sparse_family;
/// A size by its name in extents. Throws SpecError.
std::int64_t sparse_extent(const SparsePlan& plan, std::string_view name);
inline constexpr std::size_t sparse_update = names_of<SparseOperation>.size();

}  // namespace trifold
