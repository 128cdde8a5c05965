#pragma once
#include <trifold/grid_spec.hpp>

#include "tools/tune/trial.hpp"

/// Points of the tuner as GridSpecs.
namespace trifold::tune::grid {

/// Throws SpecError.
GridSpec spec_of(const Point& point);
Point point_of(const GridSpec& spec, int workers = 1);
/// Throws SpecError.
GridOperation operation_named(std::string_view name);
GridTuning tuning_of(const Point& point, const Candidate& candidate);
/// The generator's choice for a candidate. Throws SpecError where it refuses it.
GridChoice choice_of(const Point& point, const Target& target, const Candidate& candidate);

}  // namespace trifold::tune::grid
