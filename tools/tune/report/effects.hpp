#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/tune/report/sweep.hpp"

namespace trifold::tune::report {

/// How much it matters which value a knob of a variant has. Candidates of a point that differ in this knob alone are compared.
struct Effect {
    std::string variant;                                ///< "any" for the knob "variant"
    std::string knob;                                   ///< "schedule", "variant", or one of the variant's own
    std::vector<double> ratios;                         ///< of each such comparison: time with the worst value over that with the best
    std::map<std::string, std::vector<double>> values;  ///< by value, the time over that with the best; "default" is what is not pinned
};
/// Those that matter most come first: by the median of their ratios.
std::vector<Effect> effects(const Sweep& sweep);

/// How soon searches found what they were looking for.
struct Progress {
    std::vector<double> needed;  ///< by point: candidates that were tried until one within 2 % of the best was measured
    std::vector<double> regret;  ///< after 1, 2, 3 ... candidates of each point: the best so far over the best, geometric mean
};
inline constexpr double near_enough = 1.02;
/// Of points with two candidates or more.
Progress progress(const Sweep& sweep);

}  // namespace trifold::tune::report
