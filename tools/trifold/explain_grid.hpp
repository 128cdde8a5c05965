#pragma once
#include <trifold/grid_spec.hpp>

namespace trifold::command {

/// Prints the levels, flops, launches and memory of an image's Program.
void explain_grid(const GridSpec& spec, const Target& target, const GridTuning& tuning, bool json);

}  // namespace trifold::command
