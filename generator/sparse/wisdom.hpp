#pragma once
#include <memory>
#include <optional>
#include <trifold/sparse_spec.hpp>

#include "generator/program/ladder.hpp"

namespace trifold::sparse {

/// The sizes of a pattern, which are all that wisdom knows of it.
struct Sizes {
    std::int64_t rows = 0, entries = 0;
    std::optional<SparseMesh> mesh;
    bool operator==(const Sizes&) const = default;
};
Sizes sizes_of(const SparsePattern& pattern);
/// Throws SpecError where it is no mesh.
Sizes sizes_of(const SparseMesh& mesh);

/// A problem as wisdom and the tuner have it.
struct Problem {
    SparseSpec spec;
    Sizes sizes;
};
/// The key of a problem in wisdom. Of its operations it has only whether anything solves. Throws SpecError where the SparseSpec is wrong.
ProblemKey key_of(const Problem& problem, const Target& target, int workers);
/// The problem of a key. Throws SpecError where its texts are none of sparse systems, or not as key_of writes them.
Problem problem_of(const ProblemKey& key);
bool is_sparse(const ProblemKey& key);

/// A problem whose variant is open, as wisdom is told of it. Throws SpecError where the SparseSpec or the target is wrong.
std::unique_ptr<const WisdomProblem> wisdom_problem(const Problem& problem, const Target& target, const SparseTuning& tuning);
/// Chooses as choose(problem.spec, target, tuning) does, with the row that was found.
SparseChoice choose_with(const WisdomAnswer& answer, const Problem& problem, const Target& target, const SparseTuning& tuning);

}  // namespace trifold::sparse
