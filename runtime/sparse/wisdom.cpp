#include "runtime/sparse/wisdom.hpp"

namespace trifold::sparse {

SparseChoice choose_by_wisdom(const Problem& problem, const Target& target, const SparseTuning& tuning, std::string_view device) {
    if (tuning.variant != "auto") return choose(problem.spec, target, tuning);
    return choose_with(ask_wisdom(*wisdom_problem(problem, target, tuning), device), problem.spec, target, tuning);
}

}  // namespace trifold::sparse
