#pragma once
#include <trifold/grid_spec.hpp>

#include "tools/tune/family.hpp"

/// Images in the tuner.
namespace trifold::tune::grid {

const TunedFamily& family();

/// Throws SpecError.
GridSpec spec_of(const Point& point);
Point point_of(const GridSpec& spec, int workers = 1);
/// The generator's choice for a candidate. Throws SpecError where it refuses it.
GridChoice choice_of(const Point& point, const Target& target, const Candidate& candidate);

std::int64_t data_bytes(const GridSpec& spec);
std::unique_ptr<PointData> make_data(const GridSpec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);

}  // namespace trifold::tune::grid
