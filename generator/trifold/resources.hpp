#pragma once
#include <cstdint>
#include <string>

namespace [[gnu::visibility("default")]] trifold {

/// Resources of one kernel, as the compiler reports them; -1 where it does not. `registers` are a thread's. On AMD they are vector
/// registers, those of the matrix unit among them, and spill_bytes are all of a thread's memory on the stack.
struct KernelResources {
    std::string kernel;
    std::int64_t registers = -1, shared_bytes = -1, spill_bytes = -1, code_bytes = -1;
    std::int64_t scalar_registers = -1, matrix_registers = -1, warp_lanes = -1;  ///< AMD only
    bool operator==(const KernelResources&) const = default;
};

}  // namespace trifold
