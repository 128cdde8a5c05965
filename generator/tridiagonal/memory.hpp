#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// Buffers of the workspace in address order, each aligned, sizes checked.
struct MemoryPlan {
    std::vector<Buffer> buffers;
    std::int64_t bytes = 0;
    /// `count` times `elements` of `bytes_each`. Throws SpecError where that overflows.
    void add(std::string name, std::int64_t count, std::int64_t elements, std::int64_t bytes_each, bool zeroed = false);
};

/// These four add the buffers of all variants. A variant can put buffers of its own between them. They throw SpecError.
/// Adds results for callers: verdicts, log determinants, b' A^-1 b.
void add_results(MemoryPlan& plan, const Design& design);
/// Adds L, R and G of every block.
void add_factors(MemoryPlan& plan, const Design& design);
/// Adds what chains leave to the separators: `slots` of updates, couplings, and `vectors` updates of right-hand sides.
void add_updates(MemoryPlan& plan, const Design& design, std::int64_t vectors, std::int64_t slots);
/// Adds the verdict on each block, and the sums of its pivots' logarithms in `log_parts` parts.
void add_verdicts(MemoryPlan& plan, const Design& design, std::int64_t log_parts);
/// For launches of all levels: adds a counter a member for each of `kinds` kernels, from which it claims its fronts, and `each` flags or
/// counts a block, which tell how far it is.
void add_progress(MemoryPlan& plan, const Design& design, std::int64_t kinds, std::int64_t each);

/// Blocks of all members.
std::int64_t blocks_of(const Design& design);
/// Two for each separator of all members.
std::int64_t slots_of(const Design& design);

/// All four parts, for variants with a launch a level.
MemoryPlan plain_memory(const Design& design);

}  // namespace trifold
