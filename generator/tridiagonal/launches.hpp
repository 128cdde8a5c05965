#pragma once
#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// An operation as launches, each after the one before it: up the levels, or down them, a launch a level, or one launch where the kernel
/// has Shape::all_levels. No launch waits for kernels that finish.
std::vector<Step> plain_steps(const Design& design, Operation operation);

}  // namespace trifold
