#pragma once
#include <trifold/solver.hpp>
#include <vector>

namespace trifold {

/// Throws NotPositiveDefinite, NearlySingular or OutOfRange where a member has not been solved.
void check_outcomes(const std::vector<Outcome>& members, Precision precision);

}  // namespace trifold
