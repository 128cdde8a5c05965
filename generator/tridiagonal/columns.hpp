#pragma once
#include <cstdint>
#include <trifold/generate.hpp>

namespace trifold {

/// Right-hand sides that kernels are made for: a Spec's rhs, rounded up to one of a few widths. More go in panels of the widest, since what
/// a panel is to a system should stay in the caches between its sweeps.
std::int64_t columns_class(std::int64_t rhs);
/// Right-hand sides of a panel of such kernels, if it has `most` at most.
std::int64_t panel_columns(std::int64_t rhs, std::int64_t most);
/// Right-hand sides of one call of the kernels; those beyond have calls of their own.
std::int64_t columns_at_once(const Choice& choice);

}  // namespace trifold
