#pragma once
#include <trifold/grid.hpp>

#include "runtime/device/gpu.hpp"

namespace trifold {

/// What solvers share of a plan. Immutable once built.
struct GridPlan::State {
    GridChoice choice;
    Program program;
    Device device;
    PlanReport report;
    gpu::Loaded loaded;  ///< entry points; keeps the code
};

}  // namespace trifold
