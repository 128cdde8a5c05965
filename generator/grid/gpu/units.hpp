#pragma once
#include <map>
#include <trifold/grid_spec.hpp>
#include <trifold/program.hpp>

#include "generator/grid/gpu/placement.hpp"
#include "generator/program/knob.hpp"

/// The units of grids on GPUs: which kernels are compiled as one, and their texts.
namespace trifold::grid::gpu {

/// The kernels that launches need, each with the most shared memory of a launch.
using SharedBytes = std::map<Kernel, std::int64_t>;

/// Makes the units of the launched kernels, and tells the launches where these are. So far a launch has its kernel's number. A unit always
/// has all its kernels, so that its text is the same whatever the size of the images.
void add_units(Program& program, const GridSpec& spec, const Target& target, const Knobs& knobs, const SharedBytes& launched);

}  // namespace trifold::grid::gpu
