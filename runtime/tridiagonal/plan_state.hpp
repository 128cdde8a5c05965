#pragma once
#include <memory>
#include <trifold/plan.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"

namespace trifold {

/// What Solvers share of a Plan. Immutable once built.
struct Plan::State {
    Choice choice;
    Program program;
    Device device;
    PlanReport report;
    gpu::Loaded loaded;  ///< CPU entry points or the driver's functions; keeps the code, and on a GPU its primary context
};

}  // namespace trifold
