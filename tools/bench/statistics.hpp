#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

}  // namespace trifold::bench
