#pragma once
#include <cstdint>
#include <trifold/generate.hpp>

namespace trifold {

/// Right-hand sides of a panel of a CPU's kernels: a Spec's rhs, rounded up to one of a few widths. More go in several panels, since what
/// a panel is to a system should stay in the caches between its sweeps. There are `most` only where each worker has as many.
std::int64_t panel_columns(std::int64_t rhs, std::int64_t most, std::int64_t workers = 1);
/// Right-hand sides that kernels are made for, in one call. On a CPU it is a panel, or one for each worker. On a GPU they are those of
/// kernel_spec, or a power of two up to the variant's most columns.
std::int64_t columns_at_once(const Choice& choice);

}  // namespace trifold
