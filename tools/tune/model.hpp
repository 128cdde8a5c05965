#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// Numbers of a device, by path: "models.team.f64.row".
using Numbers = std::map<std::string, double>;

/// The numbers of a variant's time model. Throws SpecError.
Numbers model_numbers(const Target& target, const std::string& variant);
/// Modelled seconds of each trial by operation of its objective, with these numbers in place of the device's.
std::vector<std::map<std::string, double>> modelled(const std::vector<Trial>& trials, const Numbers& numbers);

}  // namespace trifold::tune
