#pragma once
#include <trifold/factors_of.hpp>
#include <trifold/plan.hpp>
#include <trifold/solver.hpp>

namespace [[gnu::visibility("default")]] trifold {

using Factors = FactorsOf<Plan, Solver>;
extern template class FactorsOf<Plan, Solver>;

}  // namespace trifold
