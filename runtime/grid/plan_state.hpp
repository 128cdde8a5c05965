#pragma once
#include <memory>
#include <trifold/grid.hpp>
#include <vector>

#include "generator/grid/levels.hpp"
#include "runtime/session/prepared.hpp"

namespace trifold {

/// The part of a plan that solvers share. Immutable once built.
struct GridPlan::State {
    GridChoice choice;
    std::vector<grid::Level> levels;
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
