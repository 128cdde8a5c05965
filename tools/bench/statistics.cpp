#include "tools/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifold::bench {

double quantile(const std::vector<double>& sorted, double q) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Statistics summarize(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    const auto at = [&](double q) { return quantile(seconds, q); };
    Statistics result{{}, at(0.5), at(0), at(1), at(0.75) - at(0.25), at(0.99), at(0.999)};
    result.sorted = std::move(seconds);
    return result;
}

}  // namespace trifold::bench
