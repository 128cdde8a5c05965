#pragma once
#include <cstdint>
#include <string>
#include <trifold/program.hpp>
#include <vector>

namespace trifold {

/// Buffers of the workspace in address order, each aligned, sizes checked.
struct MemoryPlan {
    std::vector<Buffer> buffers;
    std::int64_t bytes = 0;
    /// `count` times `elements` of `bytes_each`. Throws SpecError where that overflows.
    void add(std::string name, std::int64_t count, std::int64_t elements, std::int64_t bytes_each, bool zeroed = false);
};

/// Of a Program that has its spec, schedule, variant and kernels. Throws SpecError.
MemoryPlan plan_memory(const Program& program);

}  // namespace trifold
