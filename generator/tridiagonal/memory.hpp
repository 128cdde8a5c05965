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

/// What all variants keep, in four parts, so that a variant can put buffers of its own between them. They throw SpecError.
/// What callers ask for: verdicts, log determinants, b' A^-1 b.
void add_results(MemoryPlan& plan, const Design& design);
/// L, R and G of every block.
void add_factors(MemoryPlan& plan, const Design& design);
/// What chains leave to the separators: slots of updates, couplings, and `vectors` updates of right-hand sides.
void add_updates(MemoryPlan& plan, const Design& design, std::int64_t vectors);
/// What becomes of each block; of its pivots' logarithms, sums in `log_parts` parts.
void add_verdicts(MemoryPlan& plan, const Design& design, std::int64_t log_parts);
/// Where a launch has all levels: what `kinds` of kernels claim their fronts from, and `each` flags or counts of a block that say how far
/// it is.
void add_progress(MemoryPlan& plan, const Design& design, std::int64_t kinds, std::int64_t each);

/// Blocks of all members.
std::int64_t blocks_of(const Design& design);
/// Two for each separator of all members.
std::int64_t slots_of(const Design& design);

/// All of it, for variants with a launch a level.
MemoryPlan plain_memory(const Design& design);

}  // namespace trifold
