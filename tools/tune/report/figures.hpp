#pragma once
#include <string>

#include "tools/tune/report/effects.hpp"

namespace trifold::tune::report {

/// A table of knobs with a box for each: from the quarter to the three quarters, the median, and whiskers to the ends.
std::string effects_html(const std::vector<Effect>& effects);
/// Two curves over the number of candidates tried: points that are near enough to their best, and how far they are from it.
std::string progress_html(const Progress& progress);
/// Bars: how many points have which gain.
std::string gains_html(const Sweep& sweep);

}  // namespace trifold::tune::report
