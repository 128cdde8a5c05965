#pragma once
#include <map>
#include <string>

#include "tests/support/emulator/unit.hpp"

namespace trifold::test {

/// Errors of what a unit computes for random systems, by name, each relative to what is expected of the precision: at most 1
/// where the unit is right. The oracle is Eigen, in double.
using Errors = std::map<std::string, double>;

/// Runs every operation of the unit in the Spec's precision, with `members` of the batch's members, or all.
Errors errors_of(const EmulatedUnit& unit, const Running& running, unsigned seed = 7, std::int64_t members = 0);

}  // namespace trifold::test
