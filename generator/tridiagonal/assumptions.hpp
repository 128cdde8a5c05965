#pragma once
#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// Checks what kernels of every variant assume of their launches: throws std::logic_error where a step breaks it, such as by
/// chains that nobody has. What a variant's kernels assume of its sizes stands in the variant.
void require_sound(const Design& design, const Step& step);

}  // namespace trifold
