#pragma once
#include <memory>
#include <trifold/plan.hpp>

#include "runtime/session/prepared.hpp"

namespace trifold {

/// The part of a Plan that Solvers share. Immutable once built.
struct Plan::State {
    Choice choice;
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
