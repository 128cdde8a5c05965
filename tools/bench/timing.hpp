#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <trifold/transport.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"

namespace trifold::bench {

/// Seconds of one operation's runs.
struct Statistics {
    std::vector<double> sorted;
    double median, minimum, maximum;
    double spread;  ///< between the quartiles
    double p99, p999;
};

/// Quantiles lie between neighbours by straight lines, as numpy.quantile computes them. Those of nothing are NaN.
inline Statistics summarize(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    const auto at = [&](double q) {
        if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
        const auto place = q * static_cast<double>(seconds.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        return std::lerp(seconds[below], seconds[std::min(below + 1, seconds.size() - 1)], place - static_cast<double>(below));
    };
    Statistics result{{}, at(0.5), at(0), at(1), at(0.75) - at(0.25), at(0.99), at(0.999)};
    result.sorted = std::move(seconds);
    return result;
}

/// How long is measured. Each step is called to warm up, then until `seconds` have gone or `max_runs` were made, whichever is first, but
/// at least `min_runs` times.
struct Budget {
    double seconds = 0.2;
    std::size_t min_runs = 5, max_runs = 2000;
};

/// The least that an operation has to move and compute, the same for every solver, so that their rates compare; 0: not counted.
struct Work {
    double bytes = 0, flops = 0;
};

/// One operation of a solver.
struct Step {
    std::string operation;
    std::function<void()> call;
    std::function<void()> prepare = {};                              ///< what has to be done before each call and is not timed
    bool solves = false;                                             ///< the call leaves a solution
    bool once = false;                                               ///< too long to repeat: the first call is what counts
    Work work = {};                                                  ///< where it is not that of the contest
    std::function<std::vector<double>(const Budget&)> samples = {};  ///< in place of timed calls: the seconds of each run
};

/// Seconds of a clock that only goes on.
double now();

/// Seconds of each run by the device's clock. On a GPU a short call has one before it that is not timed: the device is still at it while
/// the host enqueues the timed one, so that only kernels are timed.
std::vector<double> time_step(DeviceTools& tools, const Step& step, const Budget& budget);

/// Times steps of several solvers on a processor in rounds of all of them: what disturbs one disturbs all. Each works for a
/// millisecond before its time is taken, so that its data are back in the caches.
std::vector<std::vector<double>> time_by_turns(DeviceTools& tools, const std::vector<Step>& steps, const Budget& budget);

/// Seconds of each call as `timed` returns them, one begun every `period` seconds. A call that lasts longer than that delays the next ones.
std::vector<double> time_calls(const std::function<double()>& timed, double period, const Budget& budget);
/// A call for that, by the host's clock: from the call to its end on the device.
std::function<double()> by_host_clock(const DeviceTools& tools, std::function<void()> call);

/// The largest of the ranks' numbers, on all of them.
double largest(Transport& hosts, double mine);
/// Seconds of runs that all ranks make together, each as long as that of the slowest.
std::vector<double> time_together(Transport& hosts, const DeviceTools& tools, const Step& step, const Budget& budget);

}  // namespace trifold::bench
