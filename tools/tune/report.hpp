#pragma once
#include <string>
#include <vector>

#include "generator/program/device.hpp"
#include "tools/tune/log.hpp"

namespace trifold::tune {

/// The effect of a knob's value in place of the one that a row of the device gives it: time over time, all else being equal.
struct Effect {
    std::string target;
    const Row* row = nullptr;
    std::int64_t value = 0;
    std::vector<double> ratios;  ///< one for each point
    double mean() const;         ///< geometric
    double worst() const;
    /// Faster by 1 % on the whole, at three points or more, and nowhere slower by more than 3 %.
    bool is_better() const;
};
/// By the rows' lists: pairs of candidates of a point are compared that differ in one knob alone. A knob that several rows answered at a
/// point, as where each kernel asks for itself, tells of none of them.
std::vector<Effect> effects_of(const std::vector<Trial>& trials);

/// Gains in the geometric mean; 1 of none.
double mean_gain(const std::vector<Decision>& decisions);

/// A page for the browser, one file: what was gained at which points, with a picture; what each knob does; what failed.
std::string report_html(const Records& records);

}  // namespace trifold::tune
