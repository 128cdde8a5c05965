#pragma once
#include <memory>
#include <trifold/plan.hpp>
#include <vector>

namespace trifold {

/// What Solvers share of a Plan. Immutable once built.
struct Plan::State {
    Program program;
    Device device;
    PlanReport report;
    std::shared_ptr<const void> module;  ///< keeps the loaded code, and on a GPU its primary context
    std::vector<void*> functions;        ///< by index into Program::kernels: CPU entry points, or the driver's functions
};

}  // namespace trifold
