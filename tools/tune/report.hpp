#pragma once
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
/// By the rows' lists. A knob that several rows answered at a point, as where each kernel asks for itself, tells of none of them.
std::vector<Effect> effects_of(const std::vector<Trial>& trials);

/// Gains in the geometric mean; 1 of none.
double mean_gain(const std::vector<Decision>& decisions);

/// A page for the browser, one file: all points with a bar for what was gained, and what each knob does.
std::string report_html(const Records& records);

/// Numbers of a device, by path: "models.team.f64.row".
using Numbers = std::map<std::string, double>;
/// The numbers of a variant's time model. Throws SpecError.
Numbers model_numbers(const Target& target, const std::string& variant);
/// Modelled seconds of each trial by operation of its objective, with these numbers in place of the device's.
std::vector<std::map<std::string, double>> modelled(const std::vector<Trial>& trials, const Numbers& numbers);

}  // namespace trifold::tune
