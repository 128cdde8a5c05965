#pragma once
#include <string>
#include <vector>

#include "tools/tune/report/sweep.hpp"

namespace trifold::tune::report {

/// What the sweep found, in one sentence and some numbers.
std::string summary_html(const Sweep& sweep, const std::vector<Trial>& trials);
/// What it was made on: devices, drivers, versions of the generator.
std::string machines_html(const Sweep& sweep);
/// By verdict, each with its reasons.
std::string failures_html(const std::vector<Trial>& trials);
/// All of them, one a row, by their gain. The sweep says what tells equal points apart.
std::string decisions_html(const Sweep& sweep, const std::vector<Decision>& decisions);

}  // namespace trifold::tune::report
