#pragma once
#include <functional>
#include <vector>

#include "tools/bench/contender.hpp"

namespace trifold::bench {

/// How long is measured. Each step is called to warm up, then until `seconds` have gone or `most_runs` were made, whichever is first, but
/// at least `least_runs` times.
struct Budget {
    double seconds = 0.2;
    std::size_t least_runs = 5, most_runs = 2000;
};

/// Seconds of each run by the device's clock. On a GPU a short call has one before it that is not timed: the device is still at it while
/// the host enqueues the timed one, so that only kernels are timed.
std::vector<double> time_step(DeviceTools& tools, const Step& step, const Budget& budget);

/// Seconds of each call as `timed` returns them, one begun every `period` seconds. A call that lasts longer than that delays the next ones.
std::vector<double> time_calls(const std::function<double()>& timed, double period, const Budget& budget);
/// A call for that, by the host's clock: from the call to its end on the device.
std::function<double()> by_host_clock(const DeviceTools& tools, std::function<void()> call);

}  // namespace trifold::bench
