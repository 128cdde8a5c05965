#pragma once
#include <memory>
#include <trifold/plan.hpp>

#include "runtime/session/prepared.hpp"

namespace trifold {

/// What Solvers share of a Plan. Immutable once built.
struct Plan::State {
    Choice choice;
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
