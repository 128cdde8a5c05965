#pragma once
#include <trifold/generate.hpp>

#include "tools/tune/family.hpp"

/// Block tridiagonal systems in the tuner.
namespace trifold::tune::tridiagonal {

const TunedFamily& family();

/// Throws SpecError.
Spec spec_of(const Point& point);
Point point_of(const Spec& spec, int workers = 1);
/// The chooser's choice for a candidate. Throws SpecError where the generator refuses it.
Choice choice_of(const Point& point, const Target& target, const Candidate& candidate);

/// The chooser's choice, then pairs to compare it with: of every variant and every kind of schedule the one of
/// least modelled time, the variants by turns; with `all` every schedule is its own kind. What the model takes for six times slower than
/// the best (a variant's fastest: for thirty times) is left out, but only where another pair is both faster by the model and has no more
/// flops: so some stay that the model may be wrong about. Empty where the chooser finds nothing.
std::vector<Candidate> pairs(const Spec& spec, const Target& target, int workers, bool all);

std::int64_t data_bytes(const Spec& spec);
std::unique_ptr<PointData> make_data(const Spec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);

}  // namespace trifold::tune::tridiagonal
