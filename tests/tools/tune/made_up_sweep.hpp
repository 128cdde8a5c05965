#pragma once
#include <cstdint>

#include "tools/tune/report.hpp"

namespace trifold::tests {

/// A sweep that never was, alike for the same seed: two devices, two precisions, n, N and batches as people tune them, with failures. Times
/// come from a model of schedules and variants and some noise.
tune::Records made_up_sweep(std::uint64_t seed, int points, int trials_of_each);

}  // namespace trifold::tests
