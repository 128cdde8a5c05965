#pragma once
#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// Checks what kernels of every variant assume of their launches. Throws std::logic_error where a step breaks an assumption, for example if
/// no task has some chain. The variants' files check what their own kernels assume of sizes.
void require_sound(const Design& design, const Step& step);

}  // namespace trifold
