#pragma once
#include <span>
#include <string>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "generator/program/knob.hpp"

/// Knobs of a grid's kernels: a caller may pin them, and a tuner tries them.
namespace trifold::grid {

/// The one order of elimination, and the one variant, that there are: names for records and wisdom, which have both of every family.
inline constexpr std::string_view dissection = "dissection", fronts = "fronts";

/// The knobs of a backend.
std::span<const Knob> knobs_for(const Target& target);
/// The knobs that the tuning's variant pins. Throws SpecError where it is no variant, or has knobs or values that there are not.
Knobs pinned_by(const GridTuning& tuning, const Target& target);
/// The knobs that a Program of the choice asks for, each with all values where it asks more than once, such as for different levels.
std::vector<KnobDecision> decided(const GridChoice& choice);

/// The list of rows with the thread blocks of a kernel that a multiprocessor must have registers for: "leaf_blocks".
std::string blocks_knob(std::string_view kernel);

}  // namespace trifold::grid
