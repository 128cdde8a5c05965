#include "runtime/base/gauges.hpp"

#include <trifold/process.hpp>

namespace trifold {

ProcessReport process_report() {
    const auto& [compilations, microseconds, binaries, modules, plans, solvers] = gauges;
    return {.compilations = compilations,
            .compile_seconds = 1e-6 * static_cast<double>(microseconds),
            .plans = plans.count,
            .solvers = solvers.count,
            .workspace_bytes = solvers.bytes,
            .modules = modules.count,
            .module_bytes = modules.bytes,
            .binaries = binaries.count,
            .binary_bytes = binaries.bytes};
}

}  // namespace trifold
