#pragma once
#include <string>
#include <vector>

#include "series.hpp"
#include "smoother.hpp"

namespace kalman {

/// An SVG of one panel a series: data against smoothed trend above, their difference and the trend's two-sigma band below.
std::string draw_trends(const Table& table, const std::vector<Series>& series, const Smoothed& smoothed);

}  // namespace kalman
