#pragma once
#include <string_view>

#include "generator/sparse/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold::sparse {

/// Chooses by the user's wisdom and what is built in, else as choose(spec, target, tuning) does. An empty device is one that is not known.
/// Reports once in the log what is wrong with wisdom; that is never an error. Throws SpecError as choose does.
inline SparseChoice choose_by_wisdom(const Problem& problem, const Target& target, const SparseTuning& tuning, std::string_view device) {
    if (tuning.variant != "auto") return choose(problem.spec, target, tuning);
    return choose_with(ask_wisdom(*wisdom_problem(problem, target, tuning), device), problem.spec, target, tuning);
}

}  // namespace trifold::sparse
