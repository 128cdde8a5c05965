#pragma once
#include <trifold/factors_of.hpp>
#include <trifold/grid.hpp>

namespace [[gnu::visibility("default")]] trifold {

using GridFactors = FactorsOf<GridPlan, GridSolver>;
extern template class FactorsOf<GridPlan, GridSolver>;

}  // namespace trifold
