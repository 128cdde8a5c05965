#pragma once
#include "tools/bench/regret/records.hpp"

namespace trifold::regret {

/// Numbers of a device by path, such as "models.team.front".
using Numbers = std::map<std::string, double>;

/// The constants of a variant's model, as they stand for the target.
Numbers constants_of(const std::string& target, const std::string& variant);
/// Modelled seconds of these records, with these numbers in place of the device's: of each, by operation (factor, factor_solve).
std::vector<std::map<std::string, double>> modelled(const std::vector<Record>& records, const Numbers& numbers);

}  // namespace trifold::regret
