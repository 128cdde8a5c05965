#pragma once
#include <trifold/sparse.hpp>

#include "generator/sparse/wisdom.hpp"
#include "tools/tune/trial.hpp"

/// Points of the tuner as sparse systems.
namespace trifold::tune::sparse {

using ::trifold::sparse::Problem;

/// Throws SpecError.
Problem problem_of(const Point& point);
Point point_of(const SparseSpec& spec, const SparseMesh& mesh, int workers = 1);
SparseTuning tuning_of(const Point& point, const Candidate& candidate);
/// The generator's choice for a candidate. Throws SpecError where it refuses it.
SparseChoice choice_of(const Point& point, const Target& target, const Candidate& candidate);
/// The Program of a candidate, and what was decided about its knobs. Throws SpecError.
std::pair<Program, std::vector<Turned>> program_of(const Point& point, const Target& target, const Candidate& candidate);

/// The mesh of a problem, or a pattern by rows of about its sizes, which stands for one that only its sizes are known of.
SparsePattern pattern_of(const ::trifold::sparse::Sizes& sizes);

}  // namespace trifold::tune::sparse
