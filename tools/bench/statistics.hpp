#pragma once
#include <vector>

namespace trifold::bench {

/// The q-quantile of sorted values, between neighbours by straight lines: what numpy.quantile computes. Of nothing: NaN.
double quantile(const std::vector<double>& sorted, double q);

/// Seconds of one operation's runs.
struct Statistics {
    std::vector<double> sorted;
    double median, minimum, maximum;
    double spread;  ///< between the quartiles
    double p99, p999;
};
Statistics summarize(std::vector<double> seconds);

}  // namespace trifold::bench
