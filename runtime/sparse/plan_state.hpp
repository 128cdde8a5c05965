#pragma once
#include <memory>
#include <trifold/sparse.hpp>
#include <vector>

#include "generator/sparse/generate.hpp"
#include "runtime/session/prepared.hpp"

namespace trifold {

/// The part of a plan that solvers share. Immutable once built.
struct SparsePlan::State {
    SparseChoice choice;
    SparsePattern pattern;
    SparseSummary summary;
    std::vector<sparse::Content> contents;  ///< first contents of the workspace of each solver
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
