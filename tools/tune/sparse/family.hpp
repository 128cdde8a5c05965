#pragma once
#include <trifold/sparse_spec.hpp>

#include "generator/sparse/wisdom.hpp"
#include "tools/tune/family.hpp"

/// Sparse systems in the tuner.
namespace trifold::tune::sparse {

using ::trifold::sparse::Problem;

const TunedFamily& family();

/// Throws SpecError.
Problem problem_of(const Point& point);
Point point_of(const SparseSpec& spec, const SparseMesh& mesh, int workers = 1);
/// The Program of a candidate, and what was decided about its knobs. Throws SpecError where the generator refuses it.
std::pair<Program, std::vector<KnobDecision>> program_of(const Point& point, const Target& target, const Candidate& candidate);

/// The mesh of a problem, or a pattern by rows of about its sizes, which stands for one of which only the sizes are known.
SparsePattern pattern_of(const ::trifold::sparse::Sizes& sizes);
/// The largest |b - A x| / |b| that solutions are asked for.
double asked_of(Precision precision);
std::int64_t data_bytes(const Problem& problem);
std::unique_ptr<PointData> make_data(const Problem& problem, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);

}  // namespace trifold::tune::sparse
