#pragma once
#include <trifold/rank_solver.hpp>

#include "runtime/session/prepared.hpp"

namespace trifold {

/// The part of a RankPlan that RankSolvers share.
struct RankPlan::State {
    RankSpec spec;
    Choice choice;
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
