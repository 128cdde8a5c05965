#pragma once
#include <cstdint>
#include <trifold/generate.hpp>

namespace trifold {

/// Right-hand sides that the kernels of a CPU treat as one panel: a Spec's rhs, rounded up to one of a few widths. Wider ones go in several
/// panels, since a panel of a system should stay in the caches between its sweeps.
std::int64_t columns_class(std::int64_t rhs);
/// Right-hand sides of one call of the kernels; those beyond have calls of their own. On a CPU it is a panel, or one for each worker.
std::int64_t columns_at_once(const Spec& spec, const Target& target, std::int64_t workers);

}  // namespace trifold
