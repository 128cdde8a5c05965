#pragma once
#include <cstdint>

namespace [[gnu::visibility("default")]] trifold {

/// What this process has compiled, and what it holds. Plans of all families count.
struct ProcessReport {
    std::int64_t compilations = 0;                  ///< units that a compiler has compiled, from the start of the process on
    double compile_seconds = 0;                     ///< of all of them, one after another
    std::int64_t plans = 0;                         ///< that live, also those that wait for the next caller
    std::int64_t solvers = 0, workspace_bytes = 0;  ///< likewise, and the memory that they have allocated themselves
    std::int64_t modules = 0, module_bytes = 0;     ///< units that are loaded; plans that need the same one share it
    std::int64_t binaries = 0, binary_bytes = 0;    ///< units that need not be read from disk again; the least recently used go first
};
ProcessReport process_report();

}  // namespace trifold
