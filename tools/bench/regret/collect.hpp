#pragma once
#include <trifold/device.hpp>

#include "tools/bench/regret/records.hpp"

namespace trifold::regret {

struct Collection {
    std::vector<Point> points;
    Operations operations{Operation::factor, Operation::factor_solve};  ///< the latter, and perhaps the former
    std::size_t most_candidates = 9;
    int workers = 1;            ///< CPU threads of a call
    int threads = 1;            ///< that compile ahead of the measurements on a GPU; on the CPU nothing compiles while it measures
    double budget_seconds = 0;  ///< 0: no end
    std::uint64_t seed = 0;
    std::filesystem::path records;  ///< lines are added to it; what it has already is not measured again
};

/// Measures all candidates of all points, one at a time. What cannot be measured is a record that says why. `tell` gets lines for people.
/// Throws DeviceError where the device cannot go on; another run does, with what comes after the candidate that ended this one.
void collect(const Collection& collection, const Device& device, const std::function<void(const std::string&)>& tell);

}  // namespace trifold::regret
